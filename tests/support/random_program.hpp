// Random programs of device calls, each with its outcome: what random_program_test.cpp runs on real PEs.
//
//   const Program program = make_program(seed, pes);
//   ... run program.pes[me] on each PE, from the regions that first_region gives ...
//   compare with program.pes[me].region and .log
//
// A program is a list of phases with a barrier after each. Its outcome does not depend on the schedule: inside a phase
// each byte is written by one step alone, or changed by the atomics of one PE in its order, or by commuting ones of
// several; and steps read what no step of the phase writes. The outcome is worked out serially while the program is
// made, by code that shares nothing with the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isotope/isotope.hpp"

namespace isotope::testing {

/// Splitmix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(next() % n); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

inline constexpr std::uint32_t kRegionBytes = 8192;    // symmetric, of each PE
inline constexpr std::uint32_t kConstantBytes = 4096;  // private sources, of each PE
inline constexpr std::uint32_t kNowhere = ~0u;
inline constexpr unsigned char kLogPoison = 0xc7;

enum class Op : std::uint8_t {
  put,
  put_nbi,
  put_signal,
  put_signal_nbi,
  p,
  iput,  // into the region of `pe`
  get,
  get_nbi,
  g,
  iget,  // from the region of `pe`
  atomic,
  signal,
  await,
  fence,
  quiet
};
enum class AtomicOp : std::uint8_t {
  set,
  fetch,
  swap,
  compare_swap,
  inc,
  fetch_inc,
  add,
  fetch_add,
  bit_and,
  fetch_and,
  bit_or,
  fetch_or,
  bit_xor,
  fetch_xor
};
enum class AtomicType : std::uint8_t { u32, i32, u64, i64, f32, f64 };
/// Where a step's own end is.
enum class Place : std::uint8_t { constants, region, log };

struct Step {
  Op op = Op::fence;
  AtomicOp atomic = AtomicOp::set;
  AtomicType type = AtomicType::u32;
  SignalOp signal_op = SignalOp::set;
  Cmp cmp = Cmp::eq;
  Place place = Place::log;
  bool same_unit = false;  // done by the unit that does the step before
  int pe = 0;
  std::uint32_t remote = 0;  // offset in the region of `pe`
  std::uint32_t local = kNowhere;
  std::uint32_t count = 0;  // bytes, or elements of `width` bytes
  std::uint32_t width = 1;
  std::uint32_t remote_stride = 1, local_stride = 1;
  std::uint32_t flag = kNowhere;  // offset of the Signal in the region of `pe`
  std::uint64_t value = 0, other = 0;
};

enum class Who : std::uint8_t { thread, warp, block };

/// Steps that the PE's threads, warps or blocks deal out among themselves. Blocks synchronise after each.
struct Section {
  Who who = Who::block;
  bool ends_phase = false;
  std::uint32_t first = 0, last = 0;
};

struct PeProgram {
  std::vector<Step> steps;
  std::vector<Section> sections;
  std::vector<unsigned char> constants;
  // The outcome, and which step (pe * 65536 + index) wrote each byte last.
  std::vector<unsigned char> region, log;
  std::vector<std::uint32_t> region_writer, log_writer;
};

struct Program {
  std::uint64_t seed = 0;
  std::uint32_t grid = 1, block = 1;
  std::vector<PeProgram> pes;
};

Program make_program(std::uint64_t seed, int pes);
/// What the region of a PE holds before the program.
std::vector<unsigned char> first_region(std::uint64_t seed, int pe);

/// Does the step of PE `me` to the outcome so far.
void apply(Program& program, int me, std::uint32_t index);
/// Bytes of the word of an atomic.
std::uint32_t width_of(AtomicType type);
std::string describe(const Program& program, std::uint32_t writer);

}  // namespace isotope::testing
