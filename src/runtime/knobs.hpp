// The ISOTOPE_* variables: read once per init(), checked, and typed.
//
//   const Knobs knobs = read_knobs();      // throws Error(invalid_argument) naming variable, value, expected form
//   knobs.wait_deadline_ns
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isotope::runtime {

/// How a knob's text is read.
enum class KnobKind { text, duration, bytes, count, flag, choice };

/// One row of the table, as `isotope info` prints it.
struct KnobRow {
  const char* variable;
  KnobKind kind;
  const char* default_text;
  const char* meaning;
  bool internal;
};

const std::vector<KnobRow>& knob_table();

/// The words a choice accepts, as its meaning lists them after the colon.
std::vector<std::string> choice_words(const KnobRow& row);

/// Looks a variable up; the tests pass their own.
using Getenv = std::function<std::optional<std::string>(const char*)>;

struct Knobs {
  std::string platform, device, bootstrap, listen, root, job_key_file, tune_file, log, color, check;
  std::uint64_t wait_deadline_ns = 0, bootstrap_deadline_ns = 0, handshake_deadline_ns = 0;
  std::uint64_t heap_max_bytes = 0;      // 0: the machine's memory
  std::uint64_t local_memory_bytes = 0;  // 0: what the driver sets aside
  bool heap_prefault = false, allow_time_slicing = false, trace_choices = false;
  std::uint64_t stack_bytes = 0;
  std::uint64_t max_fibers = 0;
  // Set by the launcher; absent otherwise.
  std::optional<int> rank, size, local_rank, threads, control_fd;
};

Knobs read_knobs(const Getenv& lookup);
Knobs read_knobs();

/// "60", "60s", "500ms", "2.5s", "10us", "1min" -> nanoseconds.
std::optional<std::uint64_t> parse_duration(std::string_view text);
/// "4096", "64KiB", "1.5GiB", "2G" (binary units) -> bytes.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// "64 MiB", for people.
std::string name_bytes(std::uint64_t bytes);

/// One warning line per ISOTOPE_* variable in `environ` that the table does not know, with the nearest name.
std::vector<std::string> unknown_variable_warnings(char** environ);

}  // namespace isotope::runtime
