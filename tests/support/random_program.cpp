// Makes random programs: deals out the regions of a phase, then fills in steps that keep to it.
#include "support/random_program.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace isotope::testing {

namespace {

struct Range {
  std::uint32_t begin, bytes;
};

std::uint32_t aligned(std::uint32_t offset, std::uint32_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// Steps that one unit does in their order.
using Chain = std::vector<Step>;

class PhaseMaker {
 public:
  PhaseMaker(Program& program, Random& random)
      : program_(program), random_(random), pes_(static_cast<int>(program.pes.size())) {
    readable_.resize(program.pes.size());
    chains_.resize(program.pes.size());
    awaits_.resize(program.pes.size());
  }

  void make() {
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

  /// The first step of each PE's waits: they come after all other steps of the phase.
  const std::vector<std::uint32_t>& first_await() const { return first_await_; }

 private:
  std::vector<Range>& readable_of(int pe) { return readable_[static_cast<std::size_t>(pe)]; }
  int any_pe() { return static_cast<int>(random_.below(static_cast<std::uint64_t>(pes_))); }
  void add(int me, Chain chain) { chains_[static_cast<std::size_t>(me)].push_back(std::move(chain)); }

  std::uint32_t log_space(int me, std::uint32_t bytes) {
    PeProgram& mine = program_.pes[static_cast<std::size_t>(me)];
    const std::uint32_t at = aligned(static_cast<std::uint32_t>(mine.log.size()) + random_.below(8), 16);
    mine.log.resize(at + bytes, kLogPoison);
    mine.log_writer.resize(at + bytes, kNowhere);
    return at;
  }

  /// A source of so many bytes that PE `me` has at hand and nobody writes.
  void choose_source(int me, std::uint32_t bytes, std::uint32_t alignment, Step* step) {
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

  /// Width and strides of a strided step in `range` of the remote end; false when it is too short.
  bool choose_strides(Range range, Step* step) {
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
  static std::uint32_t local_bytes(const Step& step) { return ((step.count - 1) * step.local_stride + 1) * step.width; }

  void make_write(int target, Range range) {
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

  void make_read(int from, Range range) {
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

  Step atomic_step(int target, std::uint32_t at, AtomicType type, AtomicOp op) {
    Step step;
    step.op = Op::atomic;
    step.pe = target;
    step.remote = at;
    step.type = type;
    step.atomic = op;
    step.value = random_.next();
    step.other = random_.next();
    const float small = static_cast<float>(random_.below(4000)) / 8 - 250;  // sums of these are exact
    const double wide = small;
    if (type == AtomicType::f32) std::memcpy(&step.value, &small, sizeof(small));
    if (type == AtomicType::f64) std::memcpy(&step.value, &wide, sizeof(wide));
    return step;
  }

  void make_atomics(int target, Range range) {
    const auto type = static_cast<AtomicType>(random_.below(6));
    const std::uint32_t at = aligned(range.begin, width_of(type));
    if (at + width_of(type) > range.begin + range.bytes) return;
    const bool is_float = type == AtomicType::f32 || type == AtomicType::f64;
    if (is_float || random_.one_in(2)) return make_atomic_chain(target, at, type, is_float);
    // Several PEs, one kind of commuting operation; fetched values are not looked at.
    static constexpr AtomicOp kKinds[4][4] = {
        {AtomicOp::add, AtomicOp::fetch_add, AtomicOp::inc, AtomicOp::fetch_inc},
        {AtomicOp::bit_and, AtomicOp::fetch_and, AtomicOp::bit_and, AtomicOp::fetch_and},
        {AtomicOp::bit_or, AtomicOp::fetch_or, AtomicOp::bit_or, AtomicOp::fetch_or},
        {AtomicOp::bit_xor, AtomicOp::fetch_xor, AtomicOp::bit_xor, AtomicOp::fetch_xor}};
    const std::uint32_t kind = random_.below(4);
    for (std::uint32_t n = random_.between(2, 8); n > 0; --n)
      add(any_pe(), {atomic_step(target, at, type, kKinds[kind][random_.below(4)])});
  }

  /// One PE, every kind of operation, in order: each fetched value is known.
  void make_atomic_chain(int target, std::uint32_t at, AtomicType type, bool is_float) {
    static constexpr AtomicOp kOfFloats[] = {AtomicOp::set, AtomicOp::fetch, AtomicOp::swap, AtomicOp::add,
                                             AtomicOp::fetch_add};
    const int writer = any_pe();
    Chain chain;
    for (std::uint32_t n = random_.between(2, 6); n > 0; --n) {
      AtomicOp op = is_float ? kOfFloats[random_.below(5)] : static_cast<AtomicOp>(random_.below(14));
      if (is_float && chain.empty()) op = AtomicOp::set;  // what is there may be no number
      chain.push_back(atomic_step(target, at, type, op));
      Step& step = chain.back();
      step.same_unit = chain.size() > 1;
      // Half of the comparisons meet a value that was written just before.
      if (op == AtomicOp::compare_swap && chain.size() > 1 && random_.one_in(2)) {
        chain[chain.size() - 2].atomic = AtomicOp::set;
        chain[chain.size() - 2].local = kNowhere;
        step.other = chain[chain.size() - 2].value;
      }
      static constexpr AtomicOp kFetching[] = {AtomicOp::fetch,     AtomicOp::swap,      AtomicOp::compare_swap,
                                               AtomicOp::fetch_inc, AtomicOp::fetch_add, AtomicOp::fetch_and,
                                               AtomicOp::fetch_or,  AtomicOp::fetch_xor};
      if (std::count(std::begin(kFetching), std::end(kFetching), op) != 0)
        step.local = log_space(writer, width_of(type));
    }
    add(writer, std::move(chain));
  }

  /// What the target waits for on its own word, after everything else.
  void make_await(int target, std::uint32_t flag, std::uint64_t before, std::uint64_t after, bool changes_once,
                  Range data) {
    Step step;
    step.op = Op::await;
    step.pe = target;
    step.flag = flag;
    step.value = after;
    if (after > before && random_.one_in(2)) step.cmp = Cmp::ge;
    if (changes_once && random_.one_in(3)) {
      step.cmp = Cmp::ne;
      step.value = before;
    }
    step.remote = data.begin;
    step.count = data.bytes;
    if (data.bytes != 0) step.local = log_space(target, data.bytes);
    awaits_[static_cast<std::size_t>(target)].push_back({step});
  }

  std::uint64_t word_now(int pe, std::uint32_t at) const {
    std::uint64_t word;
    std::memcpy(&word, &program_.pes[static_cast<std::size_t>(pe)].region.at(at), sizeof(word));
    return word;
  }

  void make_signals(int target, Range range) {
    Step step;
    step.op = Op::signal;
    step.pe = target;
    step.flag = aligned(range.begin, 8);
    if (step.flag + 8 > range.begin + range.bytes) return;
    const std::uint64_t before = word_now(target, step.flag);
    std::uint64_t after = before;
    const std::uint32_t times = random_.one_in(3) ? 1 : random_.between(2, 6);
    if (times == 1) {
      step.value = after = random_.next() | 1;
      if (after == before) return;
      add(any_pe(), {step});
    } else {
      step.signal_op = SignalOp::add;
      for (std::uint32_t n = times; n > 0; --n) {
        step.value = random_.between(1, 1000);
        after += step.value;
        add(any_pe(), {step});
      }
    }
    if (!random_.one_in(4)) make_await(target, step.flag, before, after, times == 1, {0, 0});
  }

  /// A put with a signal; the target reads the data once it has seen the signal.
  void make_mail(int target, Range range) {
    Step step;
    step.pe = target;
    step.op = random_.one_in(2) ? Op::put_signal : Op::put_signal_nbi;
    step.flag = aligned(range.begin, 8);
    step.remote = step.flag + 8;
    if (step.remote >= range.begin + range.bytes) return;
    step.count = range.begin + range.bytes - step.remote;
    step.value = random_.next() | 1;
    if (random_.one_in(2)) step.signal_op = SignalOp::add;
    const std::uint64_t before = word_now(target, step.flag);
    const std::uint64_t after = step.signal_op == SignalOp::add ? before + step.value : step.value;
    if (after == before) return;
    const int writer = any_pe();
    choose_source(writer, step.count, 1, &step);
    add(writer, {step});
    if (!random_.one_in(4)) make_await(target, step.flag, before, after, true, {step.remote, step.count});
  }

  void deal_out(int me) {
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

  Program& program_;
  Random& random_;
  int pes_;
  std::vector<std::vector<Range>> readable_;
  std::vector<std::vector<Chain>> chains_, awaits_;
  std::vector<std::uint32_t> first_await_;
};

std::vector<unsigned char> random_bytes(std::uint64_t seed, std::uint32_t bytes) {
  Random random(seed);
  std::vector<unsigned char> data(bytes);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random.next() >> 56);
  return data;
}

}  // namespace

std::vector<unsigned char> first_region(std::uint64_t seed, int pe) {
  return random_bytes(seed * 31 + static_cast<std::uint64_t>(pe) * 2, kRegionBytes);
}

Program make_program(std::uint64_t seed, int pes) {
  Random random(seed * 64 + static_cast<std::uint64_t>(pes));
  static constexpr std::uint32_t kBlocks[] = {1, 32, 48, 64, 128};
  Program program;
  program.seed = seed;
  program.grid = random.between(1, 3);
  program.block = kBlocks[random.below(5)];
  for (int pe = 0; pe < pes; ++pe) {
    PeProgram mine;
    mine.constants = random_bytes(seed * 31 + static_cast<std::uint64_t>(pe) * 2 + 1, kConstantBytes);
    mine.region = first_region(seed, pe);
    mine.region_writer.assign(kRegionBytes, kNowhere);
    program.pes.push_back(std::move(mine));
  }
  for (std::uint32_t phase = random.between(2, 5); phase > 0; --phase) {
    std::vector<std::uint32_t> first;
    for (const PeProgram& mine : program.pes) first.push_back(static_cast<std::uint32_t>(mine.steps.size()));
    PhaseMaker maker(program, random);
    maker.make();
    const std::vector<std::uint32_t>& await = maker.first_await();
    for (std::size_t pe = 0; pe < first.size(); ++pe)
      for (std::uint32_t i = first[pe]; i < await[pe]; ++i) apply(program, static_cast<int>(pe), i);
    for (std::size_t pe = 0; pe < first.size(); ++pe)
      for (std::uint32_t i = await[pe]; i < program.pes[pe].steps.size(); ++i) apply(program, static_cast<int>(pe), i);
  }
  return program;
}

}  // namespace isotope::testing
