// One flow of control that can be left and come back to, and the switch between two of them.
//
// A thin layer over Boost's fcontext (7 ns a switch) that adds what C++ and the sanitizers need: each context keeps its
// own state of thrown exceptions, so a body may wait inside a catch block; the address sanitizer learns which stack is
// in use, the thread sanitizer which fiber. The sanitizers are told that a switch orders memory: fibers of one launch
// never race.
#pragma once

#include <cstddef>

#include "exec/sanitizer.hpp"

namespace isotope::exec {

struct Context {
  void* sp = nullptr;         // where it stopped; null before make_context
  Context* target = nullptr;  // who it switched to
  void* exceptions[2] = {};   // this context's copy of __cxa_eh_globals
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
#if ISOTOPE_ASAN
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
#endif  // ISOTOPE_ASAN
#if ISOTOPE_TSAN
  void* tsan_fiber = nullptr;
#endif  // ISOTOPE_TSAN
};

/// `context` stands for the calling thread and the stack it is on.
void adopt_this_thread(Context& context) noexcept;

/// Prepares a context that runs entry(argument) on [low, top) at the first switch to it. The entry never returns. May
/// be called again for a context that is not running: what was on its stack is forgotten.
void make_context(Context& context, char* low, char* top, void (*entry)(void*), void* argument) noexcept;
/// Forgets a context for good, before its stack goes.
void drop_context(Context& context) noexcept;

/// Leaves `from`, which is running, and goes on in `to`. Returns when someone switches to `from`.
void switch_context(Context& from, Context& to) noexcept;

}  // namespace isotope::exec
