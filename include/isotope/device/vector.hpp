// Vectors: 2, 4, 8 or 16 bytes that one instruction moves, and packing of words into wider ones.
//
//   Vec<f16, 8> v = load_vec<8>(&x[i]);       // one 16-byte load; &x[i] is 16-byte aligned
//   store_vec(&y[i], v);
//   std::uint64_t w = pack(data, flag);       // data in the low half
//   auto [data, flag] = unpack<std::uint32_t>(w).data;
//
// Called by one thread. The accesses are plain ones: they order nothing, and another PE may see them in pieces. load16
// and store16 of memory.hpp are whole. They cannot fail; the address is the caller's to get right.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isotope/base/bits.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/platform/platform.hpp"

namespace isotope {

/// N elements side by side, aligned to their size.
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(sizeof(T) * N == 1 || sizeof(T) * N == 2 || sizeof(T) * N == 4 || sizeof(T) * N == 8 ||
                    sizeof(T) * N == 16,
                "a vector is one access: 1, 2, 4, 8 or 16 bytes");
  using value_type = T;
  static constexpr int kSize = N;

  T data[N];

  ISOTOPE_HD constexpr T& operator[](int i) { return data[i]; }
  ISOTOPE_HD constexpr const T& operator[](int i) const { return data[i]; }
};

/// The N elements at `p`, which is aligned to N * sizeof(T).
template <int N, class T>
ISOTOPE_HD Vec<std::remove_cv_t<T>, N> load_vec(const T* p) {
  return platform::load_wide<Vec<std::remove_cv_t<T>, N>>(p);
}

template <class T, int N>
ISOTOPE_HD void store_vec(T* p, const Vec<T, N>& value) {
  platform::store_wide(p, value);
}

/// Two words side by side, the first in the low half: 8 + 8 bits to 16, 16 + 16 to 32, 32 + 32 to 64.
template <class T>
  requires(sizeof(T) <= 4 && std::is_trivially_copyable_v<T>)
ISOTOPE_HD constexpr Word<2 * sizeof(T)> pack(T low, std::type_identity_t<T> high) {
  using Wide = Word<2 * sizeof(T)>;
  return static_cast<Wide>(bit_cast<Word<sizeof(T)>>(low) |
                           static_cast<Wide>(static_cast<Wide>(bit_cast<Word<sizeof(T)>>(high)) << (8 * sizeof(T))));
}
/// 64 + 64 bits to the 16 bytes that store16 writes whole.
template <class T>
  requires(sizeof(T) == 8 && std::is_trivially_copyable_v<T>)
ISOTOPE_HD constexpr Bits128 pack(T low, std::type_identity_t<T> high) {
  return {bit_cast<std::uint64_t>(low), bit_cast<std::uint64_t>(high)};
}

/// The two halves of a packed word, low one first, as T.
template <class T, class W>
  requires(sizeof(W) == 2 * sizeof(T))
ISOTOPE_HD constexpr Vec<T, 2> unpack(W word) {
  return bit_cast<Vec<T, 2>>(word);
}

}  // namespace isotope
