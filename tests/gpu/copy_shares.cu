// The shares of a GPU's copies, made by the CPU one after the other: together every byte once and none beside, whatever
// the number of threads, the length and the alignment. Needs no GPU.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "isotope/isotope.hpp"

namespace {

using Share = void (*)(void*, const void*, std::size_t, std::uint32_t, std::uint32_t);

constexpr std::size_t kRoom = 96 << 10;

/// As put_signal does it: begun with this PE's own address of the target, which is aligned like the target, then
/// finished.
template <isotope::CopyBy By>
void begin_and_finish(void* dst, const void* src, std::size_t bytes, std::uint32_t rank, std::uint32_t size) {
  static unsigned char own[64];
  const auto* like = own + (reinterpret_cast<std::uintptr_t>(dst) - reinterpret_cast<std::uintptr_t>(own)) % 16;
  isotope::cuda::BegunCopy<By>(like, src, bytes, rank, size).finish(dst);
}

struct Case {
  std::size_t to, from, bytes;  // offsets from aligned addresses, and the length
  std::uint32_t threads;
};

/// Lengths around a word for each thread, around pieces, and any; ends aligned to 16, to 8, or not at all.
Case draw(std::mt19937& random, std::uint32_t threads) {
  const auto below = [&](std::size_t most) { return random() % most; };
  Case one{below(64), below(64), below(below(4) == 0 ? 60000 : 2000), threads};
  if (const auto aligned = below(3); aligned != 0) {
    const std::size_t mask = aligned == 1 ? 15 : 7;
    one.to &= ~mask, one.from &= ~mask;
  }
  const std::size_t words[] = {16u * threads, 16u * threads + 16, 8u * threads, 8u * threads + 8,
                               one.bytes & ~std::size_t{15}};
  if (const auto which = below(8); which < 5) one.bytes = std::min<std::size_t>(words[which], 70000);
  return one;
}

bool is_right(Share share, const Case& one, const std::vector<unsigned char>& source, const char* name) {
  alignas(16) static unsigned char src[kRoom], dst[kRoom], expected[kRoom];
  std::memcpy(src, source.data(), kRoom);
  std::memset(dst, 0xee, kRoom);
  std::memset(expected, 0xee, kRoom);
  std::memcpy(expected + one.to, src + one.from, one.bytes);
  for (std::uint32_t thread = 0; thread < one.threads; ++thread)
    share(dst + one.to, src + one.from, one.bytes, thread, one.threads);
  if (std::memcmp(dst, expected, kRoom) == 0) return true;
  const auto* wrong = std::mismatch(dst, dst + kRoom, expected).first;
  std::printf("%s: %zu bytes from %zu to %zu by %u threads: byte %td is wrong\n", name, one.bytes, one.from, one.to,
              one.threads, wrong - dst - static_cast<std::ptrdiff_t>(one.to));
  return false;
}

}  // namespace

int main() {
  std::mt19937 random(20);
  std::vector<unsigned char> source(kRoom);
  for (auto& byte : source) byte = static_cast<unsigned char>(random());
  using isotope::CopyBy;
  const std::pair<const char*, Share> shares[] = {
      {"copy_share_deep", isotope::cuda::copy_share_deep},    {"a block's", isotope::cuda::copy_share<CopyBy::block>},
      {"a warp's", isotope::cuda::copy_share<CopyBy::warp>},  {"a thread's", isotope::cuda::copy_share<CopyBy::thread>},
      {"a block's, begun", begin_and_finish<CopyBy::block>},  {"a warp's, begun", begin_and_finish<CopyBy::warp>},
      {"a thread's, begun", begin_and_finish<CopyBy::thread>}};
  for (const std::uint32_t threads : {1u, 2u, 3u, 8u, 31u, 32u, 33u, 64u, 100u, 128u, 256u, 1000u, 1024u}) {
    for (int turn = 0; turn < 200; ++turn) {
      const Case one = draw(random, threads);
      for (const auto& [name, share] : shares)
        if (!is_right(share, one, source, name)) return 1;
    }
  }
  std::printf("passed\n");
  return 0;
}
