// The table of symmetric objects: what a kernel finds for an address, against std::map, and while the host changes it.
#include "isotope/device/objects.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "runtime/object_index.hpp"

namespace isotope {
namespace {

using detail::find_object;
using runtime::ObjectIndex;

const void* at(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

class Objects : public ::testing::Test {
 protected:
  void add(std::uint64_t begin, std::uint64_t bytes) {
    index.add(at(begin), bytes);
    model[begin] = bytes;
  }
  void remove(std::uint64_t begin) {
    index.remove(at(begin));
    model.erase(begin);
  }
  /// What the map says about an address.
  ObjectRange expected(std::uint64_t address) const {
    auto next = model.upper_bound(address);
    if (next == model.begin()) return {};
    --next;
    return address - next->first < next->second ? ObjectRange{next->first, next->second} : ObjectRange{};
  }
  void expect_found(std::uint64_t address) {
    const ObjectRange want = expected(address), found = find_object(table, address);
    ASSERT_EQ(found.bytes, want.bytes) << address;
    if (want.bytes != 0) {
      ASSERT_EQ(found.begin, want.begin) << address;
    }
  }
  void expect_all_edges() {
    for (const auto& [begin, bytes] : model) {
      for (const std::uint64_t address : {begin - 1, begin, begin + bytes / 2, begin + bytes - 1, begin + bytes})
        expect_found(address);
      if (HasFatalFailure()) return;
    }
  }

  ObjectTable table;
  ObjectIndex index{table};
  std::map<std::uint64_t, std::uint64_t> model;
};

TEST_F(Objects, EmptyTableHoldsNothing) {
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, ~std::uint64_t{0}})
    expect_found(address);
}

TEST_F(Objects, FirstAndLastByteAndGaps) {
  add(4096, 256);
  add(4096 + 256, 1);  // right behind it
  add(8192, 4096);     // after a gap
  add(1 << 20, 0);     // holds nothing
  model.erase(1 << 20);
  add(1024, 8);  // before all
  expect_all_edges();
  for (std::uint64_t address = 1000; address < 13000; ++address) expect_found(address);
  expect_found(1 << 20);
  expect_found(~std::uint64_t{0});
}

TEST_F(Objects, RemovingWhatIsNotThereChangesNothing) {
  add(4096, 64);
  add(8192, 64);
  for (const std::uint64_t begin : {0, 4095, 4097, 4160, 9000}) index.remove(at(begin));
  expect_all_edges();
}

// The table remembers the last range it found; a change may move or remove what is there.
TEST_F(Objects, TheLastFoundOneMayGo) {
  for (std::uint64_t i = 1; i <= 5; ++i) add(i * 4096, 512);
  for (const std::uint64_t gone : {5u, 1u, 3u, 2u, 4u}) {
    expect_found(gone * 4096 + 100);
    remove(gone * 4096);
    expect_found(gone * 4096 + 100);
    expect_all_edges();
  }
  add(4096, 1024);  // another object at an old place, of another size
  expect_found(4096 + 1000);
}

TEST_F(Objects, RandomAddsAndRemoves) {
  std::mt19937_64 random(7);
  constexpr std::uint64_t kSlots = 700, kSlot = 1 << 16;  // more than one array's worth
  const auto begin_of = [](std::uint64_t slot) { return 0x100000000u + slot * kSlot; };
  for (int step = 0; step < 6000; ++step) {
    const std::uint64_t slot = random() % kSlots, begin = begin_of(slot);
    if (model.count(begin) != 0) {
      if (step > 3000 || step % 4 == 0) remove(begin);
    } else {
      add(begin, random() % 3 == 0 ? kSlot : 1 + random() % kSlot);  // some touch the next one
    }
    for (int look = 0; look < 8; ++look) expect_found(begin_of(random() % kSlots) + random() % kSlot);
    expect_found(begin);
    expect_found(begin - 1);
    if (step % 500 == 0) expect_all_edges();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(model.size(), 0u);
  while (!model.empty()) remove(model.begin()->first);
  expect_found(begin_of(3));
}

// A kernel looks things up while the host adds and removes others: what stays is found each time, a gap never is, and
// what comes and goes is found as it is or not at all.
TEST_F(Objects, ReaderWhileTheHostChangesThem) {
  constexpr std::uint64_t kObjects = 300, kSlot = 4096;
  const auto begin_of = [](std::uint64_t i) { return 0x10000000u + i * kSlot; };
  const auto bytes_of = [](std::uint64_t i) { return 100 + i; };
  for (std::uint64_t i = 0; i < kObjects; i += 3) index.add(at(begin_of(i)), bytes_of(i));  // these stay
  std::uint32_t done = 0;
  std::uint64_t wrong = 0, looks = 0, seen = 0, missed = 0;
  std::thread reader([&] {
    std::mt19937_64 random(3);
    for (; load(&done, Order::acquire) == 0 || looks < 10'000; ++looks) {
      const std::uint64_t i = random() % kObjects, inside = begin_of(i) + random() % bytes_of(i);
      const ObjectRange found = find_object(table, inside);
      const bool right = found.begin == begin_of(i) && found.bytes == bytes_of(i);
      wrong += i % 3 == 0 ? !right : !right && found.bytes != 0;
      if (i % 3 != 0) ++(right ? seen : missed);
      wrong += find_object(table, begin_of(i) + bytes_of(i)).bytes != 0;
      wrong += find_object(table, begin_of(i) - 1).bytes != 0;
    }
  });
  std::mt19937_64 random(5);
  std::vector<bool> present(kObjects, false);
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t i = random() % kObjects;
    if (i % 3 == 0) continue;
    if (present[i]) {
      index.remove(at(begin_of(i)));
    } else {
      index.add(at(begin_of(i)), bytes_of(i));
    }
    present[i] = !present[i];
    if (step % 64 == 0) std::this_thread::yield();
  }
  store(&done, 1u, Order::release);
  reader.join();
  EXPECT_EQ(wrong, 0u) << "of " << looks << " looks";
  EXPECT_GT(seen, 0u);
  EXPECT_GT(missed, 0u);
}

}  // namespace
}  // namespace isotope
