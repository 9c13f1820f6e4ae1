// Splits a command's arguments into its own and the program's, and finds options that do not exist.
//
// Done before CLI11 sees them: everything after the program's name belongs to the program, also when it looks like an
// option of ours or like a subcommand.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace isotope::cli {

struct Arguments {
  std::vector<std::string> own;
  std::vector<std::string> program;
};

/// Throws Error(invalid_argument) for an unknown option, with the nearest one that exists.
Arguments split_arguments(const CLI::App& app, const std::vector<std::string>& arguments, bool takes_program);

}  // namespace isotope::cli
