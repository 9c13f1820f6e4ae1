// Symmetric<T>: an array that every PE of a World has at the same place of its heap.
//
//   Symmetric<float> x = world.alloc<float>(1 << 20);     // collective
//   x[0] = 1;                                             // this PE's copy: plain memory
//   kernel(team, x.span());                               // peers are reached through a Team
//
// The destructor never communicates: it only notes that this PE is done. The memory is used again once every PE has let
// go, at a later alloc or free. World::free(x) gives it back at once, collectively. Not thread-safe; movable, not
// copyable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "isotope/base/span.hpp"

namespace isotope {

namespace runtime {
class WorldCore;
}  // namespace runtime

namespace detail {

/// The part that needs no type: which allocation, of which World.
class Allocation {
 public:
  Allocation() = default;
  Allocation(std::shared_ptr<runtime::WorldCore> core, std::uint64_t id, void* data, std::size_t bytes)
      : core_(std::move(core)), id_(id), data_(data), bytes_(bytes) {}
  Allocation(Allocation&& other) noexcept
      : core_(std::move(other.core_)),
        id_(other.id_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Allocation& operator=(Allocation&& other) noexcept {
    if (this != &other) {
      let_go();
      core_ = std::move(other.core_);
      id_ = other.id_;
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~Allocation() { let_go(); }

  std::uint64_t id() const noexcept { return id_; }
  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Forgets the allocation without letting go: World::free has done it.
  void forget() noexcept;

 private:
  void let_go() noexcept;

  std::shared_ptr<runtime::WorldCore> core_;
  std::uint64_t id_ = 0;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace detail

template <class T>
class Symmetric {
 public:
  /// Empty.
  Symmetric() = default;

  T* data() const noexcept { return static_cast<T*>(allocation_.data()); }
  std::size_t size() const noexcept { return size_; }
  Span<T> span() const noexcept { return Span<T>(data(), size_); }
  T& operator[](std::size_t i) const { return span()[i]; }
  T* begin() const noexcept { return data(); }
  T* end() const noexcept { return data() + size_; }
  explicit operator bool() const noexcept { return data() != nullptr; }

 private:
  friend class World;
  Symmetric(detail::Allocation allocation, std::size_t size) : allocation_(std::move(allocation)), size_(size) {}

  detail::Allocation allocation_;
  std::size_t size_ = 0;
};

}  // namespace isotope
