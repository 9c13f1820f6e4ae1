#include "job/gpu_here.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "os/library.hpp"

namespace isotope::job {

int gpu_device_files(const std::string& folder) {
  // nvidiactl and nvidia-uvm are no GPUs.
  const std::string prefix = "nvidia";
  int count = 0;
  std::error_code none;
  for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end; at.increment(none)) {
    const std::string name = at->path().filename();
    count += name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0 &&
             name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  }
  return count;
}

int visible_gpus(const std::string& value) {
  int count = 0;
  for (std::string_view rest = value;;) {
    const std::size_t comma = rest.find(',');
    std::string_view entry = rest.substr(0, comma);
    entry.remove_prefix(std::min(entry.find_first_not_of(' '), entry.size()));
    const bool index = !entry.empty() && std::isdigit(static_cast<unsigned char>(entry[0])) != 0;
    if (!index && !entry.starts_with("GPU-") && !entry.starts_with("MIG-")) return count;
    ++count;
    if (comma == std::string_view::npos) return count;
    rest.remove_prefix(comma + 1);
  }
}

std::string why_no_gpu_here(const std::string& folder, const char* library) {
  std::string reason;
  if (os::open_library(library, reason) == nullptr)
    return fmt::format("the NVIDIA driver's library cannot be loaded ({})", reason);
  if (gpu_device_files(folder) > 0) return {};
  for (const char* other : {"dxg", "nvhost-gpu", "nvgpu"}) {
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::path(folder) / other, none)) return {};
  }
  return fmt::format("no device file of an NVIDIA GPU is there ({}/nvidia0)", folder);
}

}  // namespace isotope::job
