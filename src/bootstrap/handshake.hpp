// How a PE and the root prove to each other that they hold the job's key, without ever sending it.
//
//   PE   -> root   hello      rank, size, job, a fresh nonce
//   root -> PE     challenge  a fresh nonce
//   PE   -> root   proof      MAC(key, "pe",   everything above)
//   root -> PE     welcome    MAC(key, "root", everything above)
//
// The PE proves first, so the root computes nothing for strangers. Both nonces are in both MACs, so nothing can be
// replayed; the role is too, so nothing can be reflected. Over a unix socket the kernel names the user at the other
// end, which takes the place of the key: hello, welcome.
//
// Pure state machines: the owner moves the frames.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "bootstrap/codec.hpp"

namespace isotope::bootstrap {

/// 256 random bits. Wiped when it goes away.
struct Key {
  std::array<std::byte, 32> bytes{};

  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();
  static Key random();
};

Nonce random_nonce();
JobId random_job_id();
/// Names a job by what its PEs have in common.
JobId hash_job_id(ByteView secret_or_name, std::string_view purpose);

enum class Role { pe, root };
Mac prove(const Key& key, Role role, const Hello& hello, const Nonce& root_nonce, Dialect dialect = {});
/// In constant time.
bool same_mac(const Mac& a, const Mac& b);

/// The root's side for one connection.
class ServerHandshake {
 public:
  enum class Next {
    wait,      // for another frame, after sending reply() if there is one
    admit,     // the PE has proved itself: if the job has a place for it, send welcome()
    stranger,  // wrong key: send reply(), log, close
    drop       // not for this job, or out of order: close without a word
  };

  /// No key: the kernel has vouched for the other end.
  ServerHandshake(const Key* key, const JobId& job) : key_(key), job_(job) {}

  Next on_frame(const Frame& frame);
  std::optional<Frame> reply() const { return reply_; }
  Frame welcome() const;
  const Hello& hello() const { return *hello_; }

 private:
  const Key* key_;
  JobId job_;
  std::optional<Hello> hello_;
  Nonce nonce_{};
  std::optional<Frame> reply_;
};

/// The PE's side. on_frame throws Error(refused) when the root does not hold the key, or says no.
class ClientHandshake {
 public:
  ClientHandshake(const Key* key, Hello hello) : key_(key), hello_(std::move(hello)) {}

  const Hello& hello() const { return hello_; }
  /// True when the root has let us in. Otherwise sends reply(), if any, and waits for the next frame.
  bool on_frame(const Frame& frame);
  std::optional<Frame> reply() const { return reply_; }

 private:
  const Key* key_;
  Hello hello_;
  Nonce root_nonce_{};
  bool challenged_ = false;
  std::optional<Frame> reply_;
};

}  // namespace isotope::bootstrap
