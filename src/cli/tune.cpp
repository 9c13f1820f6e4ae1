// `isotope tune`: measures every algorithm of the collectives on this machine, and writes the table that the library
// loads.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "bench/collectives/cases.hpp"
#include "bench/collectives/tuning.hpp"
#include "bench/harness/driver.hpp"
#include "bench/harness/output_file.hpp"
#include "bench/harness/platform.hpp"
#include "bench/harness/report.hpp"
#include "cli/command.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/info.hpp"
#include "isotope/host/job.hpp"

namespace isotope::cli {
namespace {

namespace fs = std::filesystem;
using bench::CollectiveCase;

constexpr int kRounds = 6, kTurns = 2;
constexpr std::chrono::milliseconds kBlock{2};
constexpr std::uint64_t kLeast = 256, kMost = 16 << 20;  // beyond, what is fastest does not change any more

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::invalid_argument, what); }

std::vector<std::uint64_t> sizes(bool quick) {
  if (quick) return {1 << 10, 64 << 10, 1 << 20};
  std::vector<std::uint64_t> all;
  for (std::uint64_t size = kLeast; size <= kMost; size *= 2) all.push_back(size);
  return all;
}

class Tune : public Command {
 public:
  std::string name() const override { return "tune"; }
  std::string summary() const override {
    return "measure the collectives' algorithms, and keep the fastest for this machine";
  }

  std::string examples() const override {
    return "  isotope tune                              jobs of 2, 4 and 8 PEs: some minutes\n"
           "  isotope tune -n 6                         jobs of 6 PEs; what is known about others is kept\n"
           "  isotope tune --platform cuda              the same for PEs that drive GPUs, or share one\n"
           "  isotope tune --collectives all_reduce,broadcast\n"
           "  isotope tune --out table --quick          does it work? The choices mean little\n"
           "  ISOTOPE_TUNE_FILE=table isotope run -n 4 ./train\n"
           "\nPEs are processes. The time of a call is that of its slowest PE. The table is text, a line for each "
           "range of "
           "sizes:\n"
           "collective, PEs, up to bytes, algorithm. The library reads the file that ISOTOPE_TUNE_FILE names, else the "
           "one "
           "that\n"
           "`isotope tune` writes by default (one for the CPU, one for GPUs), else it has a table of its own. Let "
           "nothing "
           "else\n"
           "run meanwhile.\n";
  }

  void declare(CLI::App& app) override {
    app.add_option("-n,--pes", pes_, fmt::format("how many PEs, 1 to {} (else 2, 4 and 8)", kMaxPes))->type_name("N");
    app.add_option("--platform", platform_,
                   "what PEs drive: cpu, or cuda for GPUs (else what ISOTOPE_PLATFORM says, or cpu)")
        ->type_name("NAME");
    app.add_option("--collectives", collectives_, "some of them, with commas: " + known_collectives())
        ->type_name("LIST");
    app.add_option("--out", out_, "write here (else what ISOTOPE_TUNE_FILE names, or the user's cache folder)")
        ->type_name("FILE");
    app.add_flag("--quick", quick_, "three sizes, short turns");
  }

  int execute(const std::vector<std::string>&) override {
    const std::vector<int> pes = pes_.empty()
                                     ? std::vector<int>{2, 4, 8}
                                     : std::vector<int>{static_cast<int>(read_count("--pes", pes_, 1, kMaxPes))};
    const std::vector<const CollectiveCase*> cases = chosen();
    if (const auto problem = knob_problem()) refuse(*problem);
    const std::string platform = bench::read_platform(platform_);
    const bool gpu = platform == bench::kGpuPlatform;
    if (gpu) bench::require_gpu(false);
    const std::string path = output_path(gpu);
    const bench::OutputFile file("--out", path);
    std::vector<ChoiceRow> rows = rows_before(path, platform);
    if (const std::string warning = bench::build_warning(); !warning.empty()) {
      fmt::print(stderr, "isotope tune: warning: {}\n", warning);
    }
    for (const CollectiveCase* one : cases) {
      for (const int count : pes) {
        const std::vector<ChoiceRow> measured = measure(*one, count, platform);
        fmt::print("{}, {} PEs:{}\n", name_of(one->collective), count, describe(measured));
        std::fflush(stdout);
        rows = bench::replace_rows(std::move(rows), measured);
      }
    }
    file.write(ChoiceTable(rows, path, platform).text());
    fmt::print("written to {}: {} rows\n", path, rows.size());
    if (!gpu && !machine_info().gpus.empty())
      fmt::print("GPUs have a table of their own: isotope tune --platform cuda\n");
    return 0;
  }

 private:
  static std::string known_collectives() {
    std::vector<std::string> names;
    for (const CollectiveCase& one : bench::collective_cases()) names.emplace_back(name_of(one.collective));
    return fmt::format("{}", fmt::join(names, ","));
  }

  std::vector<const CollectiveCase*> chosen() const {
    std::vector<const CollectiveCase*> result;
    std::istringstream words(collectives_.empty() ? known_collectives() : collectives_);
    for (std::string word; std::getline(words, word, ',');) {
      const auto& all = bench::collective_cases();
      const auto at =
          std::find_if(all.begin(), all.end(), [&](const auto& one) { return word == name_of(one.collective); });
      if (at == all.end())
        refuse(fmt::format("--collectives has '{}'; expected some of {}", word, known_collectives()));
      result.push_back(&*at);
    }
    return result;
  }

  /// The default lies in a folder that may not be there yet.
  std::string output_path(bool gpu) const {
    if (!out_.empty()) return out_;
    if (const char* named = std::getenv("ISOTOPE_TUNE_FILE"); named != nullptr && named[0] != '\0') return named;
    const std::string path = ChoiceTable::default_path(gpu);
    if (path.empty()) refuse("there is no home folder to write to; name a file with --out FILE");
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (error)
      refuse(fmt::format("cannot make the folder of '{}': {}; name a file with --out FILE", path, error.message()));
    return path;
  }

  /// What is known about other collectives and numbers of PEs. A file of the other platform is left as it is.
  static std::vector<ChoiceRow> rows_before(const std::string& path, const std::string& platform) {
    if (!fs::exists(path)) return {};
    try {
      const ChoiceTable table = ChoiceTable::load(path);
      if (!table.platform().empty() && table.platform() != platform)
        throw Error(Code::invalid_argument,
                    fmt::format("{} was measured on platform {}, and this is {}", path, table.platform(), platform));
      return table.rows();
    } catch (const Error& error) {
      refuse(fmt::format("{}. Remove the file to begin afresh, or name another with --out", error.what()));
    }
  }

  std::vector<ChoiceRow> measure(const CollectiveCase& one, int pes, const std::string& platform) const {
    const auto topic = bench::find_topic(one.topic);
    std::vector<std::string> algos = topic->algorithms();
    std::erase(algos, bench::kAutomatic);
    // The one whose results may differ from PE to PE in the last bit: for those who ask for it.
    std::erase(algos, name_of(Algo::multimem_one_shot));
    // Unless lines land whole, which no GPU promises, it pays for the order of each there.
    if (platform == bench::kGpuPlatform) std::erase(algos, name_of(Algo::ll128));
    bench::Options options{
        .pes = pes, .repeats = quick_ ? 1 : kRounds, .quick = quick_, .platform = platform, .algos = algos};
    options.sizes = sizes(quick_);
    options.alone = true;
    options.turns = kTurns;
    if (!quick_) options.block = kBlock;
    options.env = {{"ISOTOPE_TUNE_FILE", ""}};  // may name the file that is still to be written
    options.command = "isotope tune:";
    std::vector<bench::Timing> timings;
    for (const bench::Row& row : bench::Driver(*topic, options).run()) {
      const std::size_t count = bench::count_of(one, *row.bytes, pes);
      timings.push_back({count * sizeof(float), algo_named(*row.algo), bench::seconds_of(*row.ours, row)});
    }
    return bench::fastest_of(one.collective, pes, timings);
  }

  static std::string describe(const std::vector<ChoiceRow>& rows) {
    std::string text;
    for (const ChoiceRow& row : rows) {
      text += fmt::format(" {} {}", name_of(row.algo),
                          row.most_bytes == kAnyBytes ? "for the rest" : fmt::format("up to {} B,", row.most_bytes));
    }
    return text;
  }

  std::string pes_, collectives_, out_, platform_;
  bool quick_ = false;
};

const Registration registration{5, [] { return std::unique_ptr<Command>(new Tune); }};

}  // namespace
}  // namespace isotope::cli
