// A timeline of a run: what each PE did when, and a picture of it with one lane per PE.
//
//   Timeline timeline(world);                         // collective
//   { auto span = timeline.span("ring"); ... }        // one bar in this PE's lane
//   if (auto all = timeline.gather())                 // collective; PE 0 gets everything
//     write_svg(*all, "run.svg", "4 PEs");
//
// Times are of one clock that all PEs of a host share. Not thread-safe: one thread of a PE records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isotope/host/world.hpp"

namespace isotope {

struct TimelineSpan {
  int pe = 0;
  std::uint64_t begin_ns = 0;  // since the Timeline was made
  std::uint64_t end_ns = 0;
  char name[32] = {};
};

class Timeline {
 public:
  /// Collective: the PEs agree on time 0.
  explicit Timeline(World& world);

  /// Records from its construction to its destruction.
  class Scope {
   public:
    Scope(Timeline& timeline, const std::string& name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Timeline& timeline_;
    TimelineSpan span_;
  };
  [[nodiscard]] Scope span(const std::string& name) { return Scope(*this, name); }

  const std::vector<TimelineSpan>& mine() const { return spans_; }
  /// Collective. On PE 0 the spans of all PEs, by PE and time; nothing elsewhere.
  std::optional<std::vector<TimelineSpan>> gather();

 private:
  World* world_;
  std::uint64_t zero_ns_ = 0;
  std::vector<TimelineSpan> spans_;
};

/// A self-contained SVG, one lane per PE, a colour per name, tooltips with the times. Throws Error(system) when the
/// file cannot be written.
void write_svg(const std::vector<TimelineSpan>& spans, const std::string& path, const std::string& title);

}  // namespace isotope
