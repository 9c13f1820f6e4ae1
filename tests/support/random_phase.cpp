// The layout of a phase, its puts and gets, and who does what.
#include "support/random_phase.hpp"

#include <algorithm>

namespace isotope::testing {

void PhaseMaker::make() {
  // All of the layout first: a step needs to know what may be read anywhere.
  std::vector<std::pair<int, Range>> written, atomics, signals, mails;
  for (int pe = 0; pe < pes_; ++pe) {
    for (std::uint32_t at = random_.below(40);;) {
      const std::uint32_t bytes = random_.one_in(12) ? random_.between(200, 2500) : random_.between(1, 200);
      if (at + bytes > kRegionBytes) break;
      const Range range{at, bytes};
      const std::uint32_t kind = random_.below(12);
      if (kind < 5) readable_of(pe).push_back(range);
      if (kind >= 5 && kind < 8) written.push_back({pe, range});
      if (kind == 8 || kind == 9) atomics.push_back({pe, range});
      if (kind == 10) signals.push_back({pe, range});
      if (kind == 11) mails.push_back({pe, range});
      at += bytes + (random_.one_in(2) ? 0 : random_.below(20));
    }
  }
  for (const auto& [pe, range] : written) make_write(pe, range);
  for (const auto& [pe, range] : atomics) make_atomics(pe, range);
  for (const auto& [pe, range] : signals) make_signals(pe, range);
  for (const auto& [pe, range] : mails) make_mail(pe, range);
  for (int pe = 0; pe < pes_; ++pe) {
    for (const Range& range : readable_of(pe)) {
      for (std::uint32_t n = random_.below(3); n > 0; --n) make_read(pe, range);
    }
  }
  for (int pe = 0; pe < pes_; ++pe) deal_out(pe);
}

std::uint32_t PhaseMaker::log_space(int me, std::uint32_t bytes) {
  PeProgram& mine = program_.pes[static_cast<std::size_t>(me)];
  const std::uint32_t at = aligned(static_cast<std::uint32_t>(mine.log.size()) + random_.below(8), 16);
  mine.log.resize(at + bytes, kLogPoison);
  mine.log_writer.resize(at + bytes, kNowhere);
  return at;
}

void PhaseMaker::choose_source(int me, std::uint32_t bytes, std::uint32_t alignment, Step* step) {
  const std::vector<Range>& ranges = readable_of(me);
  if (!ranges.empty() && !random_.one_in(3)) {
    const Range range = ranges[random_.below(ranges.size())];
    const std::uint32_t begin = aligned(range.begin + random_.below(4), alignment);
    if (begin + bytes <= range.begin + range.bytes) {
      step->place = Place::region;
      step->local = begin;
      return;
    }
  }
  step->place = Place::constants;
  step->local = random_.below((kConstantBytes - bytes) / alignment + 1) * alignment;
}

bool PhaseMaker::choose_strides(Range range, Step* step) {
  step->width = 1u << random_.below(5);
  step->remote = aligned(range.begin, step->width);
  step->remote_stride = random_.between(1, 4);
  step->local_stride = random_.between(1, 3);
  const std::uint32_t end = range.begin + range.bytes;
  if (step->remote + step->width > end) return false;
  const std::uint32_t most = (end - step->remote - step->width) / (step->width * step->remote_stride) + 1;
  step->count = random_.between(1, std::min(most, 1000 / step->width));
  return true;
}

void PhaseMaker::make_write(int target, Range range) {
  Step step;
  step.pe = target;
  step.remote = range.begin;
  step.count = range.bytes;
  const int writer = any_pe();
  const std::uint32_t choice = random_.below(8);
  if (choice < 2 && choose_strides(range, &step)) {
    step.op = Op::iput;
    choose_source(writer, local_bytes(step), step.width, &step);
  } else if (choice < 4 && choose_strides(range, &step)) {
    step.op = Op::p;
    step.count = 1;
    step.value = random_.next();
    step.other = random_.next();
  } else if (choice == 4) {  // a get into the target's own region
    const int from = any_pe();
    const std::vector<Range>& ranges = readable_of(from);
    if (ranges.empty()) return;
    const Range source = ranges[random_.below(ranges.size())];
    step = Step{};
    step.op = random_.one_in(2) ? Op::get : Op::get_nbi;
    step.pe = from;
    step.remote = source.begin;
    step.place = Place::region;
    step.local = range.begin;
    step.count = std::min(source.bytes, range.bytes);
    return add(target, {step});
  } else {
    step = Step{};
    step.pe = target;
    step.op = random_.one_in(2) ? Op::put : Op::put_nbi;
    step.remote = range.begin;
    step.count = range.bytes;
    choose_source(writer, step.count, 1, &step);
  }
  add(writer, {step});
}

void PhaseMaker::make_read(int from, Range range) {
  const int reader = any_pe();
  Step step;
  step.pe = from;
  const std::uint32_t choice = random_.below(6);
  if (choice < 3 && choose_strides(range, &step)) {
    step.op = choice == 0 ? Op::g : Op::iget;
    if (step.op == Op::g) step.count = 1;
  } else {
    step = Step{};
    step.pe = from;
    step.op = random_.one_in(2) ? Op::get : Op::get_nbi;
    step.remote = range.begin + random_.below(range.bytes);
    step.count = random_.between(1, range.begin + range.bytes - step.remote);
  }
  step.local = log_space(reader, local_bytes(step));
  add(reader, {step});
}

void PhaseMaker::deal_out(int me) {
  PeProgram& mine = program_.pes[static_cast<std::size_t>(me)];
  std::vector<Chain>& chains = chains_[static_cast<std::size_t>(me)];
  for (std::size_t i = chains.size(); i > 1; --i) std::swap(chains[i - 1], chains[random_.below(i)]);
  const auto close = [&](bool ends_phase) {
    const std::uint32_t first = mine.sections.empty() ? 0 : mine.sections.back().last;
    mine.sections.push_back(
        {static_cast<Who>(random_.below(3)), ends_phase, first, static_cast<std::uint32_t>(mine.steps.size())});
  };
  const auto append = [&](const Chain& chain) { mine.steps.insert(mine.steps.end(), chain.begin(), chain.end()); };
  for (const Chain& chain : chains) {
    append(chain);
    if (random_.one_in(12)) {
      Step step;
      step.op = random_.one_in(2) ? Op::fence : Op::quiet;
      append({step});
    }
    if (random_.one_in(6)) close(false);
  }
  close(false);
  first_await_.push_back(static_cast<std::uint32_t>(mine.steps.size()));
  for (const Chain& chain : awaits_[static_cast<std::size_t>(me)]) append(chain);
  close(true);
}

}  // namespace isotope::testing
