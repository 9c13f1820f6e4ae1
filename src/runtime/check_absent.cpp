// The checker in a program that was not built for it.
#include "isotope/base/error.hpp"
#include "isotope/host/check.hpp"

namespace isotope {

CheckResult run_checked(const CheckOptions&, const std::function<void()>&) {
  throw Error(Code::not_supported,
              "run_checked: this program was not built for the checker; build it with isotope_add_check or "
              "isotope_check_target");
}

}  // namespace isotope
