#include "check/strategy.hpp"

#include <algorithm>

#include "check/task.hpp"

namespace isotope::check {

namespace {

/// Which values loads see: in half of the runs always the latest, in the others an older one in every second or eighth
/// load that may. Random numbers of its own, so that a program with no such load runs as it would without.
class OldValues {
 public:
  explicit OldValues(std::uint64_t seed) : random_(~seed) {
    if (random_.one_in(2)) rate_ = random_.one_in(2) ? 2 : 8;
  }
  bool any() const { return rate_ != 0; }
  std::uint32_t choose(std::uint32_t count) {
    return random_.one_in(rate_) ? 1 + static_cast<std::uint32_t>(random_.below(count)) : 0;
  }

 private:
  Random random_;
  std::uint64_t rate_ = 0;
};

/// Each run draws how often it switches and, in half of the runs, a PE that is slow: bugs of one PE that is a round
/// ahead need long stretches in which another one stands still.
class RandomStrategy final : public Strategy {
 public:
  RandomStrategy(std::uint64_t seed, int pes) : random_(seed), old_(seed) {
    constexpr std::uint64_t kRates[] = {1, 2, 8, 32};
    rate_ = kRates[random_.below(4)];
    slow_ = random_.one_in(2) ? static_cast<int>(random_.below(static_cast<std::uint64_t>(pes))) : -1;
    slow_deliveries_ = random_.one_in(2);
  }

  Task* choose(const std::vector<Task*>& runnable, Task* current) override {
    if (runnable.size() == 1) return runnable[0];
    if (current != nullptr && !random_.one_in(rate_)) return current;
    Task* chosen = pick(runnable);
    for (int again = 0; again < 4 && is_slow(*chosen); ++again) chosen = pick(runnable);
    return chosen;
  }
  bool shows_older() const override { return old_.any(); }
  std::uint32_t choose_older(std::uint32_t count) override { return old_.choose(count); }

 private:
  Task* pick(const std::vector<Task*>& runnable) { return runnable[random_.below(runnable.size())]; }
  bool is_slow(const Task& task) const {
    return task.pe == slow_ || (slow_deliveries_ && task.kind == TaskKind::delivery);
  }

  Random random_;
  OldValues old_;
  std::uint64_t rate_ = 1;
  int slow_ = -1;
  bool slow_deliveries_ = false;
};

/// Probabilistic concurrency testing (Burckhardt and others, ASPLOS 2010): the task of the highest priority runs; at
/// `depth` steps chosen beforehand the running one falls behind all others.
class PctStrategy final : public Strategy {
 public:
  PctStrategy(std::uint64_t seed, int depth, std::uint64_t steps) : random_(seed), old_(seed) {
    for (int i = 0; i < depth; ++i) changes_.push_back(random_.below(steps));
    std::sort(changes_.begin(), changes_.end());
  }

  void born(Task& task) override { task.priority = (1ull << 32) + random_.below(1ull << 32); }

  Task* choose(const std::vector<Task*>& runnable, Task*) override {
    Task* first = *std::max_element(runnable.begin(), runnable.end(), [](const Task* a, const Task* b) {
      return a->priority != b->priority ? a->priority < b->priority : a->id > b->id;
    });
    if (next_ < changes_.size() && ++choices_ >= changes_[next_]) {
      ++next_;
      first->priority = changes_.size() - next_;
      return choose(runnable, nullptr);
    }
    return first;
  }
  bool shows_older() const override { return old_.any(); }
  std::uint32_t choose_older(std::uint32_t count) override { return old_.choose(count); }

 private:
  Random random_;
  OldValues old_;
  std::vector<std::uint64_t> changes_;
  std::size_t next_ = 0;
  std::uint64_t choices_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> random_strategy(std::uint64_t seed, int pes) {
  return std::make_unique<RandomStrategy>(seed, pes);
}

std::unique_ptr<Strategy> pct_strategy(std::uint64_t seed, int depth, std::uint64_t steps) {
  return std::make_unique<PctStrategy>(seed, depth, steps);
}

}  // namespace isotope::check
