// Threads, yields, sleeps and stack mappings over POSIX.
#include "os/thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "os/error.hpp"

namespace isotope::os {

void yield_cpu() noexcept { sched_yield(); }

void sleep_ns(std::uint64_t ns) noexcept {
  timespec span{};
  span.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  span.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  nanosleep(&span, nullptr);
}

CpuSet allowed_cpus() noexcept {
  CpuSet set{};
  // A machine with more CPUs than fit: the call fails, and the empty set says that nothing is known.
  if (::sched_getaffinity(0, sizeof set, reinterpret_cast<cpu_set_t*>(set.data())) != 0) set = {};
  return set;
}

std::thread start_thread(const char* name, std::function<void()> fn) {
  // A new thread inherits the mask of its creator; set it here so that there is no moment with signals open.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  int err = 0;
  try {
    thread = std::thread(std::move(fn));
  } catch (const std::system_error& e) {
    err = e.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (err != 0) throw_errno(std::string("starting thread ") + name, err);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void* map_stacks(std::size_t bytes) noexcept {
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  madvise(base, bytes, MADV_NOHUGEPAGE);  // a hint: kernels without huge pages refuse it, and need it not
  return base;
}

void unmap_stacks(void* base, std::size_t bytes) noexcept { munmap(base, bytes); }

bool protect_range(void* base, std::size_t bytes) noexcept { return mprotect(base, bytes, PROT_NONE) == 0; }

}  // namespace isotope::os
