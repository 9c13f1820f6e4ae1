// The segment of a World: one shared-memory object per World and host, mapped by every PE of it.
//
// It holds what must be seen when PEs no longer answer: the abort word, and each PE's state and last words. It is fixed
// in size when the World is made, holds no pointers, and every word that two processes touch at once is an atomic.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "os/fd.hpp"

namespace isotope::runtime {

enum class PeState : std::uint32_t {
  absent = 0,  // has not come through init()
  joined = 1,  // inside its World
  left = 2,    // destroyed its World, in good order or not
};

inline constexpr std::size_t kReasonBytes = 768;  // a message, cut if longer

/// Why the job ended, in the words of one PE: its own slot, so that a PE killed while it writes blocks nobody else's.
struct alignas(64) Reason {
  std::atomic<std::uint32_t> taken;  // 0 free, 1 being written, 2 complete
  std::int32_t code;                 // isotope::Code
  std::int32_t by;
  std::int32_t peer;       // who is to blame, or -1
  std::int32_t exit_code;  // for Code::exited
  char message[kReasonBytes];
};

struct alignas(64) PeSlot {
  std::atomic<std::uint32_t> state;  // PeState
};

struct alignas(4096) SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t size;
  std::uint64_t job_id[2];
  /// 0 while all is well; else 1 + the index of the Reason that came first. Changed once, by compare-and-swap.
  alignas(64) std::atomic<std::uint64_t> abort_word;
};

inline constexpr std::uint64_t kSegmentMagic = 0x69736f746f70656aULL;  // "isotopej"
inline constexpr std::uint32_t kSegmentVersion = 1;

/// A mapping of the segment. Movable; unmapped by the destructor.
class Segment {
 public:
  /// A new segment for `size` PEs: an anonymous, sealed memfd.
  static Segment create(int size);
  /// Maps an existing one after checking magic, version and size. Takes over `fd`.
  static Segment open(os::Fd fd, int size);

  Segment(Segment&&) noexcept;
  Segment& operator=(Segment&&) noexcept;
  ~Segment();

  int fd() const noexcept { return fd_.get(); }
  int size() const noexcept { return header().size; }
  SegmentHeader& header() const noexcept { return *static_cast<SegmentHeader*>(base_); }
  PeSlot& pe(int rank) const noexcept;

  /// Ends the job: the first call wins, later ones do nothing. `writer` is the PE that passes the notice on. Never
  /// blocks; callable from any thread. Returns whether this call was the first.
  bool abort(int writer, const bootstrap::AbortNotice& notice) const noexcept;
  /// The first notice, or nothing while all is well.
  std::optional<bootstrap::AbortNotice> aborted() const;

 private:
  Segment(os::Fd fd, void* base, std::size_t bytes) : fd_(std::move(fd)), base_(base), bytes_(bytes) {}
  Reason& reason(int index) const noexcept;
  static std::size_t bytes_for(int size);

  os::Fd fd_;
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace isotope::runtime
