// A group's copy in two steps, after the group has met: this thread's part is begun, and finished once it is known that
// all is well. What a GPU makes of it is in cuda/copy.hpp; here, what processors do, which need no head start: nothing,
// then all of it.
//
//   const bool well = agree(group, mine_is_good);  // the source may be read from here on
//   const platform::BegunCopy<CopyBy::block> mine(dst, src, mine_is_good ? bytes : 0, rank, size);
//   if (well) mine.finish(theirs);
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/macros.hpp"

namespace isotope {

/// Who makes a copy: how it is shared out, and how many words of a thread are under way, depends on it.
enum class CopyBy { thread, warp, block };

/// By the platform's `Copy`, of this thread's share, at the end.
template <void (*Copy)(void*, const void*, std::size_t, std::uint32_t, std::uint32_t)>
class CopyAtFinish {
 public:
  ISOTOPE_HD CopyAtFinish(const void*, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size)
      : src_(src), bytes_(bytes), rank_(rank), size_(size) {}
  ISOTOPE_HD void finish(void* dst) const {
    if (bytes_ != 0) Copy(dst, src_, bytes_, rank_, size_);
  }

 private:
  const void* src_;
  std::size_t bytes_;
  std::uint32_t rank_, size_;
};

}  // namespace isotope
