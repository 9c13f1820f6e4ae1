// The error codes, as numbers: what device code and the C edge give back. error.hpp has what goes with them on the
// host.
#pragma once

namespace isotope {

enum class Code : int {
#define X(name, number, reach, meaning) name = number,
#include "isotope/base/codes.def"
#undef X
};

}  // namespace isotope
