// The CPU's own copies: every byte once, none beside, whatever the alignment.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "isotope/platform/cpu/copy.hpp"

namespace isotope::cpu {
namespace {

void past_caches(void* dst, const void* src, std::size_t bytes) {
  copy_past_caches(dst, src, bytes);
  end_copies_past_caches();
}

class LargeCopy : public testing::TestWithParam<void (*)(void*, const void*, std::size_t)> {};

TEST_P(LargeCopy, MovesEveryByteOnceWhateverTheAlignment) {
  constexpr std::size_t kRoom = 4 * 16384, kMargin = 200;
  std::vector<unsigned char> from(kRoom + kMargin), to(kRoom + kMargin);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  for (const std::size_t skew : {0u, 1u, 16u, 63u}) {
    for (const std::size_t start : {0u, 1u, 33u, 63u}) {
      for (const std::size_t bytes :
           {0u, 1u, 63u, 64u, 65u, 128u, 500u, 4096u, 16384u, 16447u, 16448u, 3 * 16384u + 4097u}) {
        std::vector<unsigned char> expected(to.size(), 0);
        std::memcpy(expected.data() + start, from.data() + skew, bytes);
        std::memset(to.data(), 0, to.size());
        GetParam()(to.data() + start, from.data() + skew, bytes);
        ASSERT_EQ(to, expected) << start << " " << skew << " " << bytes;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, LargeCopy, testing::Values(copy_large, past_caches));

}  // namespace
}  // namespace isotope::cpu
