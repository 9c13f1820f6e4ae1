// A local success or failure, told to all PEs in an exchange, so that all throw alike.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "isotope/base/error.hpp"

namespace isotope::runtime {

struct Outcome {
  std::int32_t code = 0;
  char message[400] = {};

  void fail(const Error& error) {
    code = static_cast<std::int32_t>(error.code());
    std::snprintf(message, sizeof message, "%s", error.what());
  }
};

/// Throws the first failure as "`call` failed on PE p: ...". `world_rank(i)` is the PE that outcome i is of; `me`
/// throws.
template <class WorldRank>
void throw_if_any_failed(const std::vector<Outcome>& outcomes, std::string_view call, int me, WorldRank&& world_rank,
                         CallSite site = {}) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].code == 0) continue;
    const int pe = world_rank(i);
    throw Error(static_cast<Code>(outcomes[i].code),
                fmt::format("{} failed on PE {}: {}", call, pe, outcomes[i].message), me, pe, site);
  }
}

/// The same for an exchange of the whole World.
inline void throw_if_any_failed(const std::vector<Outcome>& outcomes, std::string_view call, int me) {
  throw_if_any_failed(outcomes, call, me, [](std::size_t i) { return static_cast<int>(i); });
}

/// Calls `what` on every PE of an exchange (exchange.hpp) of the whole World. What failed on one of them all return.
template <class Exchange, class What>
std::optional<Error> failure_of_any(Exchange& world, const char* call, int me, const What& what) {
  Outcome outcome;
  try {
    what();
  } catch (const Error& error) {
    outcome.fail(error);
  }
  const std::vector<Outcome> outcomes = world.gather(call, outcome, {call, 0});
  try {
    throw_if_any_failed(outcomes, call, me);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace isotope::runtime
