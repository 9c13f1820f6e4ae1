#include "os/child.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "os/error.hpp"
#include "os/pipe.hpp"
#include "os/process.hpp"
#include "os/spawn.hpp"
#include "os/wait.hpp"

namespace isotope::os {

ChildResult run_child(bool quiet,
                      const std::function<void(const std::function<void(const std::string&)>& send)>& work) {
  Pipe pipe = make_pipe();
  const pid_t child = fork_process();
  if (child == 0) {
    pipe.read.reset();
    if (quiet) {
      const Fd null = open_null();
      ::dup2(null.get(), 1);
      ::dup2(null.get(), 2);
    }
    const int fd = pipe.write.get();
    work([fd](const std::string& bytes) {
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t sent = ::write(fd, bytes.data() + at, bytes.size() - at);
        if (sent < 0 && errno != EINTR) break;
        if (sent > 0) at += static_cast<std::size_t>(sent);
      }
    });
    exit_now(0);
  }
  pipe.write.reset();
  ChildResult result;
  for (;;) {
    const ReadResult read = read_some(pipe.read.get(), result.bytes, 65536);
    if (read == ReadResult::end) break;
    if (read == ReadResult::nothing_now) wait_readable({pipe.read.get()}, -1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw_errno("waiting for a checked run");
  }
  result.exited = WIFEXITED(status);
  result.status = result.exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return result;
}

namespace {

void (*g_handler)(int, const void*) = nullptr;

void caught(int signal, siginfo_t*, void* context) {
  const void* pc = nullptr;
#if defined(__x86_64__)
  pc = reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] + 1);
#else
  (void)context;
#endif  // __x86_64__
  g_handler(signal, pc);
}

}  // namespace

void on_crash(void (*handler)(int signal, const void* pc)) {
  g_handler = handler;
  constexpr std::size_t kBytes = 256 * 1024;
  stack_t stack{};
  stack.ss_sp = std::malloc(kBytes);
  stack.ss_size = kBytes;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = &caught;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) ::sigaction(signal, &action, nullptr);
}

void crash_after(unsigned seconds) noexcept { ::alarm(seconds); }

}  // namespace isotope::os
