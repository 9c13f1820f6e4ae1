// Makes one phase of a random program: deals out the regions of all PEs, then fills in steps that keep to it. For
// random_program.cpp alone.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "support/random_program.hpp"

namespace isotope::testing {

struct Range {
  std::uint32_t begin, bytes;
};

inline std::uint32_t aligned(std::uint32_t offset, std::uint32_t alignment) {
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

  /// Appends the steps to every PE's program.
  void make();
  /// The first step of each PE's waits: they come after all other steps of the phase.
  const std::vector<std::uint32_t>& first_await() const { return first_await_; }

 private:
  std::vector<Range>& readable_of(int pe) { return readable_[static_cast<std::size_t>(pe)]; }
  int any_pe() { return static_cast<int>(random_.below(static_cast<std::uint64_t>(pes_))); }
  void add(int me, Chain chain) { chains_[static_cast<std::size_t>(me)].push_back(std::move(chain)); }

  /// Fresh bytes of the PE's log, with a poisoned gap before them now and then.
  std::uint32_t log_space(int me, std::uint32_t bytes);
  /// A source of so many bytes that PE `me` has at hand and nobody writes.
  void choose_source(int me, std::uint32_t bytes, std::uint32_t alignment, Step* step);
  /// Width and strides of a strided step in `range` of the remote end; false when it is too short.
  bool choose_strides(Range range, Step* step);
  static std::uint32_t local_bytes(const Step& step) { return ((step.count - 1) * step.local_stride + 1) * step.width; }

  void make_write(int target, Range range);
  void make_read(int from, Range range);
  Step atomic_step(int target, std::uint32_t at, AtomicType type, AtomicOp op);
  void make_atomics(int target, Range range);
  /// One PE, every kind of operation, in order: each fetched value is known.
  void make_atomic_chain(int target, std::uint32_t at, AtomicType type, bool is_float);
  /// What the target waits for on its own word, after everything else.
  void make_await(int target, std::uint32_t flag, std::uint64_t before, std::uint64_t after, bool changes_once,
                  Range data);
  void make_signals(int target, Range range);
  /// A put with a signal; the target reads the data once it has seen the signal.
  void make_mail(int target, Range range);
  /// What the word holds before this phase.
  std::uint64_t word_now(int pe, std::uint32_t at) const {
    std::uint64_t word;
    std::memcpy(&word, &program_.pes[static_cast<std::size_t>(pe)].region.at(at), sizeof(word));
    return word;
  }

  /// Shuffles the PE's steps and splits them into sections.
  void deal_out(int me);

  Program& program_;
  Random& random_;
  int pes_;
  std::vector<std::vector<Range>> readable_;
  std::vector<std::vector<Chain>> chains_, awaits_;
  std::vector<std::uint32_t> first_await_;
};

}  // namespace isotope::testing
