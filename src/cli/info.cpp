// `isotope info`: the machine, this build, what would be chosen, and every knob.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "isotope/host/info.hpp"

namespace isotope::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

/// Two columns, under a heading.
class Section {
 public:
  Section(const std::string& title, bool color) {
    fmt::print("{}{}{}\n", color ? "\033[1m" : "", title, color ? "\033[0m" : "");
  }
  ~Section() { fmt::print("\n"); }
  void row(const std::string& name, const std::string& value) const { fmt::print("  {:<14}{}\n", name, value); }
};

Json machine_json(const MachineInfo& machine) {
  Json nodes = Json::array(), pages = Json::array(), gpus = Json::array();
  for (const NumaNode& node : machine.numa_nodes) {
    nodes.push_back({{"id", node.id}, {"cpus", node.cpus}, {"memory_bytes", node.memory_bytes}});
  }
  for (const HugePages& size : machine.huge_pages) {
    pages.push_back({{"page_bytes", size.page_bytes}, {"total", size.total}, {"free", size.free}});
  }
  for (const GpuInfo& gpu : machine.gpus) gpus.push_back({{"name", gpu.name}, {"bus_id", gpu.bus_id}});
  return {{"host", machine.host},
          {"kernel", machine.kernel},
          {"cpu_model", machine.cpu_model},
          {"packages", machine.packages},
          {"cores", machine.cores},
          {"cpus", machine.cpus},
          {"usable_cpus", machine.usable_cpus},
          {"numa_nodes", nodes},
          {"memory_bytes", machine.memory_bytes},
          {"memory_available_bytes", machine.memory_available_bytes},
          {"memory_limit_bytes", machine.memory_limit_bytes},
          {"page_bytes", machine.page_bytes},
          {"huge_pages", pages},
          {"transparent_huge_pages", machine.transparent_huge_pages},
          {"gpus", gpus}};
}

Json gpus_json(const GpuPlatform& platform) {
  Json gpus = Json::array(), links = Json::array();
  for (const GpuDevice& gpu : platform.gpus) {
    gpus.push_back({{"index", gpu.index},
                    {"name", gpu.name},
                    {"bus_id", gpu.bus_id},
                    {"capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor)},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_bytes", gpu.memory_bytes},
                    {"shares_memory", gpu.shares_memory},
                    {"fabric", gpu.fabric},
                    {"multicast", gpu.multicast}});
  }
  for (const GpuLink& link : platform.links) {
    links.push_back({{"from", link.from},
                     {"to", link.to},
                     {"how", link.how},
                     {"native_atomics", link.native_atomics},
                     {"rank", link.rank}});
  }
  return {{"why_not", platform.why_not.empty() ? Json(nullptr) : Json(platform.why_not)},
          {"driver_version", platform.driver_version},
          {"gpus", gpus},
          {"links", links}};
}

class Info : public Command {
 public:
  std::string name() const override { return "info"; }
  std::string summary() const override { return "show the machine, this build, and every knob"; }
  std::string examples() const override {
    return "  isotope info\n"
           "  isotope info --json | jq .machine.cores\n"
           "  ISOTOPE_WAIT_DEADLINE=5s isotope info         shows whether a knob is understood\n";
  }

  void declare(CLI::App& app) override { app.add_flag("--json", json_, "all of it as one JSON object"); }

  int execute(const std::vector<std::string>&) override {
    if (json_) {
      print_json();
    } else {
      print_text();
    }
    return 0;
  }

 private:
  static void print_json() {
    const BuildInfo build = build_info();
    const ChoiceInfo choice = choices();
    Json all_knobs = Json::array();
    for (const KnobInfo& knob : knobs()) {
      all_knobs.push_back({{"variable", knob.variable},
                           {"kind", knob.kind},
                           {"value", knob.value},
                           {"default", knob.fallback},
                           {"set", knob.set},
                           {"internal", knob.internal},
                           {"meaning", knob.meaning}});
    }
    const auto problem = knob_problem();
    const Json all = {
        {"schema", "isotope.info/1"},
        {"machine", machine_json(machine_info())},
        {"build",
         {{"version", build.version},
          {"compiler", build.compiler},
          {"build_type", build.build_type},
          {"checked", build.checked},
          {"sanitizers", build.sanitizers},
          {"platforms", build.platforms}}},
        {"cuda", gpus_json(gpu_platform())},
        {"chosen", {{"platform", choice.platform}, {"bootstrap", choice.bootstrap}, {"because", choice.because}}},
        {"knobs", all_knobs},
        {"warnings", knob_warnings()},
        {"problem", problem ? Json(*problem) : Json(nullptr)}};
    // A variable may hold any bytes; JSON may not.
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  }

  static void print_machine(bool color) {
    const MachineInfo machine = machine_info();
    const Section section("Machine", color);
    section.row("host", or_unknown(machine.host));
    section.row("kernel", or_unknown(machine.kernel));
    section.row("cpu", or_unknown(machine.cpu_model));
    section.row("cores", fmt::format("{} ({} hardware threads, packages: {}); this process may use {} threads",
                                     machine.cores, machine.cpus, machine.packages, machine.usable_cpus));
    for (const NumaNode& node : machine.numa_nodes) {
      section.row(fmt::format("NUMA node {}", node.id),
                  fmt::format("{} hardware threads, {}", node.cpus, bytes_text(node.memory_bytes)));
    }
    std::string memory =
        fmt::format("{}, {} available", bytes_text(machine.memory_bytes), bytes_text(machine.memory_available_bytes));
    if (machine.memory_limit_bytes < machine.memory_bytes)
      memory += ", limited to " + bytes_text(machine.memory_limit_bytes);
    section.row("memory", memory);
    std::string pages = fmt::format("{} pages", bytes_text(machine.page_bytes));
    for (const HugePages& size : machine.huge_pages) {
      pages += fmt::format("; huge pages of {}: {} of {} free", bytes_text(size.page_bytes), size.free, size.total);
    }
    pages += "; transparent: " + (machine.transparent_huge_pages.empty() ? "none" : machine.transparent_huge_pages);
    section.row("pages", pages);
    if (machine.gpus.empty()) section.row("GPUs", "none that NVIDIA's driver lists");
    for (const GpuInfo& gpu : machine.gpus)
      section.row("GPU", fmt::format("{} at {}", or_unknown(gpu.name), gpu.bus_id));
  }

  static void print_gpus(bool color) {
    const GpuPlatform platform = gpu_platform();
    const Section section("GPUs of platform cuda", color);
    if (!platform.why_not.empty()) return section.row("none", platform.why_not);
    section.row("driver", "CUDA " + platform.driver_version);
    for (const GpuDevice& gpu : platform.gpus) {
      section.row(
          fmt::format("GPU {}", gpu.index),
          fmt::format("{} at {}, sm_{}{}, {} multiprocessors, {}; multicast: {}; fabric: {}{}", gpu.name, gpu.bus_id,
                      gpu.capability_major, gpu.capability_minor, gpu.multiprocessors, bytes_text(gpu.memory_bytes),
                      gpu.multicast ? "yes" : "no", gpu.fabric ? "yes" : "no (memory travels as descriptors)",
                      gpu.shares_memory ? "" : "; cannot share memory, so PEs cannot drive it"));
    }
    print_links(section, platform);
  }

  /// Row: who reaches. Column: whose memory.
  static void print_links(const Section& section, const GpuPlatform& platform) {
    const std::vector<GpuLink>& links = platform.links;
    const bool ranked = std::any_of(links.begin(), links.end(), [](const GpuLink& link) { return link.rank != 0; });
    std::string header;
    for (const GpuDevice& gpu : platform.gpus) header += fmt::format("{:<9}", fmt::format("GPU {}", gpu.index));
    section.row("reaches", header);
    for (const GpuDevice& from : platform.gpus) {
      std::string line;
      for (const GpuLink& link : links) {
        if (link.from != from.index) continue;
        line += fmt::format("{:<9}", link.how + (link.native_atomics && link.from != link.to ? " *" : "") +
                                         (ranked && link.how == "peer" ? fmt::format(" {}", link.rank) : ""));
      }
      section.row(fmt::format("GPU {}", from.index), line);
    }
    if (platform.gpus.size() == 1) return;
    section.row("", fmt::format("peer: by loads and stores; *: atomics too{}",
                                ranked ? "; number: CUDA's rank of the link, 0 is the fastest" : ""));
    section.row("", "CUDA does not say which links are NVLink and which PCIe; nvidia-smi topo -m does");
  }

  static void print_build_and_choices(bool color) {
    const BuildInfo build = build_info();
    {
      const Section section("Build", color);
      section.row("version", build.version);
      section.row("compiler", build.compiler);
      section.row("kind", fmt::format("{}{}", or_unknown(build.build_type), build.checked ? ", checked" : ""));
      section.row("sanitizers", build.sanitizers.empty() ? "none" : build.sanitizers);
      section.row("platforms", fmt::format("{}", fmt::join(build.platforms, ", ")));
    }
    const ChoiceInfo choice = choices();
    const Section section("Chosen here", color);
    section.row("platform", choice.platform);
    section.row("bootstrap", fmt::format("{} ({})", choice.bootstrap, choice.because));
  }

  static void print_knobs(bool color) {
    const std::vector<KnobInfo> all = knobs();
    const auto shown = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
    std::size_t name = 8, value = 5, fallback = 7;
    for (const KnobInfo& knob : all) {
      name = std::max(name, knob.variable.size());
      value = std::max(value, std::min<std::size_t>(knob.value.size(), 24));
      fallback = std::max(fallback, knob.fallback.size());
    }
    fmt::print("{}Knobs{} (environment variables; * marks those that are set)\n", color ? "\033[1m" : "",
               color ? "\033[0m" : "");
    fmt::print("  {:<{}}  {:<{}}  {:<{}}  {}\n", "variable", name, "value", value, "default", fallback, "meaning");
    for (const KnobInfo& knob : all) {
      const bool lit = color && knob.set;
      fmt::print("{}{} {:<{}}  {:<{}}  {:<{}}  {}{}{}\n", lit ? "\033[1m" : "", knob.set ? "*" : " ", knob.variable,
                 name, shown(knob.value), value, shown(knob.fallback), fallback, knob.internal ? "(internal) " : "",
                 knob.meaning, lit ? "\033[0m" : "");
    }
  }

  static void print_text() {
    const bool color = use_color(1);
    print_machine(color);
    print_gpus(color);
    print_build_and_choices(color);
    print_knobs(color);
    std::vector<std::string> remarks = knob_warnings();
    if (const auto problem = knob_problem()) remarks.push_back(*problem);
    for (const std::string& remark : remarks) {
      fmt::print("{}warning:{} {}\n", color ? "\033[1;33m" : "", color ? "\033[0m" : "", remark);
    }
  }

  bool json_ = false;
};

const Registration registration{3, [] { return std::unique_ptr<Command>(new Info); }};

}  // namespace
}  // namespace isotope::cli
