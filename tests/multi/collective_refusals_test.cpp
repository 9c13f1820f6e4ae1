// Bad calls of collectives. From the host in every build: a named error, and no byte moves. Members whose arguments
// differ are found by the checked build, on every one of them, and calls work again once all have recovered.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "isotope/host/choice.hpp"
#include "support/collective_rig.hpp"
#include "support/job_shape.hpp"
#include "support/refusals.hpp"

namespace isotope {
namespace {

using testing::CollectiveRig;
using testing::Layout;

class CollectiveRefusals : public testing::JobTest {
 protected:
  void SetUp() override {
    if (!ISOTOPE_CHECKED &&
        std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()).find("Checked") == 0)
      GTEST_SKIP() << "members are compared in the checked build";
  }
};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveRefusals);

constexpr std::size_t kCount = 50;

/// Expects the call to throw `code` with all of `texts` in its message, and the buffers to be as they were.
void expect_error(const std::function<void()>& call, Code code, const std::vector<std::string>& texts) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << texts.front();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& text : texts)
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << "no '" << text << "' in: " << error.what();
  }
}

TEST_P(CollectiveRefusals, CombinationsThatThereAreNot) {
  run([](World& world) {
    CollectiveRig rig(world, world.team(), 8 * kCount * static_cast<std::size_t>(world.size()));
    for (int c = 0; c < kCollectives; ++c) {
      for (int a = 0; a < kAlgos; ++a) {
        const CollectiveCall call{static_cast<Collective>(c), static_cast<Algo>(a)};
        if (const char* why = why_not(call.collective, call.algo, call.type, call.op))
          rig.expect_refused(call, {.count = kCount}, Code::not_supported, why);
      }
    }
    const auto bad = [&](CollectiveCall call, const char* why) {
      rig.expect_refused(call, {.count = kCount}, Code::not_supported, why);
    };
    bad({Collective::all_reduce, Algo::automatic, static_cast<DataType>(14)}, "there is no such type");
    bad({Collective::all_reduce, Algo::automatic, static_cast<DataType>(-1)}, "there is no such type");
    bad({Collective::all_reduce, Algo::automatic, DataType::i32, static_cast<ReduceOp>(8)},
        "there is no such operation");
    bad({static_cast<Collective>(8), Algo::automatic, DataType::i32}, "there is no such collective");
    bad({static_cast<Collective>(-1), Algo::direct, DataType::i32}, "there is no such collective");
    bad({Collective::all_gather, static_cast<Algo>(19), DataType::i32}, "no such algorithm");
    bad({Collective::all_reduce, Algo::automatic, DataType::e5m2, ReduceOp::bit_xor},
        "floats have no bitwise operations");
    bad({Collective::inclusive_scan, Algo::automatic, DataType::i32, ReduceOp::average}, "a scan has no average");
    // It all still works.
    rig.check<float>({Collective::all_reduce, Algo::ring}, {.count = kCount});
  });
}

TEST_P(CollectiveRefusals, RootsAndPlaces) {
  run([](World& world) {
    const int size = world.size();
    const std::string bounds = "0 to " + std::to_string(size - 1);
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    const auto count = static_cast<std::size_t>(size) * kCount;
    auto x = world.alloc<float>(count), y = world.alloc<float>(count);
    x.write(std::vector<float>(count, 1.0f));
    y.write(std::vector<float>(count, 2.0f));
    world.barrier();
    const auto bad = [&](Code code, const std::vector<std::string>& texts, Collective collective, float* dst,
                         const float* src, std::size_t n, Algo algo = Algo::automatic, int root = 0) {
      const CollectiveCall call{collective, algo, DataType::f32, ReduceOp::add, Accumulate::wide, root, dst, src, n};
      expect_error([&] { testing::run_any(coll, call); }, code, texts);
    };
    constexpr auto kRange = Code::out_of_range;
    constexpr auto kArgument = Code::invalid_argument;
    bad(kRange, {"reduce", "root is " + std::to_string(size), bounds}, Collective::reduce, y.data(), x.data(), kCount,
        Algo::automatic, size);
    bad(kRange, {"broadcast", "root is -1", bounds}, Collective::broadcast, y.data(), x.data(), kCount, Algo::automatic,
        -1);
    bad(kRange, {"more than an address space"}, Collective::all_reduce, y.data(), x.data(), ~std::size_t{0} / 4);
    bad(kArgument, {"dst is null"}, Collective::all_reduce, nullptr, x.data(), kCount);
    bad(kArgument, {"src is null"}, Collective::all_gather, y.data(), nullptr, kCount);
    const std::vector<std::string> overlap = {"dst and src overlap"};
    bad(kArgument, overlap, Collective::all_reduce, x.data() + 1, x.data(), kCount - 1);
    bad(kArgument, overlap, Collective::all_reduce, x.data(), x.data(), kCount, Algo::multimem_one_shot);
    bad(kArgument, overlap, Collective::all_to_all, x.data(), x.data(), kCount, Algo::direct);
    bad(kArgument, overlap, Collective::inclusive_scan, x.data(), x.data() + 7, kCount - 7);
    bad(kArgument, overlap, Collective::all_gather, x.data(), x.data() + 1, kCount);
    bad(kArgument, overlap, Collective::reduce_scatter, x.data() + 1, x.data(), kCount);
    EXPECT_EQ(x.read(), std::vector<float>(count, 1.0f));
    EXPECT_EQ(y.read(), std::vector<float>(count, 2.0f));
    // Nothing to move, so nothing to look at.
    testing::run_any(coll, {Collective::all_reduce});
    expect_error([&] { Collectives(world, {.channels = 1025}); }, kArgument, {"1025 channels"});
    expect_error([&] { Collectives(world, {.channels = -1}); }, kArgument, {"-1 channels"});
    world.barrier();
  });
}

TEST_P(CollectiveRefusals, AddressesThatAreNotSymmetric) {
  run([](World& world) {
    const int size = world.size();
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    const auto count = static_cast<std::size_t>(size) * kCount;
    auto x = world.alloc<float>(count), y = world.alloc<float>(count);
    std::vector<float> mine(count, 3.0f), out(count, 4.0f);
    x.write(std::vector<float>(count, 1.0f));
    y.write(std::vector<float>(count, 2.0f));
    world.barrier();
    const auto bad = [&](const char* argument, Collective collective, float* dst, const float* src,
                         Algo algo = Algo::automatic) {
      const CollectiveCall call{collective, algo, DataType::f32, ReduceOp::add, Accumulate::wide, 0, dst, src, kCount};
      expect_error([&] { testing::run_any(coll, call); }, Code::not_symmetric,
                   {argument, "does not lie in one symmetric object"});
    };
    bad("dst", Collective::all_reduce, out.data(), x.data(), Algo::two_shot);
    bad("src", Collective::all_reduce, y.data(), mine.data(), Algo::two_shot);
    bad("src", Collective::reduce_scatter, y.data(), mine.data(), Algo::pull);
    bad("dst", Collective::broadcast, out.data(), x.data(), Algo::tree);
    bad("dst", Collective::all_gather, y.data() + 1, x.data(), Algo::push);  // past the end of y
    bad("dst", Collective::inclusive_scan, out.data(), x.data());
    EXPECT_EQ(x.read(), std::vector<float>(count, 1.0f));
    EXPECT_EQ(y.read(), std::vector<float>(count, 2.0f));
    EXPECT_EQ(out, std::vector<float>(count, 4.0f));
    // What follows passes memory of the host to kernels.
    if (world.drives_gpu()) return;
    // The same done well.
    coll.run({Collective::all_reduce, Algo::one_shot, DataType::f32, ReduceOp::add, Accumulate::wide, 0, out.data(),
              mine.data(), kCount});
    EXPECT_EQ(out[kCount - 1], 3.0f * static_cast<float>(size));
    EXPECT_EQ(out.back(), size > 1 ? 4.0f : 3.0f);
    // Those of different lengths.
    auto words = world.alloc_zeroed<std::uint64_t>(static_cast<std::size_t>(size));
    std::vector<std::uint64_t> own(static_cast<std::size_t>(size), 0);
    const auto bad_call = [&](Code code, const std::vector<std::string>& texts, const std::function<void()>& call) {
      expect_error(call, code, texts);
    };
    constexpr auto kArgument = Code::invalid_argument;
    constexpr auto kSymmetric = Code::not_symmetric;
    float* none = nullptr;
    std::uint64_t* nowhere = nullptr;
    bad_call(kArgument, {"collect", "src is null"}, [&] { coll.collect(y.data(), none, kCount); });
    bad_call(kSymmetric, {"collect", "dst"}, [&] { coll.collect(out.data(), x.data(), kCount); });
    bad_call(kSymmetric, {"collect", "dst"}, [&] { coll.collect(y.data(), x.data(), count + 1); });
    bad_call(kSymmetric, {"all_to_all_v", "counts"},
             [&] { coll.all_to_all_v(out.data(), own.data(), x.data(), own.data(), words.data()); });
    bad_call(kSymmetric, {"all_to_all_v", "src_offsets"},
             [&] { coll.all_to_all_v(out.data(), own.data(), x.data(), words.data(), own.data()); });
    bad_call(kSymmetric, {"all_to_all_v", "src"},
             [&] { coll.all_to_all_v(out.data(), own.data(), mine.data(), words.data(), words.data()); });
    bad_call(kArgument, {"all_to_all_v", "dst_offsets is null"},
             [&] { coll.all_to_all_v(out.data(), nowhere, x.data(), words.data(), words.data()); });
    coll.all_to_all_v(out.data(), own.data(), x.data(), words.data(), words.data());
    world.barrier();
  });
}

// One member alone is wrong: the others, who may wait for it, are told.
TEST_P(CollectiveRefusals, CheckedOneMemberIsRefused) {
  run([](World& world) {
    if (world.size() == 1) return;
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    const auto count = static_cast<std::size_t>(world.size()) * kCount;
    auto x = world.alloc<float>(count), y = world.alloc<float>(count);
    const struct {
      Code code;
      std::string text;
      std::function<void(CollectiveCall&)> make;
    } wrongs[] = {
        {Code::not_supported, "bitwise", [](CollectiveCall& call) { call.op = ReduceOp::bit_or; }},
        {Code::out_of_range, "the root is 99", [](CollectiveCall& call) { call.root = 99; }},
        {Code::invalid_argument, "src is null", [](CollectiveCall& call) { call.src = nullptr; }},
        {Code::invalid_argument, "overlap", [](CollectiveCall& call) { call.dst = static_cast<float*>(call.dst) + 1; }},
        {Code::not_symmetric, "dst", [](CollectiveCall& call) { call.count *= 1000; }},
    };
    int at = 1;
    for (const auto& wrong : wrongs) {
      const int odd = at++ % world.size();
      x.write(std::vector<float>(count, 7));
      y.write(std::vector<float>(count, 9));
      world.barrier();
      CollectiveCall call{Collective::all_reduce,
                          Algo::two_shot,
                          DataType::f32,
                          ReduceOp::add,
                          Accumulate::wide,
                          0,
                          x.data(),
                          x.data(),
                          kCount};
      const bool is_odd = world.rank() == odd;
      if (is_odd) wrong.make(call);
      expect_error([&] { testing::run_any(coll, call); }, is_odd ? wrong.code : Code::mismatch,
                   {is_odd ? wrong.text : "PE " + std::to_string(odd) + " refused this call"});
      EXPECT_EQ(x.read(), std::vector<float>(count, 7)) << wrong.text;
      coll.recover();
      testing::run_any(coll, {Collective::all_reduce, Algo::two_shot, DataType::f32, ReduceOp::add, Accumulate::wide, 0,
                              y.data(), x.data(), kCount});
      EXPECT_EQ(y.get(0), static_cast<float>(7 * world.size())) << wrong.text;
      world.barrier();
    }
  });
}

// ---- from kernels ---------------------------------------------------------------------------------------------------
enum class Bad { lamport_of_integers, ll8_of_doubles, foreign_algorithm, root_below, root_above, channel };

ISOTOPE_KERNEL void bad_call(Team team, Workspace workspace, Bad bad, std::int32_t* x, std::int32_t* y, int* well) {
  const Block block = this_block();
  const Channel channel = workspace.channel(0);
  const auto doubles = [](std::int32_t* p) { return reinterpret_cast<double*>(p); };
  bool done = true;
  switch (bad) {
    case Bad::lamport_of_integers:
      done = all_reduce<ReduceOp::add>(block, team, channel, y, x, 4, Algo::lamport);
      break;
    case Bad::ll8_of_doubles:
      done = all_reduce<ReduceOp::max>(block, team, channel, doubles(y), doubles(x), 4, Algo::ll8);
      break;
    case Bad::foreign_algorithm:
      done = all_gather(block, team, channel, y, x, 4, Algo::ring);
      break;
    case Bad::root_below:
      done = broadcast(block, team, channel, y, x, 4, -1);
      break;
    case Bad::root_above:
      done = reduce<ReduceOp::add>(block, team, channel, y, x, 4, team.size());
      break;
    case Bad::channel:
      done = all_reduce<ReduceOp::add>(block, team, workspace.channel(1), y, x, 4);
      break;
  }
  if (done) fetch_add(well, 1);
}

TEST_P(CollectiveRefusals, FromAKernel) {
  run([](World& world) {
    if (!testing::kernels_check_ranks(world)) return;
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    const auto count = static_cast<std::size_t>(8 * world.size());
    auto x = world.alloc<std::int32_t>(count), y = world.alloc<std::int32_t>(count);
    auto well = world.alloc_zeroed<int>(1);
    const std::string ranks = "; a rank of the team, 0 to " + std::to_string(world.size() - 1);
    const struct {
      Bad bad;
      testing::Refusal refusal;
    } kCases[] = {
        {Bad::lamport_of_integers, {"all_reduce", "algorithm", Code::not_supported, "lamport"}},
        {Bad::ll8_of_doubles, {"all_reduce", "algorithm", Code::not_supported, "ll8"}},
        {Bad::foreign_algorithm, {"all_gather", "algorithm", Code::not_supported, "ring"}},
        {Bad::root_below, {"broadcast", "root", Code::out_of_range, "-1" + ranks}},
        {Bad::root_above, {"reduce", "root", Code::out_of_range, std::to_string(world.size()) + ranks}},
        {Bad::channel, {"all_reduce", "channel", Code::out_of_range, "1; 0 to 0 was expected"}},
    };
    for (const auto& one : kCases) {
      x.write(std::vector<std::int32_t>(count, 7));
      y.write(std::vector<std::int32_t>(count, 9));
      world.barrier();
      world.launch<bad_call>({.block = 33}, world.team(), coll.workspace(), one.bad, x.data(), y.data(), well.data());
      while (!world.stream().idle()) std::this_thread::yield();
      testing::expect_refused(world, one.refusal);
      EXPECT_EQ(well.get(0), 0) << one.refusal.call << " said that it was done";
      EXPECT_EQ(y.read(), std::vector<std::int32_t>(count, 9));
      coll.recover();
      testing::run_any(coll, {Collective::all_reduce, Algo::automatic, DataType::i32, ReduceOp::add, Accumulate::wide,
                              0, y.data(), x.data(), 8});
      EXPECT_EQ(y.get(7), 7 * world.size()) << "it does not go on after a refusal";
      world.barrier();
    }
  });
}

/// Blocks that have a channel come last: who comes last to a sync of the grid is who goes on first.
ISOTOPE_KERNEL void by_grid(Team team, Workspace workspace, std::int32_t* x, std::int32_t* y, std::size_t n,
                            int* well) {
  const std::uint64_t begin = platform::clock_ns(), late = this_block().rank() < 2 ? 2'000'000 : 0;
  for (std::uint32_t polls = 0; platform::clock_ns() - begin < late;) platform::relax(++polls);
  if (all_reduce<ReduceOp::add, Accumulate::wide, Algo::two_shot>(this_grid(), team, workspace, y, x, n))
    fetch_add(well, 1);
}

// No block begins where one has no channel.
TEST_P(CollectiveRefusals, AGridOfMoreBlocksThanChannels) {
  run([](World& world) {
    if (!testing::kernels_check_ranks(world)) return;
    constexpr std::size_t kElements = 4096;  // a part for each block
    Collectives coll(world, {.channels = 2, .slot_bytes = 1920});
    auto x = world.alloc<std::int32_t>(kElements), y = world.alloc<std::int32_t>(kElements);
    auto well = world.alloc_zeroed<int>(1);
    x.write(std::vector<std::int32_t>(kElements, 7));
    y.write(std::vector<std::int32_t>(kElements, 9));
    world.barrier();
    world.launch<by_grid>({.grid = 3}, world.team(), coll.workspace(), x.data(), y.data(), kElements, well.data());
    while (!world.stream().idle()) std::this_thread::yield();
    testing::expect_refused(world, {"all_reduce", "channel", Code::out_of_range, "2; 0 to 1 was expected"});
    EXPECT_EQ(well.get(0), 0);
    EXPECT_EQ(y.read(), std::vector<std::int32_t>(kElements, 9));
    coll.recover();
    world.launch<by_grid>({.grid = 2}, world.team(), coll.workspace(), x.data(), y.data(), kElements, well.data());
    world.synchronize();
    EXPECT_EQ(well.get(0), 2);
    EXPECT_EQ(y.read(), std::vector<std::int32_t>(kElements, 7 * world.size()));
    world.barrier();
  });
}

TEST_P(CollectiveRefusals, CheckedMembersDiffer) {
  run([](World& world) {
    if (world.size() == 1) return;
    Collectives coll(world, {.channels = 1, .slot_bytes = 1920});
    const auto count = static_cast<std::size_t>(world.size()) * kCount;
    auto x = world.alloc<std::int32_t>(count), y = world.alloc<std::int32_t>(count);
    const CollectiveCall good{Collective::all_reduce,
                              Algo::two_shot,
                              DataType::i32,
                              ReduceOp::add,
                              Accumulate::wide,
                              0,
                              y.data(),
                              x.data(),
                              kCount};
    struct Difference {
      const char* argument;
      const char *usual, *other;
      std::function<void(CollectiveCall&)> make;
    };
    const std::vector<Difference> differences = {
        {"count", "50", "49", [](CollectiveCall& call) { call.count = 49; }},
        {"count", "50", "0", [](CollectiveCall& call) { call.count = 0; }},
        {"type", "i32", "f32", [](CollectiveCall& call) { call.type = DataType::f32; }},
        {"operation", "add", "max", [](CollectiveCall& call) { call.op = ReduceOp::max; }},
        {"accumulate", "wide", "native", [](CollectiveCall& call) { call.accumulate = Accumulate::native; }},
        // Told as what it is, not as the other algorithm that it may make a table choose.
        {"count", "50", "49", [](CollectiveCall& call) { call.count = 49, call.algo = Algo::ring; }},
        {"algorithm", "two_shot", "ring", [](CollectiveCall& call) { call.algo = Algo::ring; }},
        {"collective", "all_reduce", "reduce", [](CollectiveCall& call) { call.collective = Collective::reduce; }},
        {"root", "0", "1", [](CollectiveCall& call) { call.root = 1; }},
    };
    int at = 0;
    for (const Difference& difference : differences) {
      const int odd = at++ % world.size();
      x.write(std::vector<std::int32_t>(count, 7));
      y.write(std::vector<std::int32_t>(count, 9));
      world.barrier();
      CollectiveCall call = good;
      if (world.rank() == odd) difference.make(call);
      const std::string here = world.rank() == odd ? difference.other : difference.usual;
      const std::string there = world.rank() == odd ? difference.usual : difference.other;
      expect_error([&] { testing::run_any(coll, call); }, Code::mismatch,
                   {std::string("`") + difference.argument + "` is " + here + " on PE " + std::to_string(world.rank()),
                    "and " + there + " on PE " + (world.rank() == odd ? "" : std::to_string(odd))});
      EXPECT_EQ(y.read(), std::vector<std::int32_t>(count, 9)) << difference.argument;
      EXPECT_EQ(x.read(), std::vector<std::int32_t>(count, 7)) << difference.argument;
      // And on it goes.
      coll.recover();
      testing::run_any(coll, good);
      EXPECT_EQ(y.get(0), 7 * world.size()) << difference.argument;
      world.barrier();
    }
  });
}

}  // namespace
}  // namespace isotope
