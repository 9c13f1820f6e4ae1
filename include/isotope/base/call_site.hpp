// Where a call stands in the user's source. Taken as a defaulted last argument, on host and device alike
// (std::source_location is not usable in nvcc's device pass; the builtins are).
#pragma once

#include "isotope/base/macros.hpp"

namespace isotope {

struct CallSite {
  const char* file = "";
  int line = 0;

  ISOTOPE_HD static constexpr CallSite current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return CallSite{file, line};
  }
};

}  // namespace isotope
