// What must hold for any bytes that reach the wire codec; shared by the fuzzer (codec_fuzz.cpp) and by codec_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "bootstrap/codec.hpp"

namespace isotope::fuzz {

using bootstrap::Bytes;
using bootstrap::ByteView;
using bootstrap::Caps;
using bootstrap::Decoder;
using bootstrap::Frame;

inline void require(bool good, const char* promise) {
  if (good) return;
  std::fprintf(stderr, "codec: broken promise: %s\n", promise);
  std::abort();
}

struct Decoded {
  std::vector<Bytes> frames;  // encoded again
  bool broken = false;
  std::size_t used = 0;
};

/// `step(i)` is the size of the i-th piece.
template <class Step>
Decoded decode(ByteView data, const Caps& caps, Step step) {
  Decoded out;
  Decoder decoder(caps);
  for (std::size_t piece = 0; out.used < data.size() && !out.broken; ++piece) {
    ByteView now =
        data.subspan(out.used, std::min<std::size_t>(std::max<std::size_t>(step(piece), 1), data.size() - out.used));
    while (!now.empty() && !out.broken) {
      const std::size_t used = decoder.feed(now);
      require(used > 0 || decoder.error(), "a decoder makes progress");
      now = now.subspan(used);
      out.used += used;
      require(decoder.held() <= out.used, "no more is held than has come");
      if (auto frame = decoder.take()) {
        out.frames.push_back(bootstrap::encode(*frame));
        const Bytes& again = out.frames.back();
        require(again.size() <= out.used &&
                    std::equal(again.begin(), again.end(), data.begin() + (out.used - again.size())),
                "a frame encodes to the bytes it came from");
      }
      out.broken = decoder.error().has_value();
    }
  }
  if (out.broken) {
    require(decoder.feed(data) == 0 && !decoder.take(), "nothing is read after an error");
    require(!decoder.error()->message.empty(), "an error has a message");
  }
  return out;
}

/// Every type of frame, each with the cap it has somewhere.
inline Caps all_caps() {
  Caps all;
  for (const Caps& caps :
       {Caps::handshake_server(), Caps::handshake_client(), Caps::star_server(), Caps::star_client(8)})
    for (std::size_t i = 0; i < all.cap.size(); ++i) all.cap[i] = caps.cap[i] ? caps.cap[i] : all.cap[i];
  return all;
}

/// Feeds `data` to a decoder of each end, whole, byte by byte and in pieces. Aborts when a promise is broken.
inline void check_codec(const std::uint8_t* data, std::size_t size) {
  const ByteView view(reinterpret_cast<const std::byte*>(data), size);
  for (const Caps& caps :
       {Caps::handshake_server(), Caps::handshake_client(), Caps::star_server(), Caps::star_client(8), all_caps()}) {
    const Decoded whole = decode(view, caps, [&](std::size_t) { return size; });
    const Decoded bytewise = decode(view, caps, [](std::size_t) { return 1; });
    const Decoded pieces = decode(view, caps, [&](std::size_t i) { return size == 0 ? 1 : data[i % size] % 23; });
    require(whole.frames == bytewise.frames && whole.broken == bytewise.broken, "a split changes nothing");
    require(whole.frames == pieces.frames && whole.broken == pieces.broken, "a split changes nothing");
  }
}

/// A stream of good frames with random content.
inline Bytes random_stream(std::mt19937_64& random) {
  const auto text = [&](std::size_t cap) {
    std::string out(random() % cap, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
  };
  const auto bytes = [&](std::size_t cap) {
    const std::string t = text(cap);
    const ByteView view = bootstrap::as_bytes(t);
    return Bytes(view.begin(), view.end());
  };
  const auto fill = [&](auto& array) {
    for (std::byte& byte : array) byte = static_cast<std::byte>(random());
  };
  Bytes stream;
  for (std::uint64_t n = random() % 4; n < 4; ++n) {
    Frame frame;
    switch (random() % bootstrap::kFrameTypes) {
      case 0: {
        bootstrap::Hello hello;
        hello.size = static_cast<int>(1 + random() % 64);
        hello.rank = static_cast<int>(random() % static_cast<unsigned>(hello.size));
        fill(hello.nonce);
        fill(hello.job);
        hello.host = text(bootstrap::kMaxHostBytes);
        frame = hello;
        break;
      }
      case 1:
        frame = bootstrap::Challenge{};
        break;
      case 2:
        frame = bootstrap::Proof{};
        break;
      case 3:
        frame = bootstrap::Welcome{};
        break;
      case 4:
        frame = bootstrap::Join{static_cast<std::uint32_t>(random())};
        break;
      case 5:
        frame = bootstrap::Allgather{static_cast<std::uint32_t>(random()), random(), random(), bytes(300)};
        break;
      case 6:
        frame = bootstrap::Gathered{static_cast<std::uint32_t>(random()), random(), bytes(300)};
        break;
      case 7:
        frame = bootstrap::AbortNotice{Code::aborted, 1, -1, static_cast<int>(random()), text(100)};
        break;
      case 8:
        frame = bootstrap::Leave{static_cast<std::uint32_t>(random())};
        break;
      default:
        frame = bootstrap::Failure{1, random(), Code::mismatch, 3, text(100)};
        break;
    }
    const Bytes one = bootstrap::encode(frame);
    stream.insert(stream.end(), one.begin(), one.end());
  }
  return stream;
}

/// Input number `i` of a seed: noise, a good stream, or a good stream with a few changes.
inline Bytes fuzz_input(std::uint64_t seed, std::uint64_t i) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15 + i);
  Bytes input;
  const std::uint64_t kind = random() % 8;
  if (kind == 0) {
    input.resize(random() % 100);
    for (std::byte& byte : input) byte = static_cast<std::byte>(random());
    return input;
  }
  input = random_stream(random);
  if (kind == 1) return input;
  for (std::uint64_t changes = 1 + random() % 3; changes > 0 && !input.empty(); --changes) {
    const auto at =
        static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(input.size(), random() % 2 ? 16 : input.size()));
    switch (random() % 4) {
      case 0:
        input[static_cast<std::size_t>(at)] = static_cast<std::byte>(random());
        break;
      case 1:
        input[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1u << random() % 8);
        break;
      case 2:
        input.erase(input.begin() + at);
        break;
      default:
        input.insert(input.begin() + at, static_cast<std::byte>(random()));
        break;
    }
  }
  return input;
}

inline void run_codec_fuzz(std::uint64_t seed, std::uint64_t first, std::uint64_t iterations) {
  for (std::uint64_t i = first; i < first + iterations; ++i) {
    const Bytes input = fuzz_input(seed, i);
    check_codec(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

}  // namespace isotope::fuzz
