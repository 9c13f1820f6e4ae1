// The one wire codec of bootstrap: every frame that crosses a socket is written and read here.
//
// A frame is a 16-byte header and a payload, all little-endian:
//   magic u32 | version u16 | type u16 | features u32 | length u32 | payload
// Magic and version keep their place for ever, so that two builds of different versions can name each other. The
// feature word holds the build's options that must agree in a job. A payload has exactly one spelling:
// encode(decode(x)) == x.
//
//   Decoder decoder(Caps::star_server());
//   while (!piece.empty()) {
//     piece = piece.subspan(decoder.feed(piece));       // any split of the stream will do
//     if (decoder.error()) return refuse(*decoder.error());
//     if (auto frame = decoder.take()) handle(*frame);
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/wire.hpp"

namespace isotope::bootstrap {

inline constexpr std::uint32_t kMagic = 0x544f5349;  // "ISOT"
inline constexpr std::uint16_t kProtocolVersion = 1;
/// Bit 0: heaps are anonymous shared-memory objects.
inline constexpr std::uint32_t kFeatures = 1;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr int kMaxPes = 32768;
inline constexpr std::size_t kMaxHostBytes = 63;
inline constexpr std::size_t kMaxFailureBytes = 4096;

using Nonce = std::array<std::byte, 32>;
using Mac = std::array<std::byte, 32>;
using JobId = std::array<std::byte, 16>;

/// A PE asks to be let in. pid and host only name it in messages.
struct Hello {
  int rank = 0;
  int size = 1;
  std::uint32_t pid = 0;
  JobId job{};
  Nonce nonce{};
  std::string host;
};
/// The root answers with its own nonce.
struct Challenge {
  Nonce nonce{};
};
/// The PE proves the job's key.
struct Proof {
  Mac mac{};
};
/// The root lets the PE in and proves the key itself.
struct Welcome {
  Mac mac{};
};
/// An init() begins. Worlds of one connection count up from 0.
struct Join {
  std::uint32_t world = 0;
};
/// This PE's part of an all-gather. The PE waits for the answer at most budget_ns.
struct Allgather {
  std::uint32_t world = 0;
  std::uint64_t sequence = 0;
  std::uint64_t budget_ns = 0;
  Bytes bytes;
};
/// All parts, in rank order.
struct Gathered {
  std::uint32_t world = 0;
  std::uint64_t sequence = 0;
  Bytes bytes;
};
/// A World ends in good order.
struct Leave {
  std::uint32_t world = 0;
};
/// An all-gather, or a handshake, that failed for the PE that gets this.
struct Failure {
  std::uint32_t world = 0;
  std::uint64_t sequence = 0;
  Code code = Code::internal;
  int peer = Error::kNobody;
  std::string message;
};

using Frame = std::variant<Hello, Challenge, Proof, Welcome, Join, Allgather, Gathered, AbortNotice, Leave, Failure>;

/// The type field is the place in Frame plus one.
inline constexpr std::size_t kFrameTypes = std::variant_size_v<Frame>;
const char* frame_name(std::size_t index) noexcept;

/// What this end speaks; only tests pass another one.
struct Dialect {
  std::uint16_t version = kProtocolVersion;
  std::uint32_t features = kFeatures;
};

/// Cuts texts at their caps; never fails.
Bytes encode(const Frame& frame, Dialect dialect = {});

/// The longest payload an end accepts, per type of frame. Types without a cap are not expected there at all.
struct Caps {
  std::array<std::optional<std::uint32_t>, kFrameTypes> cap{};

  static Caps handshake_server();  // hello, proof: a few hundred bytes, whatever the stranger claims
  static Caps handshake_client();  // challenge, welcome, failure
  static Caps star_server();
  static Caps star_client(int size);
};

struct DecodeError {
  enum class Kind { bad_magic, other_version, other_features, unknown_type, unexpected_type, too_long, malformed };
  Kind kind;
  std::string message;
};

/// Takes a stream apart, however it was split. Holds at most one frame, and never more bytes than have come.
class Decoder {
 public:
  explicit Decoder(const Caps& caps, Dialect dialect = {}) : caps_(caps), dialect_(dialect) {}

  /// Takes bytes up to the end of a frame at most and returns how many. Takes none while a frame waits or after an
  /// error.
  std::size_t feed(ByteView piece);
  /// The complete frame, once.
  std::optional<Frame> take();
  /// Final: a stream that broke once has no next frame.
  const std::optional<DecodeError>& error() const { return error_; }
  /// For the step from handshake to service.
  void set_caps(const Caps& caps) { caps_ = caps; }
  /// Bytes of an unfinished frame that are held now.
  std::size_t held() const { return have_header_ + payload_.size(); }

 private:
  void read_header();
  void read_payload();
  void fail(DecodeError::Kind kind, std::string message);

  Caps caps_;
  Dialect dialect_;
  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t have_header_ = 0;
  std::size_t index_ = 0;   // place in Frame
  std::size_t length_ = 0;  // of the payload
  Bytes payload_;
  std::optional<Frame> frame_;
  std::optional<DecodeError> error_;
};

}  // namespace isotope::bootstrap
