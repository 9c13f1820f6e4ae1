// ISOTOPE_MAIN: a program's entry that is called once per PE, whether PEs are processes or threads.
//
//   ISOTOPE_MAIN(argc, argv) {
//     isotope::World world = isotope::init();
//     ...
//     return 0;
//   }
//
// `isotope run -n 4 prog` starts four processes that each call it once; `isotope run -n 4 --threads prog` starts one
// process that calls it on four threads. An isotope::Error that escapes is printed, and the PE's exit status is 1.
#pragma once

#include <functional>

namespace isotope {

/// Runs `pe_main` on n new threads of this process, each a PE: init() inside it joins a job of size n. Returns when all
/// have returned. If any threw, the others are released (their waits throw), and the exception of the PE that failed
/// first is rethrown. The threads' stacks and thread-locals are their own; everything else in the process is shared.
/// Several jobs may run at once.
void run_threads(int n, const std::function<void()>& pe_main);

namespace detail {
int run_main(int argc, char** argv, int (*pe_main)(int, char**));
}  // namespace detail

}  // namespace isotope

/// The section tells `isotope run --threads` that this program may be run with PEs as threads.
#define ISOTOPE_MAIN(argc, argv)                                                                       \
  static int isotope_pe_main(int argc, char** argv);                                                   \
  __attribute__((section(".isotope.main"), used)) static const char isotope_main_marker[] = "isotope"; \
  int main(int argument_count, char** arguments) {                                                     \
    return ::isotope::detail::run_main(argument_count, arguments, &isotope_pe_main);                   \
  }                                                                                                    \
  static int isotope_pe_main([[maybe_unused]] int argc, [[maybe_unused]] char** argv)
