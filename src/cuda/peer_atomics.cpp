#include "cuda/peer_atomics.hpp"

#include <cstring>

#include "cuda/errors.hpp"

namespace isotope::cuda {

GpuUuid uuid_of(const Gpu& gpu) {
  CUuuid uuid{};
  check(gpu.calls().cuDeviceGetUuid(&uuid, gpu.device()), "cuDeviceGetUuid");
  GpuUuid bytes;
  std::memcpy(bytes.data(), &uuid, sizeof uuid);
  return bytes;
}

bool lacks_atomics_on(const Gpu& gpu, const GpuUuid& other) {
  const Driver& calls = gpu.calls();
  int count = 0;
  calls.cuDeviceGetCount(&count);
  for (int index = 0; index < count; ++index) {
    CUdevice device = 0;
    CUuuid uuid{};
    if (calls.cuDeviceGet(&device, index) != CUDA_SUCCESS || calls.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS)
      continue;
    if (device == gpu.device() || std::memcmp(&uuid, other.data(), sizeof uuid) != 0) continue;
    int reaches = 0, native = 1;
    calls.cuDeviceCanAccessPeer(&reaches, gpu.device(), device);
    calls.cuDeviceGetP2PAttribute(&native, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, gpu.device(), device);
    return reaches != 0 && native == 0;
  }
  return false;
}

}  // namespace isotope::cuda
