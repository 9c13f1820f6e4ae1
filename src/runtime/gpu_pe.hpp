// A PE that drives a GPU: its memory, its control words there, its streams and launches.
//
// The host's own side of a World (segment, cells, exchange) stays in shared memory of the host. The GPU has an address
// reservation of its own with the same stride, so that one Team serves both: addresses are relative.
//
//   slot of a PE on its GPU:  | team cells | control | object table | ... | heap ... | window ... |
//
// Null in a build without CUDA's headers (gpu_count() is 0 there).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/exec.hpp"
#include "isotope/base/gpu_kernel.hpp"
#include "isotope/device/control.hpp"
#include "isotope/host/launch.hpp"
#include "runtime/exchange.hpp"
#include "runtime/heap_memory.hpp"
#include "runtime/process_job.hpp"
#include "runtime/teams.hpp"

namespace isotope::runtime {

/// GPUs that this process sees, and why there are none.
int gpu_count();
std::string why_no_gpu();
/// There is a driver, so there should be GPUs, and it cannot be used: why_no_gpu() says why.
bool gpu_driver_is_broken();
/// Whether kernels of several processes run on one GPU at the same time: there is an MPS.
bool processes_share_gpus();

/// Teams that a World can have at once on a GPU: their words take memory there from the start.
inline constexpr std::uint32_t kGpuTeams = 256;

/// Keeps a GPU's context from the moment it is chosen. CUDA wants large ranges of addresses of its own, so it comes
/// before our reservations.
class GpuHold {
 public:
  virtual ~GpuHold() = default;
  virtual std::uint64_t memory_bytes() const = 0;
  /// Whether its memory can travel as fabric handles.
  virtual bool fabric_works() const = 0;
  /// Throws Error for a GPU that is not there or cannot be used.
  static std::shared_ptr<GpuHold> take(int device);
};

class GpuPe {
 public:
  struct Options {
    std::shared_ptr<GpuHold> gpu = nullptr;
    std::uint64_t wait_deadline_ns = 0;
    bool allow_time_slicing = false;
    bool fabric = false;                   // memory travels as fabric handles: works on every PE
    std::uint64_t local_memory_bytes = 0;  // for each thread, at least, where PEs that are threads share the GPU
    const TeamCells* cells = nullptr;
  };
  /// Collective over the World: every PE gets its part, or none does and all know the same `refusal`. Throws what ended
  /// the exchange.
  struct Joined {
    std::unique_ptr<GpuPe> pe = nullptr;
    std::optional<Error> refusal = {};
  };
  static Joined join(ProcessJob& job, Exchange& world, int rank, const Options& options);

  virtual ~GpuPe() = default;
  virtual std::unique_ptr<HeapMemory> memory() = 0;
  /// This PE's share of its GPU.
  virtual int multiprocessors() const = 0;
  /// Whether other PEs are on the same GPU, of whichever process.
  virtual bool is_shared() const = 0;
  virtual int compute_capability() const = 0;
  /// A stream of its own, or for the user's `theirs`; of those it throws Error(invalid_argument) for the ones that a
  /// World cannot rely on. `lost` is told when the GPU is lost to this process (cuda/queue.hpp).
  using LossReport = std::function<void(const std::string&)>;
  virtual std::shared_ptr<exec::StreamQueue> create_queue(exec::FailureProbe probe, LossReport lost) = 0;
  virtual std::shared_ptr<exec::StreamQueue> wrap_queue(exec::FailureProbe probe, LossReport lost, void* theirs) = 0;
  /// Whether all blocks of such a launch fit on this PE's share at once.
  virtual bool fits(const LaunchConfig& config, const detail::GpuKernel& kernel) = 0;
  /// Throws Error(invalid_argument) for a launch that cannot be resident, with the numbers; not_supported for a kernel
  /// that was not compiled for a GPU.
  virtual void launch(exec::StreamQueue& queue, const LaunchConfig& config, const detail::GpuKernel& kernel,
                      void** arguments) = 0;

  /// Collective over the team `over`, the PEs `over_members` of the World, before make_team: team `id` of `members`,
  /// empty where this PE is in none, gets multicast addresses if its GPUs can.
  virtual void open_multicast(std::uint32_t id, const std::vector<std::int32_t>& members, Exchange& over,
                              const std::vector<std::int32_t>& over_members, CallSite site) = 0;
  /// Clears team `id`'s words on this GPU and says what its kernels use. `members` are ranks of the World; `table` is
  /// the same, or empty for a strided team.
  virtual TeamParts make_team(std::uint32_t id, const std::vector<std::int32_t>& members,
                              const std::vector<std::int32_t>& table) = 0;
  /// After a fault was reported and no kernel runs: the teams work again.
  virtual void rearm(const std::vector<std::uint32_t>& teams) = 0;
  /// After the host has read the record: the next team that stops may leave word. Kernels may run.
  virtual void release_record() = 0;
  /// Whether a call of this team on the GPU gave up; true if the GPU cannot be asked any more.
  virtual bool stopped(std::uint32_t team) = 0;
  /// Where kernels leave word, in memory that host and GPU both see.
  virtual FaultRecord& fault() = 0;
  /// Strings of a record that a kernel wrote lie on the GPU: fetches them.
  struct Texts {
    std::string call, file, argument;
  };
  virtual Texts texts_of(const FaultRecord& fault) = 0;
};

}  // namespace isotope::runtime
