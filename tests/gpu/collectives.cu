// Collectives as a GPU runs them: every algorithm from the host and on a stream, some from inside kernels and from a
// graph of launches. The same program runs on the CPU. Run as a job; prints what failed and one line at the end.
#include <cstdio>
#include <string>
#include <vector>

#include "isotope/host/choice.hpp"
#include "isotope/isotope.hpp"

namespace gpu_collectives {

using namespace isotope;

int checks = 0, failures = 0;

void expect(const World& world, bool good, const std::string& what) {
  __atomic_add_fetch(&checks, 1, __ATOMIC_RELAXED);
  if (good) return;
  __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
  std::printf("PE %d: FAILED: %s\n", world.rank(), what.c_str());
}

int value(int pe, std::size_t i, int round) { return static_cast<int>(i % 1000) + pe * 1001 + round * 17; }

/// One PE's buffers, and what they hold.
struct Buffers {
  World& world;
  Symmetric<float> src, dst;
  std::size_t most;

  Buffers(World& w, std::size_t n) : world(w), src(w.alloc<float>(n)), dst(w.alloc<float>(n)), most(n) {}
  void fill(std::size_t n, int round) const {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(value(world.rank(), i, round));
    src.write(values);
    dst.write(std::vector<float>(most, -1.0f));
    world.barrier();
  }
  template <class Expected>
  void check(std::size_t n, const std::string& what, Expected expected) const {
    const auto got = dst.read();
    std::size_t wrong = n;
    for (std::size_t i = n; i-- > 0;)
      if (got[i] != static_cast<float>(expected(i))) wrong = i;
    const bool past = n < most && got[n] != -1.0f;
    expect(world, wrong == n && !past,
           what + " of " + std::to_string(n) + (past ? " wrote past its end" : ", element " + std::to_string(wrong)));
    world.barrier();
  }
};

void from_the_host(World& world, Collectives& coll, std::size_t n) {
  const int pes = world.size(), me = world.rank();
  const auto all = static_cast<std::size_t>(pes) * n;
  const Buffers b(world, all + 1);
  const auto sum = [&](std::size_t i, int round) {
    int total = 0;
    for (int k = 0; k < pes; ++k) total += value(k, i, round);
    return total;
  };
  int round = 0;
  for (const Algo algo : algorithms_of(Collective::all_reduce)) {
    b.fill(n, ++round);
    coll.all_reduce(b.dst.data(), b.src.data(), n, ReduceOp::add, {.algo = algo});
    b.check(n, std::string("all_reduce ") + name_of(algo), [&](std::size_t i) { return sum(i, round); });
    b.fill(n, ++round);
    coll.all_reduce(b.dst.data(), b.src.data(), n, ReduceOp::max, {.algo = algo});
    b.check(n, std::string("all_reduce max ") + name_of(algo), [&](std::size_t i) { return value(pes - 1, i, round); });
  }
  for (const Algo algo : algorithms_of(Collective::reduce_scatter)) {
    b.fill(all, ++round);
    coll.reduce_scatter(b.dst.data(), b.src.data(), n, ReduceOp::add, {.algo = algo});
    b.check(n, std::string("reduce_scatter ") + name_of(algo),
            [&](std::size_t i) { return sum(static_cast<std::size_t>(me) * n + i, round); });
  }
  for (const Algo algo : algorithms_of(Collective::all_gather)) {
    b.fill(n, ++round);
    coll.all_gather(b.dst.data(), b.src.data(), n, {.algo = algo});
    b.check(all, std::string("all_gather ") + name_of(algo),
            [&](std::size_t i) { return value(static_cast<int>(i / n), i % n, round); });
  }
  for (const Algo algo : algorithms_of(Collective::all_to_all)) {
    b.fill(all, ++round);
    coll.all_to_all(b.dst.data(), b.src.data(), n, {.algo = algo});
    b.check(all, std::string("all_to_all ") + name_of(algo), [&](std::size_t i) {
      return value(static_cast<int>(i / n), static_cast<std::size_t>(me) * n + i % n, round);
    });
  }
  for (const Algo algo : algorithms_of(Collective::broadcast)) {
    const int root = ++round % pes;
    b.fill(n, round);
    coll.broadcast(b.dst.data(), b.src.data(), n, root, {.algo = algo});
    b.check(n, std::string("broadcast ") + name_of(algo), [&](std::size_t i) { return value(root, i, round); });
  }
  b.fill(n, ++round);
  coll.exclusive_scan(b.dst.data(), b.src.data(), n);
  b.check(n, "exclusive_scan", [&](std::size_t i) {
    int total = 0;
    for (int k = 0; k < me; ++k) total += value(k, i, round);
    return total;
  });
}

/// Many calls on a stream without waiting in between, of several algorithms on the same channels.
void back_to_back(World& world, Collectives& coll) {
  constexpr std::size_t kCount = 5003;
  const int pes = world.size();
  const Buffers b(world, kCount);
  Stream stream = world.create_stream();
  b.fill(kCount, 1);
  // Averages of averages: all equal after the first, and stay so.
  constexpr Algo kInTurn[] = {Algo::lamport, Algo::two_shot, Algo::one_shot, Algo::lamport,
                              Algo::ring,    Algo::ll16,     Algo::lamport};
  on_stream::all_reduce(coll, stream, b.dst.data(), b.src.data(), kCount, ReduceOp::max);
  for (int i = 0; i < 70; ++i)
    on_stream::all_reduce(coll, stream, b.dst.data(), b.dst.data(), kCount, ReduceOp::max, {.algo = kInTurn[i % 7]});
  stream.synchronize();
  b.check(kCount, "70 all_reduces in a row", [&](std::size_t i) { return value(pes - 1, i, 1); });
}

#if ISOTOPE_GPU_COMPILER
/// Calls that are captured once and replayed, with other data each time: slots, rounds and counts go on from replay to
/// replay.
void from_a_graph(World& world, Collectives& coll) {
  constexpr std::size_t kCount = 3001;
  const auto pes = static_cast<std::size_t>(world.size());
  const Buffers b(world, kCount * pes);
  const auto parts = world.alloc<float>(kCount), lengths = world.alloc<float>(kCount * pes);
  const auto total = world.alloc_zeroed<std::uint64_t>(1);
  cudaStream_t stream;
  expect(world, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream for a graph");
  {
    Stream wrapped = world.wrap_stream(stream);
    const auto enqueue = [&] {
      // Largest of largest: the same after the first.
      for (const Algo algo : {Algo::ll8, Algo::lamport, Algo::two_shot, Algo::ring, Algo::lamport, Algo::automatic})
        on_stream::all_reduce(coll, wrapped, parts.data(), algo == Algo::ll8 ? b.src.data() : parts.data(), kCount,
                              ReduceOp::max, {.algo = algo});
      on_stream::all_gather(coll, wrapped, b.dst.data(), b.src.data(), kCount);
      on_stream::collect(coll, wrapped, lengths.data(), b.src.data(),
                         kCount / 2 + static_cast<std::size_t>(world.rank()), total.data());
    };
    b.fill(kCount, 0);
    enqueue();  // what is done once, at a first call
    wrapped.synchronize();
    world.barrier();
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    enqueue();
    cudaStreamEndCapture(stream, &graph);
    expect(world, cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess, "a graph of collectives");
    cudaGraphUpload(replay, stream);
    wrapped.synchronize();
    for (int round = 1; round <= 6; ++round) {
      b.fill(kCount, round);
      total.set(0, 0);
      cudaGraphLaunch(replay, stream);
      if (round % 2 == 0) cudaGraphLaunch(replay, stream);  // the same again, without the host in between
      wrapped.synchronize();
      b.check(kCount * pes, "all_gather from a graph",
              [&](std::size_t i) { return value(static_cast<int>(i / kCount), i % kCount, round); });
      const auto largest = parts.read();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kCount; ++i)
        wrong += largest[i] != static_cast<float>(value(world.size() - 1, i, round)) ? 1 : 0;
      expect(world, wrong == 0, "all_reduces from a graph: " + std::to_string(wrong) + " elements are wrong");
      expect(world, total.get(0) == kCount / 2 * pes + pes * (pes - 1) / 2, "collect from a graph: how much came");
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  }
  cudaStreamDestroy(stream);
}
#endif  // ISOTOPE_GPU_COMPILER

/// Results of up to megabytes, which go through shared memory where buffers are aligned (collective/landed.hpp): with
/// every other member's result not aligned, who takes the ordinary way beside the others; several calls in a row, the
/// last one in place.
template <class T>
void scattered_sums(World& world, Collectives& coll, const char* type) {
  constexpr std::size_t kSizes[] = {16,     4096, 33 * 128, 100 * 1000, 511 * 1024 + 16, 1 << 20, (1 << 20) + 4096,
                                    2 << 20};
  constexpr std::size_t kMost = (2 << 20) / sizeof(T);
  const int pes = world.size(), me = world.rank();
  const auto src = world.alloc<T>(kMost * static_cast<std::size_t>(pes)), dst = world.alloc<T>(kMost + 8);
  Stream stream = world.create_stream();
  const auto small = [](int pe, std::size_t i) {
    return static_cast<float>((i * 7 + static_cast<std::size_t>(pe) * 13) % 31);
  };
  for (const std::size_t bytes : kSizes) {
    const std::size_t n = bytes / sizeof(T), first = static_cast<std::size_t>(me) * n;
    for (const bool skewed : {false, true}) {
      std::vector<T> values(n * static_cast<std::size_t>(pes));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = T(small(me, i));
      src.write(values);
      dst.write(std::vector<T>(dst.size(), T(-1.0f)));
      world.barrier();
      T* to = dst.data() + (skewed && me % 2 == 1 ? 1 : 0);
      for (int call = 0; call < 5; ++call) {
        T* result = call == 4 ? src.data() + first : to;
        on_stream::reduce_scatter(coll, stream, result, src.data(), n, ReduceOp::add, {.algo = Algo::pull});
      }
      stream.synchronize();
      const auto got = dst.read();
      const auto in_place = src.read();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < n; ++i) {
        float sum = 0;
        for (int pe = 0; pe < pes; ++pe) sum += small(pe, first + i);
        if (static_cast<float>(got[i + static_cast<std::size_t>(to - dst.data())]) != sum ||
            static_cast<float>(in_place[first + i]) != sum)
          ++wrong;
      }
      for (std::size_t i = n + static_cast<std::size_t>(to - dst.data()); i < got.size(); ++i)
        wrong += static_cast<float>(got[i]) != -1.0f ? 1 : 0;
      expect(world, wrong == 0,
             std::string("reduce_scatter of ") + type + ", " + std::to_string(bytes) + " bytes" +
                 (skewed ? ", not all aligned: " : ": ") + std::to_string(wrong) + " elements are wrong");
      world.barrier();
    }
  }
}

ISOTOPE_KERNEL void fused(Team team, Workspace workspace, float* dst, const float* src, std::size_t n, int rounds) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const std::size_t mine = n / block.grid_size(), at = mine * block.rank();
  for (int i = 0; i < rounds; ++i)
    if (!all_reduce<ReduceOp::add, Accumulate::wide, Algo::lamport>(block, team, channel, dst + at, src + at, mine))
      return;
  if (!all_reduce<ReduceOp::add, Accumulate::wide, Algo::two_shot>(this_grid(), team, workspace, dst, src, n)) return;
}

void inside_a_kernel(World& world, Collectives& coll) {
  constexpr std::size_t kCount = 4096;
  const Buffers b(world, kCount);
  b.fill(kCount, 3);
  world.launch<fused, 256>({.grid = 2, .block = 256}, coll.team(), coll.workspace(), b.dst.data(), b.src.data(), kCount,
                           20);
  world.synchronize();
  b.check(kCount, "all_reduce in a kernel", [&](std::size_t i) {
    int total = 0;
    for (int k = 0; k < world.size(); ++k) total += value(k, i, 3);
    return total;
  });
}

/// Sums of two words whose elements are `a` and, one after the other, all other values: compared with what f32 makes of
/// them.
template <class T>
ISOTOPE_KERNEL void add_all_pairs(std::uint32_t a_first, std::uint32_t a_step, std::uint64_t* wrong,
                                  std::uint64_t* example) {
  const Block block = this_block();
  const std::uint32_t rank = block.rank() * block.size() + block.thread_rank(),
                      threads = block.grid_size() * block.size();
  for (std::uint32_t a = a_first; a < 0x10000; a += a_step) {
    for (std::uint32_t b = rank * 8; b < 0x10000; b += threads * 8) {
      Bits128 values[2] = {};
      for (std::uint32_t i = 0; i < 8; ++i) {
        detail::set_lane(values[0], i, static_cast<std::uint16_t>(a));
        detail::set_lane(values[1], i, static_cast<std::uint16_t>(b + i));
      }
      const Bits128 sums = detail::fold_word(Reduction<T, ReduceOp::add>{}, values, 2);
      for (std::uint32_t i = 0; i < 8; ++i) {
        const auto other = static_cast<std::uint16_t>(b + i);
        const T expected(static_cast<float>(T::from_bits(static_cast<std::uint16_t>(a))) +
                         static_cast<float>(T::from_bits(other)));
        if (detail::lane<std::uint16_t>(sums, i) == expected.bits) continue;
        fetch_add(wrong, std::uint64_t{1}, Order::relaxed, Scope::device);
        store(example, std::uint64_t{a} << 32 | other);
      }
    }
  }
}

/// A GPU adds 16-bit floats of two members without the way through f32. All pairs of values there are.
template <class T>
void same_bits_as_through_f32(World& world, const char* type) {
  const auto found = world.alloc_zeroed<std::uint64_t>(2);
  world.launch<add_all_pairs<T>, 256>({.grid = 8, .block = 256}, static_cast<std::uint32_t>(world.rank()),
                                      static_cast<std::uint32_t>(world.size()), found.data(), found.data() + 1);
  world.synchronize();
  const auto got = found.read();
  expect(world, got[0] == 0,
         std::string(type) + ": " + std::to_string(got[0]) + " sums of two differ from f32's, one of " +
             std::to_string(got[1] >> 32) + " and " + std::to_string(got[1] & 0xffff) + " (bits)");
}

}  // namespace gpu_collectives

ISOTOPE_MAIN(argc, argv) {
  using namespace gpu_collectives;
  (void)argc, (void)argv;
  World world = init();
  Collectives coll(world);
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1021}, std::size_t{70001}})
    from_the_host(world, coll, n);
  back_to_back(world, coll);
  inside_a_kernel(world, coll);
  scattered_sums<float>(world, coll, "f32");
  scattered_sums<bf16>(world, coll, "bf16");
  // Where kernels run on the CPU both ways are one.
  if (world.drives_gpu()) {
#if ISOTOPE_GPU_COMPILER
    from_a_graph(world, coll);
#endif  // ISOTOPE_GPU_COMPILER
    same_bits_as_through_f32<f16>(world, "f16");
    same_bits_as_through_f32<bf16>(world, "bf16");
  }
  world.barrier();
  if (world.rank() == 0)
    std::printf("%d PEs on %s: %d checks, %d failed\n", world.size(), world.drives_gpu() ? "a GPU" : "the CPU", checks,
                failures);
  return failures == 0 ? 0 : 1;
}
