#include "job/gpu_share.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "job/gpu_here.hpp"

namespace isotope::job {

namespace {

/// The variable as a PE of the job finds it; nothing where it is unset. To CUDA_VISIBLE_DEVICES empty is another thing.
std::optional<std::string> found_by_pes(const JobOptions& options, const std::string& name) {
  const auto last =
      std::find_if(options.env.rbegin(), options.env.rend(), [&](const auto& e) { return e.first == name; });
  if (last != options.env.rend()) return last->second;
  if (name == "ISOTOPE_PLATFORM" && !options.platform.empty()) return options.platform;
  const char* inherited = std::getenv(name.c_str());
  return inherited != nullptr ? std::optional<std::string>(inherited) : std::nullopt;
}

/// Hardware queues of one PE. Those of all clients of an MPS server come from one stock: on an H200, 2 x 32, 4 x 16 and
/// 8 x 8 work, and 4 x 32 or 8 x 16 leave some client without a context.
int queues_of(int sharing) { return std::clamp(64 / sharing, 2, 32); }

}  // namespace

std::string seen_by_pes(const JobOptions& options, const std::string& name) {
  return found_by_pes(options, name).value_or("");
}

bool wants_mps(const JobOptions& options, bool threads) {
  if (threads || seen_by_pes(options, "ISOTOPE_PLATFORM") != "cuda") return false;
  // Without a GPU there is nothing to share, and the PEs' own error says so.
  const int gpus = gpus_used(options);
  return gpus > 0 && options.pes > gpus;
}

int gpus_used(const JobOptions& options) {
  const std::string device = seen_by_pes(options, "ISOTOPE_DEVICE");
  const int gpus = gpu_count(options);
  return device.empty() || device == "auto" ? gpus : std::min(gpus, 1);
}

int gpu_count(const JobOptions& options) {
  const std::optional<std::string> visible = found_by_pes(options, kVisibleGpus);
  return visible ? visible_gpus(*visible) : gpu_device_files();
}

int pes_on_gpu_of(int rank, int pes, int gpus) { return pes / gpus + (rank % gpus < pes % gpus ? 1 : 0); }

GpuShare plan_gpu_share(const JobOptions& options, bool threads) {
  GpuShare share;
  if (!wants_mps(options, threads)) return share;
  share.gpus = gpus_used(options);
  if (!seen_by_pes(options, kMpsPipe).empty()) {
    share.how = GpuShare::How::users_mps;
  } else {
    share.how = options.allow_time_slicing ? GpuShare::How::time_sliced : GpuShare::How::own_mps;
  }
  return share;
}

Variables gpu_share_environment(const JobOptions& options, const GpuShare& share, int rank, const std::string& folder) {
  Variables all;
  const auto give = [&](const char* name, const std::string& value) {
    if (seen_by_pes(options, name).empty()) all.emplace_back(name, value);
  };
  if (share.how == GpuShare::How::own_mps || share.how == GpuShare::How::users_mps) {
    // Each PE's kernels stay on their share of the SMs, so that those of all PEs are resident together and may wait for
    // each other.
    const int percentage = std::max(1, 100 / pes_on_gpu_of(rank, options.pes, share.gpus));
    give("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string(percentage));
  }
  if (share.how == GpuShare::How::time_sliced) give("ISOTOPE_ALLOW_TIME_SLICING", "1");
  if (share.how == GpuShare::How::own_mps) {
    give(kMpsPipe, mps_pipe_folder(folder));
    give(kMpsLog, mps_log_folder(folder));
    // A stream that shares its hardware queue with another, or a module that is loaded while a kernel spins, waits for
    // that kernel; the kernel may wait for what comes after them.
    give("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(queues_of(pes_on_gpu_of(rank, options.pes, share.gpus))));
    give("CUDA_MODULE_LOADING", "EAGER");
  }
  return all;
}

std::string mps_pipe_folder(const std::string& folder) { return folder + "/pipe"; }
std::string mps_log_folder(const std::string& folder) { return folder + "/log"; }

}  // namespace isotope::job
