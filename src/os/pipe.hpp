// Pipes, and the reads and writes of a poll loop that must never block.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "os/fd.hpp"

namespace isotope::os {

struct Pipe {
  Fd read, write;
};

/// Both ends close-on-exec; the reading end does not block, the writing end does.
Pipe make_pipe();

/// Two connected ends that keep message borders; both close-on-exec.
Pipe make_message_pair();

enum class ReadResult { data, nothing_now, end };
/// Appends up to `most` bytes to `to`. An error counts as the end.
ReadResult read_some(int fd, std::string& to, std::size_t most);

/// Writes a prefix of `bytes`, at most what a descriptor that polled writable takes without blocking, and returns its
/// length. Nothing when nobody reads any more.
std::optional<std::size_t> write_some(int fd, std::string_view bytes) noexcept;

/// One small message; false when the other end is gone. Async-signal-safe.
bool send_message(int fd, const void* message, std::size_t bytes) noexcept;
/// Blocks for one message of exactly that size; false at the end (or for a message of another size).
bool receive_message(int fd, void* message, std::size_t bytes) noexcept;

/// /dev/null for reading and writing, close-on-exec.
Fd open_null();
bool is_terminal(int fd) noexcept;
/// Opens /dev/null on whichever of 0, 1 and 2 is closed, so that no other descriptor can take its number.
void fill_standard_descriptors();

}  // namespace isotope::os
