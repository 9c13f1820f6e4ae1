// startup: from the decision to start a job to the moment when its last PE has passed the first barrier.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "bench/harness/driver.hpp"
#include "bench/harness/interleave.hpp"
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"

namespace isotope::bench {
namespace {

using Clock = std::chrono::steady_clock;  // one clock for all processes of a machine

double nanoseconds(Clock::time_point at) {
  return std::chrono::duration<double, std::nano>(at.time_since_epoch()).count();
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// One process, and n threads that do nothing.
void start_threads(int n) {
  start_trivial_programs(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([] {});
  for (std::thread& thread : threads) thread.join();
}

class Startup : public Topic {
 public:
  std::string name() const override { return "startup"; }
  std::string summary() const override {
    return "from starting a job to its first barrier, PEs as processes and as threads";
  }
  std::vector<int> default_pes() const override { return {2, 8, 32}; }
  int default_repeats() const override { return 9; }
  std::vector<ForeignPeer> foreign_peers() const override { return {{"Open MPI", Launcher::open_mpi, "mpi_startup"}}; }

  void measure(JobBench& bench) const override {
    bench.world().barrier();
    bench.extra()["passed_ns"] = bench.max_over_pes(nanoseconds(Clock::now()));
  }

  void drive(Driver& driver) const override {
    for (const int pes : driver.pes()) measure_start(driver, pes);
  }

 private:
  static double start_ours(Driver& driver, int pes, bool threads) {
    const Clock::time_point start = Clock::now();
    const Json result = driver.run_job(pes, threads, 1);
    return (result.at("extra").at("passed_ns").get<double>() - nanoseconds(start)) * 1e-9;
  }

  static void measure_start(Driver& driver, int pes) {
    Measurement processes{.row = row(pes, "processes", "fork + exec")};
    Measurement threads{.row = row(pes, "threads", "fork + exec, threads")};
    const auto timed = [](Samples& samples, const auto& start_them) {
      const Clock::time_point start = Clock::now();
      start_them();
      samples.push_back(seconds_since(start));
    };
    const auto peer_turn = [&](const ForeignPeer& peer) {
      const Clock::time_point start = Clock::now();
      const auto text = driver.run_foreign_peer(peer, pes);
      if (!text) return;
      const double seconds = (std::strtod(text->c_str(), nullptr) - nanoseconds(start)) * 1e-9;
      processes.peers[peer.name].push_back(seconds);
      threads.peers[peer.name].push_back(seconds);  // has no threads to offer, so this is what a user would have
    };

    std::vector<std::function<void()>> turns;
    if (!driver.options().threads) {
      turns.push_back([&] { processes.ours.push_back(start_ours(driver, pes, false)); });
      turns.push_back([&] { timed(processes.limit, [&] { start_trivial_programs(pes); }); });
    }
    turns.push_back([&] { threads.ours.push_back(start_ours(driver, pes, true)); });
    turns.push_back([&] { timed(threads.limit, [&] { start_threads(pes); }); });
    const std::vector<ForeignPeer> peers = driver.peers_here();
    for (const ForeignPeer& peer : peers) turns.push_back([&] { peer_turn(peer); });

    const int contestants = static_cast<int>(turns.size());
    driver.progress().expect(driver.rounds() * contestants);
    alternate(contestants, driver.rounds(), [&](int who) {
      driver.progress().step(fmt::format("{} PEs", pes));
      turns[static_cast<std::size_t>(who)]();
    });
    if (!driver.options().threads) driver.add(processes);
    driver.add(threads);
  }

  static Row row(int pes, const char* as, const char* limit) {
    return {.name = "startup", .pes = pes, .pes_as = as, .limit_name = limit, .unit = "ms"};
  }
};

const TopicRegistration registration{3, [] { return std::unique_ptr<Topic>(new Startup); }};

}  // namespace
}  // namespace isotope::bench
