// The collectives that are measured, as a table: what they are called, what their bytes mean, how far the bytes travel,
// and what each PE must end with.
//
// Bytes are those of nccl-tests: of the whole vector, which is the larger of a PE's two buffers. A PE's part of it is
// one of as many equal ones as there are PEs.
//
//   allreduce       source and result: bytes            every PE gets the sum of all sources
//   allgather       source: a part, result: bytes       every PE gets all sources, one after the other
//   reducescatter   source: bytes, result: a part       PE i gets the sum of the sources' parts i
//   alltoall        source and result: bytes            PE i gets everyone's part i
//   broadcast       source and result: bytes            every PE gets the source of PE 0
//   reduce          source and result: bytes            PE 0 gets the sum of all sources
//
// Algorithm bandwidth is bytes over time. Bus bandwidth is that times a factor: what an ideal algorithm sends over each
// PE's link, in units of bytes, so that it can be compared with the speed of the hardware for any number of PEs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isotope/host/choice.hpp"
#include "isotope/host/collectives.hpp"

namespace isotope::bench {

struct CollectiveCase {
  const char* topic;  // of `isotope bench`
  Collective collective;
  const char* summary;
  double (*bus_factor)(int pes);
  bool in_parts = false;  // sizes are whole numbers of parts, and calls count one part
  bool sums = false;      // each element of the result is a sum over all sources
  bool gathers = false;   // the result is a part of every source, one after the other
  bool scatters = false;  // what a PE gets of a source is its own part of it
  bool at_root = false;   // PE 0 alone has a result
  /// One call, with `count` elements of the vector or, if in_parts, of a part.
  void (*call)(Collectives& all, float* dst, const float* src, std::size_t count, const How& how);
};

/// In the order in which they are listed.
const std::vector<CollectiveCase>& collective_cases();

/// How many elements a call counts for a vector of that many bytes; the rest that fills no part is left out.
std::size_t count_of(const CollectiveCase& one, std::uint64_t bytes, int pes);
/// The bytes that such a call is about.
std::uint64_t bytes_of(const CollectiveCase& one, std::size_t count, int pes);
/// Elements of the result on each PE.
std::size_t result_count(const CollectiveCase& one, std::size_t count, int pes);

/// "automatic" and the algorithms that add floats, by name.
std::vector<std::string> algorithm_names(Collective collective);

/// Element i of the source of PE `pe`: a whole number below 1024, so that sums of 4096 of them are exact in any order.
inline float source_value(int pe, std::size_t i) {
  const auto mixed = static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>(pe) * 2246822519u;
  return static_cast<float>(mixed >> 22);
}

struct Mistake {
  std::size_t index;
  float found, expected;
};
/// The first element of PE `me`'s result that is not what it must be to the last bit.
std::optional<Mistake> first_mistake(const CollectiveCase& one, const float* result, std::size_t count, int me,
                                     int pes);

}  // namespace isotope::bench
