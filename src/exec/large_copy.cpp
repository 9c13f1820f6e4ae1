// Copies by whatever this processor is fastest at. Plain memcpy reads every line of the target before it writes it,
// which costs a third of the traffic once the target lies outside the nearest caches; these do not.
#include <cstdint>
#include <cstring>

#include "exec/sanitizer.hpp"
#include "isotope/platform/cpu/copy.hpp"

// The sanitizers see what memcpy touches, and nothing of these.
#if defined(__x86_64__) && !ISOTOPE_ASAN && !ISOTOPE_TSAN
#define ISOTOPE_OWN_COPIES 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define ISOTOPE_OWN_COPIES 0
#endif  // __x86_64__

namespace isotope::cpu {

/// Measured with 2, 4 and 8 PEs: its last cache is so far away that less than would fit there is written past it too.
constexpr PastCachesFrom kOnIntel{std::size_t{2} << 20, std::size_t{8} << 20};

#if ISOTOPE_OWN_COPIES

namespace {

constexpr std::size_t kLine = 64;

/// String moves of whole lines (ERMS). Intel's take the target's lines without reading them; Zen 4's gained nothing.
bool string_moves_are_fast() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_is("intel") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 9)) != 0;
}

/// Bytes of the last cache, which all cores here have together. Others than Intel's keep what fits there: Zen 4 takes
/// longer past it.
std::size_t last_cache() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmdCaches = 0x8000001d, kLast = 3;
  if (__get_cpuid_count(kAmdCaches, kLast, &a, &b, &c, &d) == 0 || (a & 31) == 0) return std::size_t{32} << 20;
  const std::size_t line = (b & 0xfff) + 1, partitions = (b >> 12 & 0x3ff) + 1, ways = (b >> 22) + 1,
                    sets = c + std::size_t{1};
  return line * partitions * ways * sets;
}

/// Four pages at a time, two lines of each in turn: the hardware reads ahead within a page only.
__attribute__((target("avx512f"))) void stream_lines_avx512(char* to, const char* from, std::size_t bytes) {
  constexpr std::size_t kPage = 4096, kPages = 4;
  std::size_t done = 0;
  for (; done + kPages * kPage <= bytes; done += kPages * kPage) {
    for (std::size_t line = 0; line < kPage; line += 2 * kLine) {
      for (std::size_t page = 0; page < kPages; ++page) {
        const std::size_t at = done + page * kPage + line;
        const __m512i first = _mm512_loadu_si512(from + at), second = _mm512_loadu_si512(from + at + kLine);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), first);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + kLine), second);
      }
    }
  }
  for (; done < bytes; done += kLine)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + done), _mm512_loadu_si512(from + done));
}

void stream_lines_sse2(char* to, const char* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}

/// Whole lines by `lines`, which wants the target aligned to them, and the ends as they come.
template <class Lines>
void copy_aligned(void* dst, const void* src, std::size_t bytes, Lines lines) {
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(to)) & (kLine - 1);
  if (head > bytes) head = bytes;
  const std::size_t whole = (bytes - head) / kLine * kLine, tail = head + whole;
  std::memcpy(to, from, head);
  lines(to + head, from + head, whole);
  std::memcpy(to + tail, from + tail, bytes - tail);
}

void move_string(char* to, const char* from, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

}  // namespace

void copy_large(void* dst, const void* src, std::size_t bytes) {
  static const bool by_string = string_moves_are_fast();
  if (!by_string) {
    std::memcpy(dst, src, bytes);
    return;
  }
  copy_aligned(dst, src, bytes, move_string);
}

void copy_past_caches(void* dst, const void* src, std::size_t bytes) {
  static const bool wide = __builtin_cpu_supports("avx512f") != 0;
  copy_aligned(dst, src, bytes, wide ? stream_lines_avx512 : stream_lines_sse2);
}

void end_copies_past_caches() { _mm_sfence(); }

PastCachesFrom past_caches_from(int pes) {
  static const bool intel = __builtin_cpu_is("intel") != 0;
  static const std::size_t cache = last_cache();
  if (intel) return kOnIntel;
  const std::size_t share = cache / static_cast<std::size_t>(pes);
  return {share, share / 2};
}

#else

void copy_large(void* dst, const void* src, std::size_t bytes) { std::memcpy(dst, src, bytes); }
void copy_past_caches(void* dst, const void* src, std::size_t bytes) { std::memcpy(dst, src, bytes); }
void end_copies_past_caches() {}
PastCachesFrom past_caches_from(int) { return kOnIntel; }

#endif  // ISOTOPE_OWN_COPIES

}  // namespace isotope::cpu
