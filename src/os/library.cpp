#include "os/library.hpp"

#include <dlfcn.h>

namespace isotope::os {

void* open_library(const char* name, std::string& why) {
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    why = reason != nullptr ? reason : "unknown";
  }
  return library;
}

void* find_symbol(void* library, const char* name) { return ::dlsym(library, name); }

}  // namespace isotope::os
