#include "os/process.hpp"

#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>

#include "os/error.hpp"

namespace isotope::os {

std::int32_t process_id() noexcept { return static_cast<std::int32_t>(::getpid()); }

namespace {
std::atomic<std::uint64_t> g_fork_generation{0};
}  // namespace

std::uint64_t fork_generation() noexcept {
  static const bool registered = [] {
    ::pthread_atfork(nullptr, nullptr, [] { g_fork_generation.fetch_add(1, std::memory_order_relaxed); });
    return true;
  }();
  (void)registered;
  return g_fork_generation.load(std::memory_order_relaxed);
}

std::uint64_t process_start_time(std::int32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The name (field 2) is in parentheses and may hold anything; what follows the last one is regular. Start time is
  // field 22.
  const auto after_name = line.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(line.substr(after_name + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return fields ? std::stoull(field) : 0;
}

std::array<std::byte, 16> host_identity() {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  struct stat pid_namespace{};
  if (boot_id.size() < 36 || ::stat("/proc/self/ns/pid", &pid_namespace) != 0)
    throw_errno("reading the host's identity from /proc");
  std::array<std::byte, 16> id{};
  std::size_t out = 0;
  for (std::size_t i = 0; i + 1 < boot_id.size() && out < id.size();) {
    if (boot_id[i] == '-') {
      ++i;
      continue;
    }
    id[out++] = static_cast<std::byte>(std::stoi(boot_id.substr(i, 2), nullptr, 16));
    i += 2;
  }
  const auto inode = static_cast<std::uint64_t>(pid_namespace.st_ino);
  for (std::size_t i = 0; i < sizeof inode; ++i) id[i] ^= static_cast<std::byte>(inode >> (8 * i));
  return id;
}

void random_bytes(void* out, std::size_t bytes) {
  auto* at = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = ::getrandom(at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno("getrandom");
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void exit_now(int status) noexcept { ::_exit(status); }

}  // namespace isotope::os
