// The public face of src/job: checks what was asked for, starts the processes and supervises them.
#include "isotope/host/job.hpp"

#include <fmt/format.h>

#include "isotope/base/error.hpp"
#include "job/environment.hpp"
#include "job/start.hpp"
#include "job/supervisor.hpp"
#include "os/elf.hpp"
#include "os/spawn.hpp"

namespace isotope {

namespace {

constexpr const char* kMainSection = ".isotope.main";  // put there by ISOTOPE_MAIN (main.hpp)

void check(const JobOptions& options) {
  const auto refuse = [](const std::string& what) { throw Error(Code::invalid_argument, what); };
  if (options.pes < 1 || options.pes > kMaxPes) {
    refuse(fmt::format("a job of {} PEs: expected 1 to {}", options.pes, kMaxPes));
  }
  if (options.timeout.count() < 0) refuse("the job's timeout is negative: expected 0 (none) or more");
  if (options.terminate_grace.count() < 0) refuse("terminate_grace is negative: expected 0 or more");
  job::check_user_environment(options);
}

job::Program program_from(const std::vector<std::string>& argv) {
  if (argv.empty()) throw Error(Code::invalid_argument, "no program to run: argv is empty");
  for (const std::string& argument : argv) {
    if (argument.find('\0') != std::string::npos)
      throw Error(Code::invalid_argument, "an argument of the program holds a zero byte");
  }
  job::Program program;
  program.path = os::find_program(argv[0]);
  program.argv = argv;
  return program;
}

JobResult run(const JobOptions& options, const job::Program& program) {
  job::Processes processes(options, program);
  processes.start();
  return job::Supervisor(options, program.threads, processes).run();
}

}  // namespace

JobResult run_processes(const JobOptions& options, const std::function<int()>& pe_main) {
  check(options);
  job::Program program;
  program.function = &pe_main;
  return run(options, program);
}

JobResult run_program(const JobOptions& options, const std::vector<std::string>& argv) {
  check(options);
  return run(options, program_from(argv));
}

JobResult run_program_threads(const JobOptions& options, const std::vector<std::string>& argv) {
  check(options);
  job::Program program = program_from(argv);
  program.threads = true;
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::not_supported, fmt::format("program '{}' cannot run its PEs as threads: {}", argv[0], why));
  };
  switch (os::find_elf_section(program.path, kMainSection)) {
    case os::ElfSection::present:
      break;
    case os::ElfSection::absent:
      refuse("it has a plain main. Write its entry as ISOTOPE_MAIN(argc, argv), or run it without --threads");
      break;
    case os::ElfSection::not_elf:
      refuse(
          "it is a script or no 64-bit program of this machine. Name the program itself, or run it without --threads");
      break;
  }
  return run(options, program);
}

}  // namespace isotope
