// What a PE finds in its environment.
#include "job/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "isotope/base/error.hpp"

namespace isotope::job {
namespace {

std::vector<std::string> changed(std::vector<std::string> before, const EnvironmentChange& change) {
  std::vector<char*> pointers;
  for (std::string& one : before) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  std::vector<std::string> after = changed_environment(pointers.data(), change);
  std::sort(after.begin(), after.end());
  return after;
}

using Lines = std::vector<std::string>;

TEST(Environment, EachPeGetsItsPlace) {
  JobOptions options;
  options.pes = 4;
  EXPECT_EQ(changed({"HOME=/h"}, pe_environment(options, 2, 9)),
            (Lines{"HOME=/h", "ISOTOPE_CONTROL_FD=9", "ISOTOPE_LOCAL_RANK=2", "ISOTOPE_RANK=2", "ISOTOPE_SIZE=4"}));
}

TEST(Environment, ThePlaceOfAnOuterJobIsNotPassedOn) {
  JobOptions options;
  options.pes = 3;
  const Lines outer = {"ISOTOPE_RANK=7", "ISOTOPE_SIZE=8", "ISOTOPE_LOCAL_RANK=7", "ISOTOPE_CONTROL_FD=5",
                       "ISOTOPE_THREADS=2"};
  EXPECT_EQ(changed(outer, threads_environment(options)), (Lines{"ISOTOPE_THREADS=3"}));
  EXPECT_EQ(changed(outer, pe_environment(options, 0, 6)),
            (Lines{"ISOTOPE_CONTROL_FD=6", "ISOTOPE_LOCAL_RANK=0", "ISOTOPE_RANK=0", "ISOTOPE_SIZE=3"}));
}

TEST(Environment, TheUsersVariablesReplaceAndTheLastWins) {
  JobOptions options;
  options.env = {{"A", "1"}, {"B", ""}, {"A", "2=3"}};
  const Lines after = changed({"A=0", "AB=0"}, threads_environment(options));
  EXPECT_EQ(after, (Lines{"A=2=3", "AB=0", "B=", "ISOTOPE_THREADS=1"}));
}

TEST(Environment, RefusesNamesThatCannotBe) {
  for (const char* name : {"", "A=B", "ISOTOPE_RANK", "ISOTOPE_CONTROL_FD", "ISOTOPE_THREADS"}) {
    JobOptions options;
    options.env = {{name, "1"}};
    try {
      check_user_environment(options);
      ADD_FAILURE() << "accepted '" << name << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(std::string("'") + name + "'"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace isotope::job
