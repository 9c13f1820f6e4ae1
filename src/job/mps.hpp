// The NVIDIA MPS daemon of one job: started before its PEs, private to it, gone after it.
//
// nvidia-cuda-mps-control runs in the foreground as a child of the launcher, so that it ends as PEs do: by its process
// group, with the launcher, or by the guard when the launcher is killed. It starts nvidia-cuda-mps-server for its first
// client; that one may leave group and parent, and is found by the pipe folder in its environment, which no other
// daemon has.
//
//   MpsDaemon mps(options, dispositions, limit);                  // chooses the folder's name, touches nothing
//   Guard guard([folder = mps.folder()] { clear_mps(folder); });
//   mps.start(guard);                                             // or throws, and nothing is left
//   ...
//   mps.stop();
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "isotope/host/job.hpp"
#include "job/guard.hpp"
#include "os/clock.hpp"
#include "os/fd.hpp"
#include "os/pidfd.hpp"
#include "os/signals.hpp"
#include "os/spawn.hpp"

namespace isotope::job {

/// Kills what is left of the daemon with this folder, and removes the folder. Bounded; never throws. Also what the
/// guard does for a killed launcher.
void clear_mps(const std::string& folder) noexcept;

/// Why `pes` processes cannot share `gpus` GPUs, and what to do: get MPS, or, where `why_no_gpu` says that there is no
/// GPU at all (gpu_here.hpp), something else. `visible`: CUDA_VISIBLE_DEVICES.
std::string sharing_refused(int pes, int gpus, const std::string& visible, const std::string& why_no_mps,
                            const std::string& why_no_gpu);

class MpsDaemon {
 public:
  struct Limits {
    std::chrono::milliseconds answer{10'000};  // from its start to its first answer
    std::chrono::milliseconds quit{5'000};     // from `quit` to its end; then it is killed
  };

  /// `dispositions` and `limit` are the launcher's: the daemon gets what was before them, as PEs do.
  MpsDaemon(const JobOptions& options, const os::LauncherSignals& dispositions, const os::DescriptorLimit& limit,
            Limits limits);
  MpsDaemon(const JobOptions& options, const os::LauncherSignals& dispositions, const os::DescriptorLimit& limit)
      : MpsDaemon(options, dispositions, limit, Limits{}) {}
  /// stop(), and gives the daemon's pid back. The guard must be gone by then: it must never kill a group whose number
  /// went to somebody else.
  ~MpsDaemon();
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;

  const std::string& folder() const noexcept { return folder_; }

  /// Returns once the daemon answers. Throws Error(not_supported) that says what was wrong and what to do: it is not
  /// there, it ended, or it did not answer in time. Nothing is left running then, and no folder.
  void start(const Guard& guard);
  /// Asks it to quit, kills what does not, removes the folder. Does nothing the second time. Its pid stays taken until
  /// destruction.
  void stop() noexcept;
  /// In a PE that does not exec: what exec would have closed.
  void forget_in_child() noexcept;

 private:
  pid_t spawn(const char* option, int in, int out, const Guard* guard) const;
  std::optional<os::ProcessEnd> ask(const std::string& command, const os::Deadline& deadline) const;
  void await_answer() const;
  bool ended() const;
  [[noreturn]] void refuse(const std::string& why) const;

  const os::LauncherSignals& dispositions_;
  const os::DescriptorLimit& limit_;
  Limits limits_;
  int pes_, gpus_;
  std::string folder_, pipe_, log_, visible_, program_;
  std::vector<std::string> environment_;  // of the daemon and of those who talk to it
  bool running_ = false;                  // between start() and stop()
  pid_t pid_ = -1;
  os::Fd pidfd_;
};

}  // namespace isotope::job
