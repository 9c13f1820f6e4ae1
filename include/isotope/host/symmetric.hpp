// Symmetric<T>: an array that every PE of a World has at the same place of its heap.
//
//   Symmetric<float> x = world.alloc<float>(1 << 20);     // collective
//   x[0] = 1;                                             // this PE's copy: plain memory, where kernels run on the CPU
//   x.write(values);  values = x.read();                  // on every platform
//   kernel(team, x.span());                               // peers are reached through a Team
//
// The destructor never communicates: it only notes that this PE is done. The memory is used again once every PE has let
// go, at a later alloc or free. World::free(x) gives it back at once, collectively. Not thread-safe; movable, not
// copyable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "isotope/base/span.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

namespace runtime {
class WorldCore;
}  // namespace runtime

namespace detail {

/// The part that needs no type: which allocation, of which World.
class Allocation {
 public:
  Allocation() = default;
  Allocation(std::shared_ptr<runtime::WorldCore> core, std::uint64_t id, void* data, std::size_t bytes,
             bool on_host = true)
      : core_(std::move(core)), id_(id), data_(data), bytes_(bytes), on_host_(on_host) {}
  Allocation(Allocation&& other) noexcept
      : core_(std::move(other.core_)),
        id_(other.id_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        on_host_(other.on_host_) {}
  Allocation& operator=(Allocation&& other) noexcept {
    if (this != &other) {
      let_go();
      core_ = std::move(other.core_);
      id_ = other.id_;
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      on_host_ = other.on_host_;
    }
    return *this;
  }
  ~Allocation() { let_go(); }

  std::uint64_t id() const noexcept { return id_; }
  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Forgets the allocation without letting go: World::free has done it.
  void forget() noexcept;
  /// Whether host code may use the bytes in place.
  bool on_host() const noexcept { return on_host_; }
  /// Throw Error(out_of_range) when the range leaves the object.
  /// `of`: whose copy, as the address that this PE has for its first byte.
  void read(const void* of, std::size_t offset, void* into, std::size_t bytes) const;
  void read(std::size_t offset, void* into, std::size_t bytes) const { read(data_, offset, into, bytes); }
  void write(std::size_t offset, const void* from, std::size_t bytes) const;
  [[noreturn]] static void refuse_in_place();

 private:
  void let_go() noexcept;
  void check_range(const char* call, std::size_t offset, std::size_t bytes) const;

  std::shared_ptr<runtime::WorldCore> core_;
  std::uint64_t id_ = 0;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool on_host_ = true;
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
  /// This PE's element, in place. Throws Error(not_supported) where the memory is a GPU's.
  T& operator[](std::size_t i) const { return in_place()[i]; }
  T* begin() const { return in_place().data(); }
  T* end() const { return in_place().data() + size_; }

  /// This PE's elements from `first` on, `count` of them or all that are left, copied to the host. Not ordered with
  /// kernels in progress: synchronize first.
  std::vector<T> read(std::size_t first = 0, std::size_t count = kAll) const {
    static_assert(!std::is_same_v<T, bool>, "a vector of bool has no bytes to copy into; use char");
    std::vector<T> values(count == kAll ? size_ - std::min(first, size_) : count);
    allocation_.read(first * sizeof(T), values.data(), values.size() * sizeof(T));
    return values;
  }
  /// The same of member `rank`'s elements, over a team that has all its PEs on this host.
  std::vector<T> read_from(const Team& team, int rank, std::size_t first = 0, std::size_t count = kAll) const {
    static_assert(!std::is_same_v<T, bool>, "a vector of bool has no bytes to copy into; use char");
    std::vector<T> values(count == kAll ? size_ - std::min(first, size_) : count);
    allocation_.read(team.at(data(), rank), first * sizeof(T), values.data(), values.size() * sizeof(T));
    return values;
  }
  /// One element.
  T get(std::size_t i) const {
    T value{};
    allocation_.read(i * sizeof(T), &value, sizeof value);
    return value;
  }
  /// Copies from the host into this PE's elements, from `first` on.
  void write(Span<const T> values, std::size_t first = 0) const {
    allocation_.write(first * sizeof(T), values.data(), values.size_bytes());
  }
  void write(const std::vector<T>& values, std::size_t first = 0) const {
    write(Span<const T>(values.data(), values.size()), first);
  }
  void set(std::size_t i, const T& value) const { allocation_.write(i * sizeof(T), &value, sizeof value); }
  explicit operator bool() const noexcept { return data() != nullptr; }

 private:
  Span<T> in_place() const {
    if (!allocation_.on_host()) detail::Allocation::refuse_in_place();
    return span();
  }

  static constexpr std::size_t kAll = ~std::size_t{0};
  friend class World;
  Symmetric(detail::Allocation allocation, std::size_t size) : allocation_(std::move(allocation)), size_(size) {}

  detail::Allocation allocation_;
  std::size_t size_ = 0;
};

}  // namespace isotope
