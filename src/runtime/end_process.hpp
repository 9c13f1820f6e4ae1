// The end of this process by global_exit, called here or by another PE. Every place that learns of one comes here, so
// that no caller can turn it into another exit status first.
#pragma once

#include <cstdio>

#include "os/process.hpp"

namespace isotope::runtime {

[[noreturn]] inline void end_process(int exit_code) noexcept {
  // These two only: a thread that sits in a read of standard input holds its lock.
  std::fflush(stdout);
  std::fflush(stderr);
  os::exit_now(exit_code);
}

}  // namespace isotope::runtime
