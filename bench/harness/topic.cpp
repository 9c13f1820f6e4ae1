#include "bench/harness/topic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/harness/driver.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/info.hpp"

namespace isotope::bench {

namespace {

std::multimap<int, MakeTopic>& registry() {
  static std::multimap<int, MakeTopic> all;
  return all;
}

}  // namespace

TopicRegistration::TopicRegistration(int place, MakeTopic make) { registry().emplace(place, std::move(make)); }

std::vector<std::unique_ptr<Topic>> topics() {
  std::vector<std::unique_ptr<Topic>> all;
  for (const auto& [place, make] : registry()) all.push_back(make());
  return all;
}

std::unique_ptr<Topic> find_topic(const std::string& name) {
  std::vector<std::string> known;
  for (auto& topic : topics()) {
    if (topic->name() == name) return std::move(topic);
    known.push_back(topic->name());
  }
  const auto near = nearest_word(name, known);
  throw Error(Code::invalid_argument, fmt::format("unknown benchmark '{}'; {}expected {} or all", name,
                                                  near ? "did you mean " + *near + "? " : "", fmt::join(known, ", ")));
}

std::vector<std::string> choose_algorithms(const Topic& topic, const std::string& asked) {
  const std::vector<std::string> known = topic.algorithms();
  if (known.empty()) {
    if (asked.empty()) return {};
    throw Error(Code::invalid_argument,
                fmt::format("--algo is '{}', but benchmark {} has no algorithms to choose from", asked, topic.name()));
  }
  if (asked.empty()) return {kAutomatic};
  if (asked == "all") return known;
  if (std::find(known.begin(), known.end(), asked) != known.end()) return {asked};
  const auto near = nearest_word(asked, known);
  throw Error(Code::invalid_argument,
              fmt::format("--algo is '{}'; {}benchmark {} has {}; or all", asked,
                          near ? "did you mean " + *near + "? " : "", topic.name(), fmt::join(known, ", ")));
}

void Topic::drive(Driver& driver) const { driver.alternate_with_peers(); }

}  // namespace isotope::bench
