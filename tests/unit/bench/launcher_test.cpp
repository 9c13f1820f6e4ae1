// Launchers of other projects: what each is told.
#include "bench/harness/launcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace isotope::bench {
namespace {

using Words = std::vector<std::string>;

TEST(LaunchOptions, OfOpenMpiAndOshmem) {
  for (const Launcher launcher : {Launcher::open_mpi, Launcher::oshmem}) {
    EXPECT_EQ(launch_options(launcher, 3, 2, false, {"--mca", "a", "0"}),
              (Words{"--oversubscribe", "--allow-run-as-root", "--mca", "a", "0", "-n", "3"}));
  }
}

TEST(LaunchOptions, OfMpich) {
  EXPECT_EQ(launch_options(Launcher::mpich, 3, 2, false, {}), (Words{"-n", "3"}));
  EXPECT_EQ(launch_options(Launcher::mpich, 2, 2, true, {"-x"}), (Words{"-bind-to", "core", "-x", "-n", "2"}));
}

TEST(LaunchOptions, BindOnlyWhereEachRankHasACpu) {
  const auto binding = [](Launcher launcher, const char* option, int pes, int cpus) {
    const Words words = launch_options(launcher, pes, cpus, true, {});
    const auto at = std::find(words.begin(), words.end(), option);
    return at == words.end() ? std::string("no option") : *(at + 1);
  };
  const std::vector<std::pair<Launcher, const char*>> both = {{Launcher::open_mpi, "--bind-to"},
                                                              {Launcher::mpich, "-bind-to"}};
  for (const auto& [launcher, option] : both) {
    EXPECT_EQ(binding(launcher, option, 2, 2), "core");
    EXPECT_EQ(binding(launcher, option, 1, 2), "core");
    EXPECT_EQ(binding(launcher, option, 3, 2), "none");
  }
}

// Both come from the same look at PATH.
TEST(Launchers, HaveAVersionWhereTheyHaveAProgram) {
  for (const Launcher launcher : {Launcher::open_mpi, Launcher::oshmem, Launcher::mpich}) {
    const auto version = version_of(launcher);
    EXPECT_EQ(version.has_value(), program_of(launcher).has_value());
    if (version) {
      EXPECT_NE(version->find_first_of("0123456789"), std::string::npos) << *version;
    }
  }
  EXPECT_EQ(program_of(Launcher::none), std::nullopt);
}

}  // namespace
}  // namespace isotope::bench
