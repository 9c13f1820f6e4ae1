// One PE's World, behind the public handle: ties bootstrap, segment, heap, teams and streams together.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "exec/exec.hpp"
#include "isotope/device/control.hpp"
#include "isotope/host/world.hpp"
#include "runtime/exchange.hpp"
#include "runtime/gpu_pe.hpp"
#include "runtime/heap.hpp"
#include "runtime/knobs.hpp"
#include "runtime/process_job.hpp"
#include "runtime/teams.hpp"

namespace isotope::runtime {

/// What a split was asked for.
struct SplitArguments {
  std::string text;          // the arguments in words: the same on every member of the parent
  std::string error;         // why they are no good, or empty
  std::vector<int> members;  // parent ranks of this PE's new team, in order; empty when it is in none
};

class WorldCore : public std::enable_shared_from_this<WorldCore> {
 public:
  /// Collective over the bootstrap's PEs.
  static std::shared_ptr<WorldCore> join(std::unique_ptr<bootstrap::Bootstrap> bootstrap, const Knobs& knobs);
  ~WorldCore();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int node_rank() const { return node_rank_; }
  int node_size() const { return node_size_; }
  std::string bootstrap_name() const { return bootstrap_name_; }
  Heap& heap() { return *heap_; }
  bool drives_gpu() const { return gpu_ != nullptr; }
  bool fits_gpu(const LaunchConfig& config, const detail::GpuKernel& kernel) const {
    return gpu_ != nullptr && gpu_->fits(config, kernel);
  }
  int multiprocessors() const { return gpu_ != nullptr ? gpu_->multiprocessors() : 0; }
  int compute_capability() const { return gpu_ != nullptr ? gpu_->compute_capability() : 0; }
  const Segment& segment() const { return job_->segment(); }

  /// Throws Error: not_initialized after leave(), forked in a child process. Every public call begins with it.
  void check_usable(const char* call) const;
  /// Whether this is the copy that a fork left in a child process.
  bool is_forked_copy() const;
  /// Serialises collective calls of this PE's threads.
  std::unique_lock<std::mutex> collective(const char* call);

  // teams (world_teams.cpp)
  Team world_team() const { return world_team_->team; }
  Team node_team() const { return world_team_->team; }  // one host, until there is an engine past it
  /// The object that holds this address of kernels; no bytes when there is none.
  ObjectRange object_at(const void* address);
  std::shared_ptr<TeamRecord> split(const char* call, const Team& parent, const SplitArguments& arguments,
                                    CallSite site);
  void barrier(const Team& team, const char* call, std::uint64_t deadlines, CallSite site);

  // streams and faults (world_streams.cpp)
  std::shared_ptr<exec::StreamQueue> default_stream();
  std::shared_ptr<exec::StreamQueue> create_stream();
  std::shared_ptr<exec::StreamQueue> wrap_stream(void* theirs);
  void launch(const LaunchConfig& config, const std::shared_ptr<exec::StreamQueue>& queue, std::function<void()> body);
  /// On the default stream, and waits.
  void run(const LaunchConfig& config, const std::function<void()>& body);
  void launch_gpu(const LaunchConfig& config, const std::shared_ptr<exec::StreamQueue>& queue,
                  const detail::GpuKernel& kernel, void** arguments);
  void synchronize();
  /// What a synchronize would throw now: a wait that gave up, or the job's end. Null when all is well.
  std::exception_ptr failure(bool report);
  /// What the next synchronize would throw: what a stream keeps for it, or failure(false).
  std::exception_ptr next_failure();

  // the end (world_core.cpp)
  void abort(Code code, const std::string& message, int peer = Error::kNobody) noexcept;
  [[noreturn]] void global_exit(int exit_code);
  /// This PE leaves: streams close, the others are told, and no call works any more. `unwinding`: an exception is the
  /// reason.
  void leave(bool unwinding) noexcept;

 private:
  WorldCore() = default;
  void map_job(const Knobs& knobs);
  /// Its Team, from its id and members.
  void fill_team(TeamRecord& record, int my_rank);
  std::shared_ptr<exec::StreamQueue> make_stream();
  /// Those whose last handle is gone and whose work is done, out of streams_: into spare_, or to be ended by the
  /// caller. Called with mutex_ held.
  std::vector<std::shared_ptr<exec::StreamQueue>> take_unused_streams();
  /// For queues on a GPU: this PE can do nothing any more, so the job is over.
  std::function<void(const std::string&)> loss_report();
  TeamRecord& record_of(const Team& team, const char* call);
  // What a kernel recorded, in words (fault_error.cpp). Called with mutex_ held.
  Error fault_error(FaultRecord fault) const;
  Error wait_error(const FaultRecord& fault) const;
  Error argument_error(const FaultRecord& fault) const;
  std::string describe(const void* address) const;
  /// Of a team that stopped and left no record, since another one's had not been told by then.
  Error unrecorded_error() const;
  /// Counts the teams that were stopped since they were last rearmed, each once, and returns how many are new. Called
  /// with mutex_ held.
  int count_stops();
  /// Keeps what is told of the record, which stays until all teams are rearmed, unless the next team that stops leaves
  /// word there: it may from now on. Called with mutex_ held.
  void take_record();
  /// Takes all failures as told: one of them has been thrown for all streams.
  void tell_all();
  /// Clears reported faults and stopped teams once no kernel runs any more.
  void rearm_if_idle();

  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  std::string bootstrap_name_;
  int rank_ = 0, size_ = 1, node_rank_ = 0, node_size_ = 1;
  std::uint64_t fork_generation_ = 0;
  std::atomic<bool> gone_{false};
  std::uint64_t wait_deadline_ns_ = 0;
  exec::ExecLimits exec_limits_;

  std::shared_ptr<ProcessJob> job_;
  Control control_;
  FaultRecord fault_;              // of kernels on the CPU
  FaultRecord* faults_ = &fault_;  // where this PE's kernels leave word
  ObjectTable gpu_objects_;        // the host's copy of what kernels on a GPU look up
  std::unique_ptr<GpuPe> gpu_;     // null: kernels run on the CPU
  std::unique_ptr<TeamCells> cells_;
  std::shared_ptr<TeamRecord> world_team_;
  std::unique_ptr<Heap> heap_;

  std::mutex collective_mutex_;
  std::mutex mutex_;  // guards the five below
  std::vector<std::weak_ptr<TeamRecord>> teams_;
  std::vector<std::shared_ptr<exec::StreamQueue>> streams_;    // [0] is the default one
  std::vector<std::shared_ptr<exec::StreamQueue>> spare_;      // of a GPU, idle and nobody's: handed out again
  std::map<void*, std::weak_ptr<exec::StreamQueue>> wrapped_;  // those of streams_ that are the user's
  bool fault_reported_ = false;
  FaultRecord told_;      // what was last told
  int untold_stops_ = 0;  // teams that stopped whose failure nobody has been told of; after the first report
};

}  // namespace isotope::runtime
