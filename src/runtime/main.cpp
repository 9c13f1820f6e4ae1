#include "isotope/host/main.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "isotope/base/error.hpp"
#include "runtime/knobs.hpp"
#include "runtime/thread_job.hpp"

namespace isotope {

namespace {

/// Whether what PE `rank` threw is only the news of another PE's end. That one may still be unwinding when its news is
/// out.
bool is_echo(const std::exception_ptr& thrown, int rank) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const bool by_another = error.peer() != Error::kNobody && error.peer() != rank;
    return by_another &&
           (error.code() == Code::aborted || error.code() == Code::peer_lost || error.code() == Code::peer_left);
  } catch (...) {
    return false;
  }
}

/// Runs body(rank) on n threads. The exception of the PE that failed first comes back out.
void run_ranked_threads(int n, const std::function<void(int rank)>& body) {
  if (n < 1) throw Error(Code::invalid_argument, fmt::format("run_threads: {} PEs; at least 1 was expected", n));
  runtime::ThreadJob job(n);
  std::mutex mutex;
  std::exception_ptr first;
  bool first_is_echo = false;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        job.run_pe(rank, [&] { body(rank); });
      } catch (...) {
        const std::exception_ptr thrown = std::current_exception();
        const bool echo = is_echo(thrown, rank);
        const std::lock_guard lock(mutex);
        if (first && (echo || !first_is_echo)) return;
        first = thrown;
        first_is_echo = echo;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

/// The status that a PE's entry returned, on its way through run_ranked_threads.
struct PeStatus {
  int value;
};

/// Calls the program's entry; an exception becomes a line on standard error and status 1, and is kept in `escaped`.
int guarded(const std::string& who, int argc, char** argv, int (*pe_main)(int, char**),
            std::exception_ptr* escaped = nullptr) {
  try {
    return pe_main(argc, argv);
  } catch (const Error& error) {
    std::fputs(fmt::format("{}isotope::Error ({}): {}\n", who, code_name(error.code()), error.what()).c_str(), stderr);
    if (escaped != nullptr) *escaped = std::current_exception();
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}exception: {}\n", who, error.what()).c_str(), stderr);
    if (escaped != nullptr) *escaped = std::current_exception();
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

  try {
    run_ranked_threads(*knobs.threads, [&](int rank) {
      // Each PE has its own argv, as processes do: option parsers reorder it.
      std::vector<std::string> copies(argv, argv + argc);
      std::vector<char*> pointers;
      for (std::string& copy : copies) pointers.push_back(copy.data());
      pointers.push_back(nullptr);
      std::exception_ptr escaped;
      const int own = guarded(fmt::format("PE {}: ", rank), argc, pointers.data(), pe_main, &escaped);
      if (escaped) std::rethrow_exception(escaped);
      if (own != 0) throw PeStatus{own};
    });
  } catch (const PeStatus& first) {
    return first.value;
  } catch (const std::exception&) {
    return 1;  // its PE has printed it
  }
  return 0;
}

}  // namespace detail

}  // namespace isotope
