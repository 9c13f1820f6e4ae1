// Memory for fiber stacks: one mapping cut into many stacks.
//
// A slot of a slab, from low to high addresses:
//   [ gap page ][ stack_bytes, grows down ][ colour ][ landing line of the slot above ]
// Guarded slabs make the gap page trap. Guard pages split mappings and a process may have only some 65,000 of those, so
// only the first kMaxGuards stacks of the process get one; the others have a landing line of known words below the gap
// page, where a stack that outgrew its slot leaves its mark. Colours spread the busy tops of stacks over the sets of
// the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace isotope::exec {

inline constexpr std::size_t kMinStackBytes = 16 * 1024;
inline constexpr std::uint32_t kMaxGuards = 4096;
inline constexpr std::size_t kLandingWords = 8;

struct Stack {
  char* low = nullptr;               // deepest address a body may use
  char* top = nullptr;               // where it starts
  std::uint64_t* landing = nullptr;  // null when a guard page traps instead

  /// Whether a body left the stack, now (`frame` is an address in its deepest frame) or before.
  bool overflowed(const void* frame) const noexcept;
  /// Makes the landing line good again.
  void repair() const noexcept;
};

class StackSlab {
 public:
  /// Null when the system has no memory left for it. `stack_bytes` is rounded up to pages and to kMinStackBytes.
  static std::unique_ptr<StackSlab> map(std::size_t stack_bytes, std::uint32_t count) noexcept;
  ~StackSlab();
  StackSlab(const StackSlab&) = delete;
  StackSlab& operator=(const StackSlab&) = delete;

  std::uint32_t count() const noexcept { return count_; }
  bool guarded() const noexcept { return guards_ != 0; }
  Stack stack(std::uint32_t index) const noexcept;

  /// How many guard pages this process may have from now on; returns the old number. For tests.
  static std::uint32_t set_guard_limit(std::uint32_t limit) noexcept;

 private:
  StackSlab(char* base, std::size_t bytes, std::size_t slot_bytes, std::uint32_t count)
      : base_(base), bytes_(bytes), slot_bytes_(slot_bytes), count_(count) {}
  char* slot(std::uint32_t index) const noexcept;
  bool protect() noexcept;

  char* base_;
  std::size_t bytes_;
  std::size_t slot_bytes_;
  std::uint32_t count_;
  std::uint32_t guards_ = 0;
};

/// `stack_bytes` as a slab gives it.
std::size_t rounded_stack_bytes(std::size_t stack_bytes) noexcept;

}  // namespace isotope::exec
