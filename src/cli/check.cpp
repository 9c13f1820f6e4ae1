// `isotope check`: runs a program under the checker.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/check.hpp"

namespace isotope::cli {
namespace {

constexpr long kMostPes = 1024;
constexpr long kMostSchedules = 1'000'000'000;

class Check : public Command {
 public:
  std::string name() const override { return "check"; }
  std::string summary() const override { return "find races, deadlocks and misuse of memory in a program's kernels"; }
  std::string usage() const override { return "[options] program.check [arguments...]"; }
  bool takes_program() const override { return true; }

  std::string examples() const override {
    return "  isotope check -n 4 ./shift.check                   100 random schedules of four PEs\n"
           "  isotope check -n 4 --seed 17 ./shift.check         one of them again, with what the program prints\n"
           "  isotope check -n 3 --schedules 5000 --strategy pct ./shift.check\n"
           "  isotope check -n 2 --strategy exhaustive ./barrier.check     every order, for small cases\n"
           "  isotope check -n 4 --seed 17 --steps ./shift.check            what each thread does, step by step\n"
           "  isotope check -n 4 --advice ./shift.check                     what is no bug but breaks easily\n"
           "\nThe program is built by isotope_add_check(target) in CMake. The exit code is 1 for a finding, 0 for "
           "none, 2 "
           "for a\nmistake on this line; advice changes nothing about it.\n";
  }

  void declare(CLI::App& app) override {
    app.add_option("-n,--pes", pes_, fmt::format("how many PEs, 1 to {} (2)", kMostPes))->type_name("N");
    app.add_option("--seed", seed_, "play this schedule alone, and show what the program prints")->type_name("S");
    app.add_option("--schedules", schedules_, "how many schedules, seeds 1 to K (100; exhaustive: at most K)")
        ->type_name("K");
    app.add_option("--strategy", strategy_, "random, pct or exhaustive (random)")->type_name("NAME");
    app.add_option("--depth", depth_, "pct: changes of priority in a schedule (3)")->type_name("D");
    app.add_option("--max-steps", max_steps_, "a schedule of more steps is a livelock (20000000)")->type_name("N");
    app.add_option("--order", order_, "play this one order, as a finding of the exhaustive strategy prints it")
        ->type_name("LIST");
    app.add_flag("--steps", steps_,
                 "with --seed or --order: show every access, sync and wait in turn; --steps=FROM:TO, --steps=FROM: or\n"
                 "--steps=:TO, a part of them");
    app.add_flag(
        "--advice", advice_,
        "also say what is no bug in these schedules but breaks easily: equality waits on counters, flags that\n"
        "are reset, narrow scopes on peer memory, data that may equal a sentinel. Never a finding: the exit code "
        "stays");
    app.add_option("--timeline", timeline_,
                   "draw the schedule with the finding, or the one of --seed: a picture (.svg), or a trace for a "
                   "viewer (.json)")
        ->type_name("FILE");
    app.add_flag("--no-leaks", no_leaks_, "say nothing about symmetric objects that were never freed");
  }

  int execute(const std::vector<std::string>& program) override {
    CheckOptions options;
    options.pes = static_cast<int>(read_count("--pes", pes_, 1, kMostPes));
    options.depth = static_cast<int>(read_count("--depth", depth_, 0, 1000));
    options.steps = static_cast<std::uint64_t>(read_count("--max-steps", max_steps_, 1, kMostSchedules));
    options.advice = advice_;
    options.order = order_;
    options.leaks = !no_leaks_;
    options.timeline = timeline_;
    if (strategy_ == "pct") {
      options.strategy = CheckStrategy::pct;
    } else if (strategy_ == "exhaustive") {
      options.strategy = CheckStrategy::exhaustive;
    } else if (strategy_ != "random") {
      throw Error(
          Code::invalid_argument,
          fmt::format("--strategy is '{}'; expected random, pct or exhaustive, e.g. --strategy pct", strategy_));
    }
    if (!order_.empty()) {
      if (!seed_.empty() || !schedules_.empty() || strategy_ == "pct")
        throw Error(Code::invalid_argument,
                    "--order plays one order of the exhaustive strategy; leave out --seed, --schedules and pct");
      options.strategy = CheckStrategy::exhaustive;
    }
    if (!steps_.empty()) {
      if (seed_.empty() && order_.empty())
        throw Error(Code::invalid_argument,
                    "--steps shows one schedule; say which with --seed S (or --order LIST), e.g. --seed 1 --steps");
      options.show_steps = true;
      read_range(options);
    }
    if (!seed_.empty() && (!schedules_.empty() || options.strategy == CheckStrategy::exhaustive)) {
      throw Error(Code::invalid_argument,
                  "--seed plays one schedule of the random or pct strategy; leave out --schedules and exhaustive");
    }
    const std::string otherwise = options.strategy == CheckStrategy::exhaustive ? "1000000" : "100";
    options.schedules = seed_.empty() && order_.empty()
                            ? static_cast<std::uint64_t>(read_count(
                                  "--schedules", schedules_.empty() ? otherwise : schedules_, 1, kMostSchedules))
                            : 1;
    if (!seed_.empty()) options.seed = static_cast<std::uint64_t>(read_count("--seed", seed_, 0, 1L << 62));
    if (program.empty()) throw Error(Code::invalid_argument, "no program given; expected isotope check " + usage());
    run_check_program(options, program);
  }

 private:
  /// FROM:TO, either of which may be missing; the parser's "true" is --steps alone.
  void read_range(CheckOptions& options) const {
    if (steps_ == "true") return;
    const std::size_t colon = steps_.find(':');
    if (colon == std::string::npos) {
      throw Error(
          Code::invalid_argument,
          fmt::format("--steps is '{}'; expected --steps alone, or --steps=FROM:TO, e.g. --steps=100:200", steps_));
    }
    const std::string from = steps_.substr(0, colon), to = steps_.substr(colon + 1);
    if (!from.empty()) options.first_step = static_cast<std::uint64_t>(read_count("--steps", from, 0, kMostSchedules));
    if (!to.empty()) options.last_step = static_cast<std::uint64_t>(read_count("--steps", to, 0, kMostSchedules));
    if (options.first_step > options.last_step)
      throw Error(Code::invalid_argument,
                  fmt::format("--steps={} ends before it begins; expected FROM:TO with FROM <= TO", steps_));
  }

  std::string pes_ = "2", seed_, schedules_, strategy_ = "random", depth_ = "3", max_steps_ = "20000000", timeline_,
              order_, steps_;
  bool no_leaks_ = false, advice_ = false;
};

const Registration registration{2, [] { return std::unique_ptr<Command>(new Check); }};

}  // namespace
}  // namespace isotope::cli
