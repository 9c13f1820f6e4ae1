#include "runtime/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "isotope/base/error.hpp"
#include "runtime/words.hpp"

namespace isotope::runtime {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kMinStack = 16 * 1024;
constexpr std::uint64_t kMaxStack = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxLocalMemory = 512 * 1024;  // of a thread, on every GPU
constexpr std::uint64_t kMaxFibers = std::uint64_t{1} << 31;
constexpr std::string_view kInternalMark = "INTERNAL ";

// The rows by field name, so that a misspelt field below does not compile.
enum Row : std::size_t {
#define X(field, variable, kind, fallback, meaning) row_##field,
#include "runtime/knobs.def"
#undef X
};

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

/// digits [. digits] unit -> units of 1, rounded down. Nothing for anything else, or for more than 64 bits hold.
std::optional<std::uint64_t> parse_amount(std::string_view text, const std::vector<Unit>& units) {
  const std::size_t whole_end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (whole_end == 0) return std::nullopt;
  std::uint64_t whole = 0;
  if (std::from_chars(text.data(), text.data() + whole_end, whole).ec != std::errc{}) return std::nullopt;
  text.remove_prefix(whole_end);

  std::uint64_t part = 0, scale = 1;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    if (end == 0 || end > 18) return std::nullopt;  // 10^18 still fits
    std::from_chars(text.data(), text.data() + end, part);
    for (std::size_t i = 0; i < end; ++i) scale *= 10;
    text.remove_prefix(end);
  }
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == text; });
  if (unit == units.end() || (unit->size == 1 && part != 0)) return std::nullopt;
  const Wide total = Wide{whole} * unit->size + Wide{part} * unit->size / scale;
  if (total > UINT64_MAX) return std::nullopt;
  return static_cast<std::uint64_t>(total);
}

/// Reads rows through a lookup and throws the errors people see.
class Reader {
 public:
  explicit Reader(const Getenv& lookup) : lookup_(lookup) {}

  std::string text(Row row) const {
    auto value = lookup_(table(row).variable);
    // Empty means not set: `ISOTOPE_LOG= prog` is how a shell takes a setting back.
    return value && !value->empty() ? *value : table(row).default_text;
  }

  std::uint64_t duration(Row row) const {
    const auto ns = parse_duration(text(row));
    if (!ns || *ns == 0)
      refuse(row, "a duration above 0: a number with ns, us, ms, s, min or h (seconds without)", "2.5s");
    return *ns;
  }

  std::uint64_t bytes(Row row, std::uint64_t least, std::uint64_t most) const {
    const auto size = parse_bytes(text(row));
    if (!size || *size < least || *size > most) {
      refuse(row,
             fmt::format("a size from {} to {}: a number with KiB, MiB, GiB or TiB (bytes without)", name_bytes(least),
                         name_bytes(most)),
             "64MiB");
    }
    return *size;
  }

  std::uint64_t count(Row row, std::uint64_t least, std::uint64_t most) const {
    const std::string value = text(row);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < least || number > most) {
      refuse(row, fmt::format("a whole number from {} to {}", least, most),
             fmt::format("{}", std::max<std::uint64_t>(least, 4)));
    }
    return number;
  }

  std::optional<int> place(Row row, int least) const {
    if (text(row).empty()) return std::nullopt;
    return static_cast<int>(count(row, static_cast<std::uint64_t>(least), INT_MAX));
  }

  bool flag(Row row) const {
    const std::string value = text(row);
    for (const char* yes : {"1", "true", "yes", "on"}) {
      if (value == yes) return true;
    }
    for (const char* no : {"0", "false", "no", "off"}) {
      if (value == no) return false;
    }
    refuse(row, "1 or 0 (or true, false, yes, no, on, off)", "1");
  }

  std::string choice(Row row) const {
    const std::string value = text(row);
    const std::vector<std::string> words = choice_words(table(row));
    if (std::find(words.begin(), words.end(), value) != words.end()) return value;
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
    const auto near = nearest_word(value, words);
    refuse(row, "one of " + list, near.value_or(words.front()));
  }

 private:
  static const KnobRow& table(Row row) { return knob_table()[row]; }

  [[noreturn]] void refuse(Row row, const std::string& expected, const std::string& example) const {
    const KnobRow& knob = table(row);
    throw Error(Code::invalid_argument, fmt::format("{} is '{}'; expected {}, e.g. {}={}", knob.variable, text(row),
                                                    expected, knob.variable, example));
  }

  const Getenv& lookup_;
};

}  // namespace

const std::vector<KnobRow>& knob_table() {
  static const std::vector<KnobRow> rows = [] {
    std::vector<KnobRow> all = {
#define X(field, variable, kind, fallback, meaning) {variable, KnobKind::kind, fallback, meaning, false},
#include "runtime/knobs.def"
#undef X
    };
    for (KnobRow& row : all) {
      if (!std::string_view(row.meaning).starts_with(kInternalMark)) continue;
      row.internal = true;
      row.meaning += kInternalMark.size();
    }
    return all;
  }();
  return rows;
}

std::vector<std::string> choice_words(const KnobRow& row) {
  // The table's sentence ends in the words themselves, "...: auto, cpu", so that they are written once.
  const std::string_view meaning = row.meaning;
  const std::size_t colon = meaning.rfind(": ");
  std::vector<std::string> words;
  if (row.kind != KnobKind::choice || colon == std::string_view::npos) return words;
  for (std::size_t at = colon + 2; at < meaning.size();) {
    const std::size_t end = std::min(meaning.find(", ", at), meaning.size());
    words.emplace_back(meaning.substr(at, end - at));
    at = end + 2;
  }
  return words;
}

Knobs read_knobs(const Getenv& lookup) {
  const Reader read(lookup);
  Knobs knobs;
  knobs.platform = read.choice(row_platform);
  knobs.device = read.text(row_device);
  knobs.bootstrap = read.choice(row_bootstrap);
  knobs.wait_deadline_ns = read.duration(row_wait_deadline);
  knobs.bootstrap_deadline_ns = read.duration(row_bootstrap_deadline);
  knobs.handshake_deadline_ns = read.duration(row_handshake_deadline);
  if (read.text(row_heap_max) != "auto") knobs.heap_max_bytes = read.bytes(row_heap_max, 1, UINT64_MAX);
  knobs.heap_prefault = read.flag(row_heap_prefault);
  knobs.allow_time_slicing = read.flag(row_allow_time_slicing);
  if (read.text(row_local_memory) != "auto")
    knobs.local_memory_bytes = read.bytes(row_local_memory, 1, kMaxLocalMemory);
  knobs.stack_bytes = read.bytes(row_stack_bytes, kMinStack, kMaxStack);
  knobs.max_fibers = read.count(row_max_fibers, 1, kMaxFibers);
  knobs.listen = read.text(row_listen);
  knobs.root = read.text(row_root);
  knobs.job_key_file = read.text(row_job_key_file);
  knobs.tune_file = read.text(row_tune_file);
  knobs.trace_choices = read.flag(row_trace_choices);
  knobs.log = read.choice(row_log);
  knobs.color = read.choice(row_color);
  knobs.rank = read.place(row_rank, 0);
  knobs.size = read.place(row_size, 1);
  knobs.local_rank = read.place(row_local_rank, 0);
  knobs.threads = read.place(row_threads, 1);
  knobs.check = read.text(row_check);
  knobs.control_fd = read.place(row_control_fd, 0);
  return knobs;
}

Knobs read_knobs() {
  return read_knobs([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

std::optional<std::uint64_t> parse_duration(std::string_view text) {
  static const std::vector<Unit> units = {
      {"", 1'000'000'000}, {"s", 1'000'000'000},    {"ms", 1'000'000},       {"us", 1'000},
      {"ns", 1},           {"min", 60'000'000'000}, {"h", 3'600'000'000'000}};
  return parse_amount(text, units);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  static const std::vector<Unit> units = {{"", 1},
                                          {"b", 1},
                                          {"k", std::uint64_t{1} << 10},
                                          {"kib", std::uint64_t{1} << 10},
                                          {"m", std::uint64_t{1} << 20},
                                          {"mib", std::uint64_t{1} << 20},
                                          {"g", std::uint64_t{1} << 30},
                                          {"gib", std::uint64_t{1} << 30},
                                          {"t", std::uint64_t{1} << 40},
                                          {"tib", std::uint64_t{1} << 40}};
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return parse_amount(lower, units);
}

std::string name_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kNames = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < kNames.size()) value /= 1024, ++unit;
  return bytes == 1 ? "1 byte" : fmt::format("{:.4g} {}", value, kNames[unit]);
}

std::vector<std::string> unknown_variable_warnings(char** environ) {
  std::vector<std::string> known, warnings;
  constexpr std::string_view kPrefix = "ISOTOPE_";  // common to all, so it says nothing about nearness
  for (const KnobRow& row : knob_table()) known.emplace_back(std::string_view(row.variable).substr(kPrefix.size()));
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::string name(entry.substr(0, entry.find('=')));
    // ISOTOPE_TEST_... is read by our tests alone.
    if (!name.starts_with(kPrefix) || name.starts_with("ISOTOPE_TEST_")) continue;
    const std::string rest = name.substr(kPrefix.size());
    if (std::find(known.begin(), known.end(), rest) != known.end()) continue;
    const auto near = nearest_word(rest, known);
    warnings.push_back(fmt::format("{} is set, but Isotope has no such variable; {}", name,
                                   near ? "did you mean ISOTOPE_" + *near + "?" : "`isotope info` lists those it has"));
  }
  return warnings;
}

}  // namespace isotope::runtime
