// Streams under the checker: in-order queues whose kernels are tasks of the one scheduler.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "check/findings.hpp"
#include "check/groups.hpp"
#include "check/launches.hpp"
#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/timeline.hpp"
#include "exec/event.hpp"
#include "exec/exec.hpp"
#include "isotope/base/error.hpp"
#include "isotope/platform/sim/thread.hpp"

namespace isotope::check {

namespace {

std::vector<std::vector<LaunchShape>>& launches() {
  static std::vector<std::vector<LaunchShape>> all;
  return all;
}

class SimEvent final : public exec::EventState {
 public:
  bool finished() const override { return passed; }
  void synchronize() override {
    Task& me = *Scheduler::current();
    while (!passed) {
      waiting.push_back(&me);
      me.host_call = "Event::synchronize";
      Scheduler::instance().block(State::host_call);
    }
    me.host_call = nullptr;
    me.clock.join(clock);
  }
  void pass(const VectorClock& when) {
    passed = true;
    clock = when;
    std::vector<Task*> tasks;
    tasks.swap(waiting);
    for (Task* one : tasks) Scheduler::instance().wake(*one);
    std::vector<std::function<void()>> next;
    next.swap(then);
    for (const auto& one : next) one();
  }

  bool passed = false;
  VectorClock clock;
  std::vector<Task*> waiting;
  std::vector<std::function<void()>> then;
};

struct Work {
  enum class Kind { kernel, call, record, wait } kind = Kind::kernel;
  exec::GridSpec spec{};
  std::function<void()> fn{};
  std::shared_ptr<SimEvent> event{};
  VectorClock clock{};  // of the host when it was enqueued
};

class SimQueue final : public exec::StreamQueue {
 public:
  SimQueue(exec::ExecLimits limits, exec::FailureProbe probe) : limits_(limits), probe_(std::move(probe)) {
    static std::uint64_t made = 0;
    number_ = ++made;
    pe_ = Scheduler::current() != nullptr ? Scheduler::current()->pe : 0;
  }

  void launch(const exec::GridSpec& spec, std::function<void()> body) override {
    exec::check_grid(spec, limits_);
    note_launch(pe_, {spec.grid.count(), spec.block.count()});
    push({Work::Kind::kernel, spec, std::move(body), nullptr, {}});
  }
  void call(std::function<void()> fn) override { push({Work::Kind::call, {}, std::move(fn), nullptr, {}}); }
  std::shared_ptr<exec::EventState> record() override {
    auto event = std::make_shared<SimEvent>();
    push({Work::Kind::record, {}, nullptr, event, {}});
    return event;
  }
  void wait(std::shared_ptr<exec::EventState> event) override {
    push({Work::Kind::wait, {}, nullptr, std::static_pointer_cast<SimEvent>(event), {}});
  }
  bool idle() const override { return work_.empty() && !busy_; }
  void synchronize() override {
    Task& me = *Scheduler::current();
    if (me.kind != TaskKind::host)
      throw Error(Code::invalid_argument, "synchronize in a kernel or a callback would wait for itself");
    const std::uint64_t target = pushed_;
    while (done_ < target) {
      waiting_.push_back(&me);
      me.host_call = "synchronize";
      Scheduler::instance().block(State::host_call);
    }
    me.host_call = nullptr;
    me.clock.join(clock_);
    if (const auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
    if (const auto failure = probe_()) std::rethrow_exception(failure);
  }
  std::exception_ptr pending_failure() const override { return failure_; }
  void close() noexcept override {
    Task* me = Scheduler::current();
    while (me != nullptr && busy_) {
      waiting_.push_back(me);
      me->host_call = "the end of the World";
      Scheduler::instance().block(State::host_call);
    }
    if (me != nullptr) me->host_call = nullptr;
    work_.clear();
  }

 private:
  void push(Work work) {
    Task& me = *Scheduler::current();
    work.clock = me.clock;
    me.tick();
    work_.push_back(std::move(work));
    ++pushed_;
    next();
  }

  /// Begins the next work, unless some is in progress.
  void next() {
    while (!busy_ && !work_.empty()) {
      Work work = std::move(work_.front());
      work_.pop_front();
      clock_.join(work.clock);
      busy_ = true;
      switch (work.kind) {
        case Work::Kind::kernel:
          start_kernel(std::move(work));
          break;
        case Work::Kind::call:
          start_call(std::move(work));
          break;
        case Work::Kind::record:
          work.event->pass(clock_);
          finish_work();
          break;
        case Work::Kind::wait:
          if (work.event->passed) {
            clock_.join(work.event->clock);
            finish_work();
          } else {
            work.event->then.push_back([this, self = shared_from_this(), event = work.event] {
              clock_.join(event->clock);
              finish_work();
              next();
            });
          }
          break;
      }
    }
  }

  void finish_work() {
    busy_ = false;
    ++done_;
    if (!failure_) failure_ = probe_();
    std::vector<Task*> tasks;
    tasks.swap(waiting_);
    for (Task* one : tasks) Scheduler::instance().wake(*one);
  }

  void start_call(Work work) {
    Scheduler& scheduler = Scheduler::instance();
    auto task = scheduler.spawn(TaskKind::callback, pe_, scheduler.id_for(number_, 0), clock_, std::move(work.fn));
    task->at_end = [this, self = shared_from_this()](Task& ended) {
      clock_.join(ended.clock);
      finish_work();
      next();
    };
  }

  void start_kernel(Work work) {
    static std::uint64_t blocks_made = 0;
    Scheduler& scheduler = Scheduler::instance();
    const auto threads = static_cast<std::uint32_t>(work.spec.block.count());
    const auto blocks = static_cast<std::uint32_t>(work.spec.grid.count());
    left_ = threads * blocks;
    const VectorClock start = clock_;
    auto body = std::make_shared<std::function<void()>>(std::move(work.fn));
    for (std::uint32_t b = 0; b < blocks; ++b) {
      auto block = std::make_shared<Block>();
      block->key = ++blocks_made;
      block->rank = b;
      block->index = work.spec.grid.index_of(b);
      block->threads = threads;
      block->dynamic_bytes = work.spec.shared_bytes;
      for (std::uint32_t t = 0; t < threads; ++t) {
        auto task = scheduler.spawn(TaskKind::kernel, pe_, scheduler.id_for(number_, b * threads + t), start, [body] {
          (*body)();
          sim::complete_puts();  // a kernel that has ended has completed its own
        });
        task->block = block.get();
        task->thread = {
            work.spec.block.index_of(t), block->index, work.spec.block, work.spec.grid, t, b, threads, nullptr};
        block->tasks.push_back(task.get());
        scheduler.note_incarnation(*task);
        task->at_end = [this, block, self = shared_from_this()](Task& ended) {
          timeline_end(ended);
          thread_returned(ended);
          clock_.join(ended.clock);
          if (--left_ != 0) return;
          finish_work();
          next();
        };
      }
    }
  }

  exec::ExecLimits limits_;
  exec::FailureProbe probe_;
  std::uint64_t number_ = 0;
  int pe_ = 0;
  std::deque<Work> work_;
  bool busy_ = false;
  std::uint64_t pushed_ = 0, done_ = 0;
  std::uint32_t left_ = 0;  // threads of the kernel in progress
  VectorClock clock_;       // what the work so far has done
  std::vector<Task*> waiting_;
  std::exception_ptr failure_;
};

}  // namespace

void note_launch(int pe, LaunchShape shape) {
  auto& all = launches();
  if (all.size() <= static_cast<std::size_t>(pe)) all.resize(static_cast<std::size_t>(pe) + 1);
  all[static_cast<std::size_t>(pe)].push_back(shape);
}

std::string different_launches() {
  const auto& all = launches();
  if (all.empty()) return {};
  for (std::size_t pe = 1; pe < all.size(); ++pe) {
    for (std::size_t i = 0; i < std::min(all[0].size(), all[pe].size()); ++i) {
      const LaunchShape a = all[0][i], b = all[pe][i];
      if (a.blocks == b.blocks && a.threads == b.threads) continue;
      return fmt::format("launch {} has {} x {} threads on PE 0 and {} x {} on PE {}", i + 1, a.blocks, a.threads,
                         b.blocks, b.threads, pe);
    }
  }
  return {};
}

}  // namespace isotope::check

namespace isotope::exec {

std::shared_ptr<StreamQueue> StreamQueue::create(ExecLimits limits, FailureProbe probe) {
  return std::make_shared<check::SimQueue>(limits, std::move(probe));
}

}  // namespace isotope::exec
