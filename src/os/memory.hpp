// Shared memory without names: anonymous, sealed files, mapped at addresses we choose.
//
// Nothing here has a name in any file system, so nothing is left behind when a job is killed. A peer opens a file
// through the owner's descriptor table (/proc/<pid>/fd/<n>), which the kernel allows to the same user only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "os/fd.hpp"

namespace isotope::os {

std::size_t page_size() noexcept;
/// Memory of the machine (or of this process's control group, where that is smaller).
std::uint64_t memory_bytes();

/// A new anonymous file of `bytes` zero bytes that can grow and never shrink (so a peer cannot make our loads fault).
Fd create_shared_file(const std::string& label, std::uint64_t bytes);
/// Grows it. Throws Error(system).
void grow_shared_file(int fd, std::uint64_t bytes);
std::uint64_t file_bytes(int fd);
/// Opens descriptor `fd` of process `pid`. Throws Error(system) saying what the kernel needs for it.
Fd open_descriptor_of(std::int32_t pid, int fd);
/// The descriptor itself, for those that cannot be opened anew, such as a GPU's memory. Needs the kernel's leave to
/// look into that process, which allow_peers_to_take_descriptors() there gives.
Fd take_descriptor_of(std::int32_t pid, int fd);
void allow_peers_to_take_descriptors() noexcept;
/// A second descriptor for the same file, close-on-exec.
Fd duplicate(int fd);

/// A range of addresses that nothing else in the process will get, without memory behind it.
class Reservation {
 public:
  Reservation() = default;
  explicit Reservation(std::uint64_t bytes);
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  std::byte* base() const noexcept { return base_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Maps `bytes` of the file, from its start, at base + offset. The range may reach past the file's end: the part that
  /// does faults until the file grows.
  void map(std::uint64_t offset, std::uint64_t bytes, int fd) const;
  /// Gives the range back to the reservation.
  void unmap(std::uint64_t offset, std::uint64_t bytes) const noexcept;

 private:
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Maps the whole file shared, anywhere.
void* map_shared(int fd, std::size_t bytes);
void unmap(void* base, std::size_t bytes) noexcept;

/// Private memory, zero where it is read first; takes none until it is written. Throws Error(system).
void* map_zeros(std::size_t bytes);

/// Touches the range for writing now, so that no page fault comes later. Returns false where the kernel is too old to.
bool prefault(void* base, std::size_t bytes) noexcept;
/// Makes whole pages of a shared mapping zero, for everyone who maps them, and gives their memory back.
void clear_shared(void* base, std::size_t bytes) noexcept;

/// Throws Error(not_supported) unless [base, base + bytes) is private, anonymous, readable and writable memory.
void check_private_anonymous(const void* base, std::size_t bytes);

/// Replaces the private anonymous memory at [base, base + bytes) by a mapping of the file with the same contents. The
/// caller's pointers stay valid. Both ends must be page-aligned, and no other thread may write to the range meanwhile.
void move_to_shared(void* base, std::size_t bytes, int fd);
/// The way back: private anonymous memory with the contents of now.
void move_to_private(void* base, std::size_t bytes);

}  // namespace isotope::os
