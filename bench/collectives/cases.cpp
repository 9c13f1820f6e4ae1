#include "bench/collectives/cases.hpp"

#include <algorithm>
#include <cstring>

namespace isotope::bench {

namespace {

constexpr int kRoot = 0;

double once(int) { return 1; }
/// Each PE needs, or sends, the others' parts.
double others(int pes) { return static_cast<double>(pes - 1) / pes; }
/// A reduce-scatter and an all-gather.
double others_twice(int pes) { return 2 * others(pes); }

/// Writes or adds what one source has from `first` on.
void contribute(float* into, std::size_t n, int pe, std::size_t first, bool add) {
  for (std::size_t i = 0; i < n; ++i) into[i] = source_value(pe, first + i) + (add ? into[i] : 0.0f);
}

/// A run of the result that comes from one place of one source, or of all.
std::optional<Mistake> check_run(const CollectiveCase& one, const float* result, std::size_t n, int pe,
                                 std::size_t first, int pes) {
  constexpr std::size_t kChunk = 4096;
  float expected[kChunk];
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t now = std::min(kChunk, n - at);
    contribute(expected, now, pe, first + at, false);
    for (int other = pe + 1; one.sums && other < pes; ++other) contribute(expected, now, other, first + at, true);
    if (std::memcmp(result + at, expected, now * sizeof(float)) == 0) continue;
    for (std::size_t i = 0; i < now; ++i) {
      if (std::memcmp(result + at + i, expected + i, sizeof(float)) != 0)
        return Mistake{at + i, result[at + i], expected[i]};
    }
  }
  return std::nullopt;
}

}  // namespace

const std::vector<CollectiveCase>& collective_cases() {
  static const std::vector<CollectiveCase> all = {
      {.topic = "allreduce",
       .collective = Collective::all_reduce,
       .summary = "the sum of all PEs' floats, on every PE",
       .bus_factor = others_twice,
       .sums = true,
       .call = [](Collectives& c, float* dst, const float* src, std::size_t n,
                  const How& how) { c.all_reduce(dst, src, n, ReduceOp::add, how); }},
      {.topic = "allgather",
       .collective = Collective::all_gather,
       .summary = "all PEs' floats, on every PE",
       .bus_factor = others,
       .in_parts = true,
       .gathers = true,
       .call = [](Collectives& c, float* dst, const float* src, std::size_t n,
                  const How& how) { c.all_gather(dst, src, n, how); }},
      {.topic = "reducescatter",
       .collective = Collective::reduce_scatter,
       .summary = "the sum of all PEs' floats, a part on each PE",
       .bus_factor = others,
       .in_parts = true,
       .sums = true,
       .scatters = true,
       .call = [](Collectives& c, float* dst, const float* src, std::size_t n,
                  const How& how) { c.reduce_scatter(dst, src, n, ReduceOp::add, how); }},
      {.topic = "alltoall",
       .collective = Collective::all_to_all,
       .summary = "a part of every PE's floats, on each PE",
       .bus_factor = others,
       .in_parts = true,
       .gathers = true,
       .scatters = true,
       .call = [](Collectives& c, float* dst, const float* src, std::size_t n,
                  const How& how) { c.all_to_all(dst, src, n, how); }},
      {.topic = "broadcast",
       .collective = Collective::broadcast,
       .summary = "PE 0's floats, on every PE",
       .bus_factor = once,
       .call = [](Collectives& c, float* dst, const float* src, std::size_t n,
                  const How& how) { c.broadcast(dst, src, n, kRoot, how); }},
      {.topic = "reduce",
       .collective = Collective::reduce,
       .summary = "the sum of all PEs' floats, on PE 0",
       .bus_factor = once,
       .sums = true,
       .at_root = true,
       .call = [](Collectives& c, float* dst, const float* src, std::size_t n, const How& how) {
         c.reduce(dst, src, n, ReduceOp::add, kRoot, how);
       }}};
  return all;
}

std::size_t count_of(const CollectiveCase& one, std::uint64_t bytes, int pes) {
  return bytes / sizeof(float) / (one.in_parts ? static_cast<std::size_t>(pes) : 1);
}

std::uint64_t bytes_of(const CollectiveCase& one, std::size_t count, int pes) {
  return count * sizeof(float) * (one.in_parts ? static_cast<std::size_t>(pes) : 1);
}

std::size_t result_count(const CollectiveCase& one, std::size_t count, int pes) {
  return one.gathers ? count * static_cast<std::size_t>(pes) : count;
}

std::vector<std::string> algorithm_names(Collective collective) {
  std::vector<std::string> names = {name_of(Algo::automatic)};
  for (const Algo algo : algorithms_of(collective)) {
    if (why_not(collective, algo, DataType::f32, ReduceOp::add) == nullptr) names.emplace_back(name_of(algo));
  }
  return names;
}

std::optional<Mistake> first_mistake(const CollectiveCase& one, const float* result, std::size_t count, int me,
                                     int pes) {
  if (one.at_root && me != kRoot) return std::nullopt;
  const std::size_t first = one.scatters ? static_cast<std::size_t>(me) * count : 0;
  if (!one.gathers) return check_run(one, result, count, kRoot, first, pes);
  for (int pe = 0; pe < pes; ++pe) {
    const std::size_t at = static_cast<std::size_t>(pe) * count;
    if (auto mistake = check_run(one, result + at, count, pe, first, pes)) {
      mistake->index += at;
      return mistake;
    }
  }
  return std::nullopt;
}

}  // namespace isotope::bench
