// Starts the processes of a job, each ready to be supervised. How a PE is set up: its own process group, death with the
// launcher, its environment, its standard streams, its control socket, nobody else's descriptors.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isotope/host/job.hpp"
#include "job/environment.hpp"
#include "job/gpu_share.hpp"
#include "job/guard.hpp"
#include "job/mps.hpp"
#include "os/fd.hpp"
#include "os/signals.hpp"
#include "os/spawn.hpp"

namespace isotope::job {

/// A running PE as the launcher sees it.
struct PeProcess {
  int rank = 0;
  pid_t pid = -1;
  os::Fd pidfd;     // closed for one that was given up
  os::Fd control;   // the launcher's end of the control socket; none when PEs are threads
  os::Fd out, err;  // reading ends; only with tag_output
};

/// What to start in each process: a program, or a function of this one.
struct Program {
  std::string path;
  std::vector<std::string> argv;
  const std::function<int()>* function = nullptr;
  bool threads = false;  // one process whose PEs are threads
};

/// What all processes of a job share while it runs. Its destructor kills and reaps whatever of the job is still there.
class Processes {
 public:
  Processes(const JobOptions& options, const Program& program);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Starts them all, and before them the MPS daemon where they share a GPU. Throws Error(invalid_argument) when the
  /// program cannot be executed, Error(not_supported) when there is no MPS to be had, Error(system) when a process
  /// cannot be made; nothing is left running then.
  void start();

  std::vector<PeProcess>& pes() noexcept { return pes_; }
  /// Present with forward_signals, once started.
  os::SignalTap* signals() noexcept { return tap_ ? &*tap_ : nullptr; }

 private:
  void start_one(int rank);
  [[noreturn]] void child(int rank, pid_t launcher, os::Fd control, os::Fd out, os::Fd err, os::Fd exec_report,
                          char* const* argv, char* const* envp) noexcept;
  [[noreturn]] void run_function(int rank, const os::Fd& control);
  void await_exec(os::Fd report);
  EnvironmentChange environment_of(int rank, int control_fd) const;

  const JobOptions& options_;
  const Program& program_;
  os::DescriptorLimit limit_;
  os::LauncherSignals dispositions_;
  GpuShare share_;
  std::optional<MpsDaemon> mps_;  // before the guard: it gives its pid back last
  std::optional<Guard> guard_;
  std::optional<os::SignalTap> tap_;
  os::Fd null_;
  std::vector<PeProcess> pes_;
};

}  // namespace isotope::job
