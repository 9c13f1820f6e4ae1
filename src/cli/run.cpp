// `isotope run`: starts a job of PEs and waits for it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/info.hpp"
#include "isotope/host/job.hpp"

namespace isotope::cli {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::invalid_argument, what); }

class Run : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override { return "run a program as a job of PEs"; }
  std::string usage() const override { return "[options] program [arguments...]"; }
  bool takes_program() const override { return true; }

  std::string examples() const override {
    return "  isotope run -n 4 ./shift                      four PEs as processes\n"
           "  isotope run -n 4 --threads ./shift            four PEs as threads of one process\n"
           "  isotope run -n 8 --timeout 2min ./test -v     -v is the program's; ends after two minutes with code 124\n"
           "  isotope run -n 2 --tag-output --env OMP_NUM_THREADS=1 ./solve\n"
           "  isotope run -n 3 sh -c 'echo I am $ISOTOPE_RANK of $ISOTOPE_SIZE'\n"
           "\nA program that is a process finds ISOTOPE_RANK and ISOTOPE_SIZE in its environment. The exit code is "
           "that of the\n"
           "first PE that failed, 128 + signal for one that was killed, 124 after the timeout, 2 for a mistake on this "
           "line.\n"
           "Ctrl-C goes to every PE; a second one kills them.\n";
  }

  void declare(CLI::App& app) override {
    app.add_option("-n,--pes", pes_, fmt::format("how many PEs, 1 to {} (1)", kMaxPes))->type_name("N");
    app.add_flag("--threads", threads_, "PEs are threads of one process (the program needs ISOTOPE_MAIN)");
    app.add_option("--platform", platform_, "what kernels run on; sets ISOTOPE_PLATFORM")->type_name("NAME");
    app.add_flag("--allow-time-slicing", allow_time_slicing_,
                 "processes may share a GPU without MPS: slow, since their kernels take turns");
    app.add_option("--timeout", timeout_, "end the job after this long: 30s, 2min, 1.5h")->type_name("TIME");
    app.add_option("--env", env_, "add to every PE's environment; may be repeated")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--tag-output", tag_output_, "put the PE's number in front of each line it prints");
    app.add_flag("-q,--quiet", quiet_, "say nothing about how the job ended");
  }

  int execute(const std::vector<std::string>& program) override {
    JobOptions options;
    options.pes = static_cast<int>(read_count("--pes", pes_, 1, kMaxPes));
    read_platform(options);
    options.allow_time_slicing = allow_time_slicing_;
    read_timeout(options);
    for (const std::string& one : env_) {
      const std::size_t equals = one.find('=');
      if (equals == 0 || equals == std::string::npos) {
        refuse(fmt::format("--env is '{}'; expected NAME=VALUE, e.g. --env OMP_NUM_THREADS=1", one));
      }
      options.env.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    }
    if (program.empty()) refuse("no program given; expected isotope run " + usage());
    // Better one error here than one from each PE.
    EnvironmentOverrides seen_by_pes = options.env;
    if (!platform_.empty()) seen_by_pes.emplace(seen_by_pes.begin(), "ISOTOPE_PLATFORM", platform_);
    for (const KnobInfo& knob : knobs()) {
      if (knob.internal) seen_by_pes.emplace_back(knob.variable, "");  // the launcher replaces these
    }
    if (const auto problem = knob_problem(seen_by_pes)) refuse(*problem);

    options.tag_output = tag_output_;
    options.color = tag_output_ && use_color(1);
    options.quiet = quiet_;
    options.progress = !quiet_;
    options.forward_signals = true;
    return (threads_ ? run_program_threads(options, program) : run_program(options, program)).exit_code;
  }

 private:
  void read_platform(JobOptions& options) const {
    if (platform_.empty()) return;
    const std::vector<std::string> have = build_info().platforms;
    if (platform_ != "auto" && std::find(have.begin(), have.end(), platform_) == have.end()) {
      refuse(
          fmt::format("this build has no platform '{}'; it has {} (auto picks one)", platform_, fmt::join(have, ", ")));
    }
    options.platform = platform_;
  }

  void read_timeout(JobOptions& options) const {
    if (timeout_.empty()) return;
    const auto span = parse_duration(timeout_);
    if (!span || span->count() == 0) {
      refuse(
          fmt::format("--timeout is '{}'; expected a time above 0 with ms, s, min or h, e.g. --timeout 30s", timeout_));
    }
    options.timeout = *span;
  }

  std::string pes_ = "1", platform_, timeout_;
  std::vector<std::string> env_;
  bool threads_ = false, allow_time_slicing_ = false, tag_output_ = false, quiet_ = false;
};

const Registration registration{1, [] { return std::unique_ptr<Command>(new Run); }};

}  // namespace
}  // namespace isotope::cli
