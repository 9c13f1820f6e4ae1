// Calls with a bad argument: what the host must throw for one, and memory that shows whether it wrote anything.
//
// Bad calls are listed by functors that pass each to a visitor, what is expected of it and the call; so one list serves
// the host, which wants the former, and kernels of any platform, which make the latter.
//
//   template <class Visitor>
//   ISOTOPE_HD void operator()(Visitor& each) const {
//     each({"p", "to", Code::out_of_range, "-1"}, [](const Team& t, const Places& p) { return p(t, p.words, 7, -1),
//     true; });
//   }
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "isotope/isotope.hpp"

namespace isotope::testing {

/// What is expected of a refused call.
struct Refusal {
  const char* call;      // as the message names it
  const char* argument;  // the one to blame
  Code code;
  std::string text;  // value and bounds
};

/// The same as plain data.
struct Expected {
  const char* call;
  const char* argument;
  Code code;
  const char* text;
};

/// The host's visitor.
struct ListOfExpected {
  static constexpr int kMost = 64;
  Expected all[kMost] = {};
  int count = 0;
  template <class Make>
  ISOTOPE_HD void operator()(const Expected& one, const Make&) {
    all[count++] = one;
  }
};

/// A kernel's: makes one of the calls, and keeps whether that gave what a refused call gives.
template <class Places>
struct MakeOne {
  const Team& team;
  const Places& places;
  int which;
  int at = 0;
  bool good = false;
  template <class Make>
  ISOTOPE_HD void operator()(const Expected&, const Make& make) {
    if (at++ == which) good = make(team, places);
  }
};

/// Whether kernels look at ranks and indices: on a GPU in the checked build alone.
inline bool kernels_check_ranks(const World& world) { return ISOTOPE_CHECKED || !world.drives_gpu(); }

/// Expects exactly this from status() and, once, from synchronize(); the team works again then.
inline void expect_refused(World& world, const Refusal& refusal) {
  const Status status = world.status();
  EXPECT_EQ(status.code, refusal.code) << refusal.call << ": " << status.message;
  bool threw = false;
  try {
    world.synchronize();
  } catch (const Error& error) {
    threw = true;
    const std::string message = error.what();
    EXPECT_EQ(error.code(), refusal.code) << message;
    EXPECT_EQ(error.pe(), world.rank()) << message;
    EXPECT_EQ(message, status.message) << "status() and synchronize() tell different stories";
    EXPECT_NE(message.find(std::string(refusal.call) + " "), std::string::npos) << message;
    EXPECT_NE(message.find("`" + std::string(refusal.argument) + "` is "), std::string::npos) << message;
    EXPECT_NE(message.find(refusal.text), std::string::npos) << "no '" << refusal.text << "' in: " << message;
    EXPECT_NE(message.find("PE " + std::to_string(world.rank())), std::string::npos) << message;
  }
  EXPECT_TRUE(threw) << refusal.call << " with a bad `" << refusal.argument << "` was not refused";
  EXPECT_EQ(world.status().code, Code::ok);
  EXPECT_FALSE(world.team().stopped());
}

/// Bytes that no refused call may change.
class Canary {
 public:
  Canary(World& world, std::size_t words) : words_(world.alloc<std::uint64_t>(words)) {
    words_.write(std::vector<std::uint64_t>(words, kWord));
    world.barrier();
  }
  std::uint64_t* data() const { return words_.data(); }
  bool intact() const { return words_.read() == std::vector<std::uint64_t>(words_.size(), kWord); }

  /// What fills symmetric memory, and private memory: what is copied from one to the other shows.
  static constexpr std::uint64_t kWord = 0xd3d3d3d3d3d3d3d3u;
  static constexpr char kPrivateByte = 0x7e;

 private:
  Symmetric<std::uint64_t> words_;
};

}  // namespace isotope::testing
