// Who runs next: at random, by priorities that change a few times (PCT), or as an explorer has written down.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "check/clock.hpp"

namespace isotope::check {

struct Task;

/// What a task is about to do. `address` 0: nothing that others notice.
struct Step {
  std::uintptr_t address = 0;
  bool writes = false;
};

/// Random numbers that are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// One of `runnable`, which is not empty. `current` is the task that ran until now, if it can go on.
  virtual Task* choose(const std::vector<Task*>& runnable, Task* current) = 0;
  /// `task` comes into being.
  virtual void born(Task&) {}
  /// What it will do when it runs next.
  virtual void announce(Task&, const Step&) {}
  /// Whether loads may see older values in this run.
  virtual bool shows_older() const { return false; }
  /// A load may see the latest value or one of the `count` before it: how far back it goes.
  virtual std::uint32_t choose_older(std::uint32_t count) { return static_cast<void>(count), 0; }
  /// What the parent process is to know of the choices made.
  virtual std::string trace() const { return {}; }
};

/// Steps in which a run of moderate size ends: where changes of priority are drawn from.
inline constexpr std::uint64_t kPctSteps = 2000;

std::unique_ptr<Strategy> random_strategy(std::uint64_t seed, int pes);
/// `depth` changes of priority within the first `steps` steps.
std::unique_ptr<Strategy> pct_strategy(std::uint64_t seed, int depth, std::uint64_t steps);

}  // namespace isotope::check
