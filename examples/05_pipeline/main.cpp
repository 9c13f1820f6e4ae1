// Producers and a consumer: every PE but the last makes items, the last one takes them in the order in which they come.
//
// Shows: a small queue per producer in the consumer's memory, signals both ways ("item there", "place free"), and
// wait_until_any over all of the queues at once.
#include <cstdio>

#include "isotope/isotope.hpp"

using namespace isotope;

constexpr std::uint64_t kItems = 1000, kPlaces = 8;
constexpr int kMostPes = 64;

struct Queues {
  Span<std::uint64_t> items;  // on the consumer: kPlaces for each producer
  Signal* ready;              // on the consumer: items that came, by producer
  Signal* free;               // on a producer: items that were taken
  std::uint64_t* checksum;    // on the consumer
};

ISOTOPE_HD std::uint64_t item_of(int producer, std::uint64_t number) {
  return static_cast<std::uint64_t>(producer + 1) * 1000003 + number;
}

ISOTOPE_HD void produce(const Team& team, const Queues& queues, int consumer) {
  const auto me = this_thread();
  for (std::uint64_t number = 0; number < kItems; ++number) {
    // A place is free once its item of kPlaces ago was taken.
    if (number >= kPlaces && !wait_until(me, team, queues.free, Cmp::gt, number - kPlaces)) return;
    const std::uint64_t item = item_of(team.rank(), number);
    const std::size_t place = static_cast<std::size_t>(team.rank()) * kPlaces + number % kPlaces;
    put_signal(me, team, queues.items.subspan(place, 1), Span<const std::uint64_t>(&item, 1),
               &queues.ready[team.rank()], 1, SignalOp::add, consumer);
  }
}

ISOTOPE_HD void consume(const Team& team, const Queues& queues, int producers) {
  const auto me = this_thread();
  std::uint64_t next[kMostPes], taken[kMostPes];  // waited for, and taken so far, by producer
  int done[kMostPes];                             // not 0: that queue has ended
  for (int i = 0; i < producers; ++i) {
    next[i] = 1;
    taken[i] = 0;
    done[i] = 0;
  }
  for (;;) {
    const std::size_t from =
        wait_until_any_vector(me, team, queues.ready, static_cast<std::size_t>(producers), Cmp::ge, next, done);
    if (from == kNoIndex) return;  // all queues have ended, or the wait gave up
    *queues.checksum += queues.items[from * kPlaces + taken[from] % kPlaces] * (taken[from] + 1);
    ++taken[from];
    ++next[from];
    if (taken[from] == kItems) done[from] = 1;
    signal(me, team, queues.free, 1, SignalOp::add, static_cast<int>(from));
  }
}

ISOTOPE_KERNEL void pipeline(Team team, Queues queues) {
  const int consumer = team.size() - 1;
  if (team.rank() == consumer) {
    consume(team, queues, consumer);
  } else {
    produce(team, queues, consumer);
  }
}

ISOTOPE_MAIN(argc, argv) {
  World world = init();
  if (world.size() < 2 || world.size() > kMostPes) {
    std::fprintf(stderr, "this example wants 2 to %d PEs, not %d\n", kMostPes, world.size());
    return 1;
  }
  auto items = world.alloc<std::uint64_t>(static_cast<std::size_t>(world.size()) * kPlaces);
  auto signals = world.alloc_zeroed<Signal>(static_cast<std::size_t>(world.size()) + 1);
  auto checksum = world.alloc_zeroed<std::uint64_t>(1);
  world.launch<pipeline>({}, world.team(), Queues{items.span(), signals.data() + 1, signals.data(), checksum.data()});
  world.synchronize();

  if (world.rank() != world.size() - 1) return 0;
  const std::uint64_t found = checksum.get(0);
  std::uint64_t expected = 0;
  for (int producer = 0; producer + 1 < world.size(); ++producer)
    for (std::uint64_t number = 0; number < kItems; ++number) expected += item_of(producer, number) * (number + 1);
  if (found != expected) {
    std::fprintf(stderr, "the checksum is %llu, expected %llu\n", static_cast<unsigned long long>(found),
                 static_cast<unsigned long long>(expected));
    return 1;
  }
  std::printf("PE %d took %llu items of each of %d producers\n", world.rank(), static_cast<unsigned long long>(kItems),
              world.size() - 1);
  return 0;
}
