// Checks of programs that run as jobs: one line for each that failed, and a verdict at the end.
#pragma once

#include <cstdio>
#include <string>

#include "isotope/isotope.hpp"

namespace gpu_checks {

using namespace isotope;

inline int checks = 0, failures = 0;
inline thread_local int t_rank = 0;

inline void expect(bool good, const std::string& what) {
  __atomic_add_fetch(&checks, 1, __ATOMIC_RELAXED);
  if (good) return;
  __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
  std::printf("PE %d: FAILED: %s\n", t_rank, what.c_str());
}

template <class F>
std::string message_of(F&& call, Code code) {
  try {
    call();
  } catch (const Error& error) {
    expect(error.code() == code, std::string("another code than expected: ") + error.what());
    return error.what();
  }
  expect(false, "no error was thrown");
  return {};
}

inline bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The exit status, after one line.
inline int verdict(const World& world) {
  std::printf("PE %d of %d: %d checks, %d failed\n", world.rank(), world.size(), checks, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace gpu_checks
