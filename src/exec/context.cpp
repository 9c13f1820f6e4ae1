// Context switches over boost::context's fcontext.
#include "exec/context.hpp"

#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <cstring>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif  // __SSE__

namespace isotope::exec {

namespace bc = boost::context::detail;

namespace {

// Where the C++ runtime keeps the exceptions of this thread. Asking it each time would cost a tenth of a switch.
void* exception_globals() noexcept {
  constinit thread_local void* t_globals = nullptr;
  if (t_globals == nullptr) t_globals = abi::__cxa_get_globals();
  return t_globals;
}

// A switch restores the SSE control word, and where that changes it the processor takes 100 ns instead of 6 (measured
// on Sapphire Rapids). The sticky flags of past arithmetic live in the same word and differ between any two bodies that
// compute. They are not part of a function's contract, so `to` gets the current ones. fcontext keeps the word at the
// very top of a stopped stack; if some version did not, what lies there would not look like this control word and stays
// as it is.
void keep_sse_flags([[maybe_unused]] const Context& to) noexcept {
#if defined(__SSE__)
  constexpr std::uint32_t kFlags = 0x3f;
  const std::uint32_t now = _mm_getcsr();
  auto* saved = static_cast<std::uint32_t*>(to.sp);
  if (((*saved ^ now) & ~kFlags) == 0) *saved = now;
#endif  // __SSE__
}

// The first thing that runs after each jump, on the new side.
void arrived(Context& self, const bc::transfer_t& transfer) noexcept {
  auto& from = *static_cast<Context*>(transfer.data);
  from.sp = transfer.fctx;
#if ISOTOPE_ASAN
  // Tells the bounds of the stack just left, which for the calling thread's own we know from nowhere else.
  __sanitizer_finish_switch_fiber(self.fake_stack, &from.bottom, &from.bytes);
#else
  (void)self;
#endif  // ISOTOPE_ASAN
}

void begin(bc::transfer_t transfer) noexcept {
  Context& self = *static_cast<Context*>(transfer.data)->target;
  arrived(self, transfer);
  self.entry(self.argument);
  __builtin_trap();  // an entry never returns
}

}  // namespace

void adopt_this_thread([[maybe_unused]] Context& context) noexcept {
#if ISOTOPE_TSAN
  context.tsan_fiber = __tsan_get_current_fiber();
#endif  // ISOTOPE_TSAN
}

void make_context(Context& context, char* low, char* top, void (*entry)(void*), void* argument) noexcept {
  const auto bytes = static_cast<std::size_t>(top - low);
  // Frames that were left on the stack for good keep their red zones otherwise.
  allow_memory(low, bytes);
  context.sp = bc::make_fcontext(top, bytes, &begin);
  context.exceptions[0] = context.exceptions[1] = nullptr;
  context.entry = entry;
  context.argument = argument;
#if ISOTOPE_ASAN
  context.fake_stack = nullptr;
  context.bottom = low;
  context.bytes = bytes;
#endif  // ISOTOPE_ASAN
#if ISOTOPE_TSAN
  if (context.tsan_fiber == nullptr) context.tsan_fiber = __tsan_create_fiber(0);
#endif  // ISOTOPE_TSAN
}

void drop_context(Context& context) noexcept {
  context.sp = nullptr;
#if ISOTOPE_TSAN
  if (context.tsan_fiber != nullptr) __tsan_destroy_fiber(context.tsan_fiber);
  context.tsan_fiber = nullptr;
#endif  // ISOTOPE_TSAN
}

void switch_context(Context& from, Context& to) noexcept {
  static_assert(sizeof(from.exceptions) == 16, "the C++ ABI keeps a pointer and a count");
  void* globals = exception_globals();
  std::memcpy(from.exceptions, globals, sizeof(from.exceptions));
  std::memcpy(globals, to.exceptions, sizeof(to.exceptions));
  from.target = &to;
  keep_sse_flags(to);
#if ISOTOPE_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif  // ISOTOPE_ASAN
#if ISOTOPE_TSAN
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif  // ISOTOPE_TSAN
  arrived(from, bc::jump_fcontext(to.sp, &from));
}

}  // namespace isotope::exec
