#include "check/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "check/findings.hpp"
#include "check/memory.hpp"
#include "check/older.hpp"
#include "isotope/base/error.hpp"

namespace isotope::check {

namespace {

Scheduler* g_scheduler = nullptr;
Task* g_current = nullptr;

constexpr std::size_t kHostStackBytes = 4ull << 20;
constexpr std::uint32_t kStacksAtOnce = 32;
/// A task that reads an unchanged word this often without doing anything else spins.
constexpr std::uint32_t kSpins = 3;
/// A loop that spins a bounded number of times goes on when nobody else can; one that does so this often is a livelock.
constexpr std::uint64_t kUselessWakes = 2000;

}  // namespace

Scheduler::Scheduler(Strategy& strategy, const Limits& limits) : strategy_(strategy), limits_(limits) {
  g_scheduler = this;
  last_epochs_.push_back(0);
  incarnations_.emplace_back();  // number 0 is nobody's, so that an empty clock knows of no one
}

Scheduler::~Scheduler() { g_scheduler = nullptr; }

Scheduler& Scheduler::instance() noexcept { return *g_scheduler; }
Task* Scheduler::current() noexcept { return g_current; }

void Scheduler::run(int pes, const std::function<void(int pe)>& body) {
  pes_ = pes;
  exec::adopt_this_thread(root_);
  for (int pe = 0; pe < pes; ++pe) spawn(TaskKind::host, pe, new_id(), {}, [&body, pe] { body(pe); });
  Task* first = strategy_.choose(runnable_, nullptr);
  g_current = first;
  exec::switch_context(root_, first->context);
  g_current = nullptr;
  ended_.reset();
}

TaskId Scheduler::new_id() {
  if (incarnations_.size() > 60'000) {
    throw Error(Code::not_supported,
                "the checker counts at most 60,000 threads that may run at the same time; use a smaller grid");
  }
  incarnations_.emplace_back();
  last_epochs_.push_back(0);
  return static_cast<TaskId>(incarnations_.size() - 1);
}

TaskId Scheduler::id_for(std::uint64_t queue, std::uint32_t i) {
  const auto [entry, fresh] = ids_.try_emplace({queue, i}, TaskId{0});
  if (fresh) entry->second = new_id();
  return entry->second;
}

std::shared_ptr<Task> Scheduler::spawn(TaskKind kind, int pe, TaskId id, const VectorClock& clock,
                                       std::function<void()> body) {
  auto task = std::make_shared<Task>();
  task->id = id;
  task->pe = pe;
  task->kind = kind;
  task->body = std::move(body);
  task->clock = clock;
  // Goes on counting where the number's last owner stopped.
  task->clock.set(id, std::max(clock.at(id), last_epochs_[id]) + 1);
  task->stack = take_stack(kind);
  exec::make_context(task->context, task->stack.low, task->stack.top, &Scheduler::task_main, task.get());
  live_.push_back(task);
  note_incarnation(*task);
  strategy_.born(*task);
  make_runnable(*task);
  return task;
}

void Scheduler::note_incarnation(Task& task, TaskId issuer) {
  Incarnation now;
  now.from = task.epoch();
  now.pe = task.pe;
  now.kind = task.kind;
  now.kernel = task.kernel;
  now.block_key = task.block != nullptr ? task.block->key : 0;
  now.block = task.thread.block_rank;
  now.thread = task.thread.thread_rank;
  now.issuer = issuer;
  auto& all = incarnations_[task.id];
  if (!all.empty() && all.back().from == now.from) {
    all.back() = now;
  } else {
    all.push_back(now);
  }
}

std::vector<TaskId> Scheduler::threads_of(std::uint64_t block_key) const {
  std::vector<TaskId> found;
  for (std::size_t id = 0; id < incarnations_.size(); ++id) {
    for (const Incarnation& one : incarnations_[id]) {
      if (one.block_key != block_key) continue;
      found.push_back(static_cast<TaskId>(id));
      break;
    }
  }
  return found;
}

const Incarnation& Scheduler::who(TaskId id, Epoch epoch) const {
  const auto& all = incarnations_[id];
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (one->from <= epoch) return *one;
  }
  return all.front();
}

exec::Stack Scheduler::take_stack(TaskKind kind) {
  const bool host = kind == TaskKind::host || kind == TaskKind::callback;
  auto& free = host ? free_host_stacks_ : free_stacks_;
  if (free.empty()) {
    const std::uint32_t count = host ? 4 : kStacksAtOnce;
    slabs_.push_back(exec::StackSlab::map(host ? kHostStackBytes : limits_.stack_bytes, count));
    if (slabs_.back() == nullptr)
      throw Error(Code::system, "there is no memory for the stack of another thread; use a smaller grid");
    for (std::uint32_t i = 0; i < count; ++i) free.push_back(slabs_.back()->stack(i));
  }
  const exec::Stack stack = free.back();
  free.pop_back();
  return stack;
}

void Scheduler::task_main(void* argument) noexcept {
  Task& task = *static_cast<Task*>(argument);
  try {
    task.body();
  } catch (const std::exception& error) {
    report_exception(task, error.what());
  } catch (...) {
    report_exception(task, "an object that is no std::exception");
  }
  Scheduler::instance().end_task(task);
}

void Scheduler::end_task(Task& task) noexcept {
  if (task.stack.overflowed(__builtin_frame_address(0))) report_stack_overflow(task);
  task.state = State::ended;
  make_unrunnable(task);
  drop_looks(task);
  ++task.bookkeeping;  // what follows is not the program's
  if (task.at_end) task.at_end(task);
  const auto place = std::find_if(live_.begin(), live_.end(), [&](const auto& one) { return one.get() == &task; });
  last_epochs_[task.id] = task.epoch();
  // Its stack is in use until the switch; the next one to end after that may give it away.
  if (ended_ != nullptr) {
    const bool host_before = ended_->kind == TaskKind::host || ended_->kind == TaskKind::callback;
    (host_before ? free_host_stacks_ : free_stacks_).push_back(ended_->stack);
  }
  ended_ = *place;
  *place = live_.back();
  live_.pop_back();
  if (live_.empty()) {
    g_current = nullptr;
    exec::switch_context(task.context, root_);
  }
  switch_to_next(task);
}

void Scheduler::make_runnable(Task& task) {
  task.state = State::runnable;
  task.place = static_cast<std::uint32_t>(runnable_.size());
  runnable_.push_back(&task);
}

void Scheduler::make_unrunnable(Task& task) {
  runnable_[task.place] = runnable_.back();
  runnable_[task.place]->place = task.place;
  runnable_.pop_back();
}

void Scheduler::switch_to_next(Task& from) {
  while (runnable_.empty()) {
    if (!wake_someone_for_nothing()) report_deadlock();
  }
  Task* next = strategy_.choose(runnable_, from.state == State::runnable ? &from : nullptr);
  if (next == &from) return;
  g_current = next;
  exec::switch_context(from.context, next->context);
}

void Scheduler::point(const Step& step) {
  Task& me = *g_current;
  if (me.bookkeeping != 0) return;
  if (++steps_ > limits_.steps) report_livelock(me, "the run has taken more steps than its budget");
  ++me.steps;
  me.repeats = 0;
  if (me.stack.overflowed(__builtin_frame_address(0))) report_stack_overflow(me);
  strategy_.announce(me, step);
  switch_to_next(me);
}

void Scheduler::block(State state) {
  Task& me = *g_current;
  make_unrunnable(me);
  me.state = state;
  strategy_.announce(me, {});
  switch_to_next(me);
}

void Scheduler::wake(Task& task) {
  if (task.state == State::runnable || task.state == State::ended) return;
  make_runnable(task);
}

void Scheduler::look(Location& location, std::uint64_t version, const void* pc) {
  Task& me = *g_current;
  for (Look& one : me.looks) {
    if (one.location != &location || one.pc != pc) continue;
    if (one.version != version) {
      one.version = version;
      one.times = 0;
    } else if (++one.times >= kSpins) {
      // A loop of the program's own: the same as relax(), but it may have an end of its own.
      me.woken_for_nothing = false;
      relax();
    }
    return;
  }
  me.looks.push_back({&location, version, pc, 0});
}

void Scheduler::relax() {
  Task& me = *g_current;
  bool same = !me.looks.empty();
  for (const Look& one : me.looks) same = same && one.version == one.location->version;
  if (!same) {
    me.looks.clear();
    point({});
    return;
  }
  for (const Look& one : me.looks) one.location->lookers.push_back(&me);
  block(State::looking);
  drop_looks(me);
}

void Scheduler::stand_aside(Task& task) {
  task.repeats = 0;
  const bool kernel = task.kind == TaskKind::kernel && task.bookkeeping == 0 && &task == g_current;
  // It may as well compute for long: as long as it is the only one that can run, it runs.
  if (kernel && runnable_.size() > 1) block(State::looking);
}

void Scheduler::drop_looks(Task& task) {
  for (const Look& one : task.looks) std::erase(one.location->lookers, &task);
  task.looks.clear();
}

// Only loops that poll by themselves can go on without a change; a wait of the library would find the same again.
bool Scheduler::wake_someone_for_nothing() {
  for (const auto& task : live_) {
    if (task->state != State::looking || task->wait.call != nullptr) continue;
    if (++useless_wakes_ > kUselessWakes) return false;
    wake(*task);
  }
  return !runnable_.empty();
}

void Scheduler::changed(Location& location, Task& by, const Written& what) {
  ++location.version;
  ++location.writes;
  location.history.push_back(what);
  if (location.history.size() > Location::kKept) location.history.pop_front();
  // Whoever changes something does not spin.
  if (!by.looks.empty() && by.state == State::runnable) drop_looks(by);
  useless_wakes_ = 0;
  const std::vector<Task*> lookers = location.lookers;
  for (Task* one : lookers) wake(*one);
}

void Scheduler::plain_store(Task& task, std::uintptr_t cell, std::uint8_t mask, const void* pc) {
  for (std::uintptr_t at = 0; at < 8; ++at) {
    Location* location = (mask >> at & 1) != 0 ? find_location(reinterpret_cast<const void*>(cell + at)) : nullptr;
    if (location == nullptr) continue;
    location->sequence.clear();
    forget_older(*location);
    Written what;
    what.known = false;
    what.task = task.id;
    what.epoch = task.epoch();
    what.pc = pc;
    what.step = steps_;
    changed(*location, task, what);
  }
}

Location& Scheduler::location(const void* address, int bytes) {
  const auto key = reinterpret_cast<std::uintptr_t>(address);
  const auto [entry, fresh] = locations_.try_emplace(key);
  if (fresh) {
    entry->second.address = key;
    entry->second.bytes = bytes;
    memory().note_word(key);
  }
  return entry->second;
}

Location* Scheduler::find_location(const void* address) {
  const auto key = reinterpret_cast<std::uintptr_t>(address);
  const auto entry = locations_.find(key);
  return entry == locations_.end() ? nullptr : &entry->second;
}

}  // namespace isotope::check
