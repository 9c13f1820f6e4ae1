// Calls with a bad argument: what the host must throw for one, and memory that shows whether it wrote anything.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "isotope/isotope.hpp"

namespace isotope::testing {

/// What is expected of a refused call.
struct Refusal {
  const char* call;      // as the message names it
  const char* argument;  // the one to blame
  Code code;
  std::string text;  // value and bounds
};

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
    std::memset(words_.data(), kByte, words_.span().size_bytes());
    world.barrier();
  }
  std::uint64_t* data() const { return words_.data(); }
  std::size_t size() const { return words_.size(); }
  std::size_t bytes() const { return words_.span().size_bytes(); }
  bool intact() const { return all_are(words_.data(), bytes(), kByte); }

  static bool all_are(const void* p, std::size_t bytes, int byte) {
    for (std::size_t i = 0; i < bytes; ++i)
      if (static_cast<const unsigned char*>(p)[i] != byte) return false;
    return true;
  }
  /// What fills symmetric memory, and private memory: what is copied from one to the other shows.
  static constexpr int kByte = 0xd3, kPrivateByte = 0x7e;

 private:
  Symmetric<std::uint64_t> words_;
};

}  // namespace isotope::testing
