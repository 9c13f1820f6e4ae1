// Bad arguments of device calls, from kernels. Ranks and barrier indices are refused in every build (on a GPU in
// checked ones), addresses in builds with ISOTOPE_CHECKED: the error names argument, value and bounds, the call gives
// nothing, and no byte is written.
#include <string>
#include <thread>
#include <vector>

#include "support/job_shape.hpp"
#include "support/private_memory.hpp"
#include "support/refusals.hpp"

namespace isotope {
namespace {

using testing::Canary;
using testing::expect_refused;

class CheckedArguments : public testing::JobTest {
 protected:
  void SetUp() override {
    if (!ISOTOPE_CHECKED &&
        std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()).find("Address") == 0)
      GTEST_SKIP() << "addresses are checked in the checked build";
  }
};
ISOTOPE_ALL_SHAPES(CheckedArguments);

constexpr std::size_t kWords = 32;                   // 256 bytes
constexpr std::size_t kHuge = std::size_t{1} << 61;  // times 8 is 0 again
constexpr std::uint32_t kThreads = 4;

/// What bad calls are made with.
struct Places {
  std::uint64_t* words;  // symmetric
  std::uint64_t* priv;   // private, as many
  int size, right;
  // As values, lest a compiler see through the bad calls and warn of them.
  std::uint64_t* none = nullptr;
  std::size_t endless = ~std::size_t{0};

  ISOTOPE_HD Span<std::uint64_t> some(std::size_t first, std::size_t count) const { return {words + first, count}; }
  ISOTOPE_HD Span<std::uint64_t> own(std::size_t count) const { return {priv, count}; }
  template <class T>
  ISOTOPE_HD T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(words) + offset);
  }
};

using T = const Team&;
using P = const Places&;
/// Lists are of calls that every thread of a block makes, and that return whether they gave what a refused call gives.
template <class V>
ISOTOPE_HD bool is_nothing(const V& value) {
  return value == V{};
}

struct BadRanks {
  const char *low, *high;  // what is said of a rank of -1, and of one past the last
  template <class Visitor>
  ISOTOPE_HD void operator()(Visitor& each) const {
    constexpr Code code = Code::out_of_range;
    each({"put", "to", code, low}, [](T t, P p) { return put(this_block(), t, p.some(0, 4), p.own(4), -1), true; });
    each({"put_nbi", "to", code, high},
         [](T t, P p) { return put_nbi(this_warp(), t, p.some(0, 4), p.own(4), p.size), true; });
    each({"get", "from", code, high},
         [](T t, P p) { return get(this_block(), t, p.own(4), p.some(0, 4), p.size), true; });
    each({"get_nbi", "from", code, low},
         [](T t, P p) { return get_nbi(this_thread(), t, p.own(4), p.some(0, 4), -1), true; });
    each({"put_signal", "to", code, low}, [](T t, P p) {
      return put_signal(this_block(), t, p.some(0, 4), p.own(4), p.at<Signal>(64), 1, SignalOp::add, -1), true;
    });
    each({"put_signal_nbi", "to", code, high}, [](T t, P p) {
      return put_signal_nbi(this_block(), t, p.some(0, 0), p.own(0), p.at<Signal>(64), 1, SignalOp::set, p.size), true;
    });
    each({"signal", "to", code, high},
         [](T t, P p) { return signal(this_block(), t, p.at<Signal>(64), 1, SignalOp::add, p.size), true; });
    each({"p", "to", code, low}, [](T t, P p) { return isotope::p(t, p.words, 7, -1), true; });
    each({"g", "from", code, high}, [](T t, P p) { return is_nothing(g(t, p.words, p.size)); });
    each({"iput", "to", code, high},
         [](T t, P p) { return iput(this_block(), t, p.words, p.priv, 2, 1, 4, p.size), true; });
    each({"iget", "from", code, low},
         [](T t, P p) { return iget(this_block(), t, p.priv, p.words, 1, 2, 4, -1), true; });
    each({"atomic_set", "pe", code, high}, [](T t, P p) { return atomic_set(t, p.words, 1, p.size), true; });
    each({"atomic_fetch", "pe", code, low}, [](T t, P p) { return is_nothing(atomic_fetch(t, p.words, -1)); });
    each({"atomic_swap", "pe", code, high}, [](T t, P p) { return is_nothing(atomic_swap(t, p.words, 1, p.size)); });
    each({"atomic_compare_swap", "pe", code, high},
         [](T t, P p) { return is_nothing(atomic_compare_swap(t, p.words, *p.words, 1, p.size)); });
    each({"atomic_add", "pe", code, low}, [](T t, P p) { return atomic_inc(t, p.words, -1), true; });
    each({"atomic_fetch_xor", "pe", code, low},
         [](T t, P p) { return is_nothing(atomic_fetch_xor(t, p.words, 1, -1)); });
    each({"atomic_add", "pe", code, high},
         [](T t, P p) { return atomic_add(t, p.at<f16>(2), f16(1.0f), p.size), true; });
    each({"barrier", "index", code, "-1; 0 to 255 was expected"}, [](T t, P) { return !barrier(this_block(), t, -1); });
    each({"sync", "index", code, "256; 0 to 255 was expected"}, [](T t, P) { return !sync(this_block(), t, 256); });
    each({"arrive", "index", code, "1000; 0 to 255 was expected"},
         [](T t, P) { return !wait(this_block(), t, arrive(this_block(), t, 1000)); });
  }
};

struct BadMoves {
  template <class Visitor>
  ISOTOPE_HD void operator()(Visitor& each) const {
    const char* const foreign = "this PE's own address of a symmetric object was expected";
    each({"put", "dst", Code::not_symmetric, foreign},
         [](T t, P p) { return put(this_block(), t, p.own(4), p.some(0, 4), p.right), true; });
    each({"put", "dst", Code::out_of_range, "with 32 bytes; at most 24 were expected"},
         [](T t, P p) { return put(this_block(), t, p.some(kWords - 3, 4), p.own(4), p.right), true; });
    each({"put", "dst", Code::out_of_range, "with 32 bytes; at most 16 were expected"},  // a span that is too small
         [](T t, P p) { return put(this_block(), t, p.some(0, 2), p.own(4), p.right), true; });
    each({"put", "src", Code::invalid_argument, "null with a length of 32 bytes"},
         [](T t, P p) { return put(this_block(), t, p.some(0, 4), Span<std::uint64_t>(p.none, 4), p.right), true; });
    each({"put_nbi", "dst", Code::invalid_argument, "null with a length of 32 bytes"},
         [](T t, P p) { return put_nbi(this_warp(), t, Span<std::uint64_t>(p.none, 4), p.own(4), p.right), true; });
    each({"get", "src", Code::not_symmetric, foreign},
         [](T t, P p) { return get(this_block(), t, p.some(0, 4), p.own(4), p.right), true; });
    each({"get", "src", Code::out_of_range, "with 40 bytes; at most 32 were expected"},
         [](T t, P p) { return get(this_block(), t, p.own(5), p.some(kWords - 4, 5), p.right), true; });
    each({"put_signal", "dst", Code::out_of_range, "with 32 bytes; at most 16 were expected"}, [](T t, P p) {
      return put_signal(this_block(), t, p.some(0, 2), p.own(4), p.at<Signal>(64), 1, SignalOp::add, p.right), true;
    });
    each({"iput", "dst", Code::out_of_range, "with 264 bytes; at most 256 were expected"},
         [](T t, P p) { return iput(this_block(), t, p.words, p.priv, 8, 1, 5, p.right), true; });
    each({"iput", "src", Code::invalid_argument, "null"},
         [](T t, P p) { return iput(this_block(), t, p.words, p.none, 1, 1, 5, p.right), true; });
    each({"iget", "src", Code::not_symmetric, foreign},
         [](T t, P p) { return iget(this_block(), t, p.words, p.priv, 1, 1, 5, p.right), true; });
    each({"iget", "src", Code::out_of_range, "with 264 bytes; at most 256 were expected"},
         [](T t, P p) { return iget(this_block(), t, p.priv, p.words, 1, 8, 5, p.right), true; });
    each({"p", "dst", Code::misaligned, "a multiple of 8 was expected"},
         [](T t, P p) { return isotope::p(t, p.at<std::uint64_t>(12), 7, p.right), true; });
    each({"p", "dst", Code::not_symmetric, foreign}, [](T t, P p) { return isotope::p(t, p.priv, 7, p.right), true; });
    each({"g", "src", Code::out_of_range, "with 16 bytes; at most 8 were expected"}, [](T t, P p) {
      struct Pair {
        std::uint64_t a, b;
        bool operator==(const Pair&) const = default;
      };
      return is_nothing(g(t, p.at<Pair>(kWords * 8 - 8), p.right));
    });
  }
};

struct BadWords {
  template <class Visitor>
  ISOTOPE_HD void operator()(Visitor& each) const {
    const char* const foreign = "this PE's own address of a symmetric object was expected";
    const char* const aligned = "a multiple of 8 was expected";
    each({"signal", "signal", Code::misaligned, aligned},
         [](T t, P p) { return signal(this_block(), t, p.at<Signal>(65), 1, SignalOp::add, p.right), true; });
    each({"signal", "signal", Code::invalid_argument, "null with a length of 8 bytes"}, [](T t, P p) {
      return signal(this_block(), t, reinterpret_cast<Signal*>(p.none), 1, SignalOp::add, p.right), true;
    });
    each({"atomic_set", "word", Code::misaligned, aligned},
         [](T t, P p) { return atomic_set(t, p.at<std::uint64_t>(4), 1, p.right), true; });
    each({"atomic_fetch", "word", Code::not_symmetric, foreign},
         [](T t, P p) { return is_nothing(atomic_fetch(t, p.priv, p.right)); });
    each({"atomic_compare_swap", "word", Code::not_symmetric, foreign},
         [](T t, P p) { return is_nothing(atomic_compare_swap(t, &p.words[kWords], 1, 2, p.right)); });
    each({"atomic_fetch_add", "word", Code::misaligned, "a multiple of 4 was expected"},
         [](T t, P p) { return is_nothing(atomic_fetch_add(t, p.at<float>(2), 1.0f, p.right)); });
    each({"atomic_add", "word", Code::misaligned, "a multiple of 2 was expected"},
         [](T t, P p) { return atomic_add(t, p.at<bf16>(1), bf16(1.0f), p.right), true; });
    each({"wait_until", "word", Code::not_symmetric, foreign},
         [](T t, P p) { return !wait_until(this_block(), t, p.priv, Cmp::eq, 1); });
    each({"wait_until_all", "word", Code::out_of_range, "with 264 bytes; at most 256 were expected"},
         [](T t, P p) { return !wait_until_all(this_block(), t, p.words, kWords + 1, Cmp::eq, 1); });
    each({"wait_until_any", "word", Code::misaligned, aligned},
         [](T t, P p) { return wait_until_any(this_block(), t, p.at<Signal>(4), 2, Cmp::ne, 1) == kNoIndex; });
    each({"wait_until_some", "word", Code::invalid_argument, "null with a length of 16 bytes"}, [](T t, P p) {
      return wait_until_some(this_block(), t, reinterpret_cast<Signal*>(p.none), 2, p.priv, Cmp::ne, 1) == 0;
    });
    each({"wait_until_all_vector", "word", Code::not_symmetric, foreign},
         [](T t, P p) { return !wait_until_all_vector(this_block(), t, p.priv, 2, Cmp::ne, p.words); });
    each({"wait_until_any_vector", "word", Code::not_symmetric, foreign},
         [](T t, P p) { return wait_until_any_vector(this_warp(), t, p.priv, 2, Cmp::ne, p.words) == kNoIndex; });
    each({"wait_until_some_vector", "word", Code::out_of_range, "at most 8 were expected"}, [](T t, P p) {
      return wait_until_some_vector(this_block(), t, &p.words[kWords - 1], 2, p.priv, Cmp::eq, p.words) == 0;
    });
    each({"multimem_store", "ptr", Code::misaligned, "a multiple of 16 was expected"},
         [](T t, P p) { return multimem_store(t, p.at<Vec<float, 4>>(8), Vec<float, 4>{}), true; });
    each({"multimem_reduce", "ptr", Code::not_symmetric, foreign}, [](T t, P p) {
      return multimem_reduce<ReduceOp::add>(t, reinterpret_cast<Vec<std::uint64_t, 1>*>(p.priv), {{1}}), true;
    });
    each({"multimem_load_reduce", "ptr", Code::not_symmetric, foreign}, [](T t, P p) {
      return is_nothing(multimem_load_reduce<ReduceOp::add>(t, p.at<Vec<std::uint64_t, 1>>(256))[0]);
    });
  }
};

// The signal is looked at before the data goes.
struct BadSignals {
  template <class Visitor>
  ISOTOPE_HD void operator()(Visitor& each) const {
    each({"put_signal", "signal", Code::not_symmetric, "with 8 bytes"}, [](T t, P p) {
      Signal* flag = reinterpret_cast<Signal*>(p.priv);
      return put_signal(this_block(), t, p.some(0, 4), p.own(4), flag, 1, SignalOp::add, p.right), true;
    });
    each({"put_signal_nbi", "signal", Code::misaligned, "a multiple of 8 was expected"}, [](T t, P p) {
      Signal* flag = p.at<Signal>(68);
      return put_signal_nbi(this_block(), t, p.some(0, 4), p.own(4), flag, 1, SignalOp::add, p.right), true;
    });
  }
};

// Lengths that are 0 or small again in 64 bits are no way past the check.
struct WrappedLengths {
  template <class Visitor>
  ISOTOPE_HD void operator()(Visitor& each) const {
    const char* const bounds = "at most 256 were expected";
    each({"put", "dst", Code::out_of_range, bounds},
         [](T t, P p) { return put_bytes(this_block(), t, p.words, p.priv, p.endless, p.right), true; });
    each({"iput", "dst", Code::out_of_range, bounds},
         [](T t, P p) { return iput(this_block(), t, p.words, p.priv, kHuge, 1, 3, p.right), true; });
    each({"iget", "src", Code::out_of_range, bounds},
         [](T t, P p) { return iget(this_block(), t, p.priv, p.words, 1, kHuge, 3, p.right), true; });
    each({"wait_until_any", "word", Code::out_of_range, bounds},
         [](T t, P p) { return wait_until_any(this_block(), t, p.words, kHuge, Cmp::ne, 0) == kNoIndex; });
  }
};

template <class Calls>
ISOTOPE_KERNEL void call_badly(Team team, Calls calls, int which, Places places, int* good) {
  testing::MakeOne<Places> one{team, places, which};
  calls(one);
  good[this_block().thread_rank()] = one.good ? 1 : 0;
}

template <class Calls>
void check(World& world, const Calls& calls) {
  auto good = world.alloc<int>(kThreads);
  const Canary symmetric(world, kWords);  // the last object: what lies past its end is none
  testing::PrivateMemory priv(world, (kWords + 2) * 8);
  const std::vector<char> before(priv.size(), Canary::kPrivateByte);
  priv.write(before);
  Places places{symmetric.data(), reinterpret_cast<std::uint64_t*>(priv.data()) + 1, world.size(),
                (world.rank() + 1) % world.size()};
  if (world.size() == 0) places.none = places.words;  // it never is, and no compiler knows
  testing::ListOfExpected expected;
  calls(expected);
  ASSERT_GT(expected.count, 0);
  for (int i = 0; i < expected.count; ++i) {
    const testing::Expected& one = expected.all[i];
    good.write(std::vector<int>(kThreads, -1));
    world.launch<call_badly<Calls>>({.block = kThreads}, world.team(), calls, i, places, good.data());
    while (!world.stream().idle()) std::this_thread::yield();
    EXPECT_EQ(good.read(), std::vector<int>(kThreads, 1)) << one.call << " gave something";
    EXPECT_NE(world.status().message.find("checked_arguments_test.cpp:"), std::string::npos) << world.status().message;
    expect_refused(world, {one.call, one.argument, one.code, one.text});
    world.barrier();
    ASSERT_TRUE(symmetric.intact()) << one.call << " wrote to symmetric memory";
    ASSERT_EQ(priv.read(), before) << one.call << " wrote to private memory";
    world.barrier();
  }
}

TEST_P(CheckedArguments, RanksAndBarrierIndices) {
  run([](World& world) {
    if (!testing::kernels_check_ranks(world)) return;
    const std::string bounds = "; a rank of the team, 0 to " + std::to_string(world.size() - 1) + ", was expected";
    const std::string low = "-1" + bounds, high = std::to_string(world.size()) + bounds;
    check(world, BadRanks{low.c_str(), high.c_str()});
  });
}

TEST_P(CheckedArguments, AddressesOfPutAndGet) {
  run([](World& world) { check(world, BadMoves{}); });
}

TEST_P(CheckedArguments, AddressOfASignalThatFollowsAPut) {
  run([](World& world) { check(world, BadSignals{}); });
}

TEST_P(CheckedArguments, AddressesOfWordsAndVectors) {
  run([](World& world) { check(world, BadWords{}); });
}

TEST_P(CheckedArguments, AddressesWithLengthsThatWrapAround) {
  run([](World& world) { check(world, WrappedLengths{}); });
}

}  // namespace
}  // namespace isotope
