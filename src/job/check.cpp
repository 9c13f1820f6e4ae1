// `isotope check`: finds the program, sees that it was built for the checker, and becomes it.
#include <fmt/format.h>

#include <cstring>

#include "isotope/base/error.hpp"
#include "isotope/host/check.hpp"
#include "os/elf.hpp"
#include "os/spawn.hpp"

namespace isotope {

namespace {
constexpr const char* kCheckSection = ".isotope.check";
}  // namespace

void run_check_program(const CheckOptions& options, const std::vector<std::string>& argv) {
  if (argv.empty()) throw Error(Code::invalid_argument, "no program to check: argv is empty");
  const std::string path = os::find_program(argv[0]);
  if (os::find_elf_section(path, kCheckSection) != os::ElfSection::present) {
    throw Error(
        Code::not_supported,
        fmt::format("program '{}' is not built for the checker; build it with isotope_add_check(target) in CMake, "
                    "and check target.check",
                    argv[0]));
  }
  std::string text = fmt::format("pes={} seed={} schedules={} strategy={} depth={} steps={} leaks={} advice={}",
                                 options.pes, options.seed, options.schedules, static_cast<int>(options.strategy),
                                 options.depth, options.steps, options.leaks ? 1 : 0, options.advice ? 1 : 0);
  if (options.show_steps)
    text += fmt::format(" show_steps=1 first_step={} last_step={}", options.first_step, options.last_step);
  if (!options.order.empty()) text += " order=" + options.order;
  text += " timeline=" + options.timeline;  // the last one, since a path may have spaces
  os::set_environment("ISOTOPE_CHECK", text);
  std::vector<char*> pointers;
  std::vector<std::string> copies(argv);
  for (std::string& one : copies) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  const int error = os::execute(path.c_str(), pointers.data(), os::environment());
  throw Error(Code::system, fmt::format("cannot run '{}': {}", argv[0], std::strerror(error)));
}

}  // namespace isotope
