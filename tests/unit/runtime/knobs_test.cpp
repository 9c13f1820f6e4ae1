// Reading the ISOTOPE_* variables: every form, every refusal, and the warnings.
#include "runtime/knobs.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "isotope/base/error.hpp"
#include "runtime/words.hpp"

namespace isotope::runtime {
namespace {

Knobs read(std::map<std::string, std::string> variables) {
  return read_knobs([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string refusal(const std::string& variable, const std::string& value) {
  try {
    read({{variable, value}});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(Knobs, DefaultsAreThoseOfTheTable) {
  const Knobs knobs = read({});
  EXPECT_EQ(knobs.platform, "auto");
  EXPECT_EQ(knobs.bootstrap, "auto");
  EXPECT_EQ(knobs.wait_deadline_ns, 60'000'000'000u);
  EXPECT_EQ(knobs.bootstrap_deadline_ns, 30'000'000'000u);
  EXPECT_EQ(knobs.handshake_deadline_ns, 5'000'000'000u);
  EXPECT_EQ(knobs.heap_max_bytes, 0u);
  EXPECT_FALSE(knobs.heap_prefault);
  EXPECT_EQ(knobs.local_memory_bytes, 0u);
  EXPECT_EQ(knobs.stack_bytes, 128u * 1024);
  EXPECT_EQ(knobs.max_fibers, 65536u);
  EXPECT_EQ(knobs.listen, "127.0.0.1");
  EXPECT_EQ(knobs.root, "");
  EXPECT_EQ(knobs.log, "warn");
  EXPECT_EQ(knobs.color, "auto");
  EXPECT_FALSE(knobs.rank || knobs.size || knobs.local_rank || knobs.threads || knobs.control_fd);
}

TEST(Knobs, ReadsEveryRow) {
  const Knobs knobs = read({{"ISOTOPE_PLATFORM", "cpu"},
                            {"ISOTOPE_BOOTSTRAP", "tcp"},
                            {"ISOTOPE_WAIT_DEADLINE", "250ms"},
                            {"ISOTOPE_BOOTSTRAP_DEADLINE", "2min"},
                            {"ISOTOPE_HANDSHAKE_DEADLINE", "7"},
                            {"ISOTOPE_HEAP_MAX", "1.5GiB"},
                            {"ISOTOPE_HEAP_PREFAULT", "yes"},
                            {"ISOTOPE_LOCAL_MEMORY_BYTES", "4KiB"},
                            {"ISOTOPE_STACK_BYTES", "64k"},
                            {"ISOTOPE_MAX_FIBERS", "10"},
                            {"ISOTOPE_LISTEN", "0.0.0.0"},
                            {"ISOTOPE_ROOT", "node1:4000"},
                            {"ISOTOPE_JOB_KEY_FILE", "/k"},
                            {"ISOTOPE_TUNE_FILE", "/t"},
                            {"ISOTOPE_LOG", "debug"},
                            {"ISOTOPE_COLOR", "never"},
                            {"ISOTOPE_RANK", "3"},
                            {"ISOTOPE_SIZE", "8"},
                            {"ISOTOPE_LOCAL_RANK", "0"},
                            {"ISOTOPE_THREADS", "2"},
                            {"ISOTOPE_CONTROL_FD", "11"}});
  EXPECT_EQ(knobs.platform, "cpu");
  EXPECT_EQ(knobs.bootstrap, "tcp");
  EXPECT_EQ(knobs.wait_deadline_ns, 250'000'000u);
  EXPECT_EQ(knobs.bootstrap_deadline_ns, 120'000'000'000u);
  EXPECT_EQ(knobs.handshake_deadline_ns, 7'000'000'000u);
  EXPECT_EQ(knobs.heap_max_bytes, 3u << 29);
  EXPECT_TRUE(knobs.heap_prefault);
  EXPECT_EQ(knobs.local_memory_bytes, 4096u);
  EXPECT_EQ(knobs.stack_bytes, 65536u);
  EXPECT_EQ(knobs.max_fibers, 10u);
  EXPECT_EQ(knobs.listen, "0.0.0.0");
  EXPECT_EQ(knobs.root, "node1:4000");
  EXPECT_EQ(knobs.job_key_file, "/k");
  EXPECT_EQ(knobs.tune_file, "/t");
  EXPECT_EQ(knobs.log, "debug");
  EXPECT_EQ(knobs.color, "never");
  EXPECT_EQ(knobs.rank, 3);
  EXPECT_EQ(knobs.size, 8);
  EXPECT_EQ(knobs.local_rank, 0);
  EXPECT_EQ(knobs.threads, 2);
  EXPECT_EQ(knobs.control_fd, 11);
}

TEST(Knobs, AnEmptyValueIsTheDefault) { EXPECT_EQ(read({{"ISOTOPE_LOG", ""}}).log, "warn"); }

TEST(Knobs, RefusalsNameVariableValueFormAndExample) {
  EXPECT_EQ(refusal("ISOTOPE_LOG", "loud"),
            "ISOTOPE_LOG is 'loud'; expected one of error, warn, info, debug, e.g. ISOTOPE_LOG=error");
  EXPECT_EQ(refusal("ISOTOPE_LOG", "wran"),
            "ISOTOPE_LOG is 'wran'; expected one of error, warn, info, debug, e.g. ISOTOPE_LOG=warn");
  EXPECT_EQ(refusal("ISOTOPE_WAIT_DEADLINE", "5 parsecs"),
            "ISOTOPE_WAIT_DEADLINE is '5 parsecs'; expected a duration above 0: a number with ns, us, ms, s, min or h "
            "(seconds "
            "without), e.g. ISOTOPE_WAIT_DEADLINE=2.5s");
  EXPECT_EQ(
      refusal("ISOTOPE_HEAP_PREFAULT", "2"),
      "ISOTOPE_HEAP_PREFAULT is '2'; expected 1 or 0 (or true, false, yes, no, on, off), e.g. ISOTOPE_HEAP_PREFAULT=1");
  EXPECT_EQ(refusal("ISOTOPE_SIZE", "0"),
            "ISOTOPE_SIZE is '0'; expected a whole number from 1 to 2147483647, e.g. ISOTOPE_SIZE=4");
}

TEST(Knobs, RefusesWhatIsOutOfRange) {
  for (const auto& [variable, value] : std::map<std::string, std::vector<std::string>>{
           {"ISOTOPE_RANK", {"-1", "1.5", "2147483648", "99999999999999999999", "0x1", " 1", "1 ", "one"}},
           {"ISOTOPE_WAIT_DEADLINE",
            {"0", "0s", "-1s", "1e3", "s", "1.s", ".5s", "1 s", "1S", "99999999999999999999", "5124096h"}},
           {"ISOTOPE_HEAP_MAX", {"0", "-5", "1KB", "1.5", "16777216TiB", "auto2"}},
           {"ISOTOPE_LOCAL_MEMORY_BYTES", {"0", "none", "513KiB"}},
           {"ISOTOPE_STACK_BYTES", {"1", "15KiB", "2GiB"}},
           {"ISOTOPE_MAX_FIBERS", {"0", "ten"}},
           {"ISOTOPE_PLATFORM", {"gpu", "CPU", "cp"}},
           {"ISOTOPE_BOOTSTRAP", {"launch"}},
       }) {
    for (const std::string& one : value) {
      const std::string message = refusal(variable, one);
      EXPECT_EQ(message.find(variable + " is '" + one + "'"), 0u) << message;
    }
  }
}

TEST(Knobs, ParsesDurations) {
  EXPECT_EQ(parse_duration("60"), 60'000'000'000u);
  EXPECT_EQ(parse_duration("2.5s"), 2'500'000'000u);
  EXPECT_EQ(parse_duration("10us"), 10'000u);
  EXPECT_EQ(parse_duration("3ns"), 3u);
  EXPECT_EQ(parse_duration("1min"), 60'000'000'000u);
  EXPECT_EQ(parse_duration("0.000000001"), 1u);
  EXPECT_EQ(parse_duration("18446744073709551615ns"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_duration("18446744073709551616ns"), std::nullopt);
  EXPECT_EQ(parse_duration("18446744073709551615s"), std::nullopt);
  EXPECT_EQ(parse_duration("1.1234567890123456789s"), std::nullopt);
  EXPECT_EQ(parse_duration(""), std::nullopt);
  EXPECT_EQ(parse_duration("1.5ns"), std::nullopt);
}

TEST(Knobs, ParsesBytes) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(parse_bytes("2G"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1.5gib"), std::uint64_t{3} << 29);
  EXPECT_EQ(parse_bytes("16777215TiB"), std::uint64_t{16777215} << 40);
  EXPECT_EQ(parse_bytes("16777216TiB"), std::nullopt);
  EXPECT_EQ(parse_bytes("1MB"), std::nullopt);
  EXPECT_EQ(parse_bytes("KiB"), std::nullopt);
}

TEST(Knobs, TheTableMarksWhatTheLauncherSets) {
  int internal = 0;
  for (const KnobRow& row : knob_table()) {
    EXPECT_EQ(std::string(row.variable).find("ISOTOPE_"), 0u);
    EXPECT_EQ(std::string(row.meaning).find("INTERNAL"), std::string::npos) << row.variable;
    EXPECT_EQ(row.kind == KnobKind::choice, !choice_words(row).empty()) << row.variable;
    internal += row.internal;
  }
  EXPECT_EQ(internal, 6);
}

TEST(Knobs, WarnsOfUnknownVariablesWithTheNearestName) {
  std::string near = "ISOTOPE_WAITDEADLINE=1s", far = "ISOTOPE_QQQQQQQ=1", known = "ISOTOPE_LOG=info",
              other = "PATH=/bin";
  char* environment[] = {near.data(), far.data(), known.data(), other.data(), nullptr};
  const std::vector<std::string> warnings = unknown_variable_warnings(environment);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0],
            "ISOTOPE_WAITDEADLINE is set, but Isotope has no such variable; did you mean ISOTOPE_WAIT_DEADLINE?");
  EXPECT_EQ(warnings[1], "ISOTOPE_QQQQQQQ is set, but Isotope has no such variable; `isotope info` lists those it has");
}

TEST(Words, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("rnu", "run"), 1u);
  EXPECT_EQ(edit_distance("run", "run"), 0u);
}

TEST(Words, Nearest) {
  const std::vector<std::string> known = {"--threads", "--timeout", "--tag-output"};
  EXPECT_EQ(nearest_word("--thread", known), "--threads");
  EXPECT_EQ(nearest_word("--timout", known), "--timeout");
  EXPECT_EQ(nearest_word("--tag", known), "--tag-output");
  EXPECT_EQ(nearest_word("--zebra-crossing", known), std::nullopt);
  EXPECT_EQ(nearest_word("ab", {"xy"}), std::nullopt);
}

}  // namespace
}  // namespace isotope::runtime
