// What a launch on the CPU may ask for.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "exec/exec.hpp"
#include "isotope/base/error.hpp"

namespace isotope::exec {

namespace {

std::uint64_t product(Dim3 d) {
  std::uint64_t count = 0;
  if (__builtin_mul_overflow(std::uint64_t{d.x} * d.y, std::uint64_t{d.z}, &count)) return ~std::uint64_t{0};
  return count;
}

std::string text(Dim3 d) { return fmt::format("{} x {} x {}", d.x, d.y, d.z); }

}  // namespace

void check_grid(const GridSpec& spec, const ExecLimits& limits) {
  const std::uint64_t blocks = product(spec.grid);
  const std::uint64_t threads = product(spec.block);
  if (blocks == 0)
    throw Error(Code::invalid_argument, fmt::format("LaunchConfig::grid is {}: no extent may be 0", text(spec.grid)));
  if (threads == 0)
    throw Error(Code::invalid_argument, fmt::format("LaunchConfig::block is {}: no extent may be 0", text(spec.block)));
  if (threads > kMaxBlockThreads) {
    throw Error(Code::invalid_argument,
                fmt::format("LaunchConfig::block is {} = {} threads: a block has at most {}; use more blocks",
                            text(spec.block), threads, kMaxBlockThreads));
  }
  if (spec.shared_bytes > kMaxSharedBytes) {
    throw Error(Code::invalid_argument,
                fmt::format("LaunchConfig::shared_bytes is {}: a block has at most {} bytes of shared memory",
                            spec.shared_bytes, kMaxSharedBytes));
  }
  const std::uint64_t most = std::min<std::uint64_t>(limits.max_fibers, ~std::uint32_t{0});
  if (blocks > most / threads) {
    throw Error(Code::invalid_argument, fmt::format("a grid of {} blocks with {} threads each is more than {} threads, "
                                                    "the most that one launch may have on the "
                                                    "CPU; use a smaller grid or raise ISOTOPE_MAX_FIBERS",
                                                    text(spec.grid), threads, most));
  }
}

}  // namespace isotope::exec
