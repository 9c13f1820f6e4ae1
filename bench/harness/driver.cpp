#include "bench/harness/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bench/harness/interleave.hpp"
#include "bench/harness/platform.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/job.hpp"

namespace isotope::bench {

namespace {

constexpr std::chrono::nanoseconds kBlock{10'000'000}, kQuickBlock{200'000};
constexpr std::chrono::minutes kJobTimeout{5};

}  // namespace

Driver::Driver(const Topic& topic, const Options& options)
    : topic_(topic), options_(options), progress_(options.command + " " + topic.name(), !options.quick) {}

std::vector<Row> Driver::run() {
  topic_.drive(*this);
  std::vector<Row> rows;
  for (const Measurement& measurement : measurements_) {
    for (Row& row : rows_of(measurement)) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<int> Driver::pes() const { return options_.pes ? std::vector<int>{*options_.pes} : topic_.default_pes(); }

int Driver::rounds() const {
  return options_.repeats ? *options_.repeats : options_.quick ? 3 : topic_.default_repeats();
}

Json Driver::run_job(int pes, bool threads, int rounds, const std::vector<std::string>& algos) {
  const std::string program = job_program(options_.platform);
  if (!std::filesystem::exists(program)) {
    throw Error(
        Code::not_supported,
        fmt::format("'{}' is missing; it is built and installed together with `isotope`, in the same folder", program));
  }
  const JobRequest request{.topic = topic_.name(),
                           .platform = options_.platform,
                           .threads = threads,
                           .rounds = rounds,
                           .block = options_.block.value_or(options_.quick ? kQuickBlock : kBlock),
                           .results = results_.path(),
                           .algos = algos,
                           .sizes = options_.sizes,
                           .quick = options_.quick,
                           .alone = options_.alone};
  JobOptions job;
  job.pes = pes;
  job.timeout = kJobTimeout;
  job.quiet = true;
  job.env = options_.env;
  job.platform = options_.platform;
  job.forward_signals = true;
  const std::vector<std::string> argv = {program, request.text()};
  const JobResult result = threads ? run_program_threads(job, argv) : run_program(job, argv);
  const std::string text = results_.take();
  if (result.exit_code != 0) {
    throw Error(Code::system,
                fmt::format("the job of benchmark {} on {} PEs failed: {}", topic_.name(), pes, result.message));
  }
  return Json::parse(text);
}

std::optional<std::string> Driver::run_foreign_peer(const ForeignPeer& peer, int pes,
                                                    const std::vector<std::string>& arguments) {
  std::string why;
  std::optional<std::string> text = run_peer(peer, pes, arguments, options_.quick, why);
  if (!text && std::find(complained_.begin(), complained_.end(), peer.name) == complained_.end()) {
    fmt::print(stderr, "isotope bench: peer {} is left out at {} PEs: {} {}\n", peer.name, pes, peer.program, why);
    complained_.push_back(peer.name);
  }
  return text;
}

std::vector<ForeignPeer> Driver::peers_here() const {
  if (options_.alone || options_.platform == kGpuPlatform) return {};
  std::vector<ForeignPeer> here = topic_.foreign_peers();
  std::erase_if(here, [](const ForeignPeer& peer) { return !available(peer); });
  return here;
}

std::vector<std::vector<std::string>> Driver::algorithms_by_job() const {
  // A job on GPUs takes seconds to start, its MPS included: all go into one. Without algorithms there is one way to do
  // it.
  if (options_.platform == kGpuPlatform || options_.algos.empty()) return {options_.algos};
  std::vector<std::vector<std::string>> jobs;
  for (const std::string& algo : options_.algos) jobs.push_back({algo});
  return jobs;
}

void Driver::print_notes(const Json& extra) {
  if (options_.alone || !extra.contains("notes")) return;
  for (const std::string note : extra.at("notes")) {
    if (std::find(noted_.begin(), noted_.end(), note) != noted_.end()) continue;
    fmt::print(stderr, "isotope bench: {}\n", note);
    noted_.push_back(note);
  }
}

void Driver::alternate_with_peers() {
  const std::vector<ForeignPeer> peers = peers_here();
  const int alternations = options_.quick ? 1 : std::min(options_.turns.value_or(topic_.turns()), rounds());
  const int rounds_each = (rounds() + alternations - 1) / alternations;
  const std::vector<std::vector<std::string>> ours = algorithms_by_job();
  const std::size_t contestants = ours.size() + peers.size();
  progress_.expect(static_cast<int>(pes().size() * contestants) * alternations);
  for (const int pes : pes()) {
    alternate(static_cast<int>(contestants), alternations, [&](int turn) {
      const auto who = static_cast<std::size_t>(turn);
      if (who < ours.size()) {
        progress_.step(
            fmt::format("{} PEs of ours{}{}", pes, ours[who].empty() ? "" : ", ", fmt::join(ours[who], " ")));
        const Json result = run_job(pes, options_.threads, rounds_each, ours[who]);
        for (const Json& one : result.at("measurements")) add(measurement_from_json(one));
        print_notes(result.at("extra"));
        return;
      }
      const ForeignPeer& peer = peers[who - ours.size()];
      progress_.step(fmt::format("{} PEs of {}", pes, peer.name));
      if (const auto text = run_foreign_peer(peer, pes, {std::to_string(rounds_each)})) {
        add_peer_samples(measurements_, peer.name, pes, *text);  // ours has the first turn, so the cases are known
      }
    });
  }
}

}  // namespace isotope::bench
