// What the demo's kernels must compute, written serially: no PEs, no signals, no shared code with the kernels.
#pragma once

#include <cstdint>
#include <vector>

namespace demo {

inline std::int64_t start_value(int pe, std::size_t i) {
  return static_cast<std::int64_t>(pe) * 1'000'003 + static_cast<std::int64_t>(i % 8191) * 17;
}

/// A block comes home after a full turn with every PE's rank + 1 added.
inline std::vector<std::int64_t> ring_reference(int pes, int pe, std::size_t n) {
  std::vector<std::int64_t> home(n);
  const std::int64_t turn = static_cast<std::int64_t>(pes) * (pes + 1) / 2;
  for (std::size_t i = 0; i < n; ++i) home[i] = start_value(pe, i) + turn;
  return home;
}

/// The whole field on one machine; returns PE `pe`'s part.
inline std::vector<std::int64_t> exchange_reference(int pes, int pe, std::size_t n, int rounds) {
  const std::size_t cells = n * static_cast<std::size_t>(pes);
  std::vector<std::int64_t> field(cells + 2, 0), next(cells + 2, 0);
  for (std::size_t i = 0; i < cells; ++i) field[i + 1] = start_value(static_cast<int>(i / n), i % n) & 0xffff;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 1; i <= cells; ++i) next[i] = (field[i - 1] + field[i] + field[i + 1]) & 0xffff;
    std::swap(field, next);
    field.front() = field.back() = 0;
  }
  const auto from = field.begin() + 1 + static_cast<std::ptrdiff_t>(n) * pe;
  return {from, from + static_cast<std::ptrdiff_t>(n)};
}

inline std::vector<std::int64_t> reduce_reference(int pes, std::size_t n) {
  std::vector<std::int64_t> sum(n, 0);
  for (int pe = 0; pe < pes; ++pe) {
    for (std::size_t i = 0; i < n; ++i) sum[i] += start_value(pe, i);
  }
  return sum;
}

}  // namespace demo
