#include "runtime/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "os/memory.hpp"
#include "os/process.hpp"

namespace isotope::runtime {

std::size_t Segment::bytes_for(int size) {
  const auto n = static_cast<std::size_t>(size);
  const std::size_t bytes = sizeof(SegmentHeader) + n * sizeof(PeSlot) + n * sizeof(Reason);
  return (bytes + os::page_size() - 1) / os::page_size() * os::page_size();
}

Segment Segment::create(int size) {
  const std::size_t bytes = bytes_for(size);
  os::Fd fd = os::create_shared_file("isotope-segment", bytes);
  void* base = os::map_shared(fd.get(), bytes);
  // The file is all zero: every atomic in it starts at 0, every state at `absent`.
  auto* header = static_cast<SegmentHeader*>(base);
  header->version = kSegmentVersion;
  header->size = size;
  os::random_bytes(header->job_id, sizeof header->job_id);
  header->magic = kSegmentMagic;
  return Segment(std::move(fd), base, bytes);
}

Segment Segment::open(os::Fd fd, int size) {
  const std::size_t bytes = bytes_for(size);
  const std::uint64_t found = os::file_bytes(fd.get());
  if (found != bytes) {
    throw Error(Code::refused, fmt::format("the job's segment has {} bytes, {} were expected for {} PEs: "
                                           "the PEs run different versions of Isotope",
                                           found, bytes, size));
  }
  void* base = os::map_shared(fd.get(), bytes);
  Segment segment(std::move(fd), base, bytes);
  const SegmentHeader& header = segment.header();
  if (header.magic != kSegmentMagic || header.version != kSegmentVersion || header.size != size) {
    throw Error(Code::refused,
                fmt::format("the job's segment is version {} for {} PEs; version {} for {} PEs was expected",
                            header.version, header.size, kSegmentVersion, size));
  }
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : fd_(std::move(other.fd_)), base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) os::unmap(base_, bytes_);
}

PeSlot& Segment::pe(int rank) const noexcept {
  auto* slots = reinterpret_cast<PeSlot*>(static_cast<std::byte*>(base_) + sizeof(SegmentHeader));
  return slots[rank];
}

Reason& Segment::reason(int index) const noexcept { return reinterpret_cast<Reason*>(&pe(header().size))[index]; }

bool Segment::abort(int writer, const bootstrap::AbortNotice& notice) const noexcept {
  SegmentHeader& head = header();
  if (head.abort_word.load(std::memory_order_acquire) != 0) return false;
  // The message is written before the word that points at it. A slot is written once; if this PE's is taken (a second
  // thread got here first), that thread's notice is as good as ours.
  Reason& slot = reason(writer);
  std::uint32_t free = 0;
  if (!slot.taken.compare_exchange_strong(free, 1, std::memory_order_acq_rel)) return false;
  slot.code = static_cast<std::int32_t>(notice.code);
  slot.by = notice.by;
  slot.peer = notice.peer;
  slot.exit_code = notice.exit_code;
  const std::size_t length = std::min(notice.message.size(), kReasonBytes - 1);
  std::memcpy(slot.message, notice.message.data(), length);
  slot.message[length] = '\0';
  slot.taken.store(2, std::memory_order_release);
  std::uint64_t none = 0;
  return head.abort_word.compare_exchange_strong(none, static_cast<std::uint64_t>(writer) + 1,
                                                 std::memory_order_acq_rel);
}

std::optional<bootstrap::AbortNotice> Segment::aborted() const {
  const std::uint64_t word = header().abort_word.load(std::memory_order_acquire);
  if (word == 0) return std::nullopt;
  const Reason& slot =
      reason(static_cast<int>(std::min<std::uint64_t>(word - 1, static_cast<std::uint64_t>(header().size) - 1)));
  bootstrap::AbortNotice notice;
  notice.code = static_cast<Code>(slot.code);
  notice.by = slot.by;
  notice.peer = slot.peer;
  notice.exit_code = slot.exit_code;
  notice.message.assign(slot.message, strnlen(slot.message, kReasonBytes));
  return notice;
}

}  // namespace isotope::runtime
