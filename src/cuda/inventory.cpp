// Which GPUs there are and how they reach each other.
#include <fmt/format.h>

#include "cuda/chunk.hpp"
#include "cuda/driver.hpp"
#include "cuda/multicast.hpp"
#include "isotope/host/info.hpp"

namespace isotope {

namespace {

int attribute(const cuda::Driver& calls, CUdevice_attribute which, CUdevice device) {
  int value = 0;
  calls.cuDeviceGetAttribute(&value, which, device);
  return value;
}

GpuDevice describe(const cuda::Driver& calls, int index, CUdevice device) {
  GpuDevice gpu;
  gpu.index = index;
  char text[128] = {};
  if (calls.cuDeviceGetName(text, sizeof text - 1, device) == CUDA_SUCCESS) gpu.name = text;
  if (calls.cuDeviceGetPCIBusId(text, sizeof text - 1, device) == CUDA_SUCCESS) gpu.bus_id = text;
  std::size_t bytes = 0;
  calls.cuDeviceTotalMem(&bytes, device);
  gpu.memory_bytes = bytes;
  gpu.capability_major = attribute(calls, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  gpu.capability_minor = attribute(calls, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  gpu.multiprocessors = attribute(calls, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  gpu.shares_memory = attribute(calls, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) != 0 &&
                      attribute(calls, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device) != 0;
  gpu.fabric = cuda::fabric_works(calls, device);
  gpu.multicast = cuda::multicast_works(calls, device);
  return gpu;
}

GpuLink link_between(const cuda::Driver& calls, int from, CUdevice from_device, int to, CUdevice to_device) {
  GpuLink link{from, to, "same", true, 0};
  if (from == to) return link;
  const auto ask = [&](CUdevice_P2PAttribute which) {
    int value = 0;
    calls.cuDeviceGetP2PAttribute(&value, which, from_device, to_device);
    return value;
  };
  int access = 0;
  calls.cuDeviceCanAccessPeer(&access, from_device, to_device);
  link.how = access != 0 ? "peer" : "none";
  link.native_atomics = access != 0 && ask(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) != 0;
  if (access != 0) link.rank = ask(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
  return link;
}

}  // namespace

GpuPlatform gpu_platform() {
  GpuPlatform platform;
  const cuda::Driver* calls = cuda::find_driver(platform.why_not);
  if (calls == nullptr) return platform;
  int version = 0, count = 0;
  calls->cuDriverGetVersion(&version);
  platform.driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  calls->cuDeviceGetCount(&count);
  if (count == 0) platform.why_not = "the NVIDIA driver shows no GPU";
  std::vector<CUdevice> devices;
  for (int index = 0; index < count; ++index) {
    CUdevice device = 0;
    if (calls->cuDeviceGet(&device, index) != CUDA_SUCCESS) continue;
    devices.push_back(device);
    platform.gpus.push_back(describe(*calls, index, device));
  }
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = 0; b < devices.size(); ++b) {
      platform.links.push_back(
          link_between(*calls, platform.gpus[a].index, devices[a], platform.gpus[b].index, devices[b]));
    }
  }
  return platform;
}

}  // namespace isotope
