// signal: 8 bytes and a signal, back and forth between two PEs; the time of one way.
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"
#include "bench/topics/device_peers.hpp"
#include "bench/topics/raw.hpp"
#include "isotope/device/rma.hpp"

namespace isotope::bench {
namespace {

/// What a PE receives, in one cache line.
struct alignas(128) Mail {
  std::uint64_t data;
  Signal arrived;
};

/// `n` messages, of which this PE sends every second one. Signals count up from `before`.
ISOTOPE_KERNEL void ping_pong(Team team, Mail* mail, SignalOp op, std::uint64_t before, long n) {
  const int me = team.rank(), other = team.size() > 1 ? 1 - me : 0;
  for (std::uint64_t round = before + 1; n > 0; n -= 2, ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == me) {
        put_signal(this_thread(), team, Span<std::uint64_t>(&mail->data, 1), Span<const std::uint64_t>(&round, 1),
                   &mail->arrived, op == SignalOp::add ? 1 : round, op, other);
      } else if (!wait_until(this_thread(), team, &mail->arrived, Cmp::ge, round, Order::acquire, other)) {
        return;
      }
    }
  }
}

/// The same with nothing around it.
void raw_ping_pong(Mail* mine, Mail* theirs, int me, std::uint64_t before, long n) {
  constexpr int kSpins = 10'000;
  for (std::uint64_t round = before + 1; n > 0; n -= 2, ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == me) {
        theirs->data = round;
        raise(theirs->arrived.value, round);
      } else if (mine != theirs) {
        spin_until(mine->arrived.value, round, kSpins);
      }
    }
  }
}

class SignalTopic : public Topic {
 public:
  std::string name() const override { return "signal"; }
  std::string summary() const override { return "8 bytes with a signal between two PEs, one way"; }
  std::vector<int> default_pes() const override { return {2}; }
  int default_repeats() const override { return 45; }
  int turns() const override { return 15; }
  std::vector<ForeignPeer> foreign_peers() const override { return {oshmem_peer(name()), open_mpi_peer(name())}; }

  void measure(JobBench& bench) const override {
    bench.pin();
    one(bench, "put_signal", SignalOp::set);
    one(bench, "put_signal_add", SignalOp::add);
  }

 private:
  static void one(JobBench& bench, const char* name, SignalOp op) {
    World& world = bench.world();
    const Team team = world.team();
    // One line for ours and for the limit: how long a line takes depends on its address, by a third and more.
    auto mail = world.alloc_zeroed<Mail>(1);
    const int other = world.size() > 1 ? 1 - world.rank() : 0;
    std::uint64_t rounds = 0;
    const auto ours = [&](long n) {
      if (world.rank() > 1) return;
      world.launch<ping_pong>({}, team, mail.data(), op, rounds, n);
      world.synchronize();
      rounds += static_cast<std::uint64_t>(n) / 2;
    };
    const auto limit = [&](long n) {
      if (world.rank() > 1) return;
      raw_ping_pong(mail.data(), team.at(mail.data(), other), world.rank(), rounds, n);
      rounds += static_cast<std::uint64_t>(n) / 2;
    };
    bench.measure({.name = name, .bytes = sizeof(std::uint64_t), .limit_name = "cache line", .unit = "ns"},
                  {{Role::ours, "", ours, 2}, {Role::limit, "", limit, 2}});
  }
};

const TopicRegistration registration{7, [] { return std::unique_ptr<Topic>(new SignalTopic); }};

}  // namespace
}  // namespace isotope::bench
