// A program for the fault tests: one PE does something bad while the others are somewhere they might get stuck.
//
//   fault_pe ACTOR ACTION PEERS
//
// ACTION of PE number ACTOR: none, sleep, never_init, abort, segv, kill, quick_exit, throw, exit:CODE,
// exit_thread:CODE, return:CODE. PEERS, what the others do meanwhile: barrier, kernel, compute (never calls the
// library), deaf (compute, ignores SIGTERM). Every PE prints "ready" before, the actor prints "acting" when it acts.
// Nothing here lives longer than a minute.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "isotope/isotope.hpp"

using namespace isotope;

namespace {

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

ISOTOPE_KERNEL void wait_for_nobody(Team team, Signal* flag) { wait_until(this_block(), team, flag, Cmp::ge, 1); }

[[noreturn]] void compute() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    volatile int sink = 0;
    for (int i = 0; i < 1'000'000; ++i) sink = i;
    (void)sink;
  }
  std::_Exit(98);
}

[[noreturn]] void sleep_on() {
  std::this_thread::sleep_for(std::chrono::minutes(1));
  std::_Exit(98);
}

void fault_memory() {
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

int act(World& world, const std::string& action) {
  const std::size_t colon = action.find(':');
  const std::string verb = action.substr(0, colon);
  const int code = colon == std::string::npos ? 0 : std::atoi(action.c_str() + colon + 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the others get to where they sit; not needed to pass
  say("acting");
  if (verb == "sleep") sleep_on();
  if (verb == "abort") std::abort();
  if (verb == "segv") fault_memory();
  if (verb == "kill") ::kill(::getpid(), SIGKILL);
  if (verb == "quick_exit") std::_Exit(0);
  if (verb == "throw") throw std::runtime_error("the actor threw");
  if (verb == "exit") world.global_exit(code);
  if (verb == "exit_thread") {
    std::thread([&] { world.global_exit(code); }).detach();
    sleep_on();
  }
  if (verb == "return") return code;
  std::fprintf(stderr, "fault_pe: unknown action '%s'\n", action.c_str());
  return 97;
}

}  // namespace

ISOTOPE_MAIN(argc, argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: fault_pe ACTOR ACTION PEERS\n");
    return 96;
  }
  const int actor = std::atoi(argv[1]);
  const std::string action = argv[2], peers = argv[3];
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // A sanitizer turns these into an exit; the test is about the signals.
  std::signal(SIGSEGV, SIG_DFL);
  std::signal(SIGABRT, SIG_DFL);
  const char* rank = std::getenv("ISOTOPE_RANK");
  if (action == "never_init" && rank && std::atoi(rank) == actor) {
    say("ready");
    sleep_on();
  }

  World world = init();
  auto flag = world.alloc_zeroed<Signal>(1);
  world.barrier();
  say("ready");
  if (action == "none") {
    world.barrier();
    return 0;
  }
  if (world.rank() == actor) return act(world, action);
  if (peers == "deaf") std::signal(SIGTERM, SIG_IGN);
  if (peers == "compute" || peers == "deaf") compute();
  if (peers == "kernel") {
    world.launch<wait_for_nobody>({.grid = 2, .block = 32}, world.team(), flag.data());
    world.synchronize();
  }
  world.barrier();
  return 0;
}
