// Calls that name no algorithm, small and large, from kernels and from the host; those that name one when compiling;
// and tables of choices that differ.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "support/collective_mix.hpp"
#include "support/job_shape.hpp"

namespace isotope {
namespace {

using testing::mix_expected;
using testing::mix_value;
using testing::Pick;

class CollectiveDefaults : public testing::JobTest {};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveDefaults);

enum class Named { none, when_compiling };

template <Named N, class Who, class Where>
ISOTOPE_HD bool make(Who who, const Team& team, const Where& where, const Pick& pick, float* dst, const float* src) {
  constexpr auto kBy = [](Algo algo) { return N == Named::none ? Algo::automatic : algo; };
  constexpr auto kWide = Accumulate::wide;
  constexpr auto kAdd = ReduceOp::add;
  const std::size_t n = pick.count;
  switch (pick.collective) {
    case Collective::all_reduce:
      return all_reduce<kAdd, kWide, kBy(Algo::double_tree)>(who, team, where, dst, src, n);
    case Collective::reduce:
      return reduce<kAdd, kWide, kBy(Algo::one_shot)>(who, team, where, dst, src, n, pick.root);
    case Collective::reduce_scatter:
      return reduce_scatter<kAdd, kWide, kBy(Algo::ring)>(who, team, where, dst, src, n);
    case Collective::all_gather:
      return all_gather<kBy(Algo::push_2d)>(who, team, where, dst, src, n);
    case Collective::all_to_all:
      return all_to_all<kBy(Algo::ll8)>(who, team, where, dst, src, n);
    case Collective::broadcast:
      return broadcast<kBy(Algo::pipelined)>(who, team, where, dst, src, n, pick.root);
    case Collective::inclusive_scan:
      return inclusive_scan<kAdd, kWide, kBy(Algo::direct)>(who, team, where, dst, src, n);
    case Collective::exclusive_scan:
      return exclusive_scan<kAdd, kWide, kBy(Algo::direct)>(who, team, where, dst, src, n);
  }
  return false;
}

template <Named N>
ISOTOPE_KERNEL void from_kernel(Team team, Workspace workspace, Pick pick, float* dst, float* src, int* well) {
  const Block block = this_block();
  const bool by_grid = block.grid_size() > 1;
  const bool done = by_grid ? make<N>(this_grid(), team, workspace, pick, dst, src)
                            : make<N>(block, team, workspace.channel(0), pick, dst, src);
  if (done) fetch_add(well, 1);
}

void from_host(Collectives& coll, const Pick& pick, float* dst, const float* src) {
  coll.run({pick.collective, Algo::automatic, DataType::f32, ReduceOp::add, Accumulate::wide, pick.root, dst, src,
            pick.count});
}

// PEs that chose by different tables would wait for each other.
TEST_P(CollectiveDefaults, OfTablesThatDifferAreRefused) {
  if (GetParam().threads || GetParam().pes == 1) return;  // threads have one environment
  run([](World& world) {
    const bool last = world.rank() == world.size() - 1;
    const std::string file = ::testing::TempDir() + "table-of-" + std::to_string(::getpid());
    std::ofstream(file) << "isotope-tuning 1\nbroadcast 2 * " << (last ? "flat" : "tree") << "\n";
    ::setenv("ISOTOPE_TUNE_FILE", file.c_str(), 1);
    std::string text = "no error";
    Code code = Code::ok;
    try {
      const Collectives coll(world);
    } catch (const Error& error) {
      code = error.code();
      text = error.what();
    }
    EXPECT_EQ(code, Code::mismatch) << text;
    EXPECT_NE(text.find("another table of choices"), std::string::npos) << text;
    EXPECT_NE(text.find(file), std::string::npos) << text;
    ::unsetenv("ISOTOPE_TUNE_FILE");
    std::remove(file.c_str());
    world.barrier();
    const Collectives coll(world);  // by the table that all have
  });
}

TEST_P(CollectiveDefaults, GiveTheSame) {
  run([](World& world) {
    const int me = world.rank(), members = world.size();
    const std::size_t most = 1500 * static_cast<std::size_t>(members);
    Collectives coll(world, {.channels = 2, .slot_bytes = 1920});
    auto dst = world.alloc<float>(most), src = world.alloc<float>(most);
    auto well = world.alloc<int>(1);
    std::uint64_t round = 0;
    for (int c = 0; c < kCollectives; ++c) {
      for (const std::size_t count : {61u, 1500u}) {  // each side of where the defaults change
        // The last is by the host, with the type a value: on the CPU alone (tests/gpu/collectives.cu has typed calls).
        for (int way = 0; way < (world.drives_gpu() ? 4 : 5); ++way, ++round) {
          const auto collective = static_cast<Collective>(c);
          const bool rooted = collective == Collective::reduce || collective == Collective::broadcast;
          const Pick pick{collective, Algo::automatic, count, rooted ? static_cast<int>(round) % members : 0};
          std::vector<float> mine(most);
          for (std::size_t i = 0; i < most; ++i) mine[i] = mix_value(round, me, i);
          src.write(mine);
          dst.write(std::vector<float>(most, -1));
          well.set(0, 0);
          const LaunchConfig config{.grid = way % 2 == 0 ? 1u : 2u, .block = 33};
          if (way == 4) {
            from_host(coll, pick, dst.data(), src.data());
          } else {
            if (way < 2) {
              world.launch<from_kernel<Named::none>>(config, world.team(), coll.workspace(), pick, dst.data(),
                                                     src.data(), well.data());
            } else {
              world.launch<from_kernel<Named::when_compiling>>(config, world.team(), coll.workspace(), pick, dst.data(),
                                                               src.data(), well.data());
            }
            world.synchronize();
            EXPECT_EQ(well.get(0), static_cast<int>(way % 2 == 0 ? 33 : 66));
          }
          const std::size_t n = detail::elements_of(collective, count, members).dst;
          const std::vector<float> found = dst.read();
          for (std::size_t i = 0; i < most; ++i) {
            const float expected = i < n ? mix_expected(pick, round, me, members, i) : -1;
            ASSERT_EQ(found[i], expected)
                << name_of(collective) << " of " << count << ", way " << way << ", element " << i;
          }
        }
      }
    }
  });
}

// An exchange in place is nothing for an algorithm that writes to the others' buffers at once.
ISOTOPE_KERNEL void exchange_in_place(Team team, Workspace workspace, std::size_t each, float* buffer, int* well) {
  if (all_to_all(this_block(), team, workspace.channel(0), buffer, buffer, each)) fetch_add(well, 1);
}

TEST_P(CollectiveDefaults, ExchangeInPlace) {
  run([](World& world) {
    const int me = world.rank(), members = world.size();
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    std::uint64_t round = 0;
    for (const std::size_t each : {61u, 1500u, 40'000u}) {
      for (int again = 0; again < 5; ++again, ++round) {
        const std::size_t all = each * static_cast<std::size_t>(members);
        auto buffer = world.alloc<float>(all);
        auto well = world.alloc_zeroed<int>(1);
        std::vector<float> mine(all);
        for (std::size_t i = 0; i < all; ++i) mine[i] = mix_value(round, me, i);
        buffer.write(mine);
        world.launch<exchange_in_place>({.block = 33}, world.team(), coll.workspace(), each, buffer.data(),
                                        well.data());
        world.synchronize();
        EXPECT_EQ(well.get(0), 33);
        const std::vector<float> found = buffer.read();
        const Pick pick{Collective::all_to_all, Algo::automatic, each, 0};
        for (std::size_t i = 0; i < all; ++i)
          ASSERT_EQ(found[i], mix_expected(pick, round, me, members, i)) << each << ", element " << i;
      }
    }
  });
}

}  // namespace
}  // namespace isotope
