// A pointer and a count, trivially copyable, usable in kernels (std::span's members are not device code
// without a compiler flag). Bounds are asserted in the checked build.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

#include "isotope/base/macros.hpp"

namespace isotope {

template <class T>
class Span {
 public:
  using value_type = std::remove_cv_t<T>;

  constexpr Span() = default;
  ISOTOPE_HD constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  // Span<T> converts to Span<const T>, and to nothing else.
  template <class U>
    requires std::is_same_v<const U, T>
  ISOTOPE_HD constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}

  ISOTOPE_HD constexpr T* data() const { return data_; }
  ISOTOPE_HD constexpr std::size_t size() const { return size_; }
  ISOTOPE_HD constexpr std::size_t size_bytes() const { return size_ * sizeof(T); }
  ISOTOPE_HD constexpr bool empty() const { return size_ == 0; }
  ISOTOPE_HD constexpr T& operator[](std::size_t i) const {
#if ISOTOPE_CHECKED
    assert(i < size_ && "isotope::Span index out of range");
#endif  // ISOTOPE_CHECKED
    return data_[i];
  }
  ISOTOPE_HD constexpr T* begin() const { return data_; }
  ISOTOPE_HD constexpr T* end() const { return data_ + size_; }
  /// The `count` elements from `offset` on; the caller keeps the range inside the span.
  ISOTOPE_HD constexpr Span subspan(std::size_t offset, std::size_t count) const {
#if ISOTOPE_CHECKED
    assert(offset <= size_ && count <= size_ - offset && "isotope::Span::subspan out of range");
#endif  // ISOTOPE_CHECKED
    return Span(data_ + offset, count);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace isotope
