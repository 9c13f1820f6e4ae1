// Starting a job of PEs from a program: what `isotope run` and the tests use.
//
//   JobResult r = run_processes(4, [](int, char**) { World world = init(); ...; return 0; });
//
// PEs are processes here; run_threads (main.hpp) makes them threads of this process instead.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace isotope {

inline constexpr int kMaxPes = 4096;  // of a job that run_* starts

struct JobOptions {
  int pes = 1;
  std::chrono::nanoseconds timeout{0};  // whole job; 0: none
  std::chrono::nanoseconds terminate_grace =
      std::chrono::seconds(2);   // from SIGTERM to SIGKILL once the job has failed
  bool tag_output = false;       // prefix each line with its PE
  bool color = false;            // colour the prefix
  bool progress = false;         // a line on standard error while the job starts
  bool quiet = false;            // say nothing on standard error about how the job ended
  bool forward_signals = false;  // SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 go to the PEs while the job runs
  std::vector<std::pair<std::string, std::string>> env = {};  // added to every PE's environment
  std::string platform = {};        // what kernels run on; sets ISOTOPE_PLATFORM, and empty leaves that as it is
  bool allow_time_slicing = false;  // processes may share a GPU without MPS: slow, since their kernels take turns
};

struct PeResult {
  int pid = 0;
  bool exited = false;  // else killed by `signal`
  int status = 0;
  int signal = 0;
  bool abandoned = false;  // still there after SIGKILL: named, not waited for
};

struct JobResult {
  int exit_code = 0;      // the first failing PE's; 128 + signal for a killed one; 124 when the timeout ended the job
  int first_failed = -1;  // its rank; -1 when none failed
  bool timed_out = false;
  std::string message;  // one sentence about the failure; empty when there was none
  std::vector<PeResult> pes;
};

/// Forks a PE per rank and calls `pe_main` in each; the value it returns is the PE's exit status. The calling process
/// must be single-threaded and in no job. No PE outlives this call, nor the calling process.
JobResult run_processes(const JobOptions& options, const std::function<int()>& pe_main);

/// The same with a program: argv[0] is looked up on PATH. Throws Error(invalid_argument) when it cannot be run; nothing
/// was started then.
JobResult run_program(const JobOptions& options, const std::vector<std::string>& argv);

/// One process whose ISOTOPE_MAIN runs `options.pes` PEs as threads. Throws Error(not_supported) naming the program
/// when it has a plain main.
JobResult run_program_threads(const JobOptions& options, const std::vector<std::string>& argv);

}  // namespace isotope
