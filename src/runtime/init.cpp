// The three init() calls: read the knobs, choose a bootstrap, join.
#include <fmt/format.h>

#include <mutex>

#include "bootstrap/select.hpp"
#include "isotope/host/world.hpp"
#include "runtime/knobs.hpp"
#include "runtime/log.hpp"
#include "runtime/thread_job.hpp"
#include "runtime/world_core.hpp"

extern char** environ;

namespace isotope {

World detail_make_world(std::shared_ptr<runtime::WorldCore> core) { return World(std::move(core)); }

namespace {

runtime::Knobs knobs_with(const InitOptions& options) {
  runtime::Knobs knobs = runtime::read_knobs();
  const auto apply = [](const std::optional<std::chrono::nanoseconds>& option, const char* name, std::uint64_t& knob) {
    if (!option) return;
    if (option->count() <= 0) {
      throw Error(Code::invalid_argument,
                  fmt::format("InitOptions::{} is {} ns; a positive duration was expected", name, option->count()));
    }
    knob = static_cast<std::uint64_t>(option->count());
  };
  apply(options.wait_deadline, "wait_deadline", knobs.wait_deadline_ns);
  apply(options.bootstrap_deadline, "bootstrap_deadline", knobs.bootstrap_deadline_ns);
  if (options.heap_max_bytes) knobs.heap_max_bytes = *options.heap_max_bytes;

  using runtime::LogLevel;
  runtime::set_log_level(knobs.log == "error"   ? LogLevel::error
                         : knobs.log == "info"  ? LogLevel::info
                         : knobs.log == "debug" ? LogLevel::debug
                                                : LogLevel::warn);
  static std::once_flag warned;
  std::call_once(warned, [&] {
    // Once a job is enough: PE 0 says it, whatever launcher there is.
    if (knobs.rank.value_or(0) != 0) return;
    for (const std::string& line : runtime::unknown_variable_warnings(environ)) runtime::log_warn(line);
  });
  return knobs;
}

World join(std::unique_ptr<bootstrap::Bootstrap> bootstrap, const runtime::Knobs& knobs) {
  return detail_make_world(runtime::WorldCore::join(std::move(bootstrap), knobs));
}

void check_rank(int rank, int size) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw Error(Code::invalid_argument,
                fmt::format("init: rank {} of {} PEs; a size of at least 1 and a rank from 0 to size - 1 were expected",
                            rank, size));
  }
}

}  // namespace

World init(const InitOptions& options) {
  const runtime::Knobs knobs = knobs_with(options);
  if (auto bootstrap = runtime::ThreadJob::next_bootstrap(knobs)) {
    auto core = runtime::WorldCore::join(std::move(bootstrap), knobs);
    runtime::ThreadJob::add_world(core);
    return detail_make_world(std::move(core));
  }
  if (knobs.threads) {
    throw Error(Code::not_supported,
                "PEs were asked for as threads (isotope run --threads), but this program has a plain main; write "
                "ISOTOPE_MAIN(argc, argv), or run it without --threads");
  }
  return join(bootstrap::from_environment(knobs), knobs);
}

World init(int rank, int size, const UniqueId& id, const InitOptions& options) {
  check_rank(rank, size);
  const runtime::Knobs knobs = knobs_with(options);
  return join(bootstrap::from_unique_id(rank, size, id, knobs), knobs);
}

World init(int rank, int size, std::function<void(const void* mine, void* all, std::size_t bytes)> allgather,
           const InitOptions& options) {
  check_rank(rank, size);
  if (!allgather) throw Error(Code::invalid_argument, "init: the all-gather function is empty");
  const runtime::Knobs knobs = knobs_with(options);
  return join(bootstrap::from_callback(rank, size, std::move(allgather)), knobs);
}

}  // namespace isotope
