// Protocol advice on the corpus: which bugs come with it, and that the repaired twins have none unless they still do
// what it is about.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "corpus/corpus.hpp"

namespace {

using corpus::Case;
using isotope::CheckOptions;
using isotope::CheckResult;

CheckResult run(const Case& one, bool repaired, bool advice) {
  CheckOptions options;
  options.pes = one.pes;
  options.schedules = 40;
  options.steps = 20'000;
  options.advice = advice;
  return isotope::run_checked(options, [&] {
    isotope::World world = isotope::init();
    (repaired ? one.repaired : one.broken)(world);
  });
}

/// "scope", "reset", ...: each with a line of the case's file and what to do.
std::set<std::string> kinds(const Case& one, const CheckResult& result) {
  std::set<std::string> found;
  for (const std::string& advice : result.advice) {
    found.insert(advice.substr(0, advice.find(':')));
    EXPECT_NE(advice.find(": " + one.name + ".cpp:"), std::string::npos) << advice;
    EXPECT_NE(advice.find("\n    "), std::string::npos) << "no advice what to do: " << advice;
  }
  return found;
}

using Expected = std::map<std::string, std::set<std::string>>;

const Expected kOfBugs = {
    {"barrier_counter_reset", {"reset"}},    {"device_scope_counter", {"scope"}},
    {"device_scope_release", {"scope"}},     {"equality_overshot", {"equality"}},
    {"flag_reset_by_cas", {"reset"}},        {"multicast_barrier_reused", {"reset"}},
    {"negative_zero_payload", {"sentinel"}}, {"wait_for_exactly_n", {"equality", "reset"}},
};
/// Both still poll on their data. That one of them never sends the sentinel is in its arithmetic, which is not seen.
const Expected kOfTwins = {
    {"lamport_clears_wrong_slot", {"sentinel"}},
    {"negative_zero_payload", {"sentinel"}},
};

std::set<std::string> expected(const Expected& all, const std::string& name) {
  const auto one = all.find(name);
  return one == all.end() ? std::set<std::string>{} : one->second;
}

class CorpusAdvice : public testing::TestWithParam<Case> {};

TEST_P(CorpusAdvice, OfTheBug) {
  EXPECT_EQ(kinds(GetParam(), run(GetParam(), false, true)), expected(kOfBugs, GetParam().name));
}

TEST_P(CorpusAdvice, OfTheRepairedTwin) {
  const CheckResult result = run(GetParam(), true, true);
  EXPECT_FALSE(result.found) << "advice is no finding: " << result.report;
  EXPECT_EQ(kinds(GetParam(), result), expected(kOfTwins, GetParam().name));
}

TEST_P(CorpusAdvice, IsOffUnlessAskedFor) { EXPECT_TRUE(run(GetParam(), false, false).advice.empty()); }

INSTANTIATE_TEST_SUITE_P(All, CorpusAdvice, testing::ValuesIn(corpus::cases()),
                         [](const auto& case_of) { return case_of.param.name; });

}  // namespace
