// Who this process is: its ids, its host's name, how many descriptors it may open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace isotope::os {

int parent_pid() noexcept;
std::uint32_t own_uid() noexcept;
/// At most 63 characters; "localhost" when the system does not say.
std::string host_name();
/// The soft limit of open descriptors (RLIMIT_NOFILE).
std::size_t open_file_limit() noexcept;

/// Blocks every signal in the calling thread: the library's own threads never run the user's handlers.
void block_all_signals() noexcept;

}  // namespace isotope::os
