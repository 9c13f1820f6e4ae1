// What the command line says: help, versions, and a clear refusal of everything that makes no sense.
#include <gtest/gtest.h>

#include "cli/run_binary.hpp"
#include "isotope/base/macros.hpp"

namespace isotope::cli::test {
namespace {

TEST(Usage, VersionAndHelp) {
  EXPECT_EQ(isotope({"--version"}).out, "isotope " ISOTOPE_VERSION "\n");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"info", "-h"}}) {
    const Outcome outcome = isotope(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("Usage: isotope"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("Examples:"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
  const Outcome nothing = isotope({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.out, "");
  EXPECT_NE(nothing.err.find("Commands:"), std::string::npos);
}

struct Mistake {
  std::vector<std::string> arguments;
  std::string says;
};

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreRefusedAndNothingIsStarted) {
  // The program, where one is named, would print something.
  const Outcome outcome = isotope(GetParam().arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(GetParam().says), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    testing::Values(Mistake{{"rum"}, "unknown command 'rum'; did you mean run?"},
                    Mistake{{"--vers"}, "did you mean --version?"}, Mistake{{"run"}, "no program given"},
                    Mistake{{"run", "-n", "2"}, "no program given"},
                    Mistake{{"run", "-n", "0", "echo"}, "--pes is '0'; expected a whole number from 1 to 4096"},
                    Mistake{{"run", "-n", "-3", "echo"}, "--pes is '-3'"},
                    Mistake{{"run", "-n", "abc", "echo"}, "--pes is 'abc'"},
                    Mistake{{"run", "--pes=2x", "echo"}, "--pes is '2x'"},
                    Mistake{{"run", "-n", "4097", "echo"}, "--pes is '4097'"},
                    Mistake{{"run", "-n", "99999999999999999999", "echo"}, "--pes is '99999999999999999999'"},
                    Mistake{{"run", "-n"}, "option '-n' needs a value"},
                    Mistake{{"run", "--tag-ouput", "echo"}, "unknown option '--tag-ouput'; did you mean --tag-output?"},
                    Mistake{{"run", "-z", "echo"}, "unknown option '-z'"},
                    Mistake{{"run", "--timeout", "soon", "echo"}, "--timeout is 'soon'; expected a time above 0"},
                    Mistake{{"run", "--timeout", "0", "echo"}, "--timeout is '0'"},
                    Mistake{{"run", "--env", "NAME", "echo"}, "--env is 'NAME'; expected NAME=VALUE"},
                    Mistake{{"run", "--env", "=1", "echo"}, "--env is '=1'"},
                    Mistake{{"run", "--env", "ISOTOPE_RANK=1", "echo"}, "'ISOTOPE_RANK': the launcher sets it"},
                    Mistake{{"run", "--env", "ISOTOPE_LOG=loud", "echo"}, "ISOTOPE_LOG is 'loud'"},
                    Mistake{{"run", "--platform", "tpu", "echo"}, "this build has no platform 'tpu'; it has cpu"},
                    Mistake{{"run", "no-such-program"}, "program 'no-such-program' not found on PATH"},
                    Mistake{{"run", "./no/such/program"}, "there is no such file"},
                    Mistake{{"run", "/etc/passwd"}, "is not executable"}, Mistake{{"run", "/tmp"}, "is a folder"},
                    Mistake{{"run", "--threads", "echo"}, "'echo' cannot run its PEs as threads"},
                    Mistake{{"info", "--jsn"}, "did you mean --json?"}, Mistake{{"info", "extra"}, "extra"}));

TEST(Usage, ABadKnobIsReportedOnceByTheLauncher) {
  const Outcome outcome = isotope({"run", "-n", "3", "echo"}, {{"ISOTOPE_WAIT_DEADLINE", "never"}});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("ISOTOPE_WAIT_DEADLINE is 'never'"), std::string::npos) << outcome.err;
  // The place of an outer job is replaced, so it cannot be wrong.
  EXPECT_EQ(isotope({"run", "true"}, {{"ISOTOPE_RANK", "x"}}).code, 0);
}

}  // namespace
}  // namespace isotope::cli::test
