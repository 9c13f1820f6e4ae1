// Reads a small file that only its owner may see, such as one with a key.
#pragma once

#include <cstddef>
#include <string>

namespace isotope::os {

/// The whole file. Throws Error(invalid_argument), naming `path`, when it is no regular file, belongs to somebody else,
/// can be read by group or others, or is longer than `cap`; Error(system) when it cannot be opened.
std::string read_private_file(const std::string& path, std::size_t cap);

}  // namespace isotope::os
