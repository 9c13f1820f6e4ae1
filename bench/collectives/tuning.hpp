// From times to a table of choices.
#pragma once

#include <cstddef>
#include <vector>

#include "isotope/host/choice.hpp"

namespace isotope::bench {

/// What one algorithm took at one size.
struct Timing {
  std::size_t bytes;  // as ChoiceRow counts them
  Algo algo;
  double seconds;
};

/// The fastest algorithm of each size, as rows that cover all sizes: between two sizes with another one each, the
/// border is at their geometric mean, and the last row has no end. An algorithm that is within 3 % of the fastest keeps
/// its place: less is noise, and a table that jumps to and fro.
std::vector<ChoiceRow> fastest_of(Collective collective, int pes, std::vector<Timing> timings);

/// `before` with `measured` instead of what it said about the same collectives and numbers of PEs.
std::vector<ChoiceRow> replace_rows(std::vector<ChoiceRow> before, const std::vector<ChoiceRow>& measured);

}  // namespace isotope::bench
