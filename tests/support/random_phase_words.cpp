// The steps of a phase that change single words: atomics, signals, and puts with a signal.
#include <algorithm>
#include <iterator>

#include "support/random_phase.hpp"

namespace isotope::testing {

Step PhaseMaker::atomic_step(int target, std::uint32_t at, AtomicType type, AtomicOp op) {
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

void PhaseMaker::make_atomics(int target, Range range) {
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

void PhaseMaker::make_atomic_chain(int target, std::uint32_t at, AtomicType type, bool is_float) {
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
    if (std::count(std::begin(kFetching), std::end(kFetching), op) != 0) step.local = log_space(writer, width_of(type));
  }
  add(writer, std::move(chain));
}

void PhaseMaker::make_await(int target, std::uint32_t flag, std::uint64_t before, std::uint64_t after,
                            bool changes_once, Range data) {
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

void PhaseMaker::make_signals(int target, Range range) {
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

void PhaseMaker::make_mail(int target, Range range) {
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

}  // namespace isotope::testing
