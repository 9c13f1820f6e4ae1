// Runs all tasks of a checked run on one operating-system thread, one at a time, and decides who goes on.
//
// A task runs until it comes to a point where the order matters to others (an atomic access, a copy), or until it
// waits. There the Strategy chooses. Nothing else in a run is random, so that the same choices give the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/clock.hpp"
#include "check/location.hpp"
#include "check/strategy.hpp"
#include "check/task.hpp"

namespace isotope::check {

/// What a number in vector clocks stood for from an epoch on.
struct Incarnation {
  Epoch from = 0;
  int pe = 0;
  TaskKind kind = TaskKind::host;
  const char* kernel = nullptr;
  std::uint64_t block_key = 0;
  std::uint32_t block = 0, thread = 0;
  TaskId issuer = 0;  // of a delivery
};

struct Limits {
  std::uint64_t steps = 20'000'000;  // of a whole run: more is a livelock
  std::size_t stack_bytes = 128 * 1024;
};

class Scheduler {
 public:
  Scheduler(Strategy& strategy, const Limits& limits);
  ~Scheduler();
  /// The one of the run in progress. There is one in a process at a time.
  static Scheduler& instance() noexcept;
  /// The task that runs now, or null outside of a run.
  static Task* current() noexcept;

  /// Runs host tasks, one per PE, and everything they start. Returns when all have ended.
  void run(int pes, const std::function<void(int pe)>& body);

  /// A new task that begins after what `clock` covers. `id` from new_id() or id_for().
  std::shared_ptr<Task> spawn(TaskKind kind, int pe, TaskId id, const VectorClock& clock, std::function<void()> body);
  TaskId new_id();
  /// The number of the i-th thread of a queue's kernels. Kernels of one queue run after each other, so they share
  /// numbers.
  TaskId id_for(std::uint64_t queue, std::uint32_t i);
  /// A number given back may be used again by a task that begins after the old one is known to have ended.
  const Incarnation& who(TaskId id, Epoch epoch) const;
  /// The numbers of all threads that a block has or had.
  std::vector<TaskId> threads_of(std::uint64_t block_key) const;
  /// Called by the task when its block and thread are known.
  void note_incarnation(Task& task, TaskId issuer = 0);

  /// The current task is about to do what others may notice.
  void point(const Step& step);
  /// The current task waits in `state` until wake().
  void block(State state);
  void wake(Task& task);

  /// The current task has read that version of the word; relax() then waits until one of those it has read changes.
  void look(Location& location, std::uint64_t version, const void* pc);
  void relax();
  /// The current task may be polling with plain accesses, of which nobody is told: others go first.
  void stand_aside(Task& task);
  /// The word has changed: whoever looks at it goes on.
  void changed(Location& location, Task& by, const Written& what);
  /// Bytes of the 8 at `cell` change, in which some word lies.
  void plain_store(Task& task, std::uintptr_t cell, std::uint8_t mask, const void* pc);

  Location& location(const void* address, int bytes);
  Location* find_location(const void* address);

  std::uint64_t steps() const { return steps_; }
  Strategy& strategy() { return strategy_; }
  const std::vector<std::shared_ptr<Task>>& tasks() const { return live_; }
  int pes() const { return pes_; }

 private:
  static void task_main(void* task) noexcept;
  void end_task(Task& task) noexcept;
  void switch_to_next(Task& from);
  void make_runnable(Task& task);
  void make_unrunnable(Task& task);
  bool wake_someone_for_nothing();
  void drop_looks(Task& task);
  exec::Stack take_stack(TaskKind kind);

  Strategy& strategy_;
  Limits limits_;
  int pes_ = 0;
  exec::Context root_;
  std::vector<Task*> runnable_;
  std::vector<std::shared_ptr<Task>> live_;
  std::vector<std::vector<Incarnation>> incarnations_;  // by number
  std::vector<Epoch> last_epochs_;                      // of the number's owner that ended last
  std::map<std::pair<std::uint64_t, std::uint32_t>, TaskId> ids_;
  std::vector<std::unique_ptr<exec::StackSlab>> slabs_;
  std::vector<exec::Stack> free_stacks_, free_host_stacks_;
  std::unordered_map<std::uintptr_t, Location> locations_;
  std::uint64_t steps_ = 0;
  std::uint64_t useless_wakes_ = 0;
  std::shared_ptr<Task> ended_;  // keeps the stack of a task that has just ended until another one runs
};

}  // namespace isotope::check
