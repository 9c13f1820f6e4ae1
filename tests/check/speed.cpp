// How many accesses a second the checker takes on one core: of a thread's own data, of symmetric memory that one thread
// uses, and of words that threads hand to each other. bin/check_speed [SEED]; in every second schedule loads may see
// older values, which costs atomics some. docs/checker.md has the figures.
#include <isotope/host/check.hpp>
#include <isotope/isotope.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace isotope;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

__attribute__((noinline)) void touch(volatile int* words, int count, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) words[i] = words[i] + 1;
  }
}

ISOTOPE_KERNEL void own_data(int rounds) {
  int words[256] = {};
  const double start = seconds();
  touch(words, 256, rounds);
  std::printf("own data: %.1f million accesses/s\n", 2.0 * 256 * rounds / (seconds() - start) * 1e-6);
}

ISOTOPE_KERNEL void symmetric_data(Span<int> data, int rounds) {
  const double start = seconds();
  touch(data.data(), static_cast<int>(data.size()), rounds);
  std::printf("symmetric memory, one thread: %.1f million accesses/s\n",
              2.0 * static_cast<double>(data.size()) * rounds / (seconds() - start) * 1e-6);
}

ISOTOPE_KERNEL void shared_data(Span<int> data, int rounds) {
  const Block block = this_block();
  const double start = seconds();
  for (int round = 0; round < rounds; ++round) {
    // Each round the words belong to another thread.
    const std::size_t part = data.size() / block.size();
    const std::size_t first = (block.thread_rank() + static_cast<std::size_t>(round)) % block.size() * part;
    touch(data.data() + first, static_cast<int>(part), 1);
    block.sync();
  }
  if (block.is_leader())
    std::printf("symmetric memory, threads in turn: %.1f million accesses/s\n",
                2.0 * static_cast<double>(data.size()) * rounds / (seconds() - start) * 1e-6);
}

ISOTOPE_KERNEL void atomic_data(Team team, std::uint64_t* word, int rounds) {
  const double start = seconds();
  std::uint64_t* there = team.at(word, 0);
  for (int i = 0; i < rounds; ++i) fetch_add(there, 1);
  if (team.rank() == 0)
    std::printf("atomics of all PEs on one word: %.2f million/s\n", team.size() * rounds / (seconds() - start) * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const CheckResult result = run_checked({.pes = 2, .seed = seed}, [] {
    World world = init();
    auto data = world.alloc_zeroed<int>(4096);
    auto word = world.alloc_zeroed<std::uint64_t>(1);
    if (world.rank() == 0) {
      world.launch<own_data>({}, 20'000);
      world.launch<symmetric_data>({}, data.span(), 500);
      world.launch<shared_data>({.block = 4}, data.span(), 500);
      world.synchronize();
    }
    world.barrier();
    world.launch<atomic_data>({}, world.team(), word.data(), 100'000);
    world.synchronize();
  });
  if (result.found) std::printf("%s\n", result.report.c_str());
  return result.found ? 1 : 0;
}
