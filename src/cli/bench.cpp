// `isotope bench`: measures Isotope, what the machine can do at best, and other libraries that are installed, in turns.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "bench/harness/driver.hpp"
#include "bench/harness/output_file.hpp"
#include "bench/harness/platform.hpp"
#include "bench/harness/plot.hpp"
#include "bench/harness/report.hpp"
#include "cli/command.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/info.hpp"
#include "isotope/host/job.hpp"

namespace isotope::cli {
namespace {

constexpr long kMostRepeats = 100'000;

class Bench : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override { return "measure Isotope, the machine's limit and installed peers"; }
  std::string usage() const override { return "[options] NAME... | all"; }

  std::string examples() const override {
    return "  isotope bench --list                          what can be measured\n"
           "  isotope bench launch                          an empty kernel, on one PE\n"
           "  isotope bench alloc --pes 8 --threads         eight PEs as threads of one process\n"
           "  isotope bench all --json result.json          everything, also written as JSON\n"
           "  isotope bench allreduce --algo all -n 4       each algorithm beside the automatic choice and both MPIs\n"
           "  isotope bench allreduce --plot allreduce.svg  size against time and bandwidth, as a picture\n"
           "  isotope bench allreduce --platform cuda -n 2  PEs that drive GPUs, or share one\n"
           "  isotope bench startup --quick                 does it work? The numbers mean little\n"
           "\nEach row shows ours, a peer (another way to do the same) and the limit (the least that the machine must "
           "do for it).\n"
           "They take turns, so what disturbs the machine disturbs all alike; each number is the median of its turns. "
           "A ratio\n"
           "above 1 means that ours is better. Peers are optional: most benchmarks compare with Open MPI, its OSHMEM, "
           "MPICH or\n"
           "UCX, where these were installed when Isotope was configured. algbw and busbw are those of nccl-tests: "
           "bytes a "
           "second,\n"
           "and what of it an ideal algorithm would send over each PE's link (docs/benchmarks.md).\n";
  }

  void declare(CLI::App& app) override {
    app.add_option("NAME", names_, "what to measure; `all` for everything")->type_name("");
    app.add_option("-n,--pes", pes_, fmt::format("how many PEs, 1 to {} (each benchmark has its own default)", kMaxPes))
        ->type_name("N");
    app.add_flag("--threads", threads_, "PEs are threads of one process");
    app.add_option("--platform", platform_,
                   "what PEs drive: cpu, or cuda for collectives on GPUs (else what ISOTOPE_PLATFORM says, or cpu)")
        ->type_name("NAME");
    app.add_option("--algo", algo_,
                   "of a collective: an algorithm by name, or `all` of them (else the library's choice)")
        ->type_name("NAME");
    app.add_option("--plot", plot_, "draw size against time and bandwidth, as SVG, here: FILE.svg")->type_name("FILE");
    app.add_option("--json", json_, "write the result here too; - prints it instead of the table")->type_name("FILE");
    app.add_option("--repeats", repeats_, "how many turns each contestant has (each benchmark has its own default)")
        ->type_name("K");
    app.add_flag("--quick", quick_, "few and short turns; of collectives, small sizes only");
    app.add_flag("--list", list_, "list the benchmarks");
  }

  int execute(const std::vector<std::string>&) override {
    if (list_) return print_list();
    bench::Options options{.threads = threads_, .quick = quick_};
    if (!pes_.empty()) options.pes = static_cast<int>(read_count("--pes", pes_, 1, kMaxPes));
    if (!repeats_.empty()) options.repeats = static_cast<int>(read_count("--repeats", repeats_, 1, kMostRepeats));
    options.platform = bench::read_platform(platform_);
    const auto topics = chosen(options.platform);
    for (const auto& topic : topics) bench::choose_algorithms(*topic, algo_);  // refused before anything is measured
    if (const auto problem = knob_problem()) throw Error(Code::invalid_argument, *problem);
    if (options.platform == bench::kGpuPlatform) bench::require_gpu(threads_);
    std::optional<bench::OutputFile> file, picture;
    if (!json_.empty() && json_ != "-") file.emplace("--json", json_);
    if (!plot_.empty()) {
      refuse_other_pictures();
      refuse_plot_without_sizes(topics);
      picture.emplace("--plot", plot_);
    }
    if (const std::string warning = bench::build_warning(); !warning.empty()) {
      fmt::print(stderr, "isotope bench: warning: {}\n", warning);
    }

    std::vector<bench::Row> all;
    for (const auto& topic : topics) {
      options.algos = bench::choose_algorithms(*topic, algo_);
      const std::vector<bench::Row> rows = bench::Driver(*topic, options).run();
      if (json_ != "-") {
        fmt::print("{}{}", all.empty() ? "" : "\n", bench::table(rows, use_color(1)));
        std::fflush(stdout);
      }
      all.insert(all.end(), rows.begin(), rows.end());
    }
    const std::string text = json_.empty() ? "" : bench::document(all).dump(2) + "\n";
    if (file) file->write(text);
    if (picture) picture->write(bench::plot(all));
    if (json_ == "-") fmt::print("{}", text);
    return 0;
  }

 private:
  std::vector<std::unique_ptr<bench::Topic>> chosen(const std::string& platform) const {
    std::vector<std::string> known;
    for (const auto& topic : bench::topics()) known.push_back(topic->name());
    if (names_.empty()) {
      throw Error(Code::invalid_argument,
                  fmt::format("no benchmark named; expected {} or all", fmt::join(known, ", ")));
    }
    std::vector<std::unique_ptr<bench::Topic>> result;
    for (const std::string& name : names_) {
      if (name == "all") return bench::topics_on(platform);
      result.push_back(bench::find_topic(name));
      if (platform == bench::kGpuPlatform) bench::require_on_gpus(*result.back());
    }
    return result;
  }

  /// SVG is what we draw: under another name programs would take it for something else.
  void refuse_other_pictures() const {
    const std::filesystem::path path(plot_);
    if (path.extension() == ".svg") return;
    throw Error(
        Code::invalid_argument,
        fmt::format("--plot is '{}', but the picture is SVG and nothing else; expected a name that ends in .svg, "
                    "such as '{}'",
                    plot_, (path.parent_path() / (path.stem().string() + ".svg")).string()));
  }

  static void refuse_plot_without_sizes(const std::vector<std::unique_ptr<bench::Topic>>& topics) {
    const auto has_sizes = [](const auto& topic) { return topic->has_sizes(); };
    if (std::any_of(topics.begin(), topics.end(), has_sizes)) return;
    std::vector<std::string> drawn;
    for (const auto& topic : bench::topics()) {
      if (topic->has_sizes()) drawn.push_back(topic->name());
    }
    throw Error(Code::invalid_argument,
                fmt::format("--plot draws benchmarks of several sizes; expected some of {}", fmt::join(drawn, ", ")));
  }

  static int print_list() {
    for (const auto& topic : bench::topics()) {
      fmt::print("{:<13}  {} (PEs: {}{})\n", topic->name(), topic->summary(), fmt::join(topic->default_pes(), ", "),
                 topic->on_gpus() ? "; on GPUs too" : "");
      for (const bench::ForeignPeer& peer : topic->foreign_peers()) {
        fmt::print("{:<13}  peer {}: {}\n", "", peer.name, bench::available(peer) ? "found" : "not found");
      }
    }
    return 0;
  }

  std::vector<std::string> names_;
  std::string pes_, json_, repeats_, algo_, plot_, platform_;
  bool threads_ = false, quick_ = false, list_ = false;
};

const Registration registration{4, [] { return std::unique_ptr<Command>(new Bench); }};

}  // namespace
}  // namespace isotope::cli
