#include "cli/command.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "isotope/base/error.hpp"

namespace isotope::cli {

namespace {

std::multimap<int, MakeCommand>& registry() {
  static std::multimap<int, MakeCommand> all;
  return all;
}

}  // namespace

Registration::Registration(int place, MakeCommand make) { registry().emplace(place, std::move(make)); }

std::vector<std::unique_ptr<Command>> commands() {
  std::vector<std::unique_ptr<Command>> all;
  for (const auto& [place, make] : registry()) all.push_back(make());
  return all;
}

long read_count(const std::string& option, const std::string& text, long least, long most) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most) {
    throw Error(Code::invalid_argument,
                fmt::format("{} is '{}'; expected a whole number from {} to {}, e.g. {} {}", option, text, least, most,
                            option, std::max(least, std::min(most, 4L))));
  }
  return number;
}

}  // namespace isotope::cli
