// One flow of control under the checker: the host code of a PE, a kernel thread, a callback of a stream, or a put on
// its way. And the block that kernel threads belong to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "check/clock.hpp"
#include "exec/context.hpp"
#include "exec/stack.hpp"
#include "isotope/base/call_site.hpp"
#include "isotope/base/order.hpp"
#include "isotope/platform/cpu/thread.hpp"

namespace isotope::check {

struct Location;
struct StoreRecord;
struct Task;

enum class TaskKind : std::uint8_t { host, kernel, callback, delivery };

enum class State : std::uint8_t {
  runnable,
  looking,     // waits until a word that it has read changes
  block_sync,  // waits for the threads of its block
  warp_sync,
  host_call,  // waits for a stream, an event, or PEs that have not come to init()
  delivery,   // waits for its own puts
  ended,
};

/// Distance of two tasks, as the narrowest scope that holds both.
enum class Level : std::uint8_t { block, device, system };
inline constexpr int kLevels = 3;

inline Level level_of(Scope scope) {
  if (scope == Scope::system) return Level::system;
  return scope == Scope::device ? Level::device : Level::block;
}

/// A wait as the program wrote it.
struct WaitInfo {
  const void* word = nullptr;
  std::size_t bytes = 0;
  Cmp cmp = Cmp::eq;
  std::uint64_t expected = 0;
  int from = -1;
  const char* call = nullptr;
  CallSite site;
};

/// A word that a task read since it last changed something, and what its version was then.
struct Look {
  Location* location = nullptr;
  std::uint64_t version = 0;
  const void* pc = nullptr;
  std::uint32_t times = 0;
};

/// A store that a task read without synchronising with it: what a race report looks for.
struct NearMiss {
  std::shared_ptr<const StoreRecord> store;
  const void* address = nullptr;
  Order order = Order::relaxed;
  Scope scope = Scope::system;
  const void* pc = nullptr;
};

struct WarpMeeting {
  std::uint32_t mask = 0, arrived = 0, ballot = 0;
  std::vector<Task*> waiting;
};

/// A block of a running kernel.
struct Block {
  std::uint64_t key = 0;  // no other block of the run has it
  Dim3 index{0, 0, 0};
  std::uint32_t rank = 0, threads = 0, returned = 0;
  std::vector<Task*> tasks;  // by thread rank
  // block_sync
  std::vector<Task*> waiting;
  VectorClock meeting, meeting_extra;
  std::uint64_t syncs = 0;
  std::uint64_t broadcast[2] = {};
  std::uint64_t dissent[2] = {};
  // by warp and mask
  std::vector<std::vector<WarpMeeting>> warps;
  std::vector<NearMiss> misses_of_returned;
  // shared memory
  struct Variable {
    const void* key;
    char* data;
    std::size_t bytes;
  };
  std::vector<Variable> shared;
  std::size_t dynamic_bytes = 0;
};

struct Task {
  TaskId id = 0;
  int pe = 0;
  TaskKind kind = TaskKind::host;
  State state = State::runnable;
  std::uint32_t place = 0;  // among the runnable
  std::uint32_t bookkeeping = 0;
  cpu::ThreadState thread;
  Block* block = nullptr;
  const char* kernel = nullptr;  // as the compiler spells it
  std::function<void()> body;
  std::function<void(Task&)> at_end;
  exec::Context context;
  exec::Stack stack;

  VectorClock clock;
  VectorClock extra;                                   // puts that a fence has ordered: later releases carry them
  VectorClock seen[kLevels];                           // read relaxed; an acquire fence of that scope takes it up
  std::shared_ptr<const VectorClock> fenced[kLevels];  // at the last release fence of that scope or a wider one
  VectorClock ordered;                                 // what sequentially consistent fences have put before this one
  // When it last accessed a word atomically, in accesses of the whole run, which word that was, and when another one.
  std::uint64_t last_access = 0, other_access = 0;
  std::uintptr_t last_word = 0;
  std::vector<Look> looks;
  std::vector<NearMiss> near_misses;
  WaitInfo wait;  // call is null: none
  const char* host_call = nullptr;
  CallSite host_site;
  const void* last_pc = nullptr;  // of the last access that was a step

  // warp operations: what it brought and takes away
  std::uint64_t lane_value = 0;
  std::uint32_t lane_source = 0;
  std::uint8_t lane_op = 0;

  std::vector<std::shared_ptr<Task>> deliveries;  // its puts on their way, and those that a fence has ordered
  std::uint64_t priority = 0;
  std::uint64_t steps = 0;
  std::uint32_t repeats = 0;  // of plain accesses, since its last step
  bool woken_for_nothing = false;

  Epoch epoch() const { return clock.at(id); }
  /// After a release: what follows is not covered by it.
  void tick() { clock.set(id, clock.at(id) + 1); }
};

/// Which scope two tasks have in common.
inline Level distance(const Task& a, int pe, std::uint64_t block_key) {
  if (a.pe != pe) return Level::system;
  const std::uint64_t mine = a.block != nullptr ? a.block->key : 0;
  return mine != 0 && mine == block_key ? Level::block : Level::device;
}

}  // namespace isotope::check
