// Operating-system threads: giving up the CPU, short sleeps, threads of the library, and the memory of fiber stacks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

namespace isotope::os {

/// sched_yield: lets another thread that waits for this CPU run.
void yield_cpu() noexcept;
/// Sleeps about this long; an interrupted sleep just ends earlier.
void sleep_ns(std::uint64_t ns) noexcept;

/// The CPUs that this thread may run on, one bit each.
using CpuSet = std::array<std::uint64_t, 16>;
CpuSet allowed_cpus() noexcept;

/// Starts a thread with every signal blocked, so that handlers run on the user's own threads. `name` shows in
/// debuggers; the kernel keeps 15 characters. Throws Error(Code::system) when the system has no room for another
/// thread.
std::thread start_thread(const char* name, std::function<void()> fn);

std::size_t page_bytes() noexcept;

/// Private memory for stacks: nothing is committed before first touch, and no huge pages, since a stack touches only
/// its top. Null when the system refuses.
void* map_stacks(std::size_t bytes) noexcept;
void unmap_stacks(void* base, std::size_t bytes) noexcept;
/// Makes a range trap. False when the system refuses (it runs out of mappings).
bool protect_range(void* base, std::size_t bytes) noexcept;

}  // namespace isotope::os
