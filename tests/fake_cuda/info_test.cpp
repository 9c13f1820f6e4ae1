// `isotope info` on machines with several GPUs: the table of how each reaches each says what CUDA's driver says, and no
// more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/command.hpp"

namespace isotope {
namespace {

namespace fs = std::filesystem;
using testing::Command;
using testing::isotope_binary;
using Lines = std::vector<std::string>;

/// What `isotope info` prints on a machine with such links.
std::string info(const std::string& links, std::vector<std::string> options = {}) {
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string libraries = (fs::path(isotope_binary()).parent_path().parent_path() / "fake_cuda").string() +
                                (before != nullptr ? std::string(":") + before : "");
  options.insert(options.begin(), {isotope_binary(), "info"});
  Command command(options, {{"LD_LIBRARY_PATH", libraries}, {"FAKE_CUDA_LINKS", links}});
  EXPECT_EQ(command.wait(), 0) << command.err();
  return command.out();
}

/// The table: from its header to the end of the section, each line without what is around its words.
Lines table(const std::string& links) {
  std::istringstream all(info(links));
  Lines lines;
  for (std::string line; std::getline(all, line);) {
    std::istringstream words(line);
    std::string text;
    for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
    if (lines.empty() && !text.starts_with("reaches")) continue;
    if (text.empty()) break;
    lines.push_back(text);
  }
  return lines;
}

constexpr const char* kLegend = "peer: by loads and stores; *: atomics too";
constexpr const char* kRanks = "; number: CUDA's rank of the link, 0 is the fastest";
constexpr const char* kUnknown = "CUDA does not say which links are NVLink and which PCIe; nvidia-smi topo -m does";

TEST(InfoOfGpus, PeersWithAtomics) {
  EXPECT_EQ(table("saa;asa;aas"), (Lines{"reaches GPU 0 GPU 1 GPU 2", "GPU 0 same peer * peer *",
                                         "GPU 1 peer * same peer *", "GPU 2 peer * peer * same", kLegend, kUnknown}));
}

TEST(InfoOfGpus, PeersWithoutAtomics) {
  EXPECT_EQ(table("sp;ps"), (Lines{"reaches GPU 0 GPU 1", "GPU 0 same peer", "GPU 1 peer same", kLegend, kUnknown}));
}

TEST(InfoOfGpus, NoAccess) {
  EXPECT_EQ(table("sn;ns"), (Lines{"reaches GPU 0 GPU 1", "GPU 0 same none", "GPU 1 none same", kLegend, kUnknown}));
}

TEST(InfoOfGpus, LinksThatDifferAreRanked) {
  EXPECT_EQ(
      table("sapn;aspn;ppsn;nnps"),
      (Lines{"reaches GPU 0 GPU 1 GPU 2 GPU 3", "GPU 0 same peer * 0 peer 1 none", "GPU 1 peer * 0 same peer 1 none",
             "GPU 2 peer 1 peer 1 same none", "GPU 3 none none peer 1 same", std::string(kLegend) + kRanks, kUnknown}));
}

TEST(InfoOfGpus, OneAlone) { EXPECT_EQ(table("s"), (Lines{"reaches GPU 0", "GPU 0 same"})); }

TEST(InfoOfGpus, JsonHoldsTheSame) {
  const auto links = nlohmann::json::parse(info("sap;asn;pns", {"--json"})).at("cuda").at("links");
  ASSERT_EQ(links.size(), 9u);
  const auto link = [](int from, int to, const char* how, bool atomics, int rank) {
    return nlohmann::json{{"from", from}, {"to", to}, {"how", how}, {"native_atomics", atomics}, {"rank", rank}};
  };
  EXPECT_EQ(links[0], link(0, 0, "same", true, 0));
  EXPECT_EQ(links[1], link(0, 1, "peer", true, 0));
  EXPECT_EQ(links[2], link(0, 2, "peer", false, 1));
  EXPECT_EQ(links[5], link(1, 2, "none", false, 0));
}

}  // namespace
}  // namespace isotope
