#include "bootstrap/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace isotope::bootstrap {
namespace {

constexpr std::size_t kHelloFixed = 4 + 4 + 4 + 16 + 32;
constexpr std::size_t kAllgatherFixed = 4 + 8 + 8;
constexpr std::size_t kGatheredFixed = 4 + 8;
constexpr std::size_t kNoticeFixed = 4 * 4;
constexpr std::size_t kFailureFixed = 4 + 8 + 4 + 4;

/// At most `cap` bytes, and no half of a UTF-8 character at the end.
std::string_view cut(std::string_view text, std::size_t cap) {
  if (text.size() <= cap) return text;
  while (cap > 0 && (static_cast<unsigned char>(text[cap]) & 0xc0) == 0x80) --cap;
  return text.substr(0, cap);
}

void put(Writer& w, const Hello& f) {
  w.number(f.rank).number(f.size).number(f.pid).bytes(f.job).bytes(f.nonce).text(cut(f.host, kMaxHostBytes));
}
void put(Writer& w, const Challenge& f) { w.bytes(f.nonce); }
void put(Writer& w, const Proof& f) { w.bytes(f.mac); }
void put(Writer& w, const Welcome& f) { w.bytes(f.mac); }
void put(Writer& w, const Join& f) { w.number(f.world); }
void put(Writer& w, const Allgather& f) { w.number(f.world).number(f.sequence).number(f.budget_ns).bytes(f.bytes); }
void put(Writer& w, const Gathered& f) { w.number(f.world).number(f.sequence).bytes(f.bytes); }
void put(Writer& w, const AbortNotice& f) {
  w.number(static_cast<int>(f.code)).number(f.by).number(f.peer).number(f.exit_code);
  w.text(cut(f.message, kMaxNoticeBytes));
}
void put(Writer& w, const Leave& f) { w.number(f.world); }
void put(Writer& w, const Failure& f) {
  w.number(f.world).number(f.sequence).number(static_cast<int>(f.code)).number(f.peer);
  w.text(cut(f.message, kMaxFailureBytes));
}

/// Numbers that no correct peer sends make the frame malformed. ok is no reason to fail.
bool get_code(Reader& r, Code& code) {
  switch (r.number<int>()) {
#define X(name, number, reach, meaning) \
  case number:                          \
    code = Code::name;                  \
    break;
#include "isotope/base/codes.def"
#undef X
    default:
      return false;
  }
  return code != Code::ok;
}
bool is_peer(int pe) { return pe >= Error::kNobody && pe < kMaxPes; }

bool get(Reader& r, Hello& f) {
  f.rank = r.number<int>();
  f.size = r.number<int>();
  f.pid = r.number<std::uint32_t>();
  r.into(f.job);
  r.into(f.nonce);
  f.host = r.rest_text();
  return f.size >= 1 && f.size <= kMaxPes && f.rank >= 0 && f.rank < f.size;
}
bool get(Reader& r, Challenge& f) { return r.into(f.nonce), true; }
bool get(Reader& r, Proof& f) { return r.into(f.mac), true; }
bool get(Reader& r, Welcome& f) { return r.into(f.mac), true; }
bool get(Reader& r, Join& f) { return f.world = r.number<std::uint32_t>(), true; }
bool get(Reader& r, Allgather& f) {
  f.world = r.number<std::uint32_t>();
  f.sequence = r.number<std::uint64_t>();
  f.budget_ns = r.number<std::uint64_t>();
  const ByteView rest = r.rest();
  f.bytes.assign(rest.begin(), rest.end());
  return true;
}
bool get(Reader& r, Gathered& f) {
  f.world = r.number<std::uint32_t>();
  f.sequence = r.number<std::uint64_t>();
  const ByteView rest = r.rest();
  f.bytes.assign(rest.begin(), rest.end());
  return true;
}
bool get(Reader& r, AbortNotice& f) {
  const bool good = get_code(r, f.code);
  f.by = r.number<int>();
  f.peer = r.number<int>();
  f.exit_code = r.number<int>();
  f.message = r.rest_text();
  return good && is_peer(f.by) && is_peer(f.peer);
}
bool get(Reader& r, Leave& f) { return f.world = r.number<std::uint32_t>(), true; }
bool get(Reader& r, Failure& f) {
  f.world = r.number<std::uint32_t>();
  f.sequence = r.number<std::uint64_t>();
  const bool good = get_code(r, f.code);
  f.peer = r.number<int>();
  f.message = r.rest_text();
  return good && is_peer(f.peer);
}

template <std::size_t I = 0>
std::optional<Frame> get_frame(std::size_t index, ByteView payload) {
  if constexpr (I < kFrameTypes) {
    if (index != I) return get_frame<I + 1>(index, payload);
    std::variant_alternative_t<I, Frame> frame;
    Reader reader(payload);
    const bool good = get(reader, frame);
    if (!good || !reader.ok() || !reader.at_end()) return std::nullopt;
    return Frame(std::in_place_index<I>, std::move(frame));
  } else {
    return std::nullopt;
  }
}

template <class T, std::size_t I = 0>
constexpr std::size_t index_of() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Frame>, T>)
    return I;
  else
    return index_of<T, I + 1>();
}

template <class T>
void allow(Caps& caps, std::size_t bytes) {
  caps.cap[index_of<T>()] = static_cast<std::uint32_t>(bytes);
}

}  // namespace

const char* frame_name(std::size_t index) noexcept {
  static constexpr const char* kNames[kFrameTypes] = {"hello",     "challenge", "proof",  "welcome", "join",
                                                      "allgather", "gathered",  "notice", "leave",   "failure"};
  return index < kFrameTypes ? kNames[index] : "unknown";
}

Bytes encode(const Frame& frame, Dialect dialect) {
  Writer payload;
  std::visit([&](const auto& f) { put(payload, f); }, frame);
  Writer out;
  out.number(kMagic).number(dialect.version).number(static_cast<std::uint16_t>(frame.index() + 1));
  out.number(dialect.features).number(static_cast<std::uint32_t>(payload.size()));
  out.bytes(payload.take());
  return out.take();
}

Caps Caps::handshake_server() {
  Caps caps;
  allow<Hello>(caps, kHelloFixed + kMaxHostBytes);
  allow<Proof>(caps, sizeof(Mac));
  return caps;
}

Caps Caps::handshake_client() {
  Caps caps;
  allow<Challenge>(caps, sizeof(Nonce));
  allow<Welcome>(caps, sizeof(Mac));
  allow<Failure>(caps, kFailureFixed + kMaxFailureBytes);
  return caps;
}

Caps Caps::star_server() {
  Caps caps;
  allow<Join>(caps, 4);
  allow<Allgather>(caps, kAllgatherFixed + kMaxAllgatherBytes);
  allow<AbortNotice>(caps, kNoticeFixed + kMaxNoticeBytes);
  allow<Leave>(caps, 4);
  return caps;
}

Caps Caps::star_client(int size) {
  Caps caps;
  const auto pes = static_cast<std::size_t>(std::clamp(size, 1, kMaxPes));
  allow<Gathered>(caps, kGatheredFixed + pes * kMaxAllgatherBytes);
  allow<AbortNotice>(caps, kNoticeFixed + kMaxNoticeBytes);
  allow<Failure>(caps, kFailureFixed + kMaxFailureBytes);
  return caps;
}

std::size_t Decoder::feed(ByteView piece) {
  if (frame_ || error_) return 0;
  std::size_t used = 0;
  if (have_header_ < kHeaderBytes) {
    used = std::min(piece.size(), kHeaderBytes - have_header_);
    std::copy_n(piece.begin(), used, header_.begin() + static_cast<std::ptrdiff_t>(have_header_));
    have_header_ += used;
    if (have_header_ < kHeaderBytes) {
      // A stranger is known by its first four bytes; no need to wait for the rest.
      if (have_header_ >= 4 && Reader(header_).number<std::uint32_t>() != kMagic) read_header();
      return used;
    }
    read_header();
    if (error_) return used;
  }
  const ByteView rest = piece.subspan(used);
  const std::size_t more = std::min(rest.size(), length_ - payload_.size());
  payload_.insert(payload_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(more));
  if (payload_.size() == length_) read_payload();
  return used + more;
}

std::optional<Frame> Decoder::take() { return std::exchange(frame_, std::nullopt); }

void Decoder::read_header() {
  using Kind = DecodeError::Kind;
  Reader reader(header_);
  const auto magic = reader.number<std::uint32_t>();
  const auto version = reader.number<std::uint16_t>();
  const auto type = reader.number<std::uint16_t>();
  const auto features = reader.number<std::uint32_t>();
  length_ = reader.number<std::uint32_t>();
  index_ = static_cast<std::size_t>(type) - 1;  // type 0 wraps to an index no type has
  if (magic != kMagic)
    return fail(Kind::bad_magic,
                fmt::format("the stream begins with {:#010x}, not with Isotope's {:#010x}: the other end "
                            "speaks another protocol",
                            magic, kMagic));
  if (version != dialect_.version)
    return fail(Kind::other_version,
                fmt::format("the other end speaks protocol version {}, this end version {}; build all PEs and the "
                            "launcher from one version of Isotope",
                            version, dialect_.version));
  if (features != dialect_.features)
    return fail(Kind::other_features,
                fmt::format("the other end was built with features {:#x}, this end with {:#x}; build all PEs and the "
                            "launcher with the same options",
                            features, dialect_.features));
  if (index_ >= kFrameTypes) return fail(Kind::unknown_type, fmt::format("no frame has type {}", type));
  if (!caps_.cap[index_])
    return fail(Kind::unexpected_type, fmt::format("a {} frame is not expected here", frame_name(index_)));
  if (length_ > *caps_.cap[index_])
    return fail(Kind::too_long, fmt::format("a {} frame of {} bytes is above its cap of {}", frame_name(index_),
                                            length_, *caps_.cap[index_]));
}

void Decoder::read_payload() {
  frame_ = get_frame(index_, payload_);
  if (!frame_)
    fail(DecodeError::Kind::malformed, fmt::format("a {} frame holds values that no PE sends", frame_name(index_)));
  have_header_ = 0;
  length_ = 0;
  // A long payload is not kept for the sake of the next short one.
  payload_ = {};
}

void Decoder::fail(DecodeError::Kind kind, std::string message) {
  error_ = DecodeError{kind, std::move(message)};
  payload_ = {};
}

}  // namespace isotope::bootstrap
