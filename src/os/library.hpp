// A shared library looked for at run time.
#pragma once

#include <string>

namespace isotope::os {

/// The handle of the library `name`, kept open until the process ends; null when it cannot be loaded, `why` says the
/// reason.
void* open_library(const char* name, std::string& why);
/// Null when the library has no such symbol.
void* find_symbol(void* library, const char* name);

}  // namespace isotope::os
