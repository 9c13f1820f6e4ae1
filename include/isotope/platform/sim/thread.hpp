// Identity, synchronisation and waiting of a kernel thread under the checker. Implemented by src/check, which also has
// its own bodies for the functions of platform/cpu/thread.hpp: a checked program never links those of src/exec.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/call_site.hpp"
#include "isotope/base/order.hpp"
#include "isotope/platform/cpu/arithmetic.hpp"
#include "isotope/platform/cpu/multimem.hpp"
#include "isotope/platform/cpu/thread.hpp"

namespace isotope::sim {

using namespace cpu;  // identity, syncs and shuffles, shared memory, no multicast instructions, none on pairs

/// As on a GPU: the threads of a group share out its waits and signals.
inline constexpr bool kThreadsRunTogether = true;
/// A team never stops here: the first fault ends the run.
inline constexpr bool kStopIsCheap = false;
/// relax() returns when something that the caller looked at has changed. A wait that nobody will meet is a finding.
inline constexpr bool kWaitsBlock = true;

class Bookkeeping {
 public:
  Bookkeeping() noexcept;
  ~Bookkeeping();
  Bookkeeping(const Bookkeeping&) = delete;
  Bookkeeping& operator=(const Bookkeeping&) = delete;
};

void begin_wait(const void* word, std::size_t bytes, Cmp cmp, std::uint64_t expected, int from, const char* call,
                CallSite site);
void end_wait();
void refused(const char* call, CallSite site, const char* argument, const char* why);
void name_kernel(const char* text);

void order_puts();
void complete_puts();
bool put_signal_later(bool leader, void* dst, const void* src, std::size_t bytes, std::uint64_t* word,
                      std::uint64_t value, SignalOp op);

}  // namespace isotope::sim
