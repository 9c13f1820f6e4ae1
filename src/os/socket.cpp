#include "os/socket.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "os/error.hpp"
#include "os/identity.hpp"

namespace isotope::os {
namespace {

struct Raw {
  sockaddr_storage storage{};
  socklen_t length = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Raw to_raw(const SocketAddress& address) {
  Raw raw;
  if (address.family == 6) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(address.port);
    in6.sin6_scope_id = address.scope;
    std::memcpy(&in6.sin6_addr, address.bytes.data(), 16);
    std::memcpy(&raw.storage, &in6, sizeof in6);
    raw.length = sizeof in6;
  } else {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.bytes.data(), 4);
    std::memcpy(&raw.storage, &in, sizeof in);
    raw.length = sizeof in;
  }
  return raw;
}

SocketAddress from_raw(const void* raw) {
  SocketAddress address;
  sa_family_t family;
  std::memcpy(&family, static_cast<const char*>(raw) + offsetof(sockaddr, sa_family), sizeof family);
  if (family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, raw, sizeof in);
    address.family = 4;
    address.port = ntohs(in.sin_port);
    std::memcpy(address.bytes.data(), &in.sin_addr, 4);
  } else if (family == AF_INET6) {
    sockaddr_in6 in6;
    std::memcpy(&in6, raw, sizeof in6);
    address.family = 6;
    address.port = ntohs(in6.sin6_port);
    address.scope = in6.sin6_scope_id;
    std::memcpy(address.bytes.data(), &in6.sin6_addr, 16);
  }
  return address;
}

int domain_of(const SocketAddress& address) { return address.family == 6 ? AF_INET6 : AF_INET; }

Raw unix_raw(std::string_view name) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof un.sun_path)
    throw Error(Code::internal, fmt::format("abstract socket name of {} bytes is too long", name.size()));
  std::memcpy(un.sun_path + 1, name.data(), name.size());
  Raw raw;
  std::memcpy(&raw.storage, &un, sizeof un);
  raw.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return raw;
}

void no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // only a loss of speed when refused
}

constexpr int kBacklog = 4096;  // the kernel cuts it to its own limit
constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

std::atomic<std::size_t> io_chunk{0};
// Pseudo-random, since every second call could keep in step with a caller that makes two and never let it move.
thread_local std::uint32_t io_dice = 1;

}  // namespace

bool SocketAddress::is_any() const noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

std::string host_text(const SocketAddress& address) {
  if (address.family == 0) return "a unix socket";
  char text[INET6_ADDRSTRLEN] = "?";
  ::inet_ntop(domain_of(address), address.bytes.data(), text, sizeof text);
  return text;
}

std::string to_string(const SocketAddress& address) {
  if (address.family == 0) return host_text(address);
  if (address.family == 6) return fmt::format("[{}]:{}", host_text(address), address.port);
  return fmt::format("{}:{}", host_text(address), address.port);
}

std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port) {
  std::string bare = host;
  if (bare.size() > 2 && bare.front() == '[' && bare.back() == ']') bare = bare.substr(1, bare.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int rc = bare.empty() ? EAI_NONAME : ::getaddrinfo(bare.c_str(), nullptr, &hints, &list);
  std::vector<SocketAddress> found;
  if (rc == 0) {
    for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
      if (at->ai_family != AF_INET && at->ai_family != AF_INET6) continue;
      found.push_back(from_raw(at->ai_addr));
      found.back().port = port;
    }
    ::freeaddrinfo(list);
  }
  if (found.empty())
    throw Error(Code::invalid_argument, fmt::format("'{}' is no address and no host name that resolves: {}", host,
                                                    rc != 0 ? ::gai_strerror(rc) : "no IP address"));
  return found;
}

SocketAddress reachable_address(int family) {
  // Connecting a datagram socket sends nothing; it only asks the routing table. The targets are documentation
  // addresses.
  const SocketAddress outside = resolve(family == 6 ? "2001:db8::1" : "192.0.2.1", 9).front();
  const Fd probe(::socket(domain_of(outside), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Raw raw = to_raw(outside);
  if (probe && ::connect(probe.get(), raw.get(), raw.length) == 0) {
    SocketAddress mine = local_address(probe.get());
    mine.port = 0;
    if (!mine.is_any()) return mine;
  }
  try {
    for (const SocketAddress& address : resolve(host_name(), 0))
      if (address.family == family && !address.is_any()) return address;
  } catch (const Error&) {
    // A host whose own name does not resolve still has loopback.
  }
  return resolve(family == 6 ? "::1" : "127.0.0.1", 0).front();
}

Fd tcp_listen(const SocketAddress& address) {
  Fd fd(::socket(domain_of(address), kSocketFlags, 0));
  if (!fd) throw_errno("socket for " + to_string(address));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  Raw raw = to_raw(address);
  if (::bind(fd.get(), raw.get(), raw.length) != 0) throw_errno("bind to " + to_string(address));
  if (::listen(fd.get(), kBacklog) != 0) throw_errno("listen on " + to_string(address));
  return fd;
}

SocketAddress local_address(int fd) {
  Raw raw;
  raw.length = sizeof raw.storage;
  if (::getsockname(fd, raw.get(), &raw.length) != 0) throw_errno("getsockname");
  return from_raw(&raw.storage);
}

Fd tcp_connect(const SocketAddress& address, int& err) {
  Fd fd(::socket(domain_of(address), kSocketFlags, 0));
  Raw raw = to_raw(address);
  if (fd && (::connect(fd.get(), raw.get(), raw.length) == 0 || errno == EINPROGRESS || errno == EINTR)) {
    no_delay(fd.get());
    err = 0;
    return fd;
  }
  err = errno;
  return Fd();
}

int socket_error(int fd) noexcept {
  int err = 0;
  socklen_t length = sizeof err;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) != 0) return errno;
  return err;
}

Fd unix_listen(std::string_view name, int& err) {
  Raw raw = unix_raw(name);
  Fd fd(::socket(AF_UNIX, kSocketFlags, 0));
  if (fd && ::bind(fd.get(), raw.get(), raw.length) == 0 && ::listen(fd.get(), kBacklog) == 0) {
    err = 0;
    return fd;
  }
  err = errno;
  return Fd();
}

Fd unix_connect(std::string_view name, int& err) {
  Raw raw = unix_raw(name);
  Fd fd(::socket(AF_UNIX, kSocketFlags, 0));
  if (fd && ::connect(fd.get(), raw.get(), raw.length) == 0) {
    err = 0;
    return fd;
  }
  err = errno;
  return Fd();
}

std::pair<Fd, Fd> stream_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  return {Fd(ends[0]), Fd(ends[1])};
}

Accepted accept_connection(int listener) noexcept {
  Accepted accepted;
  Raw raw;
  do {
    raw.length = sizeof raw.storage;
    accepted.fd = Fd(::accept4(listener, raw.get(), &raw.length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  } while (!accepted.fd && (errno == EINTR || errno == ECONNABORTED));
  if (!accepted.fd) {
    accepted.err = errno;
    return accepted;
  }
  accepted.from = from_raw(&raw.storage);
  if (accepted.from.family != 0) no_delay(accepted.fd.get());
  return accepted;
}

std::optional<std::uint32_t> peer_uid(int fd) noexcept {
  ucred who{};
  socklen_t length = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return std::nullopt;
  return who.uid;
}

bool is_stream_socket(int fd) noexcept {
  int type = 0;
  socklen_t length = sizeof type;
  return fd >= 0 && ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

void set_close_on_exec(int fd) {
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) throw_errno("fcntl FD_CLOEXEC");
}

void shutdown_write(int fd) noexcept { ::shutdown(fd, SHUT_WR); }

namespace {
/// How many of `bytes` this call may move; 0 means "say again".
std::size_t allowed(std::size_t bytes) noexcept {
  const std::size_t chunk = io_chunk.load(std::memory_order_relaxed);
  if (chunk == 0) return bytes;
  io_dice = io_dice * 1664525 + 1013904223;
  if (io_dice >> 31) return 0;
  return std::min(bytes, chunk);
}

template <class Call>
Io io(Call call) noexcept {
  ssize_t n;
  do n = call();
  while (n < 0 && errno == EINTR);
  if (n >= 0) return {Io::Status::ok, static_cast<std::size_t>(n), 0};
  const int err = errno;
  if (err == EAGAIN || err == EWOULDBLOCK) return {Io::Status::again, 0, err};
  if (err == ECONNRESET || err == EPIPE) return {Io::Status::closed, 0, err};
  return {Io::Status::failed, 0, err};
}
}  // namespace

Io recv_some(int fd, std::span<std::byte> into) noexcept {
  const std::size_t room = allowed(into.size());
  if (room == 0) return {Io::Status::again, 0, EAGAIN};
  Io result = io([&] { return ::recv(fd, into.data(), room, MSG_DONTWAIT); });
  if (result.status == Io::Status::ok && result.bytes == 0) result.status = Io::Status::closed;
  return result;
}

Io send_some(int fd, std::span<const std::byte> from) noexcept {
  const std::size_t room = allowed(from.size());
  if (room == 0) return {Io::Status::again, 0, EAGAIN};
  return io([&] { return ::send(fd, from.data(), room, MSG_DONTWAIT | MSG_NOSIGNAL); });
}

void set_io_chunk_for_tests(std::size_t bytes) noexcept { io_chunk.store(bytes, std::memory_order_relaxed); }

}  // namespace isotope::os
