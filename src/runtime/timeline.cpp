#include "isotope/host/timeline.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "os/clock.hpp"

namespace isotope {

Timeline::Timeline(World& world) : world_(&world) {
  // PE 0's clock reading is everyone's zero: the clock is the host's.
  auto zero = world.alloc<std::uint64_t>(1);
  zero.set(0, os::now_ns());
  world.barrier();
  zero_ns_ = zero.read_from(world.team(), 0)[0];
  world.barrier();
}

Timeline::Scope::Scope(Timeline& timeline, const std::string& name) : timeline_(timeline) {
  span_.pe = timeline.world_->rank();
  std::snprintf(span_.name, sizeof span_.name, "%s", name.c_str());
  span_.begin_ns = os::now_ns() - timeline.zero_ns_;
}

Timeline::Scope::~Scope() {
  span_.end_ns = os::now_ns() - timeline_.zero_ns_;
  timeline_.spans_.push_back(span_);
}

std::optional<std::vector<TimelineSpan>> Timeline::gather() {
  World& world = *world_;
  auto counts = world.alloc<std::uint64_t>(1);
  counts.set(0, spans_.size());
  world.barrier();
  std::uint64_t most = 0;
  for (int pe = 0; pe < world.size(); ++pe) most = std::max(most, counts.read_from(world.team(), pe)[0]);
  auto spans = world.alloc<TimelineSpan>(std::max<std::uint64_t>(most, 1));
  spans.write(spans_);
  world.barrier();
  std::optional<std::vector<TimelineSpan>> all;
  if (world.rank() == 0) {
    all.emplace();
    for (int pe = 0; pe < world.size(); ++pe) {
      const auto theirs = spans.read_from(world.team(), pe, 0, counts.read_from(world.team(), pe)[0]);
      all->insert(all->end(), theirs.begin(), theirs.end());
    }
    std::stable_sort(all->begin(), all->end(), [](const TimelineSpan& a, const TimelineSpan& b) {
      return a.pe != b.pe ? a.pe < b.pe : a.begin_ns < b.begin_ns;
    });
  }
  world.barrier();
  return all;
}

}  // namespace isotope
