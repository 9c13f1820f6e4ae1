// The bootstrap over the caller's own all-gather: an MPI communicator, a PyTorch process group, anything.
//
// It reaches the others only through that function, so it has no deadline of its own, and an abort stays here until
// shared memory carries it.
#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <optional>

#include "bootstrap/codec.hpp"
#include "bootstrap/select.hpp"

namespace isotope::bootstrap {
namespace {

class Callback : public Bootstrap {
 public:
  Callback(int rank, int size, AllgatherFn gather) : rank_(rank), size_(size), gather_(std::move(gather)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "callback"; }

  std::vector<std::byte> allgather(std::span<const std::byte> mine) override {
    if (mine.size() > kMaxAllgatherBytes)
      throw Error(Code::invalid_argument,
                  fmt::format("an all-gather of {} bytes is above the cap of {}", mine.size(), kMaxAllgatherBytes),
                  rank_);
    {
      const std::lock_guard lock(mutex_);
      if (notice_) throw Error(notice_->code, notice_->message, rank_, notice_->peer);
    }
    check_agreement(mine.size());
    std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(size_));
    if (!mine.empty()) call(mine.data(), all.data(), mine.size());
    return all;
  }
  void abort(const AbortNotice& notice) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!notice_) notice_ = notice;
  }
  void leave() noexcept override {}

 private:
  /// The function is the user's: it may mix up ranks, and PEs may pass different counts, which most all-gathers do not
  /// notice.
  void check_agreement(std::size_t bytes) {
    struct Mine {
      std::uint32_t rank, size, bytes;
    };
    const Mine mine{static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(size_),
                    static_cast<std::uint32_t>(bytes)};
    std::vector<Mine> all(static_cast<std::size_t>(size_));
    call(&mine, all.data(), sizeof mine);
    std::string counts;
    int odd = Error::kNobody;
    for (int r = 0; r < size_; ++r) {
      const Mine& other = all[static_cast<std::size_t>(r)];
      if (other.rank != mine.rank + static_cast<std::uint32_t>(r - rank_) || other.size != mine.size)
        throw Error(
            Code::mismatch,
            fmt::format("the all-gather function given to init() put PE {} of {} at place {} of {}; it must deliver "
                        "all parts in rank order, and every PE must pass the same size",
                        other.rank, other.size, r, size_),
            rank_, r);
      if (other.bytes != mine.bytes && odd == Error::kNobody) odd = r;
      if (counts.size() < 2000) counts += fmt::format("{}PE {}: {} bytes", r == 0 ? "" : ", ", r, other.bytes);
    }
    if (odd != Error::kNobody)
      throw Error(
          Code::mismatch,
          fmt::format("the PEs called the same all-gather with different byte counts ({}); all must pass the same",
                      counts),
          rank_, odd);
  }

  void call(const void* mine, void* all, std::size_t bytes) {
    try {
      gather_(mine, all, bytes);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(Code::bootstrap_failed,
                  fmt::format("the all-gather function given to init() threw: {}", error.what()), rank_);
    } catch (...) {
      throw Error(Code::bootstrap_failed,
                  "the all-gather function given to init() threw something that is no std::exception", rank_);
    }
  }

  const int rank_;
  const int size_;
  const AllgatherFn gather_;
  std::mutex mutex_;
  std::optional<AbortNotice> notice_;
};

}  // namespace

std::unique_ptr<Bootstrap> from_callback(int rank, int size, AllgatherFn allgather) {
  if (size < 1 || size > kMaxPes || rank < 0 || rank >= size)
    throw Error(Code::invalid_argument,
                fmt::format("rank {} of {}: there are 1 to {} PEs, and a rank is at least 0 and below their number",
                            rank, size, kMaxPes));
  if (!allgather) throw Error(Code::invalid_argument, "init() was given an empty all-gather function", rank);
  return std::make_unique<Callback>(rank, size, std::move(allgather));
}

}  // namespace isotope::bootstrap
