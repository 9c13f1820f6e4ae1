// What the PEs tell each other in collective calls of the heap.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "cuda/shared_piece.hpp"
#include "runtime/heap.hpp"

namespace isotope::runtime {

inline constexpr std::uint64_t kNowhere = ~0ull;

/// What a PE says in a collective heap call. All PEs see all of them and so decide alike.
struct Heap::Proposal {
  std::uint64_t ordinal = 0;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 0;
  std::uint64_t offset = kNowhere;  // where it would go here, or which block it is about
  std::uint64_t waiting = 0;        // blocks this PE has let go of
  std::uint64_t max_bytes = 0, free_bytes = 0, largest_free = 0;
  std::uint64_t lead = 0, span = 0;  // of memory to register: see WindowOffer
  cuda::SharedPiece grown;           // what the heap grew by, for the others to map
  std::int32_t pid = 0;
  std::int32_t code = 0;  // Code of a local failure
  std::int32_t line = 0;
  char file[64] = {};
  char message[256] = {};

  void fail(Code why, const std::string& text) {
    code = static_cast<std::int32_t>(why);
    std::snprintf(message, sizeof message, "%s", text.c_str());
  }

  /// Two objects of one size, allocated in another order, would swap their roles: only the places in the source tell.
  /// The folder is left out, since PEs may run copies that were built in different ones.
  bool same_place(const Proposal& other) const {
    const auto name = [](const char* path) {
      return std::string_view(path).substr(std::string_view(path).rfind('/') + 1);
    };
    return line == other.line && name(file) == name(other.file);
  }
  bool same_request(const Proposal& other) const {
    return ordinal == other.ordinal && bytes == other.bytes && alignment == other.alignment && same_place(other);
  }
};

}  // namespace isotope::runtime
