// `isotope info`, for people and for programs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_binary.hpp"
#include "isotope/base/macros.hpp"
#include "runtime/knobs.hpp"

namespace isotope::cli::test {
namespace {

TEST(Info, NamesEveryKnobWithValueDefaultAndMeaning) {
  const Outcome outcome = isotope({"info"}, {{"ISOTOPE_WAIT_DEADLINE", "7s"}, {"ISOTOPE_HEAPMAX", "1"}});
  EXPECT_EQ(outcome.code, 0);
  for (const runtime::KnobRow& row : runtime::knob_table()) {
    EXPECT_NE(outcome.out.find(row.variable), std::string::npos) << row.variable;
    EXPECT_NE(outcome.out.find(row.meaning), std::string::npos) << row.variable;
  }
  EXPECT_NE(outcome.out.find("* ISOTOPE_WAIT_DEADLINE       7s"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("did you mean ISOTOPE_HEAP_MAX?"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("\033["), std::string::npos) << "colour without a terminal";
}

TEST(Info, JsonHoldsTheSame) {
  const Outcome outcome = isotope({"info", "--json"}, {{"ISOTOPE_LOG", "info"}, {"ISOTOPE_LGO", "info"}});
  EXPECT_EQ(outcome.code, 0);
  const auto all = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(all.at("build").at("version"), ISOTOPE_VERSION);
  EXPECT_EQ(all.at("build").at("platforms").at(0), "cpu");
  // With no GPU the reason, with some how each reaches each.
  const auto& cuda = all.at("cuda");
  EXPECT_EQ(cuda.at("why_not").is_null(), !cuda.at("gpus").empty()) << cuda;
  EXPECT_EQ(cuda.at("links").size(), cuda.at("gpus").size() * cuda.at("gpus").size());
  EXPECT_GE(all.at("machine").at("cores"), 1);
  EXPECT_GE(all.at("machine").at("usable_cpus"), 1);
  EXPECT_GT(all.at("machine").at("memory_bytes"), 1 << 20);
  EXPECT_TRUE(all.at("machine").at("gpus").is_array());
  EXPECT_EQ(all.at("chosen").at("platform"), "cpu");
  EXPECT_TRUE(all.at("problem").is_null());
  ASSERT_EQ(all.at("warnings").size(), 1u);
  ASSERT_EQ(all.at("knobs").size(), runtime::knob_table().size());
  for (const auto& knob : all.at("knobs")) {
    const bool is_log = knob.at("variable") == "ISOTOPE_LOG";
    EXPECT_EQ(knob.at("set"), is_log) << knob;
    if (is_log) {
      EXPECT_EQ(knob.at("value"), "info");
      EXPECT_EQ(knob.at("default"), "warn");
    }
  }
}

TEST(Info, SaysWhatIsWrongAndWhatWouldBeChosen) {
  const auto bad = nlohmann::json::parse(isotope({"info", "--json"}, {{"ISOTOPE_LOG", "loud"}}).out);
  EXPECT_NE(bad.at("problem").get<std::string>().find("ISOTOPE_LOG is 'loud'"), std::string::npos);
  EXPECT_NE(isotope({"info"}, {{"ISOTOPE_LOG", "loud"}}).out.find("warning: ISOTOPE_LOG is 'loud'"), std::string::npos);
  // Inside a job, the launcher's socket is what init() would use.
  const auto inside = nlohmann::json::parse(isotope({"run", ISOTOPE_TEST_BIN_DIR "/isotope", "info", "--json"}).out);
  EXPECT_EQ(inside.at("chosen").at("bootstrap"), "launcher");
  // Bytes that are no text do not break the JSON.
  const auto odd = nlohmann::json::parse(isotope({"info", "--json"}, {{"ISOTOPE_TUNE_FILE", "\xff\xfe"}}).out);
  EXPECT_TRUE(odd.contains("knobs"));
}

}  // namespace
}  // namespace isotope::cli::test
