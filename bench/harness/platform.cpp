#include "bench/harness/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "bench/harness/row.hpp"
#include "bench/harness/system.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/info.hpp"

namespace isotope::bench {

namespace {

constexpr const char* kInstead = "--platform cpu measures the CPU";

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::invalid_argument, what); }

/// Why no GPU can be used, asked of `isotope info` in a process of its own: the driver stays in the process that asks,
/// and with it settings of the environment that are not meant for PEs that share a GPU.
std::string why_no_gpu() {
  constexpr std::chrono::seconds kDeadline{60};
  SharedFile output;
  const std::string program = own_folder() + "/isotope";
  const auto status = run_foreign({program, "info", "--json"}, output, kDeadline);
  if (!status) return fmt::format("`isotope info` did not end within {} s", kDeadline.count());
  const std::string text = output.take();
  const Json info = Json::parse(text, nullptr, false);
  if (*status != 0 || info.is_discarded()) return fmt::format("`{} info` failed: {}", program, text);
  const Json& why = info.at("cuda").at("why_not");
  return why.is_null() ? "" : why.get<std::string>();
}

}  // namespace

std::string read_platform(const std::string& asked) {
  if (asked.empty()) return choices().platform;
  if (asked != "cpu" && asked != kGpuPlatform) refuse(fmt::format("--platform is '{}'; expected cpu or cuda", asked));
  return asked;
}

std::vector<std::unique_ptr<Topic>> topics_on(const std::string& platform) {
  std::vector<std::unique_ptr<Topic>> all = topics();
  if (platform == kGpuPlatform) std::erase_if(all, [](const auto& topic) { return !topic->on_gpus(); });
  return all;
}

void require_gpu(bool threads) {
  if (threads) {
    refuse(
        "--threads: on platform cuda the PEs of a benchmark are processes; a replayed graph of one thread may keep "
        "another's kernel from starting");
  }
  const std::vector<std::string> have = build_info().platforms;
  if (std::find(have.begin(), have.end(), kGpuPlatform) == have.end()) {
    refuse(fmt::format("this build has no platform cuda (CUDA's headers were not found when it was configured); {}",
                       kInstead));
  }
  if (const std::string program = job_program(kGpuPlatform); !std::filesystem::exists(program)) {
    refuse(
        fmt::format("platform cuda: '{}' is missing; it is built where nvcc is found, and installed together with "
                    "`isotope`, in the same folder; {}",
                    program, kInstead));
  }
  if (const std::string why = why_no_gpu(); !why.empty()) refuse(fmt::format("platform cuda: {}; {}", why, kInstead));
}

void require_on_gpus(const Topic& topic) {
  if (topic.on_gpus()) return;
  std::vector<std::string> names;
  for (const auto& one : topics_on(kGpuPlatform)) names.push_back(one->name());
  refuse(fmt::format("benchmark {} is about the CPU; on platform cuda there are {}", topic.name(),
                     fmt::join(names, ", ")));
}

std::string job_program(const std::string& platform) {
  return own_folder() + (platform == kGpuPlatform ? "/isotope-bench-gpu" : "/isotope-bench");
}

}  // namespace isotope::bench
