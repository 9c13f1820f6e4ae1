#include "job/guard.hpp"

#include <csignal>
#include <vector>

#include "os/pipe.hpp"
#include "os/process.hpp"
#include "os/signals.hpp"
#include "os/spawn.hpp"

namespace isotope::job {

namespace {

constexpr pid_t kGoodbye = 0;

[[noreturn]] void guard_main(int fd, const std::function<void()>& afterwards) {
  os::become_background(fd, "isotope-guard");
  std::vector<pid_t> groups;
  pid_t message = kGoodbye;
  while (os::receive_message(fd, &message, sizeof message)) {
    if (message == kGoodbye) os::exit_now(0);
    groups.push_back(message);
  }
  for (const pid_t group : groups) os::signal_group(group, SIGKILL);
  if (afterwards) afterwards();
  os::exit_now(0);
}

}  // namespace

Guard::Guard(const std::function<void()>& afterwards) {
  os::Pipe pair = os::make_message_pair();
  pid_ = os::fork_process();
  if (pid_ == 0) {
    pair.write.reset();
    guard_main(pair.read.get(), afterwards);
  }
  launcher_end_ = std::move(pair.write);
}

Guard::~Guard() {
  os::send_message(launcher_end_.get(), &kGoodbye, sizeof kGoodbye);
  launcher_end_.reset();
  os::dismiss_child(pid_);
}

void Guard::announce(pid_t group) const noexcept { os::send_message(launcher_end_.get(), &group, sizeof group); }

void Guard::forget_in_child() noexcept { launcher_end_.reset(); }

}  // namespace isotope::job
