// The serial outcome of a random program: plain copies and arithmetic, one step after the other.
#include <cstring>

#include "support/random_program.hpp"

namespace isotope::testing {

namespace {

/// One PE's bytes, and who wrote them.
struct Bytes {
  std::vector<unsigned char>& data;
  std::vector<std::uint32_t>& writers;

  void write(std::uint32_t at, const void* from, std::uint32_t bytes, std::uint32_t writer) const {
    std::memcpy(&data.at(at), from, bytes);
    data.at(at + bytes - 1);  // throws if it ends outside
    for (std::uint32_t i = 0; i < bytes; ++i) writers[at + i] = writer;
  }
};

template <class T>
T changed(AtomicOp op, T old, T value, T condition) {
  switch (op) {
    case AtomicOp::set:
    case AtomicOp::swap:
      return value;
    case AtomicOp::fetch:
      return old;
    case AtomicOp::compare_swap:
      return old == condition ? value : old;
    case AtomicOp::inc:
    case AtomicOp::fetch_inc:
      return old + T{1};
    case AtomicOp::add:
    case AtomicOp::fetch_add:
      return old + value;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == AtomicOp::bit_and || op == AtomicOp::fetch_and) return old & value;
    if (op == AtomicOp::bit_or || op == AtomicOp::fetch_or) return old | value;
    return old ^ value;
  }
  return old;
}

// Signed integers wrap as unsigned ones do, so the oracle needs only those.
template <class T>
void apply_atomic(const Step& step, const Bytes& region, const Bytes& log, std::uint32_t writer) {
  T old, value, condition;
  std::memcpy(&old, &region.data.at(step.remote), sizeof(T));
  std::memcpy(&value, &step.value, sizeof(T));
  std::memcpy(&condition, &step.other, sizeof(T));
  if (step.local != kNowhere) log.write(step.local, &old, sizeof(T), writer);
  if (step.atomic == AtomicOp::fetch) return;
  const T now = changed(step.atomic, old, value, condition);
  region.write(step.remote, &now, sizeof(T), writer);
}

void apply_signal(const Step& step, const Bytes& region, std::uint32_t writer) {
  std::uint64_t value = step.value;
  if (step.signal_op == SignalOp::add) {
    std::memcpy(&value, &region.data.at(step.flag), sizeof(value));
    value += step.value;
  }
  region.write(step.flag, &value, sizeof(value), writer);
}

}  // namespace

std::uint32_t width_of(AtomicType type) {
  return type == AtomicType::u32 || type == AtomicType::i32 || type == AtomicType::f32 ? 4 : 8;
}

void apply(Program& program, int me, std::uint32_t index) {
  PeProgram& mine = program.pes.at(static_cast<std::size_t>(me));
  const Step& step = mine.steps.at(index);
  PeProgram& peer = program.pes.at(static_cast<std::size_t>(step.pe));
  const std::uint32_t writer = static_cast<std::uint32_t>(me) << 16 | index;
  const Bytes remote{peer.region, peer.region_writer}, log{mine.log, mine.log_writer};
  const Bytes own = step.place == Place::log ? log : Bytes{mine.region, mine.region_writer};
  const std::vector<unsigned char>& source = step.place == Place::constants ? mine.constants : mine.region;
  switch (step.op) {
    case Op::put:
    case Op::put_nbi:
    case Op::iput:
    case Op::put_signal:
    case Op::put_signal_nbi:
      for (std::uint32_t i = 0; i < step.count; ++i)
        remote.write(step.remote + i * step.remote_stride * step.width,
                     &source.at(step.local + i * step.local_stride * step.width), step.width, writer);
      if (step.flag != kNowhere) apply_signal(step, remote, writer);
      break;
    case Op::p: {
      const std::uint64_t words[2] = {step.value, step.other};
      remote.write(step.remote, words, step.width, writer);
      break;
    }
    case Op::get:
    case Op::get_nbi:
    case Op::g:
    case Op::iget:
      for (std::uint32_t i = 0; i < step.count; ++i)
        own.write(step.local + i * step.local_stride * step.width,
                  &peer.region.at(step.remote + i * step.remote_stride * step.width), step.width, writer);
      break;
    case Op::atomic:
      switch (step.type) {
        case AtomicType::u32:
        case AtomicType::i32:
          return apply_atomic<std::uint32_t>(step, remote, log, writer);
        case AtomicType::u64:
        case AtomicType::i64:
          return apply_atomic<std::uint64_t>(step, remote, log, writer);
        case AtomicType::f32:
          return apply_atomic<float>(step, remote, log, writer);
        case AtomicType::f64:
          return apply_atomic<double>(step, remote, log, writer);
      }
      break;
    case Op::signal:
      apply_signal(step, remote, writer);
      break;
    case Op::await:  // what has come with the signal; `pe` is this PE
      if (step.count != 0) log.write(step.local, &mine.region.at(step.remote), step.count, writer);
      break;
    case Op::fence:
    case Op::quiet:
      break;
  }
}

}  // namespace isotope::testing
