#include "os/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "os/error.hpp"

namespace isotope::os {

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

bool signal_group(pid_t group, int signal) noexcept {
  // 0 and 1 would mean our own group and everybody.
  return group > 1 && ::kill(-group, signal) == 0;
}

void signal_child_and_group(pid_t child, int signal) noexcept {
  signal_group(child, signal);
  // A program may move itself to another group, as interactive shells do.
  if (child > 1 && ::getpgid(child) != child) ::kill(child, signal);
}

SignalTap::SignalTap(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    struct sigaction now{};
    // A signal that was ignored on purpose is dropped by the kernel, as it was before.
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaddset(&set, signal);
  }
  fd_ = Fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_) throw_errno("signalfd");
  const int err = ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  if (err != 0) throw_errno("pthread_sigmask", err);
}

SignalTap::~SignalTap() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::vector<int> SignalTap::take() {
  std::vector<int> signals;
  std::array<signalfd_siginfo, 16> infos;
  for (;;) {
    const ssize_t got = ::read(fd_.get(), infos.data(), sizeof infos);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return signals;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof(signalfd_siginfo); ++i) {
      signals.push_back(static_cast<int>(infos[i].ssi_signo));
    }
  }
}

LauncherSignals::LauncherSignals() {
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  if (::sigaction(SIGCHLD, &plain, &child_) != 0) throw_errno("sigaction");
  plain.sa_handler = SIG_IGN;
  if (::sigaction(SIGPIPE, &plain, &pipe_) != 0) throw_errno("sigaction");
}

LauncherSignals::~LauncherSignals() { restore(); }

void LauncherSignals::restore() const noexcept {
  ::sigaction(SIGCHLD, &child_, nullptr);
  ::sigaction(SIGPIPE, &pipe_, nullptr);
}

}  // namespace isotope::os
