#include "isotope/host/main.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "isotope/base/error.hpp"
#include "runtime/knobs.hpp"
#include "runtime/thread_job.hpp"

namespace isotope {

namespace {

/// Runs body(rank) on n threads. The exception that was thrown first comes back out; -1 ranks nobody.
void run_ranked_threads(int n, const std::function<void(int rank)>& body) {
  if (n < 1) throw Error(Code::invalid_argument, fmt::format("run_threads: {} PEs; at least 1 was expected", n));
  runtime::ThreadJob job(n);
  std::atomic<bool> failed{false};
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        job.run_pe(rank, [&] { body(rank); });
      } catch (...) {
        if (!failed.exchange(true)) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

/// Calls the program's entry; an exception becomes a line on standard error and status 1.
int guarded(const std::string& who, int argc, char** argv, int (*pe_main)(int, char**)) {
  try {
    return pe_main(argc, argv);
  } catch (const Error& error) {
    std::fputs(fmt::format("{}isotope::Error ({}): {}\n", who, code_name(error.code()), error.what()).c_str(), stderr);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}exception: {}\n", who, error.what()).c_str(), stderr);
  }
  return 1;
}

}  // namespace

void run_threads(int n, const std::function<void()>& pe_main) {
  run_ranked_threads(n, [&](int) { pe_main(); });
}

namespace detail {

int run_main(int argc, char** argv, int (*pe_main)(int, char**)) {
  runtime::Knobs knobs;
  try {
    knobs = runtime::read_knobs();
  } catch (const Error& error) {
    std::fputs(fmt::format("isotope::Error ({}): {}\n", code_name(error.code()), error.what()).c_str(), stderr);
    return 1;
  }
  const std::string who = knobs.rank ? fmt::format("PE {}: ", *knobs.rank) : std::string();
  if (!knobs.threads) return guarded(who, argc, argv, pe_main);

  std::atomic<int> status{0};
  run_ranked_threads(*knobs.threads, [&](int rank) {
    // Each PE has its own argv, as processes do: option parsers reorder it.
    std::vector<std::string> copies(argv, argv + argc);
    std::vector<char*> pointers;
    for (std::string& copy : copies) pointers.push_back(copy.data());
    pointers.push_back(nullptr);
    const int own = guarded(fmt::format("PE {}: ", rank), argc, pointers.data(), pe_main);
    int none = 0;
    if (own != 0) status.compare_exchange_strong(none, own);
  });
  return status.load();
}

}  // namespace detail

}  // namespace isotope
