// `isotope tune` from outside: the table that it writes, and what it refuses.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isotope/host/choice.hpp"
#include "support/command.hpp"

namespace isotope::testing {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status;
  std::string out, err;
};

Outcome tune(std::vector<std::string> arguments,
             const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  arguments.insert(arguments.begin(), {isotope_binary(), "tune"});
  Command command(arguments, environment);
  const int status = command.wait(std::chrono::seconds(110));
  return {status, command.out(), command.err()};
}

class TuneCli : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("isotope_tune_cli_" + fs::read_symlink("/proc/self").string());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const char* name) const { return (folder_ / name).string(); }
  void expect_refused(const Outcome& outcome, const std::vector<std::string>& words) {
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& word : words)
      EXPECT_NE(outcome.err.find(word), std::string::npos) << word << " in: " << outcome.err;
  }

  fs::path folder_;
};

TEST_F(TuneCli, WritesATableThatTheLibraryReadsAndAddsToIt) {
  const std::string table = file("table");
  const Outcome first = tune({"--quick", "-n", "2", "--collectives", "broadcast,all_gather", "--out", table});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_NE(first.out.find("broadcast, 2 PEs"), std::string::npos) << first.out;
  const ChoiceTable of_two = ChoiceTable::load(table);
  for (const Collective one : {Collective::broadcast, Collective::all_gather}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 30}) {
      EXPECT_TRUE(has_algorithm(one, of_two.choose(one, 2, bytes))) << name_of(one) << " " << bytes;
    }
  }
  EXPECT_EQ(of_two.choose(Collective::all_reduce, 2, 1), Algo::automatic);
  EXPECT_EQ(of_two.platform(), "cpu");

  const Outcome second = tune({"--quick", "-n", "3", "--collectives", "broadcast", "--out", table});
  ASSERT_EQ(second.status, 0) << second.err;
  int twos = 0, threes = 0;
  const ChoiceTable of_both = ChoiceTable::load(table);
  for (const ChoiceRow& row : of_both.rows()) {
    twos += row.pes == 2;
    threes += row.pes == 3;
  }
  EXPECT_EQ(twos, static_cast<int>(of_two.rows().size()));
  EXPECT_GE(threes, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file is left";
}

TEST_F(TuneCli, WritesToTheCacheFolderUnlessTold) {
  const Outcome outcome = tune({"--quick", "-n", "1", "--collectives", "broadcast", "--platform", "cpu"},
                               {{"XDG_CACHE_HOME", folder_.string()}, {"ISOTOPE_TUNE_FILE", ""}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(folder_ / "isotope" / "tuning"));
  EXPECT_FALSE(fs::exists(folder_ / "isotope" / "tuning-cuda")) << "nothing was measured on a GPU";
}

TEST_F(TuneCli, WritesToTheFileThatTheLibraryIsToldToRead) {
  const std::string table = file("table");
  const Outcome outcome = tune({"--quick", "-n", "1", "--collectives", "broadcast"}, {{"ISOTOPE_TUNE_FILE", table}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(ChoiceTable::load(table).rows().empty());
}

TEST_F(TuneCli, RefusesWhatMakesNoSenseBeforeMeasuring) {
  expect_refused(tune({"--collectives", "all_reduce,brodcast"}), {"--collectives", "'brodcast'", "broadcast"});
  expect_refused(tune({"-n", "0"}), {"--pes", "'0'"});
  expect_refused(tune({"--out", (folder_ / "absent" / "table").string()}), {"--out", "absent"});
  expect_refused(tune({"--platform", "gpu"}), {"--platform", "'gpu'", "cpu or cuda"});
  const std::string bad = file("bad");
  std::ofstream(bad) << "isotope-tuning 1\nall_reduce 2 many ring\n";
  expect_refused(tune({"--out", bad}), {"line 2", "many", "Remove"});
}

TEST_F(TuneCli, LeavesATableOfTheOtherPlatformAsItIs) {
  const std::string table = file("table"), text = "isotope-tuning 1\n# platform cuda\nall_reduce 2 * ring\n";
  std::ofstream(table) << text;
  expect_refused(tune({"--platform", "cpu", "--quick"}, {{"ISOTOPE_TUNE_FILE", table}}),
                 {table, "platform cuda", "this is cpu", "--out"});
  std::ostringstream now;
  now << std::ifstream(table).rdbuf();
  EXPECT_EQ(now.str(), text);
}

TEST_F(TuneCli, SaysWhatIsMissingForGpusAndWritesNothing) {
  // No GPU is visible, whatever this machine has; a build without nvcc lacks more.
  const std::vector<std::pair<std::string, std::string>> none = {
      {"CUDA_VISIBLE_DEVICES", "-1"}, {"XDG_CACHE_HOME", folder_.string()}, {"ISOTOPE_TUNE_FILE", ""}};
  expect_refused(tune({"--platform", "cuda"}, none), {"platform cuda", "--platform cpu"});
  auto by_variable = none;
  by_variable.emplace_back("ISOTOPE_PLATFORM", "cuda");
  expect_refused(tune({}, by_variable), {"platform cuda", "--platform cpu"});
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace isotope::testing
