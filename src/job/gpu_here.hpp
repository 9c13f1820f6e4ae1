// What a launcher can tell about GPUs without starting a driver: how many the machine shows, what
// CUDA_VISIBLE_DEVICES leaves of them, and what is missing where there can be none.
#pragma once

#include <string>

namespace isotope::job {

/// The device files nvidia0, nvidia1, ... of `folder`.
int gpu_device_files(const std::string& folder = "/dev");

/// Entries of a CUDA_VISIBLE_DEVICES up to the first one that names no GPU, as the driver reads it: "-1" and an empty
/// value hide all, "0,-1,2" shows one.
int visible_gpus(const std::string& value);

/// What a GPU would need and this machine lacks: the driver's library, a device file. Empty where nothing is missing.
/// GPUs of other kinds of systems (WSL, Jetson) count by their own device files.
std::string why_no_gpu_here(const std::string& folder = "/dev", const char* library = "libcuda.so.1");

}  // namespace isotope::job
