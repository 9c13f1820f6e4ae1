// A histogram whose bins are spread over all PEs: every PE counts its own samples into whichever PE owns the bin.
//
// Shows: remote atomics from many threads at once, and a barrier that makes all of them complete and visible.
#include <cstdio>
#include <vector>

#include "isotope/isotope.hpp"

using namespace isotope;

constexpr std::uint32_t kBinsPerPe = 16;
constexpr std::uint64_t kSamples = 100'000;

ISOTOPE_HD std::uint32_t sample(int pe, std::uint64_t i, std::uint32_t bins) {
  std::uint64_t x = (static_cast<std::uint64_t>(pe) << 32 | i) * 0x9e3779b97f4a7c15ull;
  x ^= x >> 29;
  return static_cast<std::uint32_t>(x * 0xbf58476d1ce4e5b9ull >> 40) % bins;
}

ISOTOPE_KERNEL void count(Team team, Span<std::uint32_t> bins, std::uint64_t* largest) {
  const auto block = this_block();
  const auto all = kBinsPerPe * static_cast<std::uint32_t>(team.size());
  for (std::uint64_t i = block.thread_rank(); i < kSamples; i += block.size()) {
    const std::uint32_t bin = sample(team.rank(), i, all);
    atomic_add(team, &bins[bin % kBinsPerPe], 1u, static_cast<int>(bin / kBinsPerPe));
  }
  if (!barrier(block, team)) return;
  // Every PE proposes its largest bin (count in the high half, bin in the low one); PE 0 keeps the largest of all.
  if (block.is_leader()) {
    std::uint64_t mine = 0;
    for (std::uint32_t i = 0; i < kBinsPerPe; ++i) {
      const std::uint64_t entry = pack(kBinsPerPe * static_cast<std::uint32_t>(team.rank()) + i, bins[i]);
      if (entry > mine) mine = entry;
    }
    fetch_max(team.at(largest, 0), mine);
  }
  barrier(block, team);
}

ISOTOPE_MAIN(argc, argv) {
  World world = init();
  auto bins = world.alloc_zeroed<std::uint32_t>(kBinsPerPe);
  auto largest = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<count>({.grid = 1, .block = 256}, world.team(), bins.span(), largest.data());
  world.synchronize();

  const auto all = kBinsPerPe * static_cast<std::uint32_t>(world.size());
  std::vector<std::uint32_t> expected(all);
  for (int pe = 0; pe < world.size(); ++pe)
    for (std::uint64_t i = 0; i < kSamples; ++i) ++expected[sample(pe, i, all)];
  const std::vector<std::uint32_t> found = bins.read();
  for (std::uint32_t i = 0; i < kBinsPerPe; ++i) {
    const std::uint32_t bin = kBinsPerPe * static_cast<std::uint32_t>(world.rank()) + i;
    if (found[i] != expected[bin]) {
      std::fprintf(stderr, "bin %u has %u, expected %u\n", bin, found[i], expected[bin]);
      return 1;
    }
  }
  if (world.rank() == 0) {
    const auto [bin, samples] = unpack<std::uint32_t>(largest.get(0)).data;
    if (samples != expected[bin]) return 1;
    std::printf("%u bins on %d PEs; the fullest is bin %u with %u samples\n", all, world.size(), bin, samples);
  }
  return 0;
}
