// Collectives from inside kernels, by a block of several threads, a warp and a grid, by every algorithm; those of
// different lengths; symm_all_reduce; and the small kernels behind on_stream: for the checker.
#include <isotope/host/choice.hpp>
#include <isotope/host/on_stream.hpp>
#include <isotope/isotope.hpp>

using namespace isotope;

namespace {

constexpr std::size_t kCount = 37;  // words of its own for every thread, and some more
constexpr unsigned kThreads = 3, kBlocks = 2;
constexpr int kInARow = 4;

constexpr float kNothing = -1;
/// What no call before brought: who reads what an earlier one left has a wrong result. Small enough for exact sums.
ISOTOPE_HD float value(int call, int pe, std::size_t i) {
  return static_cast<float>(call * 997 % 1021 * 2048 + pe * 256 + static_cast<int>(i));
}

struct Work {
  float *dst, *src;  // a part for each of them in a row
  std::size_t part;
  Algo algo;
};

/// The third and the fourth use the slots of the first two again.
template <class Who, class Where>
ISOTOPE_HD void reduce_and_gather(Who who, const Team& team, const Where& where, const Work& work, bool gathers) {
  for (std::size_t i = 0; i < kInARow; ++i) {
    float *dst = work.dst + i * work.part, *src = work.src + i * work.part;
    if (gathers) {
      if (!all_gather(who, team, where, dst, src, kCount, work.algo)) return;
    } else {
      if (!all_reduce<ReduceOp::add>(who, team, where, dst, src, kCount, work.algo)) return;
    }
  }
}

ISOTOPE_KERNEL void by_block(Team team, Workspace workspace, Work work, bool gathers) {
  reduce_and_gather(this_block(), team, workspace.channel(0), work, gathers);
}
ISOTOPE_KERNEL void by_warp(Team team, Workspace workspace, Work work, bool gathers) {
  reduce_and_gather(this_warp(), team, workspace.channel(0), work, gathers);
}
ISOTOPE_KERNEL void by_grid(Team team, Workspace workspace, Work work, bool gathers) {
  reduce_and_gather(this_grid(), team, workspace, work, gathers);
}

/// What a call of different lengths is about; places in numbers as all_to_all_v takes them.
struct Parts {
  float *gathered, *received;
  const float* src;
  const std::uint64_t *dst_offsets, *counts, *src_offsets;
};

/// Twice in a row: the second writes what the first has read and written.
template <class Who, class Where>
ISOTOPE_HD void different_lengths(Who who, const Team& team, const Where& where, const Parts& parts) {
  for (int i = 0; i < 2; ++i) {
    std::size_t total = 0;
    const auto mine = static_cast<std::size_t>(team.rank()) + 1;
    if (!collect(who, team, where, parts.gathered, parts.src, mine, &total)) return;
    if (!all_to_all_v(who, team, where, parts.received, parts.dst_offsets, parts.src, parts.counts, parts.src_offsets))
      return;
  }
}
ISOTOPE_KERNEL void lengths_by_block(Team team, Workspace workspace, Parts parts) {
  different_lengths(this_block(), team, workspace.channel(0), parts);
}
ISOTOPE_KERNEL void lengths_by_warp(Team team, Workspace workspace, Parts parts) {
  different_lengths(this_warp(), team, workspace.channel(0), parts);
}
ISOTOPE_KERNEL void lengths_by_grid(Team team, Workspace workspace, Parts parts) {
  different_lengths(this_grid(), team, workspace, parts);
}

ISOTOPE_KERNEL void by_symm(SymmContext context, float* data) {
  symm_all_reduce(this_block(), &context, data, 0, kCount, 0, static_cast<std::int32_t>(DataType::f32));
}
ISOTOPE_KERNEL void by_symm_grid(SymmContext context, float* data) {
  symm_all_reduce(this_grid(), &context, data, 0, kCount, 0, static_cast<std::int32_t>(DataType::f32));
}

class Checks {
 public:
  explicit Checks(World& world)
      : world_(world),
        coll_(world, {.channels = static_cast<int>(kBlocks), .slot_bytes = 1920}),
        pes_(static_cast<std::size_t>(world.size())),
        src_(world.alloc<float>(kCount * pes_ * kInARow)),
        dst_(world.alloc<float>(kCount * pes_ * kInARow)) {}

  bool every_algorithm(bool gathers) {
    for (const Algo algo : algorithms_of(gathers ? Collective::all_gather : Collective::all_reduce)) {
      const Work work{dst_.data(), src_.data(), kCount * pes_, algo};
      fill();
      world_.launch<by_block>({.block = kThreads}, coll_.team(), coll_.workspace(), work, gathers);
      if (!right(gathers)) return false;
      fill();
      world_.launch<by_warp>({.block = kThreads}, coll_.team(), coll_.workspace(), work, gathers);
      if (!right(gathers)) return false;
      fill();
      world_.launch<by_grid>({.grid = kBlocks, .block = 2}, coll_.team(), coll_.workspace(), work, gathers);
      if (!right(gathers)) return false;
    }
    return true;
  }

  bool lengths_of_each() {
    auto numbers = world_.alloc<std::uint64_t>(3 * pes_);
    auto received = world_.alloc<float>(kCount * pes_);
    const auto me = static_cast<std::size_t>(world_.rank());
    // To member k its rank and one more; everything after what members before it sent.
    std::uint64_t *dst_offsets = numbers.data(), *counts = dst_offsets + pes_, *src_offsets = counts + pes_;
    for (std::size_t k = 0; k < pes_; ++k) {
      dst_offsets[k] = k * (me + 1);
      counts[k] = k + 1;
      src_offsets[k] = k;
    }
    const Parts parts{dst_.data(), received.data(), src_.data(), dst_offsets, counts, src_offsets};
    const auto fill_both = [&] {
      for (std::size_t i = 0; i < received.size(); ++i) received[i] = kNothing;
      fill();
    };
    const auto good = [&] {
      world_.synchronize();
      bool right = dst_[0] == first(0, 0) && dst_[pes_ * (pes_ - 1) / 2] == first(world_.size() - 1, 0);
      for (std::size_t k = 0; k < pes_; ++k) right = right && received[k * (me + 1)] == first(static_cast<int>(k), me);
      world_.barrier();
      fill_both();
      return right;
    };
    fill_both();
    if (coll_.collect(dst_.data(), src_.data(), me + 1) != pes_ * (pes_ + 1) / 2) return false;
    coll_.all_to_all_v(received.data(), dst_offsets, src_.data(), counts, src_offsets);
    if (!good()) return false;
    const auto runs = [&]<auto Kernel>(unsigned grid, unsigned threads) {
      world_.launch<Kernel>({.grid = grid, .block = threads}, coll_.team(), coll_.workspace(), parts);
      return good();
    };
    return runs.template operator()<lengths_by_block>(1, kThreads) &&
           runs.template operator()<lengths_by_warp>(1, kThreads) &&
           runs.template operator()<lengths_by_grid>(kBlocks, 2);
  }

  bool symm() {
    for (const bool grid : {false, true}) {
      fill();
      if (grid) {
        world_.launch<by_symm_grid>({.grid = kBlocks, .block = 2}, coll_.symm_context(), src_.data());
      } else {
        world_.launch<by_symm>({.block = kThreads}, coll_.symm_context(), src_.data());
      }
      world_.synchronize();
      float sum = 0;
      for (int k = 0; k < world_.size(); ++k) sum += first(k, 5);
      const bool good = src_[5] == sum;
      world_.barrier();
      if (!good) return false;
    }
    return true;
  }

  bool streams() {
    auto arrived = world_.alloc<Signal>(1, {.zeroed = true});
    const int right = (world_.rank() + 1) % world_.size(), left = (world_.rank() + world_.size() - 1) % world_.size();
    Stream stream = world_.create_stream();
    fill();
    on_stream::put(world_, stream, world_.team(), dst_.data(), src_.data(), kCount, right);
    on_stream::signal(world_, stream, world_.team(), arrived.data(), 1, SignalOp::add, right);
    on_stream::wait(world_, stream, world_.team(), arrived.data(), Cmp::ge, 1, left);
    on_stream::barrier(world_, stream, world_.team());
    on_stream::get(world_, stream, world_.team(), dst_.data() + kCount, src_.data(), kCount, right);
    on_stream::sync(world_, stream, world_.team(), 1);
    on_stream::quiet(world_, stream, world_.team());
    stream.synchronize();
    const bool good = dst_[7] == first(left, 7) && dst_[kCount + 7] == first(right, 7);
    world_.barrier();
    return good;
  }

 private:
  /// Each part is a call of its own.
  void fill() {
    calls_ += kInARow;
    for (std::size_t i = 0; i < src_.size(); ++i) {
      const std::size_t part = kCount * pes_;
      src_[i] = value(calls_ + static_cast<int>(i / part), world_.rank(), i % part);
      dst_[i] = kNothing;
    }
    world_.barrier();
  }
  /// What a PE brings to the first of them.
  float first(int pe, std::size_t i) const { return value(calls_, pe, i); }
  bool right(bool gathers) {
    world_.synchronize();
    bool good = true;
    for (int call = 0; call < kInARow; ++call) {
      for (std::size_t i = 0; i < kCount; ++i) {
        float sum = 0;
        for (int k = 0; k < world_.size(); ++k) sum += value(calls_ + call, k, i);
        const float found = dst_[static_cast<std::size_t>(call) * kCount * pes_ + i];
        good = good && found == (gathers ? value(calls_ + call, 0, i) : sum);
      }
    }
    world_.barrier();
    return good;
  }

  World& world_;
  Collectives coll_;
  std::size_t pes_;
  int calls_ = 0;
  Symmetric<float> src_, dst_;
};

}  // namespace

ISOTOPE_MAIN(argc, argv) {
  (void)argc, (void)argv;
  World world = init();
  Checks checks(world);
  return checks.every_algorithm(false) && checks.every_algorithm(true) && checks.lengths_of_each() && checks.symm() &&
                 checks.streams()
             ? 0
             : 1;
}
