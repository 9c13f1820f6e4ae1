#include "bench/harness/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "bench/harness/launcher.hpp"
#include "bench/harness/statistics.hpp"
#include "isotope/host/info.hpp"

namespace isotope::bench {

namespace {

constexpr const char* kSchema = "isotope-bench-1";
constexpr const char* kBold = "\033[1m";
constexpr const char* kGood = "\033[32m";
constexpr const char* kBad = "\033[33m";
constexpr const char* kPlain = "\033[0m";

struct Column {
  std::string title;
  bool right;
  std::function<std::string(const Row&)> cell;  // empty: does not apply
  std::function<const char*(const Row&)> tint = {};
};

std::string number(double value) {
  const double rounded = round_significant(value, 3);
  if (rounded >= 100) return fmt::format("{:.0f}", rounded);
  if (rounded >= 10) return fmt::format("{:.1f}", rounded);
  if (rounded >= 1) return fmt::format("{:.2f}", rounded);
  return fmt::format("{:.3g}", rounded);
}

std::string value(const std::optional<double>& measured, const Row& row) {
  return measured ? number(*measured) + " " + row.unit : "";
}

std::string gigabytes(const std::optional<double>& measured) { return measured ? number(*measured) + " GB/s" : ""; }

std::string factor(const std::optional<double>& ratio) { return ratio ? number(*ratio) + "x" : ""; }

const char* good_or_bad(const std::optional<double>& ratio) { return ratio ? (*ratio >= 1 ? kGood : kBad) : ""; }

std::vector<Column> columns() {
  using S = std::optional<std::string>;
  const auto text = [](S Row::* field) { return [field](const Row& row) { return (row.*field).value_or(""); }; };
  return {
      {"name", false, [](const Row& r) { return r.name; }},
      {"PEs", true, [](const Row& r) { return std::to_string(r.pes); }},
      {"as", false, [](const Row& r) { return r.pes_as; }},
      {"bytes", true, [](const Row& r) { return r.bytes ? bytes_text(*r.bytes) : ""; }},
      {"blocks", true, [](const Row& r) { return r.blocks ? std::to_string(*r.blocks) : ""; }},
      {"algo", false, text(&Row::algo)},
      {"dtype", false, text(&Row::dtype)},
      {"op", false, text(&Row::op)},
      {"ours", true, [](const Row& r) { return value(r.ours, r); }},
      {"algbw", true, [](const Row& r) { return gigabytes(r.algbw); }},
      {"busbw", true, [](const Row& r) { return gigabytes(r.busbw); }},
      {"peer", true, [](const Row& r) { return value(r.peer, r); }},
      {"which", false, text(&Row::peer_name)},
      {"busbw", true, [](const Row& r) { return gigabytes(r.peer_busbw); }},
      {"ratio", true, [](const Row& r) { return factor(r.ratio); }, [](const Row& r) { return good_or_bad(r.ratio); }},
      {"limit", true, [](const Row& r) { return value(r.limit, r); }},
      {"which", false, text(&Row::limit_name)},
      {"ratio", true, [](const Row& r) { return factor(r.limit_ratio); }}};
}

#if !defined(ISOTOPE_BENCH_FLAGS)
#define ISOTOPE_BENCH_FLAGS ""
#endif  // ISOTOPE_BENCH_FLAGS

Json machine_json() {
  // No host name: results are published.
  const MachineInfo machine = machine_info();
  Json gpus = Json::array();
  for (const GpuInfo& gpu : machine.gpus) gpus.push_back(gpu.name);
  return {{"cpu_model", machine.cpu_model},
          {"packages", machine.packages},
          {"cores", machine.cores},
          {"cpus", machine.cpus},
          {"usable_cpus", machine.usable_cpus},
          {"numa_nodes", machine.numa_nodes.size()},
          {"memory_bytes", machine.memory_bytes},
          {"kernel", machine.kernel},
          {"gpus", gpus}};
}

Json versions_json() {
  const BuildInfo build = build_info();
  const auto version = [](Launcher launcher) {
    const std::optional<std::string> known = version_of(launcher);
    return known ? Json(*known) : Json(nullptr);
  };
  return {{"isotope", build.version},
          {"compiler", build.compiler},
          {"build_type", build.build_type},
          {"flags", ISOTOPE_BENCH_FLAGS},
          {"checked", build.checked},
          {"sanitizers", build.sanitizers.empty() ? Json(nullptr) : Json(build.sanitizers)},
          {"open_mpi", version(Launcher::open_mpi)},
          {"mpich", version(Launcher::mpich)},
          {"ucx", version(Launcher::none)}};
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string table(const std::vector<Row>& rows, bool color) {
  std::vector<Column> shown;
  std::vector<std::size_t> widths;
  for (Column& column : columns()) {
    std::size_t width = 0;
    for (const Row& row : rows) width = std::max(width, column.cell(row).size());
    if (width == 0) continue;
    widths.push_back(std::max(width, column.title.size()));
    shown.push_back(std::move(column));
  }
  std::string out;
  const auto line = [&](const char* tint, const auto& cell_of, const auto& tint_of) {
    std::string one;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::string text = cell_of(shown[i]);
      const std::string padded =
          shown[i].right ? fmt::format("{:>{}}", text, widths[i]) : fmt::format("{:<{}}", text, widths[i]);
      const std::string own = color ? std::string(tint) + tint_of(shown[i]) : "";
      one += (i == 0 ? "" : "  ") + own + padded + (own.empty() ? "" : kPlain);
    }
    if (!color) one.erase(one.find_last_not_of(' ') + 1);
    out += one + "\n";
  };
  line(kBold, [](const Column& c) { return c.title; }, [](const Column&) { return ""; });
  for (const Row& row : rows) {
    const auto dash = [&](const Column& c) {
      const std::string text = c.cell(row);
      return text.empty() ? std::string("-") : text;
    };
    line("", dash, [&](const Column& c) { return c.tint ? c.tint(row) : ""; });
  }
  return out;
}

Json document(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(to_json(row));
  return {{"schema", kSchema}, {"machine", machine_json()}, {"versions", versions_json()}, {"rows", list}};
}

std::string build_warning() {
  const BuildInfo build = build_info();
  std::string why;
  if (!build.sanitizers.empty()) {
    why = "with sanitizers (" + build.sanitizers + ")";
  } else if (build.checked) {
    why = "with device-side checks";
  } else if (build.build_type == "Debug") {
    why = "without optimisation";
  }
  return why.empty() ? ""
                     : fmt::format("this build is {}; for numbers that mean something use the release preset", why);
}

}  // namespace isotope::bench
