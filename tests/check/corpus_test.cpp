// Every case of the corpus: the bug is found, with the verdict that stands beside it and a line of its file, and the
// repaired twin has no finding. Bounds: CORPUS_SCHEDULES schedules of each bug (200) and half as many of its twin, so
// that the whole takes seconds; more for a longer look, or others from CORPUS_SEED on (1).
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "corpus/corpus.hpp"

namespace {

using corpus::Case;
using isotope::CheckOptions;
using isotope::CheckResult;
using isotope::CheckStrategy;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t schedules() { return number_from("CORPUS_SCHEDULES", 200); }

CheckResult run(const Case& one, bool repaired, CheckStrategy strategy, std::uint64_t count) {
  CheckOptions options;
  options.pes = one.pes;
  options.schedules = count;
  options.seed = number_from("CORPUS_SEED", 1);
  options.strategy = strategy;
  options.steps = 20'000;
  return isotope::run_checked(options, [&] {
    isotope::World world = isotope::init();
    (repaired ? one.repaired : one.broken)(world);
  });
}

class Corpus : public testing::TestWithParam<Case> {};

TEST_P(Corpus, BugIsFound) {
  const Case& one = GetParam();
  const CheckResult result = run(one, false, CheckStrategy::random, schedules());
  ASSERT_TRUE(result.found) << "no finding in " << result.schedules << " schedules";
  EXPECT_EQ(result.kind, one.kind) << result.report;
  if (!one.verdict.empty()) {
    EXPECT_EQ(result.verdict, one.verdict) << result.report;
  }
  EXPECT_NE(result.report.find(one.name + ".cpp:"), std::string::npos) << result.report;
}

TEST_P(Corpus, RepairedTwinIsClean) {
  const CheckResult random = run(GetParam(), true, CheckStrategy::random, schedules() / 3);
  EXPECT_FALSE(random.found) << "seed " << random.seed << ": " << random.report;
  const CheckResult pct = run(GetParam(), true, CheckStrategy::pct, schedules() / 6);
  EXPECT_FALSE(pct.found) << "seed " << pct.seed << ": " << pct.report;
}

/// Those whose finding is a matter of order.
class OrderedCorpus : public testing::TestWithParam<Case> {};

std::vector<Case> ordered_cases() {
  std::vector<Case> some;
  for (const Case& one : corpus::cases())
    if (one.kind == "race" || one.kind == "deadlock" || one.kind == "failure") some.push_back(one);
  return some;
}

/// The search must not lose an order that matters: what random schedules find, it finds.
TEST_P(OrderedCorpus, ExhaustiveFindsItToo) {
  const Case& one = GetParam();
  const CheckResult result = run(one, false, CheckStrategy::exhaustive, 2000);
  EXPECT_TRUE(result.found) << "nothing in " << result.schedules << " orders"
                            << (result.complete ? ", which is all of them" : "");
  EXPECT_EQ(result.kind, one.kind) << result.report;
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(corpus::cases()),
                         [](const auto& case_of) { return case_of.param.name; });

INSTANTIATE_TEST_SUITE_P(All, OrderedCorpus, testing::ValuesIn(ordered_cases()),
                         [](const auto& case_of) { return case_of.param.name; });

TEST(CorpusSize, IsAtLeast30) { EXPECT_GE(corpus::cases().size(), 30u); }

}  // namespace
