#include "os/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "os/error.hpp"
#include "os/pidfd.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace isotope::os {

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::uint64_t memory_bytes() {
  std::uint64_t bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_size();
  // cgroup v2, then v1. "max" and absent files leave the machine's figure.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::uint64_t limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

Fd create_shared_file(const std::string& label, std::uint64_t bytes) {
  Fd fd(::memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw_errno("memfd_create for " + label);
  if (bytes > 0) grow_shared_file(fd.get(), bytes);
  // Peers map more than the file holds; if it could shrink, their loads could turn into SIGBUS.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) throw_errno("sealing " + label);
  return fd;
}

void grow_shared_file(int fd, std::uint64_t bytes) {
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    throw_errno(fmt::format("growing shared memory to {} bytes", bytes));
}

std::uint64_t file_bytes(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) throw_errno("fstat of shared memory");
  return static_cast<std::uint64_t>(info.st_size);
}

Fd open_descriptor_of(std::int32_t pid, int fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  Fd opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened) {
    throw_errno(
        fmt::format("opening the shared memory of process {} ({}); PEs of one host must run as the same user, "
                    "in one PID namespace, with /proc mounted",
                    pid, path));
  }
  return opened;
}

Fd take_descriptor_of(std::int32_t pid, int fd) {
  const Fd process = open_pidfd(pid);
  const long taken = ::syscall(SYS_pidfd_getfd, process.get(), fd, 0);
  if (taken < 0) {
    throw_errno(
        fmt::format("taking a descriptor of process {} (pidfd_getfd); PEs of one host must run as the same user, "
                    "in one PID namespace, and containers need CAP_SYS_PTRACE or a seccomp profile that allows it",
                    pid));
  }
  return Fd(static_cast<int>(taken));
}

void allow_peers_to_take_descriptors() noexcept { ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

Fd duplicate(int fd) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) throw_errno("duplicating a descriptor");
  return copy;
}

Reservation::Reservation(std::uint64_t bytes) : bytes_(bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    throw_errno(fmt::format("reserving {} bytes of addresses (see ISOTOPE_HEAP_MAX, and `ulimit -v`)", bytes));
  // A core dump of terabytes helps nobody.
  ::madvise(base, bytes, MADV_DONTDUMP);
  base_ = static_cast<std::byte*>(base);
}

Reservation::Reservation(Reservation&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Reservation::~Reservation() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

void Reservation::map(std::uint64_t offset, std::uint64_t bytes, int fd) const {
  void* at = ::mmap(base_ + offset, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) throw_errno(fmt::format("mapping {} bytes of shared memory", bytes));
}

void Reservation::unmap(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  ::mmap(base_ + offset, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void* map_shared(int fd, std::size_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) throw_errno(fmt::format("mapping {} bytes of shared memory", bytes));
  return base;
}

void* map_zeros(std::size_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw_errno(fmt::format("mapping {} bytes", bytes));
  return base;
}

void unmap(void* base, std::size_t bytes) noexcept { ::munmap(base, bytes); }

bool prefault(void* base, std::size_t bytes) noexcept { return ::madvise(base, bytes, MADV_POPULATE_WRITE) == 0; }

void clear_shared(void* base, std::size_t bytes) noexcept {
  if (::madvise(base, bytes, MADV_REMOVE) != 0) std::memset(base, 0, bytes);
}

namespace {

/// Whether /proc/self/maps shows [base, base + bytes) as private, anonymous, readable and writable throughout.
/// Otherwise `why` holds the line that is not.
bool is_private_anonymous(const void* base, std::size_t bytes, std::string& why) {
  auto next = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t end = next + bytes;
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (next < end && std::getline(maps, line)) {
    std::uintptr_t from = 0, to = 0;
    char access[5] = {};
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*s %lu", &from, &to, access, &inode) < 4)
      continue;
    if (to <= next) continue;
    if (from > next) break;
    if (std::strncmp(access, "rw", 2) != 0 || access[3] != 'p' || inode != 0) {
      why = line;
      return false;
    }
    next = to;
  }
  if (next < end) why = "part of it is not mapped";
  return next >= end;
}

}  // namespace

void check_private_anonymous(const void* base, std::size_t bytes) {
  std::string why;
  if (is_private_anonymous(base, bytes, why)) return;
  throw Error(Code::not_supported,
              fmt::format("{} bytes at {} cannot be registered: only private, anonymous, writable memory can (malloc, "
                          "new, mmap with MAP_ANONYMOUS), and /proc/self/maps says: {}",
                          bytes, base, why));
}

namespace {

/// Puts `from` in the place of what is mapped at `to`, in one step.
void replace_mapping(void* to, void* from, std::size_t bytes) {
  std::memcpy(from, to, bytes);
  if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
    const int error = errno;
    ::munmap(from, bytes);
    throw_errno(fmt::format("moving a mapping to {}", to), error);
  }
}

}  // namespace

void move_to_shared(void* base, std::size_t bytes, int fd) { replace_mapping(base, map_shared(fd, bytes), bytes); }

void move_to_private(void* base, std::size_t bytes) {
  void* fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) throw_errno(fmt::format("mapping {} bytes", bytes));
  replace_mapping(base, fresh, bytes);
}

}  // namespace isotope::os
