// What Isotope knows without starting anything: the machine, this build, what would be chosen, and every ISOTOPE_*
// variable. `isotope info` prints it.
//
//   for (const KnobInfo& knob : knobs()) std::printf("%s=%s\n", knob.variable.c_str(), knob.value.c_str());
//
// Reads only; any thread may call any of it, with or without a World.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isotope {

struct KnobInfo {
  std::string variable;
  std::string kind;      // text, duration, bytes, count, flag, choice
  std::string value;     // in force: from the environment, else the default
  std::string fallback;  // the default
  std::string meaning;
  bool set = false;       // found in the environment
  bool internal = false;  // set by `isotope run`, not by people
};

/// NAME, value pairs that count before the process's own environment.
using EnvironmentOverrides = std::vector<std::pair<std::string, std::string>>;

/// Every variable, in the order of the table.
std::vector<KnobInfo> knobs(const EnvironmentOverrides& overrides = {});
/// The first value that init() would refuse, as a sentence; nothing when all are good.
std::optional<std::string> knob_problem(const EnvironmentOverrides& overrides = {});
/// One sentence per ISOTOPE_* variable of the environment that does not exist, with the nearest name that does.
std::vector<std::string> knob_warnings();

struct BuildInfo {
  std::string version;
  std::string compiler;
  std::string build_type;              // "Release", "Debug"; empty when the build did not say
  bool checked = false;                // assertions and device-side checks (ISOTOPE_CHECKED)
  std::string sanitizers;              // "address,undefined"; empty for none
  std::vector<std::string> platforms;  // what kernels can run on
};
BuildInfo build_info();

struct ChoiceInfo {
  std::string platform;   // what launch() would use
  std::string bootstrap;  // how init() would find the other PEs
  std::string because;    // what decided the bootstrap; the error init() would throw when it is "none"
};
/// What init() would choose in this environment. Connects to nobody.
ChoiceInfo choices();

struct NumaNode {
  int id = 0;
  int cpus = 0;
  std::uint64_t memory_bytes = 0;
};

struct HugePages {
  std::uint64_t page_bytes = 0;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

struct GpuInfo {
  std::string name;
  std::string bus_id;
};

struct MachineInfo {
  std::string host;
  std::string cpu_model;
  int packages = 0;
  int cores = 0;        // physical
  int cpus = 0;         // hardware threads
  int usable_cpus = 0;  // of those, the ones this process may run on
  std::vector<NumaNode> numa_nodes;
  std::uint64_t memory_bytes = 0;            // of the machine
  std::uint64_t memory_available_bytes = 0;  // what the kernel thinks can be had without swapping
  std::uint64_t memory_limit_bytes = 0;      // of this process's control group, where it is smaller; else memory_bytes
  std::uint64_t page_bytes = 0;
  std::vector<HugePages> huge_pages;
  std::string transparent_huge_pages;  // "always", "madvise", "never"; empty when the kernel has none
  std::string kernel;                  // "Linux 6.1.0"
  std::vector<GpuInfo> gpus;           // NVIDIA's driver lists them; Isotope asks no driver library
};
MachineInfo machine_info();

/// One GPU as platform cuda sees it.
struct GpuDevice {
  int index = 0;
  std::string name, bus_id;
  int capability_major = 0, capability_minor = 0;
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  bool shares_memory = false;  // CUDA's virtual memory management with descriptors: what platform cuda needs
  bool fabric = false;         // memory travels as fabric handles: one was tried. Else as descriptors
  bool multicast = false;      // one store reaches all GPUs of a team
};
/// How GPU `from` reaches the memory of GPU `to`, as far as CUDA's driver tells. That a link is NVLink or PCIe it does
/// not: atomics are a sign of NVLink and no proof.
struct GpuLink {
  int from = 0, to = 0;
  std::string how;              // "same" GPU, "peer" access, "none"
  bool native_atomics = false;  // remote atomics are done by the hardware
  int rank = 0;                 // CUDA's rank of the link among those of the machine: 0 is the fastest
};
struct GpuPlatform {
  std::string why_not;          // empty: there is a driver and a GPU
  std::string driver_version;   // of CUDA that the driver supports, "13.0"
  std::vector<GpuDevice> gpus;  // in the order of their indices
  std::vector<GpuLink> links;   // every pair, both ways
};
/// Asks the driver, which starts it: slower than the rest of this header.
GpuPlatform gpu_platform();

/// Whether to colour what goes to this descriptor: ISOTOPE_COLOR says always or never; else NO_COLOR says never; else
/// only on a terminal.
bool use_color(int descriptor);

/// "30s", "2min", "500ms", "1.5h", "90" (seconds): a duration as every knob and option takes it.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);
/// "Did you mean ...?": the known word nearest to `word`, if any is near.
std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace isotope
