// See root.hpp.
#include "bootstrap/root.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "os/clock.hpp"
#include "os/error.hpp"
#include "os/identity.hpp"
#include "runtime/log.hpp"

namespace isotope::bootstrap {

namespace {
constexpr std::uint64_t kLastWordsNs = 500'000'000;
}  // namespace

Root::Root(os::Fd listener, Options options) : options_(std::move(options)), size_(options_.size) {
  gate_.emplace(
      std::move(listener), options_.gate,
      [this](const Hello& hello, const std::string& who) { return admit(hello, who); },
      [this](const Hello& hello, os::Fd socket) { enter(hello, std::move(socket)); });
  if (size_ > 0) star_.emplace(size_);
  last_active_ns_ = os::now_ns();
}

std::shared_ptr<Root> Root::start(os::Fd listener, Options options) {
  auto root = std::make_shared<Root>(std::move(listener), std::move(options));
  try {
    std::thread([root] { root->run(); }).detach();
  } catch (const std::system_error& error) {
    os::throw_errno("start the rendezvous thread", error.code().value());
  }
  return root;
}

void Root::run() {
  os::block_all_signals();
  try {
    serve_until_over();
  } catch (const std::exception& error) {
    runtime::log_error(fmt::format("rendezvous: {}", error.what()));
    if (star_) star_->end_job({Code::bootstrap_failed, Error::kNobody, Error::kNobody, 0, error.what()});
  }
  // Closes every socket before anybody is told that it is over.
  star_.reset();
  gate_.reset();
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void Root::serve_until_over() {
  for (;;) {
    std::uint64_t asked;
    bool give_up;
    wake_.clear();
    {
      const std::lock_guard lock(mutex_);
      asked = asked_;
      give_up = std::exchange(give_up_asked_, false);
      if (close_asked_) gate_->stop_listening();
    }
    gate_->handle();
    if (star_) star_->handle();
    if (star_ && give_up) star_->give_up();
    const std::uint64_t now = os::now_ns();
    if (over(now)) return;
    if (!star_ || star_->idle()) {
      const std::lock_guard lock(mutex_);
      answered_ = std::max(answered_, asked);
      changed_.notify_all();
    }
    // A quarter of the shorter patience: ending a little late harms nobody.
    std::uint64_t next =
        now + std::max<std::uint64_t>(std::min(options_.patience_ns, options_.linger_ns) / 4, 10'000'000);
    if (const auto deadline = gate_->next_deadline_ns()) next = std::min(next, *deadline);
    const int timeout_ms = next <= now ? 0 : os::Deadline::after_ns(next - now).poll_timeout_ms();
    std::array<os::PollEntry, 3> entries{{{gate_->poll_fd(), os::kReadable, false},
                                          {wake_.fd(), os::kReadable, false},
                                          {star_ ? star_->poll_fd() : -1, os::kReadable, false}}};
    os::poll_fds(entries, timeout_ms);
  }
}

bool Root::anybody_connected() const {
  for (const auto& [rank, name] : names_)
    if (!star_->status(rank).closed) return true;
  return gate_->pending() > 0;
}

bool Root::over(std::uint64_t now_ns) {
  if (anybody_connected()) {
    last_active_ns_ = now_ns;
    return false;
  }
  if (size_ > 0 && attached_ == size_) return true;
  return now_ns - last_active_ns_ > (attached_ == 0 ? options_.patience_ns : options_.linger_ns);
}

std::optional<std::string> Root::admit(const Hello& hello, const std::string& who) {
  if (size_ == 0) {
    size_ = hello.size;
    star_.emplace(size_);
  }
  if (hello.size != size_)
    return fmt::format("{} was refused: the job has {} PEs, as {} said; start all PEs with the same size", who, size_,
                       names_.empty() ? "the root" : names_.begin()->second);
  if (const auto at = names_.find(hello.rank); at != names_.end())
    return fmt::format("{} was refused: rank {} is taken by {}; give every PE a rank of its own", who, hello.rank,
                       at->second);
  names_.emplace(hello.rank, who);
  return std::nullopt;
}

void Root::enter(const Hello& hello, os::Fd socket) {
  star_->attach(hello.rank, std::move(socket));
  // Before the first all-gather can complete: a PE that is past it finds the address free.
  if (++attached_ == size_ && !options_.listen_until_end) gate_->stop_listening();
}

bool Root::round(bool Root::* request, std::uint64_t limit_ns) noexcept {
  std::unique_lock lock(mutex_);
  if (request != nullptr) this->*request = true;
  const std::uint64_t mine = ++asked_;
  wake_.signal();
  return changed_.wait_for(lock, std::chrono::nanoseconds(limit_ns), [&] { return finished_ || answered_ >= mine; });
}

void Root::finish() noexcept {
  if (!round(nullptr, options_.linger_ns / 10)) round(&Root::give_up_asked_, kLastWordsNs);
}

void Root::stop_listening() noexcept { round(&Root::close_asked_, kLastWordsNs); }

}  // namespace isotope::bootstrap
