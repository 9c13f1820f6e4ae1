// The wire codec: every frame, every split, every cap, and bytes that are no frames at all.
#include "bootstrap/codec.hpp"

#include <gtest/gtest.h>

#include <random>

#include "isotope/base/error.hpp"

namespace isotope::bootstrap {
namespace {

constexpr std::uint32_t kAny = 1 << 20;

Caps all_caps() {
  Caps caps;
  caps.cap.fill(kAny);
  return caps;
}

template <std::size_t N>
std::array<std::byte, N> pattern(int seed) {
  std::array<std::byte, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
  return out;
}

std::vector<Frame> one_of_each() {
  Hello hello;
  hello.rank = 3;
  hello.size = 8;
  hello.pid = 4711;
  hello.job = pattern<16>(1);
  hello.nonce = pattern<32>(2);
  hello.host = "node-17";
  const auto some = pattern<100>(5);
  return {hello,
          Challenge{pattern<32>(3)},
          Proof{pattern<32>(4)},
          Welcome{pattern<32>(6)},
          Join{7},
          Allgather{1, 1ull << 40, 30'000'000'000, Bytes(some.begin(), some.end())},
          Gathered{2, 99, Bytes(some.begin(), some.end())},
          AbortNotice{Code::exited, 2, -1, -3, "leaving with text \xc3\xa9"},
          Leave{0xffffffff},
          Failure{1, 2, Code::timeout, 5, "PEs 5-7 of 8 never came"}};
}

std::vector<Frame> decode_all(ByteView stream, Decoder& decoder, std::size_t piece) {
  std::vector<Frame> frames;
  while (!stream.empty() && !decoder.error()) {
    ByteView now = stream.first(std::min(piece, stream.size()));
    while (!now.empty() && !decoder.error()) {
      const std::size_t used = decoder.feed(now);
      now = now.subspan(used);
      stream = stream.subspan(used);
      if (auto frame = decoder.take()) frames.push_back(std::move(*frame));
    }
  }
  return frames;
}

Bytes join_all(const std::vector<Frame>& frames) {
  Bytes stream;
  for (const Frame& frame : frames) {
    const Bytes one = encode(frame);
    stream.insert(stream.end(), one.begin(), one.end());
  }
  return stream;
}

TEST(Codec, FieldsSurvive) {
  Decoder decoder(all_caps());
  const auto frames = decode_all(join_all(one_of_each()), decoder, 1 << 20);
  ASSERT_EQ(frames.size(), kFrameTypes);
  const auto& hello = std::get<Hello>(frames[0]);
  EXPECT_EQ(hello.rank, 3);
  EXPECT_EQ(hello.size, 8);
  EXPECT_EQ(hello.pid, 4711u);
  EXPECT_EQ(hello.host, "node-17");
  EXPECT_EQ(hello.nonce, pattern<32>(2));
  const auto& post = std::get<Allgather>(frames[5]);
  EXPECT_EQ(post.world, 1u);
  EXPECT_EQ(post.sequence, 1ull << 40);
  EXPECT_EQ(post.budget_ns, 30'000'000'000u);
  EXPECT_EQ(post.bytes.size(), 100u);
  const auto& notice = std::get<AbortNotice>(frames[7]);
  EXPECT_EQ(notice.code, Code::exited);
  EXPECT_EQ(notice.by, 2);
  EXPECT_EQ(notice.peer, Error::kNobody);
  EXPECT_EQ(notice.exit_code, -3);
  const auto& failure = std::get<Failure>(frames[9]);
  EXPECT_EQ(failure.peer, 5);
  EXPECT_EQ(failure.message, "PEs 5-7 of 8 never came");
}

TEST(Codec, EverySplitGivesTheSameFrames) {
  const Bytes stream = join_all(one_of_each());
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    Decoder decoder(all_caps());
    const auto frames = decode_all(stream, decoder, piece);
    ASSERT_FALSE(decoder.error()) << piece;
    ASSERT_EQ(join_all(frames), stream) << "pieces of " << piece;
    EXPECT_EQ(decoder.held(), 0u);
  }
  // One cut at every place.
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Decoder decoder(all_caps());
    auto frames = decode_all(ByteView(stream).first(cut), decoder, 1 << 20);
    for (Frame& frame : decode_all(ByteView(stream).subspan(cut), decoder, 1 << 20)) frames.push_back(std::move(frame));
    ASSERT_EQ(join_all(frames), stream) << "cut at " << cut;
  }
}

TEST(Codec, TheHeaderIsLittleEndianAndFixed) {
  const Bytes bytes = encode(Join{0x01020304});
  const unsigned char want[] = {'I', 'S', 'O', 'T', 1, 0, 5, 0, 1, 0, 0, 0, 4, 0, 0, 0, 4, 3, 2, 1};
  ASSERT_EQ(bytes.size(), sizeof want);
  EXPECT_EQ(std::memcmp(bytes.data(), want, sizeof want), 0);
}

void expect_error(Bytes bytes, DecodeError::Kind kind, const Caps& caps, std::vector<std::string> words = {}) {
  for (const std::size_t piece : {std::size_t{1}, bytes.size()}) {
    Decoder decoder(caps);
    EXPECT_TRUE(decode_all(bytes, decoder, piece).empty());
    ASSERT_TRUE(decoder.error());
    EXPECT_EQ(decoder.error()->kind, kind) << decoder.error()->message;
    for (const std::string& word : words)
      EXPECT_NE(decoder.error()->message.find(word), std::string::npos) << word << " in: " << decoder.error()->message;
    // It stays broken: a good frame afterwards is not read.
    EXPECT_EQ(decoder.feed(encode(Join{1})), 0u);
    EXPECT_FALSE(decoder.take());
  }
}

TEST(Codec, RefusesWhatIsNoFrame) {
  using Kind = DecodeError::Kind;
  const std::string http = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const ByteView view = as_bytes(http);
  expect_error({view.begin(), view.end()}, Kind::bad_magic, all_caps());
  expect_error(encode(Join{1}, Dialect{7, kFeatures}), Kind::other_version, all_caps(), {"version 7", "version 1"});
  expect_error(encode(Join{1}, Dialect{kProtocolVersion, 0xf0}), Kind::other_features, all_caps(), {"0xf0", "0x1"});
  Bytes odd = encode(Join{1});
  odd[6] = std::byte{11};
  expect_error(odd, Kind::unknown_type, all_caps(), {"11"});
  odd[6] = std::byte{0};
  expect_error(odd, Kind::unknown_type, all_caps());
  expect_error(encode(Join{1}), Kind::unexpected_type, Caps::handshake_server(), {"join"});
  expect_error(encode(Gathered{}), Kind::unexpected_type, Caps::star_server(), {"gathered"});
  expect_error(encode(Hello{}), Kind::unexpected_type, Caps::star_client(4), {"hello"});
}

TEST(Codec, CapsEveryLengthBeforeItAllocates) {
  for (const Frame& frame : one_of_each()) {
    Bytes bytes = encode(frame);
    for (int i = 12; i < 16; ++i) bytes[static_cast<std::size_t>(i)] = std::byte{0xff};  // length 4 GiB - 1
    bytes.resize(kHeaderBytes);
    expect_error(bytes, DecodeError::Kind::too_long, all_caps(), {"4294967295"});
  }
  // A long frame holds only what has come.
  Writer w;
  w.number(kMagic).number(kProtocolVersion).number(std::uint16_t{6}).number(kFeatures).number(std::uint32_t{60'000});
  Decoder decoder(Caps::star_server());
  decoder.feed(w.take());
  EXPECT_FALSE(decoder.error());
  EXPECT_EQ(decoder.held(), kHeaderBytes);
}

TEST(Codec, TheCapsOfEachEnd) {
  const auto fits = [](const Frame& frame, const Caps& caps) {
    Decoder decoder(caps);
    return decode_all(encode(frame), decoder, 1 << 20).size() == 1;
  };
  EXPECT_TRUE(fits(Allgather{0, 0, 0, Bytes(kMaxAllgatherBytes)}, Caps::star_server()));
  EXPECT_FALSE(fits(Allgather{0, 0, 0, Bytes(kMaxAllgatherBytes + 1)}, Caps::star_server()));
  EXPECT_TRUE(fits(Gathered{0, 0, Bytes(3 * kMaxAllgatherBytes)}, Caps::star_client(3)));
  EXPECT_FALSE(fits(Gathered{0, 0, Bytes(3 * kMaxAllgatherBytes + 1)}, Caps::star_client(3)));
  Hello hello;
  hello.host = std::string(500, 'h');  // cut by encode
  EXPECT_TRUE(fits(hello, Caps::handshake_server()));
}

TEST(Codec, CutsTextsAtTheirCaps) {
  AbortNotice notice;
  notice.message = std::string(kMaxNoticeBytes - 1, 'x') + "\xc3\xa9 and more";  // the cap falls inside a character
  Decoder decoder(Caps::star_client(2));
  const auto frames = decode_all(encode(notice), decoder, 1 << 20);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(std::get<AbortNotice>(frames[0]).message, std::string(kMaxNoticeBytes - 1, 'x'));
}

TEST(Codec, RefusesValuesThatNoPeSends) {
  const auto broken = [](Frame frame) { expect_error(encode(frame), DecodeError::Kind::malformed, all_caps()); };
  Hello hello;
  hello.rank = 4;
  hello.size = 4;
  broken(hello);
  hello.rank = -1;
  broken(hello);
  hello.rank = 0;
  hello.size = kMaxPes + 1;
  broken(hello);
  hello.size = 0;
  broken(hello);
  broken(AbortNotice{static_cast<Code>(12345), 0, 0, 0, ""});
  broken(AbortNotice{Code::ok, 0, 0, 0, ""});
  broken(AbortNotice{Code::aborted, -2, 0, 0, ""});
  broken(Failure{0, 0, Code::timeout, kMaxPes, ""});
}

TEST(Codec, RefusesTruncatedAndPaddedPayloads) {
  for (const Frame& frame : one_of_each()) {
    const Bytes whole = encode(frame);
    for (std::size_t payload = 0; payload < whole.size() - kHeaderBytes; ++payload) {
      Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kHeaderBytes + payload));
      bytes[12] = static_cast<std::byte>(payload & 0xff);
      bytes[13] = static_cast<std::byte>(payload >> 8);
      Decoder decoder(all_caps());
      const auto frames = decode_all(bytes, decoder, 1 << 20);
      // Frames that end in a text or a byte string may be shorter; then they read back as themselves.
      if (!frames.empty())
        EXPECT_EQ(encode(frames[0]), bytes);
      else
        EXPECT_EQ(decoder.error()->kind, DecodeError::Kind::malformed)
            << frame_name(frame.index()) << " at " << payload;
    }
  }
  Bytes padded = encode(Leave{3});
  padded.push_back(std::byte{0});
  padded[12] = std::byte{5};
  expect_error(padded, DecodeError::Kind::malformed, all_caps());
}

TEST(Codec, AMillionRandomBytes) {
  std::mt19937_64 random(20240607);
  const Bytes good = join_all(one_of_each());
  std::size_t fed = 0, frames = 0, errors = 0;
  while (fed < 1'000'000) {
    // Half of the streams are noise, half are good ones with a few bytes changed.
    Bytes stream(good);
    if (random() % 2 == 0) {
      stream.resize(random() % 200);
      for (std::byte& byte : stream) byte = static_cast<std::byte>(random());
    } else {
      for (std::uint64_t i = random() % 4; i > 0; --i)
        stream[random() % stream.size()] = static_cast<std::byte>(random());
    }
    Decoder decoder(all_caps());
    for (const Frame& frame : decode_all(stream, decoder, 1 + random() % 64)) {
      ++frames;
      ASSERT_LE(encode(frame).size(), stream.size());
    }
    errors += decoder.error() ? 1 : 0;
    fed += stream.size();
  }
  EXPECT_GT(frames, 100u);
  EXPECT_GT(errors, 100u);
}

}  // namespace
}  // namespace isotope::bootstrap
