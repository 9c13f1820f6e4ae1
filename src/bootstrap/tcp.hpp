// Rendezvous over TCP, with the job's key: by a unique id, or by ISOTOPE_ROOT in the environment.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/handshake.hpp"
#include "runtime/knobs.hpp"

namespace isotope::bootstrap {

/// "host:port" or "[v6]:port". Throws Error(invalid_argument) naming ISOTOPE_ROOT and the value.
std::pair<std::string, std::uint16_t> parse_root(const std::string& text);
/// 64 hexadecimal digits, white space around them allowed. Throws Error(invalid_argument), without quoting the text.
Key parse_key(const std::string& text, const std::string& path);

/// knobs.root, rank, size and job_key_file are set. Rank 0 listens at the root's address.
std::unique_ptr<Bootstrap> from_root(const runtime::Knobs& knobs);

}  // namespace isotope::bootstrap
