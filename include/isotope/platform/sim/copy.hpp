// Copies and wide accesses under the checker. A copy that need not be done when the call returns travels by itself, and
// arrives late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isotope/platform/begun_copy.hpp"
#include "isotope/platform/sim/atomic.hpp"

namespace isotope::sim {

void copy_bytes(void* dst, const void* src, std::size_t bytes);
void start_copy_bytes(void* dst, const void* src, std::size_t bytes);
/// A plain load or store of a whole vector, one end of which is the thread's own.
void copy_wide(void* dst, const void* src, std::size_t bytes);

/// The bytes that thread `rank` of `size` copies: words of 16 dealt round would be as on a GPU; one share each is
/// enough to tell who did what.
struct CopyShare {
  std::size_t from, count;
};
ISOTOPE_SIM_FUNCTION CopyShare share_of_copy(std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  constexpr std::size_t kWord = 16;
  const std::size_t words = (bytes + kWord - 1) / kWord;
  const std::size_t each = (words + size - 1) / size * kWord;
  const std::size_t from = each * rank;
  if (from >= bytes) return {0, 0};
  return {from, bytes - from < each ? bytes - from : each};
}

template <CopyBy = CopyBy::block>
ISOTOPE_SIM_FUNCTION void copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank,
                                     std::uint32_t size) {
  const CopyShare share = share_of_copy(bytes, rank, size);
  if (share.count != 0)
    copy_bytes(static_cast<char*>(dst) + share.from, static_cast<const char*>(src) + share.from, share.count);
}

template <CopyBy By>
using BegunCopy = CopyAtFinish<copy_share<By>>;

ISOTOPE_SIM_FUNCTION void copy_share_deep(void* dst, const void* src, std::size_t bytes, std::uint32_t rank,
                                          std::uint32_t size) {
  copy_share(dst, src, bytes, rank, size);
}

template <CopyBy>
ISOTOPE_SIM_FUNCTION void start_copy_share(void* dst, const void* src, std::size_t bytes, std::uint32_t rank,
                                           std::uint32_t size) {
  const CopyShare share = share_of_copy(bytes, rank, size);
  if (share.count != 0)
    start_copy_bytes(static_cast<char*>(dst) + share.from, static_cast<const char*>(src) + share.from, share.count);
}

// There are no caches to spare.
ISOTOPE_SIM_FUNCTION void copy_past_caches(void* dst, const void* src, std::size_t bytes) {
  copy_bytes(dst, src, bytes);
}
ISOTOPE_SIM_FUNCTION void end_copies_past_caches() {}
struct PastCachesFrom {
  std::size_t copies = std::size_t{2} << 20, sums = std::size_t{8} << 20;
};
ISOTOPE_SIM_FUNCTION PastCachesFrom past_caches_from(int) { return {}; }

template <class V>
ISOTOPE_SIM_FUNCTION V load_wide(const void* p) {
  V value;
  copy_wide(&value, p, sizeof(V));
  return value;
}

template <class V>
ISOTOPE_SIM_FUNCTION void store_wide(void* p, const V& value) {
  copy_wide(p, &value, sizeof(V));
}

template <class V>
ISOTOPE_SIM_FUNCTION V load_once(const void* p) {
  return load_wide<V>(p);
}
template <class V>
ISOTOPE_SIM_FUNCTION void store_once(void* p, const V& value) {
  store_wide(p, value);
}

// Multicast: relaxed at system scope, a word at a time.
template <class V>
ISOTOPE_SIM_FUNCTION V load_elements(const void* p) {
  constexpr int kWord = alignof(V) >= 8 ? 8 : 4;
  Word<kWord> words[sizeof(V) / kWord];
  for (std::size_t i = 0; i < sizeof(V) / kWord; ++i)
    words[i] = load<Order::relaxed, Scope::system>(static_cast<const Word<kWord>*>(p) + i);
  V value;
  std::memcpy(static_cast<void*>(&value), words, sizeof(V));
  return value;
}

template <class V>
ISOTOPE_SIM_FUNCTION void store_elements(void* p, const V& value) {
  constexpr int kWord = alignof(V) >= 8 ? 8 : 4;
  Word<kWord> words[sizeof(V) / kWord];
  std::memcpy(words, &value, sizeof(V));
  for (std::size_t i = 0; i < sizeof(V) / kWord; ++i)
    store<Order::relaxed, Scope::system>(static_cast<Word<kWord>*>(p) + i, words[i]);
}

}  // namespace isotope::sim
