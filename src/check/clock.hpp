// Vector clocks: how far each task had come when something happened.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace isotope::check {

/// Number of a task in vector clocks. Tasks that can never run at the same time may share one.
using TaskId = std::uint16_t;
using Epoch = std::uint32_t;

class VectorClock {
 public:
  Epoch at(TaskId id) const noexcept { return id < times_.size() ? times_[id] : 0; }
  /// Whether what task `id` did at `epoch` happened before whoever has this clock.
  bool covers(TaskId id, Epoch epoch) const noexcept { return epoch <= at(id); }
  bool empty() const noexcept { return times_.empty(); }

  void set(TaskId id, Epoch epoch) {
    if (id >= times_.size()) times_.resize(id + 1u, 0);
    times_[id] = epoch;
  }
  void join(const VectorClock& other) {
    if (other.times_.size() > times_.size()) times_.resize(other.times_.size(), 0);
    const Epoch* theirs = other.times_.data();
    Epoch* mine = times_.data();
    for (std::size_t i = 0, n = other.times_.size(); i < n; ++i) mine[i] = std::max(mine[i], theirs[i]);
  }
  void clear() noexcept { times_.clear(); }

 private:
  std::vector<Epoch> times_;
};

}  // namespace isotope::check
