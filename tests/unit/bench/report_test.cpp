// What people and programs get to see.
#include "bench/harness/report.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/harness/output_file.hpp"
#include "bench/harness/system.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {
namespace {

namespace fs = std::filesystem;

const std::vector<Row> kRows = {{.name = "a",
                                 .bytes = 4096,
                                 .ours = 2,
                                 .limit = 1,
                                 .limit_name = "wire",
                                 .peer = 5,
                                 .peer_name = "other",
                                 .ratio = 2.5,
                                 .limit_ratio = 0.5},
                                {.name = "longer", .ours = 1234.5}};

TEST(Table, IsAlignedAndLeavesOutEmptyColumns) {
  EXPECT_EQ(table(kRows, false),
            "name    PEs  as         bytes     ours     peer  which  ratio    limit  which  ratio\n"
            "a         1  processes  4 KiB  2.00 us  5.00 us  other  2.50x  1.00 us  wire    0.5x\n"
            "longer    1  processes      -  1230 us        -  -          -        -  -          -\n");
}

TEST(Table, HasBandwidthsOfCollectives) {
  const std::string text = table({{.name = "a",
                                   .bytes = 4096,
                                   .bus_factor = 1,
                                   .ours = 2,
                                   .peer = 5,
                                   .peer_name = "other",
                                   .algbw = 3,
                                   .busbw = 4.5,
                                   .peer_busbw = 1.5}},
                                 false);
  EXPECT_EQ(text,
            "name  PEs  as         bytes     ours      algbw      busbw     peer  which      busbw\n"
            "a       1  processes  4 KiB  2.00 us  3.00 GB/s  4.50 GB/s  5.00 us  other  1.50 GB/s\n");
}

TEST(Table, ColorsOnlyWhenAsked) {
  EXPECT_EQ(table(kRows, false).find('\033'), std::string::npos);
  EXPECT_NE(table(kRows, true).find("\033[32m2.50x"), std::string::npos) << table(kRows, true);
}

TEST(Document, HasTheFourParts) {
  const Json json = document(kRows);
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "machine", "versions", "rows"}));
  EXPECT_GT(json.at("machine").at("cpus").get<int>(), 0);
  EXPECT_FALSE(json.at("versions").at("isotope").get<std::string>().empty());
  EXPECT_FALSE(json.at("versions").at("compiler").get<std::string>().empty());
  EXPECT_EQ(json.at("rows").size(), 2u);
}

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("isotope_bench_test_" + fs::read_symlink("/proc/self").string());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
};

TEST_F(OutputFileTest, ReplacesWhenWrittenAndNotBefore) {
  const fs::path path = folder_ / "r.json";
  std::ofstream(path) << "old";
  const auto content = [&] {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const OutputFile file("--json", path.string());
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1u);  // trying left nothing
  file.write("new");
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, SaysWhyItCannot) {
  EXPECT_THROW(OutputFile("--json", folder_.string()), Error);
  EXPECT_THROW(OutputFile("--json", (folder_ / "").string()), Error);
  try {
    OutputFile("--plot", (folder_ / "absent" / "r.json").string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    for (const char* word : {"absent", "--plot"}) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(files(), 0u);
}

TEST(RunForeign, StatusOutputAndDeadline) {
  SharedFile output;
  EXPECT_EQ(run_foreign({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, output, std::chrono::seconds(20)), 3);
  EXPECT_EQ(output.take(), "out\nerr\n");
  EXPECT_EQ(output.take(), "");
  EXPECT_EQ(run_foreign({"/bin/sh", "-c", "kill -9 $$"}, output, std::chrono::seconds(20)), 128 + 9);
  EXPECT_EQ(run_foreign({"/bin/sleep", "60"}, output, std::chrono::seconds(0)), std::nullopt);
  EXPECT_EQ(run_foreign({"/no/such/program"}, output, std::chrono::seconds(20)), 127);
}

}  // namespace
}  // namespace isotope::bench
