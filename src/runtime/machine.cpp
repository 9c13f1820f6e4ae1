// Facts about the machine, from hwloc and the kernel's own tables.
#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "isotope/host/info.hpp"
#include "os/identity.hpp"
#include "os/memory.hpp"

namespace isotope {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::uint64_t number_in(std::string_view text) {
  const auto start = std::min(text.find_first_of("0123456789"), text.size());
  std::uint64_t number = 0;
  std::from_chars(text.data() + start, text.data() + text.size(), number);
  return number;
}

/// What follows the colon of the first line that starts with `key`.
std::string field(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!std::string_view(line).starts_with(key)) continue;
    const auto colon = line.find(':');
    const auto start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return {};
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code gone;  // a kernel without the feature has no such folder
  for (const auto& entry : fs::directory_iterator(folder, gone)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

void read_topology(MachineInfo& machine) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw, &hwloc_topology_destroy);
  // Also the processors this process may not use: usable_cpus tells those apart.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) return;
  const auto count = [&](hwloc_obj_type_t type) { return std::max(hwloc_get_nbobjs_by_type(raw, type), 0); };
  machine.packages = count(HWLOC_OBJ_PACKAGE);
  machine.cores = count(HWLOC_OBJ_CORE);
  machine.cpus = count(HWLOC_OBJ_PU);
  for (int i = 0; i < count(HWLOC_OBJ_NUMANODE); ++i) {
    const hwloc_obj_t node = hwloc_get_obj_by_type(raw, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
    machine.numa_nodes.push_back({static_cast<int>(node->os_index), std::max(hwloc_bitmap_weight(node->cpuset), 0),
                                  node->attr->numanode.local_memory});
  }
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> mine(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (hwloc_get_cpubind(raw, mine.get(), HWLOC_CPUBIND_PROCESS) == 0) {
    machine.usable_cpus = std::max(hwloc_bitmap_weight(mine.get()), 0);
  }
}

void read_memory(MachineInfo& machine) {
  machine.memory_bytes = number_in(field("/proc/meminfo", "MemTotal")) * 1024;
  machine.memory_available_bytes = number_in(field("/proc/meminfo", "MemAvailable")) * 1024;
  machine.memory_limit_bytes = os::memory_bytes();
  machine.page_bytes = os::page_size();
  for (const fs::path& size : sorted_entries("/sys/kernel/mm/hugepages")) {
    machine.huge_pages.push_back({number_in(size.filename().string()) * 1024,
                                  number_in(first_line(size / "nr_hugepages")),
                                  number_in(first_line(size / "free_hugepages"))});
  }
  // "always [madvise] never": the one in brackets is in force.
  const std::string modes = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const auto open = modes.find('['), close = modes.find(']');
  if (open != std::string::npos && close != std::string::npos && close > open) {
    machine.transparent_huge_pages = modes.substr(open + 1, close - open - 1);
  }
}

}  // namespace

MachineInfo machine_info() {
  MachineInfo machine;
  machine.host = os::host_name();
  machine.kernel = first_line("/proc/sys/kernel/ostype") + " " + first_line("/proc/sys/kernel/osrelease");
  machine.cpu_model = field("/proc/cpuinfo", "model name");
  read_topology(machine);
  const int known = static_cast<int>(std::thread::hardware_concurrency());
  if (machine.cpus == 0) machine.cpus = known;
  if (machine.usable_cpus == 0) machine.usable_cpus = known;
  read_memory(machine);
  for (const fs::path& gpu : sorted_entries("/proc/driver/nvidia/gpus")) {
    machine.gpus.push_back({field(gpu / "information", "Model"), gpu.filename().string()});
  }
  return machine;
}

}  // namespace isotope
