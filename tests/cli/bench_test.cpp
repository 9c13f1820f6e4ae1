// `isotope bench` from outside: what it writes, and what it refuses. Nothing here looks at how fast anything is.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/command.hpp"

namespace isotope::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using std::chrono::seconds;

constexpr seconds kLimit{110};

struct Outcome {
  int status;
  std::string out, err;
};

/// Without PATH, so without peers that this machine may have.
Outcome bench(std::vector<std::string> arguments) {
  std::vector<std::string> argv = {isotope_binary(), "bench"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Command command(argv, {{"PATH", "/nonexistent"}});
  const int status = command.wait(kLimit);
  return {status, command.out(), command.err()};
}

void expect_refused(const Outcome& outcome, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string& word : words)
    EXPECT_NE(outcome.err.find(word), std::string::npos) << word << " in: " << outcome.err;
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  return keys;
}

class BenchCli : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("isotope_bench_cli_" + fs::read_symlink("/proc/self").string());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(BenchCli, WritesTheWholeSchema) {
  const fs::path path = folder_ / "r.json";
  const Outcome outcome = bench({"all", "--quick", "--repeats", "2", "--pes", "2", "--json", path.string()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("launch_sync_1x1"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos) << "colour in a file";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file is left";

  const Json json = Json::parse(std::ifstream(path));
  EXPECT_EQ(keys_of(json), (std::vector<std::string>{"schema", "machine", "versions", "rows"}));
  EXPECT_EQ(json.at("schema"), "isotope-bench-1");
  EXPECT_TRUE(json.at("machine").at("cpu_model").is_string());
  EXPECT_GT(json.at("machine").at("cores").get<int>(), 0);
  EXPECT_GT(json.at("machine").at("memory_bytes").get<std::uint64_t>(), 0u);
  EXPECT_TRUE(json.at("machine").at("kernel").is_string());
  EXPECT_TRUE(json.at("versions").at("isotope").is_string());
  EXPECT_TRUE(json.at("versions").at("compiler").is_string());
  EXPECT_TRUE(json.at("versions").at("flags").is_string());
  EXPECT_TRUE(json.at("versions").at("open_mpi").is_null());
  EXPECT_TRUE(json.at("versions").at("mpich").is_null());
  EXPECT_TRUE(json.at("versions").at("ucx").is_null());

  const std::set<std::string> without_bytes = {"startup", "barrier"};
  const std::set<std::string> collectives = {"allreduce", "allgather", "reducescatter",
                                             "alltoall",  "broadcast", "reduce"};
  std::map<std::string, int> counts;
  for (const Json& row : json.at("rows")) {
    EXPECT_EQ(keys_of(row),
              (std::vector<std::string>{"name",  "platform",  "pes",        "pes_as",    "bytes",       "blocks",
                                        "algo",  "dtype",     "op",         "ours",      "limit",       "limit_name",
                                        "peer",  "peer_name", "unit",       "ratio",     "limit_ratio", "bus_factor",
                                        "algbw", "busbw",     "peer_algbw", "peer_busbw"}));
    const std::string name = row.at("name").get<std::string>();
    EXPECT_EQ(row.at("platform"), "cpu");
    EXPECT_EQ(row.at("pes"), 2) << name;
    EXPECT_GT(row.at("ours").get<double>(), 0) << name;
    EXPECT_GT(row.at("limit").get<double>(), 0) << name;
    EXPECT_TRUE(row.at("limit_name").is_string()) << name;
    EXPECT_GT(row.at("limit_ratio").get<double>(), 0) << name;
    const bool collective = collectives.contains(name);
    for (const char* key : {"algo", "dtype", "bus_factor", "algbw", "busbw"}) {
      EXPECT_EQ(row.at(key).is_null(), !collective) << name << " " << key;
    }
    EXPECT_EQ(row.at("op").is_null(), name != "allreduce" && name != "reducescatter" && name != "reduce") << name;
    const bool launch = name.rfind("launch", 0) == 0;
    for (const char* key : {"peer", "peer_name", "ratio"})
      EXPECT_EQ(row.at(key).is_null(), !launch) << name << " " << key;
    EXPECT_EQ(row.at("blocks").is_null(), !launch) << name;
    EXPECT_EQ(row.at("bytes").is_null(), launch || without_bytes.contains(name)) << name;
    if (launch || name == "alloc" || name == "barrier") {
      EXPECT_EQ(row.at("unit"), "us") << name;
    }
    if (name == "startup") {
      EXPECT_EQ(row.at("unit"), "ms");
    }
    if (name == "put" || name == "get") {
      EXPECT_EQ(row.at("unit"), row.at("bytes") < 4096 ? "ns" : "GB/s") << name;
    }
    ++counts[launch ? "launch" : name];
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"launch", 5},
                                                {"alloc", 2},
                                                {"startup", 2},  // as processes and as threads
                                                {"put", 8},
                                                {"get", 8},
                                                {"atomic_fetch_add", 1},
                                                {"atomic_add", 1},
                                                {"atomic_fetch_add_2_pes", 1},
                                                {"put_from_host", 1},
                                                {"put_signal", 1},
                                                {"put_signal_add", 1},
                                                {"barrier", 1},
                                                {"allreduce", 5},  // 1 KiB to 1 MiB
                                                {"allgather", 5},
                                                {"reducescatter", 5},
                                                {"alltoall", 5},
                                                {"broadcast", 5},
                                                {"reduce", 5}}));
}

// One PE has nobody to talk to but itself; three do not all have a part in an exchange of two.
TEST_F(BenchCli, DeviceTopicsAtOddNumbersOfPes) {
  for (const char* pes : {"1", "3"}) {
    const Outcome outcome =
        bench({"put", "get", "atomics", "signal", "barrier", "--quick", "--repeats", "1", "-n", pes, "--json", "-"});
    ASSERT_EQ(outcome.status, 0) << pes << ": " << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out).at("rows").size(), 23u) << pes;
  }
  const Outcome threads = bench({"signal", "barrier", "--threads", "--quick", "--repeats", "1", "--json", "-"});
  ASSERT_EQ(threads.status, 0) << threads.err;
  EXPECT_EQ(Json::parse(threads.out).at("rows").size(), 5u);  // barrier: 2, 4 and 8 PEs
}

// Each of them compares its result with what it must be.
TEST_F(BenchCli, EveryAlgorithmOfACollective) {
  const fs::path picture = folder_ / "a.svg";
  const Outcome outcome = bench({"allreduce", "broadcast", "--algo", "all", "--quick", "--repeats", "1", "-n", "3",
                                 "--plot", picture.string(), "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::map<std::string, int> counts;
  const Json json = Json::parse(outcome.out);
  for (const Json& row : json.at("rows")) {
    ++counts[row.at("name").get<std::string>() + " " + row.at("algo").get<std::string>()];
    const double expected = row.at("name") == "broadcast" ? 1 : 4.0 / 3;
    EXPECT_DOUBLE_EQ(row.at("bus_factor").get<double>(), expected);
    EXPECT_NEAR(row.at("busbw").get<double>() / row.at("algbw").get<double>(), expected, 0.01);
  }
  for (const char* one : {"allreduce automatic", "allreduce two_shot", "allreduce ring", "broadcast tree"}) {
    EXPECT_EQ(counts[one], 5) << one;
  }
  std::stringstream svg;
  svg << std::ifstream(picture).rdbuf();
  EXPECT_NE(svg.str().find("Isotope, two_shot"), std::string::npos);
  EXPECT_NE(svg.str().find("</svg>"), std::string::npos);
}

TEST_F(BenchCli, PesAsThreadsAndJsonOnStandardOutput) {
  const Outcome outcome =
      bench({"alloc", "startup", "--threads", "--quick", "--repeats", "1", "-n", "3", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json.at("rows").size(), 3u);
  for (const Json& row : json.at("rows")) {
    EXPECT_EQ(row.at("pes_as"), "threads");
    EXPECT_EQ(row.at("pes"), 3);
  }
}

TEST_F(BenchCli, ListsAndHelps) {
  const Outcome list = bench({"--list"});
  EXPECT_EQ(list.status, 0);
  for (const char* name : {"launch", "alloc", "startup", "put", "get", "atomics", "signal", "barrier", "allreduce",
                           "allgather", "reducescatter", "alltoall", "broadcast", "reduce"}) {
    EXPECT_NE(list.out.find(name), std::string::npos) << list.out;
  }
  EXPECT_NE(list.out.find("on every PE (PEs: 2, 4, 8; on GPUs too)"), std::string::npos) << list.out;
  const Outcome help = bench({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"--pes", "--json", "--threads", "--repeats", "--quick", "--list", "--algo", "--plot",
                           "--platform", "Examples:"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << help.out;
  }
}

TEST_F(BenchCli, RefusesWhatMakesNoSense) {
  expect_refused(bench({"lanch"}), {"'lanch'", "did you mean launch?"});
  expect_refused(bench({"zzzzzz"}), {"'zzzzzz'", "launch, alloc, startup"});
  expect_refused(bench({}), {"no benchmark named", "launch"});
  expect_refused(bench({"launch", "--pes", "0"}), {"--pes", "'0'", "1 to"});
  expect_refused(bench({"launch", "--pes", "many"}), {"--pes", "'many'"});
  expect_refused(bench({"launch", "--repeats", "-1"}), {"--repeats", "'-1'"});
  expect_refused(bench({"launch", "--qick"}), {"--qick", "--quick"});
  expect_refused(bench({"allreduce", "--algo", "rign"}), {"--algo", "'rign'", "did you mean ring?", "two_shot"});
  expect_refused(bench({"launch", "--algo", "ring"}), {"--algo", "launch", "no algorithms"});
  expect_refused(bench({"launch", "--plot", "p.svg"}), {"--plot", "several sizes", "allreduce"});
}

TEST_F(BenchCli, RefusesPicturesThatAreNotSvg) {
  for (const char* name : {"p.png", "p.svg.png", "p", "p.SVG", "p.pdf", ".svg"}) {
    expect_refused(bench({"put", "--quick", "--plot", (folder_ / name).string()}),
                   {"--plot", "/" + std::string(name) + "'", "ends in .svg"});
  }
  expect_refused(bench({"put", "--plot", "sizes.png"}), {"such as 'sizes.svg'"});
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(BenchCli, RefusesWhatGpusDoNotHave) {
  expect_refused(bench({"launch", "--platform", "gpu"}), {"--platform", "'gpu'", "cpu or cuda"});
  expect_refused(bench({"allreduce", "launch", "--platform", "cuda"}),
                 {"launch is about the CPU", "allreduce, allgather"});
  expect_refused(bench({"allreduce", "--threads", "--platform", "cuda"}), {"--threads", "processes"});
  for (const char* name : {"broadcast", "all"}) {
    Command command({isotope_binary(), "bench", name, "--platform", "cuda"}, {{"CUDA_VISIBLE_DEVICES", "-1"}});
    const int status = command.wait(kLimit);
    expect_refused({status, command.out(), command.err()}, {"platform cuda", "--platform cpu"});
  }
}

TEST_F(BenchCli, RefusesAFileItCannotWriteBeforeMeasuring) {
  expect_refused(bench({"launch", "--json", (folder_ / "absent" / "r.json").string()}), {"--json", "absent"});
  expect_refused(bench({"launch", "--json", folder_.string()}), {"--json", "folder"});
  expect_refused(bench({"put", "--plot", (folder_ / "absent" / "p.svg").string()}), {"--plot", "absent"});
  expect_refused(bench({"launch", "--json", "/proc/r.json"}), {"--json", "/proc/r.json", "cannot be written"});
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace isotope::testing
