// Bad calls of collect and all_to_all_v that only kernels can tell, since what the others bring is known once they
// have met: results that are too long, and in the checked build parts that overlap or reach past an object, and members
// that do not make the same call. collective_refusals_test.cpp has what host code refuses.
#include <functional>
#include <string>
#include <vector>

#include "support/job_shape.hpp"
#include "support/refusals.hpp"

namespace isotope {
namespace {

using Words = std::vector<std::uint64_t>;

class CollectiveVariableRefusals : public testing::JobTest {
 protected:
  void SetUp() override {
    if (!ISOTOPE_CHECKED &&
        std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()).find("Checked") == 0)
      GTEST_SKIP() << "these are looked at in the checked build";
  }
};
ISOTOPE_COLLECTIVE_SHAPES(CollectiveVariableRefusals);

constexpr std::size_t kEach = 20;
constexpr float kBefore = -3;

/// Expects the call to throw, with all of `texts` in its message.
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

/// Buffers of all_to_all_v, of kEach elements for each member, and a collective to call.
struct Buffers {
  explicit Buffers(World& w)
      : world(w),
        members(static_cast<std::size_t>(w.size())),
        coll(w, {.channels = 1, .slot_bytes = 1920}),
        x(w.alloc<float>(kEach * members)),
        y(w.alloc<float>(kEach * members)),
        counts(w.alloc<std::uint64_t>(members)),
        src_offsets(w.alloc<std::uint64_t>(members)),
        dst_offsets(w.alloc<std::uint64_t>(members)) {
    reset();
  }

  void reset() {
    Words offsets(members);
    for (std::size_t k = 0; k < members; ++k) offsets[k] = k * kEach;
    x.write(std::vector<float>(kEach * members, static_cast<float>(world.rank() + 1)));
    y.write(std::vector<float>(kEach * members, kBefore));
    counts.write(Words(members, kEach));
    src_offsets.write(offsets);
    dst_offsets.write(offsets);
    world.barrier();
  }
  void exchange(float* dst, const float* src) {
    coll.all_to_all_v(dst, dst_offsets.data(), src, counts.data(), src_offsets.data());
  }
  /// That nothing was moved, and that the same calls made well work afterwards.
  void expect_untouched() {
    EXPECT_EQ(x.read(), std::vector<float>(kEach * members, static_cast<float>(world.rank() + 1)));
    EXPECT_EQ(y.read(), std::vector<float>(kEach * members, kBefore));
    coll.recover();
    reset();
    exchange(y.data(), x.data());
    EXPECT_EQ(y.get(kEach * members - 1), static_cast<float>(world.size()));
    EXPECT_EQ(coll.collect(y.data(), x.data(), 1), members);
    EXPECT_EQ(y.get(members - 1), static_cast<float>(world.size()));
    reset();
  }

  World& world;
  std::size_t members;
  Collectives coll;
  Symmetric<float> x, y;
  Symmetric<std::uint64_t> counts, src_offsets, dst_offsets;
};

// What each brings fits, and all of it does not.
TEST_P(CollectiveVariableRefusals, CollectMoreThanThereIsRoomFor) {
  run([](World& world) {
    if (!testing::kernels_check_ranks(world) || world.size() == 1) return;
    Buffers b(world);
    const std::size_t all = kEach * b.members * sizeof(float);
    expect_error([&] { b.coll.collect(b.y.data() + 1, b.x.data(), kEach); }, Code::out_of_range,
                 {"collect", "`dst`", std::to_string(all) + " bytes; at most " + std::to_string(all - 4)});
    b.expect_untouched();
  });
}

// Who gets nothing may pass null; who gets something is refused before anything comes.
TEST_P(CollectiveVariableRefusals, ExchangeIntoNull) {
  run([](World& world) {
    if (!testing::kernels_check_ranks(world)) return;
    Buffers b(world);
    const std::string all = std::to_string(kEach * b.members * sizeof(float));
    expect_error([&] { b.exchange(nullptr, b.x.data()); }, Code::invalid_argument,
                 {"all_to_all_v", "`dst`", ISOTOPE_CHECKED ? "bytes" : all + " bytes"});
    b.expect_untouched();
    b.counts.write(Words(b.members, 0));
    world.barrier();
    b.exchange(nullptr, b.x.data());
    b.expect_untouched();
  });
}

TEST_P(CollectiveVariableRefusals, CheckedCollectIntoItsOwnSource) {
  run([](World& world) {
    Buffers b(world);
    // What this PE brings lies where it goes, but for one element.
    const std::size_t mine = static_cast<std::size_t>(world.rank()) * 4;
    expect_error([&] { b.coll.collect(b.x.data(), b.x.data() + mine + 1, 4); }, Code::invalid_argument,
                 {"collect", "`dst`", std::to_string(16 * world.size()) + " bytes that overlap"});
    b.expect_untouched();
    // Where it goes, it may lie.
    EXPECT_EQ(b.coll.collect(b.x.data(), b.x.data() + mine, 4), 4 * b.members);
    EXPECT_EQ(b.x.get(4 * b.members - 1), static_cast<float>(world.size()));
    world.barrier();
  });
}

TEST_P(CollectiveVariableRefusals, CheckedPlacesOfParts) {
  run([](World& world) {
    Buffers b(world);
    const std::size_t last = b.members - 1;
    const auto bad = [&](Code code, const std::vector<std::string>& texts, const std::function<void()>& make) {
      make();
      world.barrier();
      expect_error([&] { b.exchange(b.y.data(), b.x.data()); }, code, texts);
      b.expect_untouched();
    };
    bad(Code::out_of_range, {"all_to_all_v", "`src`", "80 bytes; at most 76"}, [&] {
      for (std::size_t k = 0; k < b.members; ++k) b.src_offsets.set(k, last * kEach + 1);
    });
    bad(Code::out_of_range, {"all_to_all_v", "`dst`", "80 bytes; at most 76"},
        [&] { b.dst_offsets.set(0, last * kEach + 1); });
    if (world.size() > 1) {
      bad(Code::invalid_argument, {"all_to_all_v", "`dst_offsets`", "80 bytes that overlap"},
          [&] { b.dst_offsets.set(1, 1); });
    }
    // A part that a member keeps may stay; what another one sends may not come where this PE's own parts are.
    if (world.size() == 1) {
      b.exchange(b.x.data(), b.x.data());
      EXPECT_EQ(b.x.read(), std::vector<float>(kEach, 1));
    } else {
      expect_error([&] { b.exchange(b.x.data(), b.x.data()); }, Code::invalid_argument,
                   {"all_to_all_v", "`dst`", "80 bytes that overlap"});
      b.expect_untouched();
    }
  });
}

// One member alone is wrong, in what only its kernel can tell: the others are told, and nobody has moved anything.
TEST_P(CollectiveVariableRefusals, CheckedOneMemberIsRefused) {
  run([](World& world) {
    if (world.size() == 1) return;
    Buffers b(world);
    const int odd = world.size() / 2;
    const bool is_odd = world.rank() == odd;
    const auto expect_told = [&](const std::function<void()>& call, Code code, const std::string& text, int too = -1) {
      world.barrier();
      const bool refuses = is_odd || world.rank() == too;
      expect_error(call, refuses ? code : Code::mismatch, {refuses ? text : "refused this call"});
      b.expect_untouched();
    };
    // What the first member brings would come where this one's lies.
    const float* from = is_odd ? b.y.data() : b.x.data();
    expect_told([&] { b.coll.collect(b.y.data(), from, is_odd ? 2 : 1); }, Code::invalid_argument,
                "bytes that overlap");
    if (is_odd) b.dst_offsets.set(0, kEach * b.members - 1);  // its last element
    expect_told([&] { b.exchange(b.y.data(), b.x.data()); }, Code::out_of_range, "at most");
    // The first member is to receive that.
    if (is_odd) b.counts.set(0, std::uint64_t{1} << 62);
    expect_told([&] { b.exchange(b.y.data(), b.x.data()); }, Code::out_of_range, "`counts` is 4611686018427387904", 0);
  });
}

TEST_P(CollectiveVariableRefusals, CheckedMembersDiffer) {
  run([](World& world) {
    if (world.size() == 1) return;
    Buffers b(world);
    const auto bad = [&](const std::string& argument, const std::string& usual, const std::string& other,
                         const std::function<void()>& call, const std::function<void()>& other_call) {
      const int odd = world.size() - 1;
      const bool is_odd = world.rank() == odd;
      expect_error([&] { (is_odd ? other_call : call)(); }, Code::mismatch,
                   {"`" + argument + "` is " + (is_odd ? other : usual) + " on PE " + std::to_string(world.rank()),
                    "and " + (is_odd ? usual : other) + " on PE " + (is_odd ? "" : std::to_string(odd))});
      b.expect_untouched();
    };
    const auto collects = [&] { b.coll.collect(b.y.data(), b.x.data(), kEach); };
    const auto exchanges = [&] { b.exchange(b.y.data(), b.x.data()); };
    const auto collects_bytes = [&] {
      b.coll.collect(reinterpret_cast<char*>(b.y.data()), reinterpret_cast<const char*>(b.x.data()), kEach);
    };
    const auto reduces = [&] { b.coll.all_reduce(b.y.data(), b.x.data(), kEach); };
    bad("collective", "collect", "all_to_all_v", collects, exchanges);
    bad("collective", "all_to_all_v", "all_reduce", exchanges, reduces);
    bad("bytes of an element", "4", "1", collects, collects_bytes);
  });
}

}  // namespace
}  // namespace isotope
