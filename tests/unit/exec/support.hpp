// What the tests of src/exec share: running a lambda as a kernel, and sizes that a sanitizer can bear.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "exec/exec.hpp"
#include "exec/sanitizer.hpp"
#include "isotope/base/error.hpp"
#include "isotope/device/group.hpp"

namespace isotope::test {

inline constexpr bool kAsan = ISOTOPE_ASAN != 0;
inline constexpr bool kTsan = ISOTOPE_TSAN != 0;

inline void run(Dim3 grid, Dim3 block, const std::function<void()>& body, std::size_t shared_bytes = 0,
                exec::ExecLimits limits = {}) {
  exec::run_grid({grid, block, shared_bytes}, limits, body);
}

/// The Error that `fn` throws; fails the test if it throws none.
inline Error error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no isotope::Error was thrown";
  return Error(Code::ok, "");
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Polls until `done` or 20 seconds have passed; returns the last answer.
inline bool eventually(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Polls as a wait in a kernel does.
template <class Done>
void relax_until(Done done) {
  for (std::uint32_t polls = 1; !done(); ++polls) cpu::relax(polls);
}

inline std::shared_ptr<exec::StreamQueue> make_queue(exec::FailureProbe probe = {}) {
  return exec::StreamQueue::create({}, std::move(probe));
}

}  // namespace isotope::test
