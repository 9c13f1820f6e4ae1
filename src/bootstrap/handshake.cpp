// See handshake.hpp. HMAC-SHA-256 and BLAKE2b come from libsodium.
#include "bootstrap/handshake.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include "isotope/base/error.hpp"
#include "os/process.hpp"

namespace isotope::bootstrap {
namespace {

void need_sodium() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) throw Error(Code::system, "libsodium cannot be initialised");
}

const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

/// What an unproven end says is shown to people: printable characters only, and not many.
std::string tame(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 600)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

}  // namespace

Key::~Key() { sodium_memzero(bytes.data(), bytes.size()); }

Key Key::random() {
  Key key;
  os::random_bytes(key.bytes.data(), key.bytes.size());
  return key;
}

Nonce random_nonce() {
  Nonce nonce;
  os::random_bytes(nonce.data(), nonce.size());
  return nonce;
}

JobId random_job_id() {
  JobId id;
  os::random_bytes(id.data(), id.size());
  return id;
}

JobId hash_job_id(ByteView secret_or_name, std::string_view purpose) {
  need_sodium();
  JobId id;
  Writer text;
  text.number(static_cast<std::uint32_t>(purpose.size())).text(purpose).bytes(secret_or_name);
  const Bytes bytes = text.take();
  crypto_generichash(raw(id.data()), id.size(), raw(bytes.data()), bytes.size(), nullptr, 0);
  return id;
}

Mac prove(const Key& key, Role role, const Hello& hello, const Nonce& root_nonce, Dialect dialect) {
  static_assert(crypto_auth_hmacsha256_BYTES == sizeof(Mac) && crypto_auth_hmacsha256_KEYBYTES == sizeof(Key::bytes));
  need_sodium();
  Writer text;
  // The encoded hello holds version and features in its header, then rank, size, job and nonce. All fields before the
  // last are of fixed length, so two different conversations never give the same text.
  text.text(role == Role::pe ? "isotope handshake: pe  " : "isotope handshake: root");
  text.bytes(root_nonce).bytes(encode(hello, dialect));
  const Bytes bytes = text.take();
  Mac mac;
  crypto_auth_hmacsha256(raw(mac.data()), raw(bytes.data()), bytes.size(), raw(key.bytes.data()));
  return mac;
}

bool same_mac(const Mac& a, const Mac& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

ServerHandshake::Next ServerHandshake::on_frame(const Frame& frame) {
  reply_.reset();
  if (!hello_) {
    const auto* hello = std::get_if<Hello>(&frame);
    if (hello == nullptr || hello->job != job_) return Next::drop;
    hello_ = *hello;
    if (key_ == nullptr) return Next::admit;
    nonce_ = random_nonce();
    reply_ = Challenge{nonce_};
    return Next::wait;
  }
  const auto* proof = std::get_if<Proof>(&frame);
  if (proof == nullptr || key_ == nullptr) return Next::drop;
  if (same_mac(proof->mac, prove(*key_, Role::pe, *hello_, nonce_))) return Next::admit;
  reply_ = Failure{0, 0, Code::refused, hello_->rank, "this PE does not hold the key of the job it asked for"};
  return Next::stranger;
}

Frame ServerHandshake::welcome() const {
  return key_ != nullptr ? Welcome{prove(*key_, Role::root, *hello_, nonce_)} : Welcome{};
}

bool ClientHandshake::on_frame(const Frame& frame) {
  reply_.reset();
  if (const auto* failure = std::get_if<Failure>(&frame))
    throw Error(failure->code, tame(failure->message), hello_.rank, failure->peer);
  if (const auto* challenge = std::get_if<Challenge>(&frame); challenge != nullptr && key_ != nullptr && !challenged_) {
    challenged_ = true;
    root_nonce_ = challenge->nonce;
    reply_ = Proof{prove(*key_, Role::pe, hello_, root_nonce_)};
    return false;
  }
  if (const auto* welcome = std::get_if<Welcome>(&frame)) {
    if (key_ == nullptr) return true;
    if (challenged_ && same_mac(welcome->mac, prove(*key_, Role::root, hello_, root_nonce_))) return true;
    throw Error(Code::refused, "the root of the rendezvous does not hold the job's key: something else listens there",
                hello_.rank);
  }
  throw Error(Code::refused,
              fmt::format("the root of the rendezvous sent a {} frame out of order", frame_name(frame.index())),
              hello_.rank);
}

}  // namespace isotope::bootstrap
