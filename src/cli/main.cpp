// `isotope`: finds the subcommand, reads its options, runs it, and turns errors into one line and an exit code.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/info.hpp"

namespace isotope::cli {
namespace {

/// CLI11's help with our usage line.
class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(std::string usage) : usage_(std::move(usage)) { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }

 private:
  std::string usage_;
};

std::string main_help(const std::vector<std::unique_ptr<Command>>& all) {
  std::size_t width = 0;
  for (const auto& command : all) width = std::max(width, command->name().size());
  std::string help =
      "Isotope: symmetric memory for programs of many processing elements (PEs).\n"
      "Usage: isotope <command> [options]\n\nCommands:\n";
  for (const auto& command : all) help += fmt::format("  {:<{}}  {}\n", command->name(), width, command->summary());
  help +=
      "\nOptions:\n  -h, --help     this text; `isotope <command> --help` tells more\n  -V, --version  the version\n"
      "\nExamples:\n  isotope run -n 4 ./shift        four PEs as processes\n"
      "  isotope info                    the machine and every knob\n";
  return help;
}

/// One line on standard error.
int complain(const std::string& who, const std::string& what, int code) {
  const bool color = use_color(2);
  fmt::print(stderr, "{}{}: error:{} {}\n", color ? "\033[1;31m" : "", who, color ? "\033[0m" : "", what);
  if (code == kUsageError) fmt::print(stderr, "`{} --help` shows how it is meant.\n", who);
  return code;
}

int run_command(Command& command, const std::vector<std::string>& arguments) {
  const std::string who = "isotope " + command.name();
  CLI::App app{command.summary(), who};
  app.formatter(std::make_shared<HelpFormat>(who + " " + command.usage()));
  app.set_help_flag("-h,--help", "this text");
  app.footer("Examples:\n" + command.examples());
  command.declare(app);
  try {
    Arguments split = split_arguments(app, arguments, command.takes_program());
    std::reverse(split.own.begin(), split.own.end());  // CLI11 takes them from the back
    app.parse(split.own);
    return command.execute(split.program);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return complain(who, error.what(), kUsageError);
  } catch (const Error& error) {
    const bool usage = error.code() == Code::invalid_argument || error.code() == Code::not_supported;
    return complain(who, error.what(), usage ? kUsageError : 1);
  }
}

int main(const std::vector<std::string>& arguments) {
  const auto all = commands();
  if (arguments.empty()) {
    fmt::print(stderr, "{}", main_help(all));
    return kUsageError;
  }
  const std::string& word = arguments.front();
  if (word == "-h" || word == "--help" || word == "help") {
    fmt::print("{}", main_help(all));
    return 0;
  }
  if (word == "-V" || word == "--version") {
    fmt::print("isotope {}\n", build_info().version);
    return 0;
  }
  std::vector<std::string> names;
  for (const auto& command : all) {
    if (command->name() == word) return run_command(*command, {arguments.begin() + 1, arguments.end()});
    names.push_back(command->name());
  }
  const bool option = word.size() > 1 && word[0] == '-';
  const auto near = nearest_word(word, option ? std::vector<std::string>{"--help", "--version"} : names);
  return complain("isotope",
                  fmt::format("unknown {} '{}'{}", option ? "option" : "command", word,
                              near ? "; did you mean " + *near + "?" : ""),
                  kUsageError);
}

}  // namespace
}  // namespace isotope::cli

int main(int argc, char** argv) {
  try {
    const int code = isotope::cli::main({argv + std::min(argc, 1), argv + argc});
    // A full disk or a closed pipe must not look like success.
    return std::fflush(stdout) == 0 ? code : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "isotope: error: {}\n", error.what());
    return 1;
  }
}
