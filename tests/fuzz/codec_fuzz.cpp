// The codec's fuzzer. Two ways to run it:
//
//   codec_fuzz [SEED [ITERATIONS]]     deterministic, with any compiler; prints each seed it is in, which replays a
//   failure clang++ -fsanitize=fuzzer,address,undefined -DISOTOPE_LIBFUZZER codec_fuzz.cpp ...     guided by coverage
#include "codec_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  isotope::fuzz::check_codec(data, size);
  return 0;
}

#if !defined(ISOTOPE_LIBFUZZER)
int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const std::uint64_t iterations = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 100'000;
  constexpr std::uint64_t kBatch = 100'000;
  for (std::uint64_t done = 0; done < iterations; done += kBatch) {
    std::fprintf(stderr, "codec_fuzz: seed %llu, inputs from %llu\n", static_cast<unsigned long long>(seed),
                 static_cast<unsigned long long>(done));
    isotope::fuzz::run_codec_fuzz(seed, done, std::min(kBatch, iterations - done));
  }
  std::printf("codec_fuzz: %llu inputs, no broken promise\n", static_cast<unsigned long long>(iterations));
}
#endif  // ISOTOPE_LIBFUZZER
