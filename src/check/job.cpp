// PEs that are tasks: how they find each other in init(), and what the runtime asks about PEs as threads.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "check/scheduler.hpp"
#include "isotope/base/error.hpp"
#include "runtime/thread_job.hpp"

namespace isotope::check {

namespace {

/// One all-gather at a time among the PEs of one World.
struct Hub {
  explicit Hub(int pes) : parts(static_cast<std::size_t>(pes)) {}
  std::vector<std::vector<std::byte>> parts;
  int arrived = 0;
  std::uint64_t round = 0;
  std::vector<std::byte> all;
  std::vector<Task*> waiting;
  VectorClock clock;
};

class SimPe final : public bootstrap::Bootstrap {
 public:
  SimPe(int rank, std::shared_ptr<Hub> hub) : rank_(rank), hub_(std::move(hub)) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->parts.size()); }
  std::string name() const override { return "checker"; }

  std::vector<std::byte> allgather(std::span<const std::byte> mine) override {
    Task& me = *Scheduler::current();
    hub_->parts[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
    hub_->clock.join(me.clock);
    if (++hub_->arrived == size()) {
      hub_->arrived = 0;
      ++hub_->round;
      hub_->all.clear();
      for (const auto& part : hub_->parts) hub_->all.insert(hub_->all.end(), part.begin(), part.end());
      std::vector<Task*> tasks;
      tasks.swap(hub_->waiting);
      for (Task* one : tasks) Scheduler::instance().wake(*one);
    } else {
      const std::uint64_t round = hub_->round;
      while (hub_->round == round) {
        hub_->waiting.push_back(&me);
        me.host_call = "init, for PEs that have not come";
        Scheduler::instance().block(State::host_call);
      }
      me.host_call = nullptr;
    }
    me.clock.join(hub_->clock);
    me.tick();
    return hub_->all;
  }
  void abort(const bootstrap::AbortNotice&) noexcept override {}
  void leave() noexcept override {}

 private:
  const int rank_;
  const std::shared_ptr<Hub> hub_;
};

}  // namespace
}  // namespace isotope::check

namespace isotope::runtime {

std::unique_ptr<bootstrap::Bootstrap> ThreadJob::next_bootstrap(const Knobs&) {
  using check::Hub;
  static std::vector<std::shared_ptr<Hub>> hubs;  // of successive Worlds
  static std::map<int, std::size_t> worlds;       // that each PE has joined
  check::Task* me = check::Scheduler::current();
  if (me == nullptr) return nullptr;
  const std::size_t world = worlds[me->pe]++;
  if (hubs.size() <= world) hubs.push_back(std::make_shared<Hub>(check::Scheduler::instance().pes()));
  return std::make_unique<check::SimPe>(me->pe, hubs[world]);
}

void ThreadJob::add_world(const std::shared_ptr<WorldCore>&) {}

}  // namespace isotope::runtime
