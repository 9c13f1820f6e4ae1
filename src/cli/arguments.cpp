#include "cli/arguments.hpp"

#include <algorithm>
#include <iterator>

#include "isotope/base/error.hpp"
#include "isotope/host/info.hpp"

namespace isotope::cli {

namespace {

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    const bool is_long = name.size() > 2 && name.compare(0, 2, "--") == 0;
    if (is_long ? option->check_lname(name.substr(2)) : option->check_sname(name.substr(1))) return option;
  }
  return nullptr;
}

[[noreturn]] void refuse_option(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& one : option->get_lnames()) known.push_back("--" + one);
  }
  std::string message = "unknown option '" + name + "'";
  if (const auto near = nearest_word(name, known)) message += "; did you mean " + *near + "?";
  throw Error(Code::invalid_argument, message);
}

}  // namespace

Arguments split_arguments(const CLI::App& app, const std::vector<std::string>& arguments, bool takes_program) {
  Arguments split;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const auto rest = [&](std::size_t from) {
      auto& to = takes_program ? split.program : split.own;
      std::copy(arguments.begin() + static_cast<std::ptrdiff_t>(from), arguments.end(), std::back_inserter(to));
    };
    if (word == "--") {
      rest(i + (takes_program ? 1 : 0));
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      if (!takes_program) {
        split.own.push_back(word);
        continue;
      }
      rest(i);
      break;
    }
    split.own.push_back(word);
    const bool is_long = word[1] == '-';
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
    const CLI::Option* option = find_option(app, name);
    if (option == nullptr) refuse_option(app, name);
    const bool has_value = is_long ? equals != std::string::npos : word.size() > 2;
    if (option->get_items_expected_max() == 0 || has_value) continue;
    if (i + 1 == arguments.size()) {
      throw Error(Code::invalid_argument,
                  "option '" + name + "' needs a value: " + name + " " + option->get_type_name());
    }
    split.own.push_back(arguments[++i]);
  }
  return split;
}

}  // namespace isotope::cli
