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
class Captured {
 public:
  Captured(World& world, Collectives& coll)
      : world_(world),
        coll_(coll),
        pes_(static_cast<std::size_t>(world.size())),
        src_(world.alloc<float>(kCount * pes_)),
        sums_(world.alloc<float>(kCount * std::size(kAlgos))),
        root_(world.alloc<float>(kCount)),
        scans_(world.alloc<float>(2 * kCount)),
        gathered_(world.alloc<float>(kCount * pes_)),
        collected_(world.alloc<float>(kCount * pes_)),
        exchanged_(world.alloc<float>(kCount * pes_)),
        total_(world.alloc_zeroed<std::uint64_t>(1)),
        counts_(world.alloc<std::uint64_t>(pes_)),
        offsets_(world.alloc<std::uint64_t>(pes_)) {
    std::vector<std::uint64_t> counts(pes_), offsets(pes_);
    for (std::size_t k = 0; k < pes_; ++k) counts[k] = sent(world.rank(), static_cast<int>(k)), offsets[k] = k * 100;
    counts_.write(counts);
    offsets_.write(offsets);
  }

  void enqueue(const Stream& stream) {
    float* sums = sums_.data();
    for (const Algo algo : kAlgos) {
      on_stream::all_reduce(coll_, stream, sums, src_.data(), kCount, ReduceOp::add, {.algo = algo});
      sums += kCount;
    }
    on_stream::reduce(coll_, stream, root_.data(), src_.data(), kCount, ReduceOp::add, 0);
    on_stream::barrier(world_, stream, world_.team());
    on_stream::inclusive_scan(coll_, stream, scans_.data(), src_.data(), kCount);
    on_stream::exclusive_scan(coll_, stream, scans_.data() + kCount, src_.data(), kCount);
    on_stream::all_gather(coll_, stream, gathered_.data(), src_.data(), kCount);
    on_stream::sync(world_, stream, world_.team(), 1);
    on_stream::collect(coll_, stream, collected_.data(), src_.data(), brought(world_.rank()), total_.data());
    on_stream::all_to_all_v(coll_, stream, exchanged_.data(), offsets_.data(), src_.data(), counts_.data(),
                            offsets_.data());
  }

  void fill(int round) {
    std::vector<float> values(kCount * pes_);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = of(world_.rank(), i, round);
    src_.write(values);
    for (const Symmetric<float>* out : {&sums_, &root_, &scans_, &gathered_, &collected_, &exchanged_})
      out->write(std::vector<float>(out->size(), kNothing));
    total_.set(0, 0);
    world_.barrier();
  }

  void check(int round) {
    const int pes = world_.size(), me = world_.rank();
    const auto sum = [&](int members, std::size_t i) {
      float total = 0;
      for (int k = 0; k < members; ++k) total += of(k, i, round);
      return total;
    };
    expect_all(sums_, "all_reduces", [&](std::size_t i) { return sum(pes, i % kCount); });
    expect_all(root_, "reduce", [&](std::size_t i) { return me == 0 ? sum(pes, i) : kNothing; });
    expect_all(scans_, "scans", [&](std::size_t i) { return i < kCount ? sum(me + 1, i) : sum(me, i - kCount); });
    expect_all(gathered_, "all_gather",
               [&](std::size_t i) { return of(static_cast<int>(i / kCount), i % kCount, round); });
    expect_all(collected_, "collect", [&](std::size_t i) {
      for (int k = 0; k < pes; i -= brought(k++))
        if (i < brought(k)) return of(k, i, round);
      return kNothing;
    });
    expect_all(exchanged_, "all_to_all_v", [&](std::size_t i) {
      const auto from = i / 100;
      const bool comes = from < pes_ && i % 100 < sent(static_cast<int>(from), me);
      return comes ? of(static_cast<int>(from), static_cast<std::size_t>(me) * 100 + i % 100, round) : kNothing;
    });
    std::uint64_t all = 0;
    for (int k = 0; k < pes; ++k) all += brought(k);
    expect(world_, total_.get(0) == all, "collect from a graph: how much came");
    world_.barrier();
  }

 private:
  static constexpr std::size_t kCount = 3001;
  static constexpr float kNothing = -1;
  static constexpr Algo kAlgos[] = {Algo::ll8,  Algo::lamport, Algo::two_shot, Algo::ring,
                                    Algo::ll16, Algo::lamport, Algo::automatic};
  static float of(int pe, std::size_t i, int round) { return static_cast<float>(value(pe, i, round)); }
  static std::size_t brought(int pe) { return kCount / 2 + static_cast<std::size_t>(pe); }
  static std::uint64_t sent(int from, int to) { return static_cast<std::uint64_t>(20 + 3 * from + to); }

  template <class Expected>
  void expect_all(const Symmetric<float>& found, const char* what, const Expected& expected) const {
    const std::vector<float> values = found.read();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != expected(i) ? 1 : 0;
    expect(world_, wrong == 0, std::string(what) + " from a graph: " + std::to_string(wrong) + " elements are wrong");
  }

  World& world_;
  Collectives& coll_;
  std::size_t pes_;
  Symmetric<float> src_, sums_, root_, scans_, gathered_, collected_, exchanged_;
  Symmetric<std::uint64_t> total_, counts_, offsets_;
};

void from_a_graph(World& world, Collectives& coll) {
  Captured calls(world, coll);
  cudaStream_t stream;
  expect(world, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream for a graph");
  {
    Stream wrapped = world.wrap_stream(stream);
    calls.fill(0);
    calls.enqueue(wrapped);  // what is done once, at a first call
    wrapped.synchronize();
    calls.check(0);
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    const bool begun = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    calls.enqueue(wrapped);
    expect(world, begun && cudaStreamEndCapture(stream, &graph) == cudaSuccess, "collectives are captured");
    expect(world, cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess, "a graph of collectives");
    cudaGraphUpload(replay, stream);
    wrapped.synchronize();
    world.barrier();
    for (int round = 6; round > 0; --round) {
      calls.fill(round);
      cudaGraphLaunch(replay, stream);
      if (round % 2 == 0) cudaGraphLaunch(replay, stream);  // the same again, without the host in between
      wrapped.synchronize();
      calls.check(round);
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
