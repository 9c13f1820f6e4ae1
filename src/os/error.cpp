#include "os/error.hpp"

#include <cerrno>
#include <system_error>

namespace isotope::os {

void throw_errno(const std::string& what, int err) {
  throw Error(Code::system, what + ": " + std::generic_category().message(err));
}

void throw_errno(const std::string& what) { throw_errno(what, errno); }

}  // namespace isotope::os
