#include "check/pending.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "check/findings.hpp"
#include "check/task.hpp"
#include "check/text.hpp"

namespace isotope::check {

namespace {
std::optional<PendingRace> g_pending;
}  // namespace

bool race_is_pending() noexcept { return g_pending.has_value(); }

void put_off(PendingRace race) { g_pending = std::move(race); }

void explain_pending(const Task& task, const void* pc) {
  if (!g_pending || task.block == nullptr) return;
  for (const PendingSide& side : g_pending->sides) {
    if (task.block->key != side.block_key || task.thread.thread_rank == side.thread) continue;
    if (!task.clock.covers(side.other, side.epoch)) continue;
    const std::string text = g_pending->text,
                      why = fmt::format(
                          "  Thread {} of PE {}, block {} acquires what the other one did, at {}.\n"
                          "  Thread {} does not wait for that: a block.sync() after it is missing.",
                          task.thread.thread_rank, task.pe, task.block->rank, pc_text(pc), side.thread);
    g_pending.reset();
    finish("race", "block sync missing", text + why);
  }
}

bool take_pending(std::string& kind, std::string& verdict, std::string& text) {
  if (!g_pending) return false;
  const PendingRace race = *std::exchange(g_pending, std::nullopt);
  kind = "race";
  verdict = kUnexplained;
  text = race.text + race.otherwise;
  return true;
}

}  // namespace isotope::check
