// The bootstrap of a job of one PE: everything is already there.
#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "bootstrap/select.hpp"

namespace isotope::bootstrap {
namespace {

class Single : public Bootstrap {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "single"; }

  std::vector<std::byte> allgather(std::span<const std::byte> mine) override {
    if (mine.size() > kMaxAllgatherBytes)
      throw Error(Code::invalid_argument,
                  fmt::format("an all-gather of {} bytes is above the cap of {}", mine.size(), kMaxAllgatherBytes), 0);
    const std::lock_guard lock(mutex_);
    if (notice_) throw Error(notice_->code, notice_->message, 0, notice_->peer);
    return {mine.begin(), mine.end()};
  }
  void abort(const AbortNotice& notice) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!notice_) notice_ = notice;
  }
  void leave() noexcept override {}

 private:
  std::mutex mutex_;
  std::optional<AbortNotice> notice_;
};

}  // namespace

std::unique_ptr<Bootstrap> single() { return std::make_unique<Single>(); }

}  // namespace isotope::bootstrap
