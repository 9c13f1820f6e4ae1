// "Did you mean ...?": the nearest of a list of known words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isotope::runtime {

/// Letters to change, insert, leave out or swap with their neighbour to make `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that `word` was most likely meant to be; nothing when none is near (a third of its letters).
std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace isotope::runtime
