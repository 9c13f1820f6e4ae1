// --algo: what it means for a topic, and what is refused.
#include "bench/harness/topic.hpp"

#include <gtest/gtest.h>

#include "bench/harness/job_bench.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {
namespace {

class Fake : public Topic {
 public:
  explicit Fake(std::vector<std::string> algorithms) : algorithms_(std::move(algorithms)) {}
  std::string name() const override { return "fake"; }
  std::string summary() const override { return ""; }
  std::vector<std::string> algorithms() const override { return algorithms_; }
  void measure(JobBench&) const override {}

 private:
  std::vector<std::string> algorithms_;
};

using Names = std::vector<std::string>;

std::string refusal(const Topic& topic, const std::string& asked) {
  try {
    choose_algorithms(topic, asked);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(ChooseAlgorithms, OneAllOrTheLibrarysChoice) {
  const Fake topic({"automatic", "ring", "tree"});
  EXPECT_EQ(choose_algorithms(topic, ""), (Names{"automatic"}));
  EXPECT_EQ(choose_algorithms(topic, "tree"), (Names{"tree"}));
  EXPECT_EQ(choose_algorithms(topic, "all"), (Names{"automatic", "ring", "tree"}));
}

TEST(ChooseAlgorithms, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const std::string text = refusal(Fake({"automatic", "ring", "tree"}), "rign");
  for (const char* word : {"--algo", "'rign'", "did you mean ring?", "automatic, ring, tree", "all", "fake"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  }
}

TEST(ChooseAlgorithms, ATopicWithoutAlgorithmsTakesNone) {
  EXPECT_EQ(choose_algorithms(Fake({}), ""), Names{});
  EXPECT_NE(refusal(Fake({}), "all").find("no algorithms"), std::string::npos);
}

TEST(JobRequest, CrossesFromTheDriverToTheJob) {
  const JobRequest sent{.topic = "allreduce",
                        .threads = true,
                        .rounds = 7,
                        .block = std::chrono::nanoseconds(123),
                        .results = "/r",
                        .algos = {"ring", "tree"},
                        .sizes = {8, 1 << 20},
                        .quick = true,
                        .alone = true};
  const JobRequest got = JobRequest::parse(sent.text());
  EXPECT_EQ(got.text(), sent.text());
  EXPECT_EQ(got.algos, (Names{"ring", "tree"}));
  EXPECT_EQ(got.sizes, (std::vector<std::uint64_t>{8, 1 << 20}));
  EXPECT_TRUE(got.quick && got.alone && got.threads);
  EXPECT_THROW(JobRequest::parse("allreduce"), Error);
}

}  // namespace
}  // namespace isotope::bench
