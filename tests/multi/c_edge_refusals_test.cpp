// C functions with a bad argument, from host code and from kernels, in every build: each returns the code (or zero
// where it gives a value), writes nothing, and World::synchronize throws what was wrong with which argument.
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "isotope/isotope.h"
#include "support/job_shape.hpp"
#include "support/refusals.hpp"

namespace isotope {
namespace {

using testing::Canary;
using testing::expect_refused;
using testing::Refusal;

class CEdgeRefusals : public testing::JobTest {};
ISOTOPE_ALL_SHAPES(CEdgeRefusals);

constexpr std::size_t kWords = 32;
constexpr std::size_t kHuge = std::size_t{1} << 61;  // times 8 is 0 again

/// What bad calls are made with.
struct Places {
  std::uint64_t* words;      // symmetric, kWords of them
  std::uint64_t* priv;       // private, as many
  std::uint64_t* elsewhere;  // the right neighbour's address of `words`; private for one PE alone
  int size, right;
};

/// One bad call: what it is expected to be refused with, and the call. A call that gives a value is passed through
/// `gives`, which makes any value but zero an error.
struct BadCall {
  Refusal refusal;
  std::function<int(const isotope_team*, const Places&)> make;
  bool gives_value = false;
};

template <class T>
int gives(T value) {
  return value == T{} ? 0 : -1;
}

std::vector<BadCall> rank_calls(int size) {
  const std::string bounds = "; a rank of the team, 0 to " + std::to_string(size - 1) + ", was expected";
  const std::string low = "-1" + bounds, high = std::to_string(size) + bounds;
  using T = const isotope_team*;
  using P = const Places&;
  return {
      {{"isotope_put", "to", Code::out_of_range, low},
       [](T t, P p) { return isotope_put(t, p.words, p.priv, 16, -1); }},
      {{"isotope_put_nbi", "to", Code::out_of_range, high},
       [](T t, P p) { return isotope_put_nbi(t, p.words, p.priv, 16, p.size); }},
      {{"isotope_get", "from", Code::out_of_range, high},
       [](T t, P p) { return isotope_get(t, p.priv, p.words, 16, p.size); }},
      {{"isotope_get_nbi", "from", Code::out_of_range, low},
       [](T t, P p) { return isotope_get_nbi(t, p.priv, p.words, 16, -1); }},
      {{"isotope_put_signal", "to", Code::out_of_range, high},
       [](T t, P p) { return isotope_put_signal(t, p.words, p.priv, 16, &p.words[9], 1, ISOTOPE_SIGNAL_ADD, p.size); }},
      {{"isotope_signal", "to", Code::out_of_range, low},
       [](T t, P p) { return isotope_signal(t, &p.words[9], 1, ISOTOPE_SIGNAL_SET, -1); }},
      {{"isotope_iput32", "to", Code::out_of_range, high},
       [](T t, P p) {
         return isotope_iput32(t, reinterpret_cast<std::uint32_t*>(p.words),
                               reinterpret_cast<const std::uint32_t*>(p.priv), 1, 1, 4, p.size);
       }},
      {{"isotope_iget64", "from", Code::out_of_range, low},
       [](T t, P p) { return isotope_iget64(t, p.priv, p.words, 1, 1, 4, -1); }},
      {{"isotope_p_u64", "to", Code::out_of_range, high},
       [](T t, P p) { return isotope_p_u64(t, p.words, 1, p.size); }},
      {{"isotope_g_u64", "from", Code::out_of_range, low},
       [](T t, P p) { return gives(isotope_g_u64(t, p.words, -1)); },
       true},
      {{"isotope_atomic_set_u64", "pe", Code::out_of_range, low},
       [](T t, P p) { return isotope_atomic_set_u64(t, p.words, 1, -1); }},
      {{"isotope_atomic_fetch_u64", "pe", Code::out_of_range, high},
       [](T t, P p) { return gives(isotope_atomic_fetch_u64(t, p.words, p.size)); },
       true},
      {{"isotope_atomic_compare_swap_u64", "pe", Code::out_of_range, high},
       [](T t, P p) { return gives(isotope_atomic_compare_swap_u64(t, p.words, p.words[0], 1, p.size)); },
       true},
      {{"isotope_team_at", "pe", Code::out_of_range, high},
       [](T t, P p) { return gives(isotope_team_at(t, p.words, p.size)); },
       true},
      {{"isotope_team_world_rank", "pe", Code::out_of_range, low},
       [](T t, P) { return gives(isotope_team_world_rank(t, -1)); },
       true},
  };
}

std::vector<BadCall> address_calls() {
  const char* const foreign = "this PE's own address of a symmetric object was expected";
  using T = const isotope_team*;
  using P = const Places&;
  const auto bytes_at = [](std::uint64_t* p, std::size_t offset) { return reinterpret_cast<char*>(p) + offset; };
  const auto off = [](std::uint64_t* p, std::size_t offset) {
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(p) + offset);
  };
  return {
      {{"isotope_put", "dst", Code::not_symmetric, foreign},
       [](T t, P p) { return isotope_put(t, p.priv, p.words, 16, p.right); }},
      {{"isotope_put", "dst", Code::not_symmetric, "with 16 bytes"},
       [](T t, P p) { return isotope_put(t, p.elsewhere, p.priv, 16, p.right); }},
      {{"isotope_put", "dst", Code::out_of_range, "with 16 bytes; at most 8 were expected"},
       [](T t, P p) { return isotope_put(t, &p.words[kWords - 1], p.priv, 16, p.right); }},
      {{"isotope_put_nbi", "dst", Code::out_of_range, "with 257 bytes; at most 256 were expected"},
       [](T t, P p) { return isotope_put_nbi(t, p.words, p.priv, 257, p.right); }},
      {{"isotope_put", "dst", Code::invalid_argument, "null with a length of 24 bytes; an address was expected"},
       [](T t, P p) { return isotope_put(t, nullptr, p.priv, 24, p.right); }},
      {{"isotope_put", "src", Code::invalid_argument, "null with a length of 24 bytes"},
       [](T t, P p) { return isotope_put(t, p.words, nullptr, 24, p.right); }},
      {{"isotope_get", "src", Code::not_symmetric, foreign},
       [](T t, P p) { return isotope_get(t, p.words, p.priv, 16, p.right); }},
      {{"isotope_get", "src", Code::out_of_range, "with 10 bytes; at most 9 were expected"},
       [bytes_at](T t, P p) { return isotope_get(t, p.priv, bytes_at(p.words, kWords * 8 - 9), 10, p.right); }},
      {{"isotope_get_nbi", "dst", Code::invalid_argument, "null with a length of 8 bytes"},
       [](T t, P p) { return isotope_get_nbi(t, nullptr, p.words, 8, p.right); }},
      {{"isotope_put_signal", "signal", Code::misaligned, "a multiple of 8 was expected"},
       [off](T t, P p) {
         return isotope_put_signal(t, p.words, p.priv, 16, off(p.words, 76), 1, ISOTOPE_SIGNAL_SET, p.right);
       }},
      {{"isotope_put_signal", "signal", Code::not_symmetric, foreign},
       [](T t, P p) { return isotope_put_signal(t, p.words, p.priv, 16, p.priv, 1, ISOTOPE_SIGNAL_ADD, p.right); }},
      {{"isotope_put_signal_nbi", "signal", Code::invalid_argument, "null with a length of 8 bytes"},
       [](T t, P p) {
         return isotope_put_signal_nbi(t, p.words, p.priv, 16, nullptr, 1, ISOTOPE_SIGNAL_ADD, p.right);
       }},
      {{"isotope_signal", "signal", Code::misaligned, "a multiple of 8 was expected"},
       [off](T t, P p) { return isotope_signal(t, off(p.words, 1), 1, ISOTOPE_SIGNAL_ADD, p.right); }},
      {{"isotope_iput64", "dst", Code::out_of_range, "with 264 bytes; at most 256 were expected"},
       [](T t, P p) { return isotope_iput64(t, p.words, p.priv, 8, 1, 5, p.right); }},
      {{"isotope_iget64", "src", Code::out_of_range, "with 264 bytes; at most 256 were expected"},
       [](T t, P p) { return isotope_iget64(t, p.priv, p.words, 1, 8, 5, p.right); }},
      {{"isotope_iput64", "src", Code::invalid_argument, "null"},
       [](T t, P p) { return isotope_iput64(t, p.words, nullptr, 1, 1, 5, p.right); }},
      {{"isotope_p_u32", "dst", Code::misaligned, "a multiple of 4 was expected"},
       [off](T t, P p) { return isotope_p_u32(t, reinterpret_cast<std::uint32_t*>(off(p.words, 2)), 1, p.right); }},
      {{"isotope_g_f64", "src", Code::not_symmetric, foreign},
       [](T t, P p) { return gives(isotope_g_f64(t, reinterpret_cast<double*>(p.priv), p.right)); },
       true},
      {{"isotope_atomic_add_u64", "word", Code::misaligned, "a multiple of 8 was expected"},
       [off](T t, P p) { return isotope_atomic_add_u64(t, off(p.words, 4), 1, p.right); }},
      {{"isotope_atomic_fetch_add_f32", "word", Code::not_symmetric, foreign},
       [](T t, P p) { return gives(isotope_atomic_fetch_add_f32(t, reinterpret_cast<float*>(p.priv), 1, p.right)); },
       true},
      {{"isotope_atomic_add_bf16", "word", Code::misaligned, "a multiple of 2 was expected"},
       [off](T t, P p) {
         return isotope_atomic_add_bf16(t, reinterpret_cast<std::uint16_t*>(off(p.words, 3)), 1, p.right);
       }},
      {{"isotope_wait_until", "word", Code::not_symmetric, foreign},
       [](T t, P p) { return isotope_wait_until(t, p.priv, ISOTOPE_CMP_EQ, 1); }},
      {{"isotope_wait_until_all", "word", Code::out_of_range, "with 264 bytes; at most 256 were expected"},
       [](T t, P p) { return isotope_wait_until_all(t, p.words, 33, nullptr, ISOTOPE_CMP_EQ, 1); }},
      {{"isotope_wait_until_all_vector", "word", Code::misaligned, "a multiple of 8 was expected"},
       [off](T t, P p) {
         return isotope_wait_until_all_vector(t, off(p.words, 4), 2, nullptr, ISOTOPE_CMP_EQ, p.priv);
       }},
      {{"isotope_barrier", "index", Code::out_of_range, "-1; 0 to 255 was expected"},
       [](T t, P) { return isotope_barrier(t, -1); }},
      {{"isotope_sync", "index", Code::out_of_range, "256; 0 to 255 was expected"},
       [](T t, P) { return isotope_sync(t, 256, ISOTOPE_ORDER_ACQ_REL); }},
      {{"isotope_arrive", "index", Code::out_of_range, "-5; 0 to 255 was expected"},
       [](T t, P) { return gives(isotope_arrive(t, -5, ISOTOPE_ORDER_ACQ_REL)); },
       true},
      {{"isotope_multimem_store_b16", "ptr", Code::misaligned, "a multiple of 16 was expected"},
       [](T t, P p) { return isotope_multimem_store_b16(t, &p.words[1], p.priv); }},
      {{"isotope_multimem_reduce_add_f16_b8", "ptr", Code::not_symmetric, foreign},
       [](T t, P p) { return isotope_multimem_reduce_add_f16_b8(t, p.priv, p.priv); }},
      {{"isotope_multimem_load_reduce_max_i32_b4", "ptr", Code::invalid_argument, "null with a length of 4 bytes"},
       [](T t, P p) { return isotope_multimem_load_reduce_max_i32_b4(t, nullptr, p.priv); }},
  };
}

// Lengths that are 0 again in 64 bits are no way past the check.
std::vector<BadCall> overflow_calls() {
  using T = const isotope_team*;
  using P = const Places&;
  return {
      {{"isotope_put", "dst", Code::out_of_range, "at most 256 were expected"},
       [](T t, P p) { return isotope_put(t, p.words, p.priv, ~std::size_t{0}, p.right); }},
      {{"isotope_iput64", "dst", Code::out_of_range, "at most 256 were expected"},
       [](T t, P p) { return isotope_iput64(t, p.words, p.priv, kHuge, 1, 3, p.right); }},
      {{"isotope_iget64", "src", Code::out_of_range, "at most 256 were expected"},
       [](T t, P p) { return isotope_iget64(t, p.priv, p.words, 1, kHuge, 3, p.right); }},
  };
}

/// Makes one bad call from host code or, with `kernel`, from a kernel.
int make_call(World& world, const BadCall& call, const Places& places, bool kernel);

ISOTOPE_KERNEL void call_badly(Team team, const BadCall* call, Places places, int* returned) {
  *returned = call->make(reinterpret_cast<const isotope_team*>(&team), places);
}

int make_call(World& world, const BadCall& call, const Places& places, bool kernel) {
  const Team team = world.team();
  if (!kernel) return call.make(reinterpret_cast<const isotope_team*>(&team), places);
  int returned = -1;
  world.launch<call_badly>({}, team, &call, places, &returned);
  while (!world.stream().idle()) std::this_thread::yield();
  return returned;
}

void check(World& world, const std::vector<BadCall>& calls) {
  const Canary symmetric(world, kWords);
  std::vector<std::uint64_t> priv(kWords + 2);
  std::memset(priv.data(), Canary::kPrivateByte, priv.size() * 8);
  const std::vector<std::uint64_t> priv_before = priv;
  const Team team = world.team();
  const int right = (world.rank() + 1) % world.size();
  Places places{symmetric.data(), priv.data() + 1, team.at(symmetric.data(), right), world.size(), right};
  if (world.size() == 1) places.elsewhere = places.priv;
  for (const BadCall& call : calls) {
    for (const bool kernel : {false, true}) {
      const int returned = make_call(world, call, places, kernel);
      EXPECT_EQ(returned, call.gives_value ? 0 : static_cast<int>(call.refusal.code)) << call.refusal.call;
      // A stopped team does nothing, and says why.
      const auto* c_team = reinterpret_cast<const isotope_team*>(&team);
      EXPECT_EQ(isotope_team_stopped(c_team), 1) << call.refusal.call;
      EXPECT_EQ(isotope_put(c_team, places.words, priv.data(), 8, right), static_cast<int>(call.refusal.code));
      expect_refused(world, call.refusal);
      world.barrier();
      ASSERT_TRUE(symmetric.intact()) << call.refusal.call << " wrote to symmetric memory";
      ASSERT_EQ(priv, priv_before) << call.refusal.call << " wrote to private memory";
      world.barrier();
    }
  }
}

TEST_P(CEdgeRefusals, BadRanks) {
  run([](World& world) { check(world, rank_calls(world.size())); });
}

TEST_P(CEdgeRefusals, BadAddressesAndIndices) {
  run([](World& world) { check(world, address_calls()); });
}

TEST_P(CEdgeRefusals, LengthsThatWrapAround) {
  run([](World& world) { check(world, overflow_calls()); });
}

// Which word was met? None: the call was refused. Zero would say "the first".
TEST_P(CEdgeRefusals, AWaitForAnyThatIsRefusedNamesNoWord) {
  run([](World& world) {
    std::uint64_t priv[4] = {};
    const Team team = world.team();
    const auto* c_team = reinterpret_cast<const isotope_team*>(&team);
    EXPECT_EQ(isotope_wait_until_any(c_team, priv, 4, nullptr, ISOTOPE_CMP_EQ, 0), kNoIndex);
    EXPECT_EQ(isotope_wait_until_any_vector(c_team, priv, 4, nullptr, ISOTOPE_CMP_EQ, priv), kNoIndex) << "stopped";
    EXPECT_THROW(world.synchronize(), Error);
    world.barrier();
  });
}

// Nothing to move is no error, whatever the addresses.
TEST_P(CEdgeRefusals, EmptyCallsAreFine) {
  run([](World& world) {
    const Team team = world.team();
    const auto* c_team = reinterpret_cast<const isotope_team*>(&team);
    EXPECT_EQ(isotope_put(c_team, nullptr, nullptr, 0, 0), 0);
    EXPECT_EQ(isotope_get(c_team, nullptr, nullptr, 0, 0), 0);
    EXPECT_EQ(isotope_iput8(c_team, nullptr, nullptr, 1, 1, 0, 0), 0);
    EXPECT_EQ(isotope_wait_until_all(c_team, nullptr, 0, nullptr, ISOTOPE_CMP_EQ, 1), 0);
    EXPECT_EQ(isotope_wait_until_some(c_team, nullptr, 0, nullptr, nullptr, ISOTOPE_CMP_EQ, 1), 0u);
    EXPECT_NO_THROW(world.synchronize());
    world.barrier();
  });
}

}  // namespace
}  // namespace isotope
