// A short, deterministic run of the codec's fuzzer for every build; codec_fuzz runs longer.
#include <gtest/gtest.h>

#include "codec_fuzz.hpp"

namespace isotope::fuzz {
namespace {

TEST(CodecFuzz, KeepsItsPromises) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    run_codec_fuzz(seed, 0, 10'000);
  }
}

TEST(CodecFuzz, TheInputsReachTheDecoder) {
  // A generator whose inputs all broke in the first header would prove nothing.
  std::size_t frames = 0, broken = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Bytes input = fuzz_input(7, i);
    const Decoded decoded = decode(input, all_caps(), [&](std::size_t) { return input.size(); });
    frames += decoded.frames.size();
    broken += decoded.broken ? 1 : 0;
  }
  EXPECT_GT(frames, 1000u);
  EXPECT_GT(broken, 500u);
}

}  // namespace
}  // namespace isotope::fuzz
