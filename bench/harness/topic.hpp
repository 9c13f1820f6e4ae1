// Topic: one benchmark of `isotope bench`. Adding one is adding one file in bench/topics:
//
//   class Barrier : public Topic {
//     std::string name() const override { return "barrier"; }
//     std::string summary() const override { return "all PEs meet"; }
//     void measure(JobBench& bench) const override {
//       bench.measure({.name = "barrier", .limit_name = "cache line"},
//                     {{Role::ours, "", [&](long n) { while (n-- > 0) bench.world().barrier(); }}, ...});
//     }
//   };
//   const TopicRegistration registration{4, [] { return std::unique_ptr<Topic>(new Barrier); }};
//
// measure() runs on every PE of a job. Peers that are programs of their own cannot run inside it: foreign_peers() names
// them, and the driver lets our job and theirs take turns. A topic about starting jobs replaces drive() instead.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/peer.hpp"

namespace isotope::bench {

class Driver;
class JobBench;

/// The algorithm that the library chooses itself.
inline constexpr const char* kAutomatic = "automatic";

class Topic {
 public:
  virtual ~Topic() = default;

  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  /// What is measured when nobody says --pes.
  virtual std::vector<int> default_pes() const { return {1}; }
  /// Rounds when nobody says --repeats.
  virtual int default_repeats() const { return 25; }
  /// How many jobs the rounds are shared out to. So many times ours and the foreign peers take turns.
  virtual int turns() const { return 5; }
  virtual std::vector<ForeignPeer> foreign_peers() const { return {}; }
  /// What --algo may name; "automatic" is one of them. Where there are some, a job is told which to measure.
  virtual std::vector<std::string> algorithms() const { return {}; }

  /// Whether it can be measured with PEs that drive GPUs, by bin/isotope-bench-gpu.
  virtual bool on_gpus() const { return false; }
  /// Whether its rows differ in size, so that --plot can draw them.
  virtual bool has_sizes() const { return false; }

  /// On every PE of a job; makes the same calls on each.
  virtual void measure(JobBench& bench) const = 0;
  /// In the process of `isotope bench`: by default, a few jobs of measure() and of each foreign peer in turn, for each
  /// number of PEs.
  virtual void drive(Driver& driver) const;
};

using MakeTopic = std::function<std::unique_ptr<Topic>()>;

struct TopicRegistration {
  /// `place` orders `isotope bench --list`.
  TopicRegistration(int place, MakeTopic make);
};

/// All topics, in order of place.
std::vector<std::unique_ptr<Topic>> topics();
/// Throws Error(invalid_argument) with the nearest name when there is none of that name.
std::unique_ptr<Topic> find_topic(const std::string& name);

/// The algorithms that `--algo asked` means: all of them for "all", "automatic" when nothing was asked, none for a
/// topic that has none. Throws Error(invalid_argument) with the names for another word.
std::vector<std::string> choose_algorithms(const Topic& topic, const std::string& asked);

}  // namespace isotope::bench
