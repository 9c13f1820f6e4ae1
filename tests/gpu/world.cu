// The runtime on a GPU: memory, teams, launches, streams, faults. Run as a job: isotope run -n N [--threads] --platform
// cuda. Prints one line per check that failed and "PE r of n: k checks, f failed" at the end; exits with 1 when one
// did.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "checks.hpp"
#include "isotope/isotope.hpp"
#include "launch_kinds.hpp"
#include "raw_kernels.hpp"

namespace gpu_world {

using namespace isotope;

using namespace gpu_checks;

ISOTOPE_KERNEL void ring(Team team, Span<int> out, Span<const int> in, Epoch arrived) {
  const auto block = this_block();
  const std::uint64_t round = arrived.next(block);
  put_signal(block, team, out, in, arrived.signal(), 1, SignalOp::add, (team.rank() + 1) % team.size());
  if (!wait_until(block, team, arrived.signal(), Cmp::ge, round)) return;
}

ISOTOPE_KERNEL void count_up(Team team, Span<int> values) {
  const auto block = this_block();
  for (std::size_t i = block.thread_rank() + block.rank() * block.size(); i < values.size();
       i += block.size() * block.grid_size())
    values[i] += static_cast<int>(i) + team.rank();
}

ISOTOPE_KERNEL void barriers(Team team, Span<int> counts, int rounds) {
  const auto block = this_block();
  for (int i = 0; i < rounds; ++i) {
    if (!barrier(block, team)) return;
    if (block.is_leader()) counts[0] += 1;
  }
}

ISOTOPE_KERNEL void gather_ranks(Team team, Span<int> found) {
  const auto self = this_thread();
  for (int r = 0; r < team.size(); ++r) p(team, found.data() + team.rank(), team.world_rank(team.rank()) + 100, r);
  barrier(self, team);
}

ISOTOPE_KERNEL void wait_for_nobody(Team team, Signal* flag) { wait_until(this_block(), team, flag, Cmp::ge, 7); }

ISOTOPE_KERNEL void spin_until(Team team, Signal* flag) { wait_until(this_thread(), team, flag, Cmp::ge, 1); }

ISOTOPE_KERNEL void raise(Team team, Signal* flag, int to) { signal(this_thread(), team, flag, 1, SignalOp::set, to); }

void memory(World& world) {
  auto x = world.alloc_zeroed<int>(1000);
  expect(x.read() == std::vector<int>(1000, 0), "zeroed memory is zero");
  std::vector<int> mine(1000);
  for (int i = 0; i < 1000; ++i) mine[static_cast<std::size_t>(i)] = i * 7 + world.rank();
  x.write(mine);
  expect(x.read() == mine, "what was written is read");
  expect(x.get(5) == mine[5], "one element");
  message_of([&] { x.read(990, 11); }, Code::out_of_range);
  const std::string refused = message_of([&] { x[0] = 1; }, Code::not_supported);
  expect(says(refused, "read()"), "the refusal says what to do");
  // Grows: three pieces of 100 MB, freed, and again.
  for (int round = 0; round < 3; ++round) {
    auto a = world.alloc_zeroed<char>(100 << 20), b = world.alloc<char>(100 << 20);
    expect(a.get((100 << 20) - 1) == 0, "the end of grown memory");
    b.set((100 << 20) - 1, 3);
    expect(b.get((100 << 20) - 1) == 3, "the end of other grown memory");
    world.free(a);
    world.free(b);
  }
  const std::string full = message_of([&] { world.alloc<char>(std::size_t{300} << 30); }, Code::out_of_heap);
  expect(says(full, "free"), full);
  expect(x.read() == mine, "the first object is as it was");
}

void messages(World& world) {
  auto in = world.alloc<int>(5000), out = world.alloc<int>(5000);
  auto arrived = world.alloc_epoch();
  const int left = (world.rank() + world.size() - 1) % world.size();
  for (int round = 0; round < 20; ++round) {
    std::vector<int> mine(5000), theirs(5000);
    for (int i = 0; i < 5000; ++i) {
      mine[static_cast<std::size_t>(i)] = i * 3 + round + world.rank() * 100000;
      theirs[static_cast<std::size_t>(i)] = i * 3 + round + left * 100000;
    }
    in.write(mine);
    world.launch<ring>({.grid = 1, .block = 256}, world.team(), out.span(), in.span(), arrived.get());
    world.synchronize();
    expect(out.read() == theirs, "a ring's round");
    world.barrier();
  }
}

void teams(World& world) {
  auto counts = world.alloc_zeroed<int>(1);
  world.launch<barriers>({.grid = 1, .block = 64}, world.team(), counts.span(), 500);
  world.synchronize();
  expect(counts.get(0) == 500, "500 barriers");
  auto found = world.alloc_zeroed<int>(static_cast<std::size_t>(world.size()));
  // All PEs in another order that is no arithmetic sequence (from 4 on): a table on the GPU.
  std::vector<int> order;
  for (int r = 1; r < world.size(); r += 2) order.push_back(r);
  for (int r = 0; r < world.size(); r += 2) order.push_back(r);
  OwnedTeam listed = world.split_list(world.team(), order);
  world.launch<gather_ranks>({}, listed.team(), found.span());
  world.synchronize();
  std::vector<int> expected;
  for (const int r : order) expected.push_back(r + 100);
  expect(found.read() == expected, "a listed team reaches its members");
  if (world.size() > 2) {
    OwnedTeam odd = world.split_strided(world.team(), 1, 2, world.size() / 2);
    if (odd) {
      world.launch<gather_ranks>({}, odd.team(), found.span());
      world.synchronize();
      for (int i = 0; i < odd.size(); ++i)
        expect(found.get(static_cast<std::size_t>(i)) == 2 * i + 101, "a strided team");
    }
  }
  world.barrier();
}

void streams(World& world) {
  auto values = world.alloc_zeroed<int>(10000);
  Stream side = world.create_stream();
  world.launch<count_up>({.grid = 4, .block = 128, .stream = side}, world.team(), values.span());
  Event done = side.record();
  world.stream().wait(done);
  int called = 0;
  world.stream().call([&] { called = 1; });
  world.launch<count_up>({.grid = 4, .block = 128}, world.team(), values.span());
  world.synchronize();
  expect(done.finished() && called == 1, "event and callback");
  bool right = true;
  const std::vector<int> found = values.read();
  for (int i = 0; i < 10000; ++i) right = right && found[static_cast<std::size_t>(i)] == 2 * (i + world.rank());
  expect(right, "two launches in order");
  world.stream().call([] { throw std::runtime_error("the callback threw"); });
  expect(says(message_of([&] { world.synchronize(); }, Code::kernel_failed), "the callback threw"),
         "a callback's exception");

  cudaStream_t theirs;
  expect(cudaStreamCreateWithFlags(&theirs, cudaStreamNonBlocking) == cudaSuccess, "a stream of the user's");
  {
    Stream wrapped = world.wrap_stream(theirs);
    world.launch<count_up>({.grid = 1, .block = 32, .stream = wrapped}, world.team(), values.span());
    wrapped.synchronize();
    expect(values.get(9) == 3 * (9 + world.rank()), "a launch on the user's stream");
    // A graph that is replayed goes on counting.
    auto counts = world.alloc_zeroed<int>(1);
    world.barrier();
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaStreamBeginCapture(theirs, cudaStreamCaptureModeThreadLocal);
    world.launch<barriers>({.grid = 1, .block = 32, .stream = wrapped}, world.team(), counts.span(), 3);
    cudaStreamEndCapture(theirs, &graph);
    expect(cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess, "a graph of a launch");
    // Making a graph may wait for the whole GPU: nobody's kernels wait for anybody until all have made theirs.
    cudaGraphUpload(replay, theirs);
    wrapped.synchronize();
    world.barrier();
    for (int i = 0; i < 5; ++i) cudaGraphLaunch(replay, theirs);
    wrapped.synchronize();
    expect(counts.get(0) == 15, "five replays of three barriers");
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  }
  world.barrier();
}

void refusals(World& world) {
  const std::string many =
      message_of([&] { world.launch<count_up>({.grid = 1u << 20, .block = 256}, world.team(), Span<int>()); },
                 Code::invalid_argument);
  expect(says(many, "1048576 blocks") && says(many, "multiprocessors"), many);
  world.launch<count_up>({.grid = 1u << 12, .block = 256, .resident = false}, world.team(), Span<int>());
  message_of([&] { world.launch<count_up>({.grid = 1, .block = 2048}, world.team(), Span<int>()); },
             Code::invalid_argument);
  message_of([&] { world.wrap_stream(nullptr); }, Code::invalid_argument);
  world.synchronize();
  world.barrier();
}

void waits_end(World& world) {
  auto flag = world.alloc_zeroed<Signal>(1);
  const auto began = std::chrono::steady_clock::now();
  world.launch<wait_for_nobody>({.grid = 2, .block = 64}, world.team(), flag.data());
  const std::string late = message_of([&] { world.synchronize(); }, Code::timeout);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  expect(took > 0.9 && took < 4, "the deadline of 1 s took " + std::to_string(took) + " s");
  expect(says(late, "wait_until") && says(late, "world.cu") && says(late, ">= 7") && says(late, "symmetric object"),
         late);
  // The context lives on, and so does the team.
  world.barrier();
  auto counts = world.alloc_zeroed<int>(1);
  world.launch<barriers>({.grid = 1, .block = 64}, world.team(), counts.span(), 3);
  world.synchronize();
  expect(counts.get(0) == 3, "barriers after a fault");
  world.barrier();
}

// A kernel behind a wait that gave up does nothing, though nobody has been told yet.
void nothing_leaves_after_giving_up(World& world) {
  auto flag = world.alloc_zeroed<Signal>(1), canary = world.alloc_zeroed<Signal>(1);
  auto data = world.alloc_zeroed<int>(100);
  world.launch<wait_for_nobody>({.grid = 1, .block = 64}, world.team(), flag.data());
  world.launch<raise>({}, world.team(), canary.data(), (world.rank() + 1) % world.size());
  on_stream::signal(world, {}, world.team(), canary.data(), 5, SignalOp::add, (world.rank() + 1) % world.size());
  message_of([&] { world.synchronize(); }, Code::timeout);
  world.barrier();
  expect(canary.get(0).value == 0, "nothing left a PE after its wait gave up");
  world.barrier();
}

void stream_calls(World& world) {
  const int size = world.size(), right = (world.rank() + 1) % size, left = (world.rank() + size - 1) % size;
  constexpr std::size_t kCount = 300001;  // several blocks, and a ragged end
  auto from = world.alloc<int>(kCount), to = world.alloc_zeroed<int>(kCount), back = world.alloc_zeroed<int>(kCount);
  auto flag = world.alloc_zeroed<Signal>(1);
  std::vector<int> mine(kCount), theirs(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    mine[i] = static_cast<int>(i) * 5 + world.rank();
    theirs[i] = static_cast<int>(i) * 5 + left;
  }
  from.write(mine);
  world.barrier();
  Stream stream = world.create_stream();
  on_stream::put(world, stream, world.team(), to.data(), from.data(), kCount, right);
  on_stream::signal(world, stream, world.team(), flag.data(), 3, SignalOp::add, right);
  on_stream::wait(world, stream, world.team(), flag.data(), Cmp::ge, 3, left);
  on_stream::barrier(world, stream, world.team());
  on_stream::get(world, stream, world.team(), back.data(), to.data(), kCount, right);
  on_stream::quiet(world, stream, world.team());
  stream.synchronize();
  expect(to.read() == theirs, "a put on a stream");
  expect(back.read() == mine, "what came back by a get on a stream");
  world.barrier();
}

// While the kernel of PE 1 waits for PE 0, PE 0 does everything that could wait for the whole GPU.
void nothing_waits_for_the_device(World& world) {
  if (world.size() < 2) return;
  auto flag = world.alloc_zeroed<Signal>(1);
  if (world.rank() == 1) world.launch<spin_until>({}, world.team(), flag.data());
  world.barrier();
  auto grown = world.alloc_zeroed<char>(200 << 20);
  grown.set(0, 1);
  OwnedTeam split = world.split_strided(world.team(), 0, 1, world.size());
  Stream side = world.create_stream();
  if (world.rank() == 0) {
    world.launch<raise>({.stream = side}, world.team(), flag.data(), 1);
    side.synchronize();
  }
  world.synchronize();
  world.barrier();
}

int run(World& world) {
  t_rank = world.rank();
  expect(world.drives_gpu(), "the World drives a GPU");
  memory(world);
  messages(world);
  teams(world);
  streams(world);
  refusals(world);
  cooperative_launch(world);
  cluster_launch(world);
  stream_calls(world);
  nothing_waits_for_the_device(world);
  waits_end(world);
  nothing_leaves_after_giving_up(world);
  raw_kernels(world);
  return verdict(world);
}

ISOTOPE_KERNEL void trap(Team, int* nowhere) { *nowhere = 1; }

// The last PE dies, by a signal or by its kernel, while the kernels of the others wait for it. All of them must learn
// it soon; with PEs as threads, or under MPS, a kernel's fault takes the GPU from all of them.
int die(World& world, const std::string& how) {
  t_rank = world.rank();
  auto flag = world.alloc_zeroed<Signal>(1);
  world.barrier();
  const bool victim = world.rank() == world.size() - 1;
  const auto began = std::chrono::steady_clock::now();
  try {
    if (!victim) {
      world.launch<wait_for_nobody>({.grid = 1, .block = 32}, world.team(), flag.data());
    } else if (how == "kill") {
      ::raise(SIGKILL);
    } else {
      world.launch<trap>({}, world.team(), static_cast<int*>(nullptr));
    }
    world.synchronize();
    std::printf("PE %d: FAILED: no error\n", world.rank());
  } catch (const Error& error) {
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    // Under MPS the whole server may go with the dead PE; who learns of that first says so.
    const bool named = how == "trap" || error.peer() == world.size() - 1 || error.code() == Code::kernel_failed;
    std::printf("PE %d: after %.2f s (%s) %s: %s\n", world.rank(), took,
                took >= 2 ? "FAILED: late"
                : named   ? "in time"
                          : "FAILED: another is blamed",
                code_name(error.code()), error.what());
    throw;
  }
  return 0;
}

}  // namespace gpu_world

ISOTOPE_MAIN(argc, argv) {
  const std::string how = argc > 1 ? argv[1] : "checks";
  isotope::InitOptions options;
  options.wait_deadline = std::chrono::seconds(how == "checks" ? 1 : 30);
  isotope::World world = isotope::init(options);
  return how == "checks" ? gpu_world::run(world) : gpu_world::die(world, how);
}
