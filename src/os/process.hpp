// Facts about this process and its peers on the host.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "os/fd.hpp"

namespace isotope::os {

std::int32_t process_id() noexcept;

/// A number that changes in the child of every fork: compare it to detect use after fork. Cheaper than getpid() (no
/// system call).
std::uint64_t fork_generation() noexcept;

/// Clock ticks since boot at which the process started: with the pid it names a process for ever. 0 when there is none.
std::uint64_t process_start_time(std::int32_t pid);

/// 16 bytes that are equal for two processes exactly when they share a kernel and a PID namespace, so that one can open
/// the other's descriptors.
std::array<std::byte, 16> host_identity();

/// Random bytes from the kernel.
void random_bytes(void* out, std::size_t bytes);

/// Ends the process at once, without destructors or exit handlers: the end of global_exit.
[[noreturn]] void exit_now(int status) noexcept;

}  // namespace isotope::os
