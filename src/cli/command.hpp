// One subcommand of `isotope`. Adding one is adding one file:
//
//   class Hello : public Command {
//     ...
//   };
//   const Registration registration{3, [] { return std::unique_ptr<Command>(new Hello); }};
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace isotope::cli {

/// Exit code for a command line that makes no sense. Nothing was started then.
inline constexpr int kUsageError = 2;

class Command {
 public:
  virtual ~Command() = default;

  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  /// What follows the name in the usage line, e.g. "[options] program [arguments...]".
  virtual std::string usage() const { return "[options]"; }
  /// Lines that a reader can copy.
  virtual std::string examples() const = 0;
  /// True: the first word that is no option, and all after it, go to execute() untouched.
  virtual bool takes_program() const { return false; }
  virtual void declare(CLI::App& app) = 0;
  /// Called after the options were read. Throws Error(invalid_argument) for values that make no sense.
  virtual int execute(const std::vector<std::string>& program) = 0;
};

using MakeCommand = std::function<std::unique_ptr<Command>()>;

struct Registration {
  /// `place` orders the list in `isotope --help`.
  Registration(int place, MakeCommand make);
};

/// All commands, in order of place.
std::vector<std::unique_ptr<Command>> commands();

/// "one of" helpers for execute(): each throws Error(invalid_argument) naming option, value, what was expected and an
/// example.
long read_count(const std::string& option, const std::string& text, long least, long most);

}  // namespace isotope::cli
