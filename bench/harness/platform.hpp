// What the PEs of our jobs run on: --platform, and what it takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/topic.hpp"

namespace isotope::bench {

inline constexpr const char* kGpuPlatform = "cuda";

/// What `--platform asked` means: `cpu` or `cuda`; when nothing was asked, `cuda` if ISOTOPE_PLATFORM says so, else
/// `cpu`. What is measured is never left to what a machine has. Throws Error(invalid_argument) for another word.
std::string read_platform(const std::string& asked);

/// The topics that can be measured on the platform, where all of them were asked for.
std::vector<std::unique_ptr<Topic>> topics_on(const std::string& platform);

/// Throws Error(invalid_argument) that says what is missing and what to do, before anything is started: PEs on GPUs are
/// processes, this build has the platform and its program, and the machine has a driver and a GPU.
void require_gpu(bool threads);
/// And for one that the topic is not measured on.
void require_on_gpus(const Topic& topic);

/// The program that runs inside the jobs.
std::string job_program(const std::string& platform);

}  // namespace isotope::bench
