// Several PEs on one GPU: which PEs share one, and what that means for a job whose PEs are processes.
//
// Kernels of different processes run on a GPU at the same time only under NVIDIA MPS. Without it they take turns, and a
// PE that waits for another one on its GPU waits for the turn to change: milliseconds instead of a microsecond. Pure
// logic; mps.hpp starts the daemon.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isotope/host/job.hpp"

namespace isotope::job {

/// True when the PEs of the job have to share GPUs between processes. Only for jobs that are told to use GPUs: left to
/// itself a job of more processes than GPUs runs on the CPU.
bool wants_mps(const JobOptions& options, bool threads);

/// GPUs that the PEs see: those that their CUDA_VISIBLE_DEVICES names, none where it is empty, else the machine's.
int gpu_count(const JobOptions& options);

/// How many of them the job's PEs use: one where ISOTOPE_DEVICE puts all of them on it.
int gpus_used(const JobOptions& options);

/// PE r uses GPU r % gpus. How many PEs of the job use the GPU of PE `rank`, itself included.
int pes_on_gpu_of(int rank, int pes, int gpus);

/// How a job shares its GPUs between processes.
struct GpuShare {
  enum class How { none, own_mps, users_mps, time_sliced };
  How how = How::none;
  int gpus = 0;
};
GpuShare plan_gpu_share(const JobOptions& options, bool threads);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// What PE `rank` gets in its environment besides its place: variables that the user has set himself are left out.
/// `folder` is that of our own daemon.
Variables gpu_share_environment(const JobOptions& options, const GpuShare& share, int rank, const std::string& folder);

/// The variable as a PE of the job finds it; empty when it is unset or empty.
std::string seen_by_pes(const JobOptions& options, const std::string& name);

inline constexpr const char* kVisibleGpus = "CUDA_VISIBLE_DEVICES";
inline constexpr const char* kMpsPipe = "CUDA_MPS_PIPE_DIRECTORY";
inline constexpr const char* kMpsLog = "CUDA_MPS_LOG_DIRECTORY";
/// Where our daemon listens and logs, below its folder.
std::string mps_pipe_folder(const std::string& folder);
std::string mps_log_folder(const std::string& folder);

}  // namespace isotope::job
