// Stream sockets: TCP over IPv4 and IPv6, and unix sockets in Linux's abstract namespace (no file, gone with the
// process).
//
// Every socket made here is close-on-exec. recv_some and send_some never block, never raise SIGPIPE, and
// take care of EINTR, whatever mode the descriptor is in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/fd.hpp"

namespace isotope::os {

struct SocketAddress {
  int family = 0;  // 4 or 6; 0: a unix socket
  std::array<std::uint8_t, 16> bytes{};
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  // of a link-local IPv6 address

  /// True for 0.0.0.0 and ::, which say "every address of this host".
  bool is_any() const noexcept;
};

/// "127.0.0.1" or "::1".
std::string host_text(const SocketAddress& address);
/// "127.0.0.1:4000" or "[::1]:4000".
std::string to_string(const SocketAddress& address);
/// Throws Error(invalid_argument) naming `host` when it is neither an address nor a name that resolves.
std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port);
/// An address of this host that other hosts can reach: that of the interface the default route leaves by, else what
/// the host name resolves to, else loopback.
SocketAddress reachable_address(int family);

/// Throws Error(system) naming the address. Port 0: the kernel chooses, local_address() tells.
Fd tcp_listen(const SocketAddress& address);
SocketAddress local_address(int fd);
/// Starts to connect; poll for kWritable, then look at socket_error(). No descriptor and `err` when it failed at once.
Fd tcp_connect(const SocketAddress& address, int& err);
int socket_error(int fd) noexcept;

/// The name is an abstract one, without the leading zero byte. No descriptor and `err` on failure.
Fd unix_listen(std::string_view name, int& err);
Fd unix_connect(std::string_view name, int& err);
/// A pair of connected unix sockets.
std::pair<Fd, Fd> stream_pair();

struct Accepted {
  Fd fd;
  SocketAddress from;
  int err = 0;  // when there is no descriptor; EAGAIN: nobody waits
};
Accepted accept_connection(int listener) noexcept;

/// The user at the other end of a unix socket, as the kernel knows it.
std::optional<std::uint32_t> peer_uid(int fd) noexcept;
bool is_stream_socket(int fd) noexcept;
void set_close_on_exec(int fd);
/// The other end reads an end of file after what was sent.
void shutdown_write(int fd) noexcept;

struct Io {
  enum class Status { ok, again, closed, failed };
  Status status = Status::ok;
  std::size_t bytes = 0;
  int err = 0;
};
/// A connection that was reset reads as closed.
Io recv_some(int fd, std::span<std::byte> into) noexcept;
Io send_some(int fd, std::span<const std::byte> from) noexcept;

/// For tests: from now on each call moves at most `bytes`, and half of the calls say `again` (0: no limit).
void set_io_chunk_for_tests(std::size_t bytes) noexcept;

}  // namespace isotope::os
