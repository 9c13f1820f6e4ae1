// Turns a failed system call into an isotope::Error that names the call and the reason.
#pragma once

#include <string>

#include "isotope/base/error.hpp"

namespace isotope::os {

/// Throws Error(Code::system, "<what>: <strerror(err)>").
[[noreturn]] void throw_errno(const std::string& what, int err);
/// The same with the current errno.
[[noreturn]] void throw_errno(const std::string& what);

}  // namespace isotope::os
