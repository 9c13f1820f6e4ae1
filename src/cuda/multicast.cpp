#include "cuda/multicast.hpp"

namespace isotope::cuda {

namespace {

CUmulticastObjectProp properties_of(int gpus, std::uint64_t bytes, Travel travel) {
  CUmulticastObjectProp properties{};
  properties.numDevices = static_cast<unsigned>(gpus);
  properties.size = bytes;
  properties.handleTypes = handle_type(travel);
  return properties;
}

}  // namespace

bool multicast_works(const Driver& calls, CUdevice device) noexcept {
  if (calls.cuMulticastCreate == nullptr || calls.cuMulticastAddDevice == nullptr ||
      calls.cuMulticastBindMem == nullptr || calls.cuMulticastUnbind == nullptr ||
      calls.cuMulticastGetGranularity == nullptr) {
    return false;
  }
  int promised = 0;
  if (calls.cuDeviceGetAttribute(&promised, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device) != CUDA_SUCCESS ||
      promised == 0)
    return false;
  const CUmulticastObjectProp properties = properties_of(2, kChunkGranule, Travel::descriptors);
  std::size_t granule = 0;
  return calls.cuMulticastGetGranularity(&granule, &properties, CU_MULTICAST_GRANULARITY_MINIMUM) == CUDA_SUCCESS &&
         granule != 0 && kChunkGranule % granule == 0;
}

Chunk create_multicast(const Gpu& gpu, int gpus, std::uint64_t bytes, Travel travel) {
  const Current current(gpu.context());
  const CUmulticastObjectProp properties = properties_of(gpus, bytes, travel);
  CUmemGenericAllocationHandle handle = 0;
  check(gpu.calls().cuMulticastCreate(&handle, &properties), "cuMulticastCreate");
  return Chunk::adopt(gpu, handle, bytes);
}

void add_to_multicast(const Chunk& object, const Gpu& gpu) {
  const Current current(gpu.context());
  check(gpu.calls().cuMulticastAddDevice(object.handle(), gpu.device()), "cuMulticastAddDevice");
}

void bind_to_multicast(const Chunk& object, const Gpu& gpu, std::uint64_t offset, const Chunk& memory) {
  const Current current(gpu.context());
  check(gpu.calls().cuMulticastBindMem(object.handle(), offset, memory.handle(), 0, memory.bytes(), 0),
        "cuMulticastBindMem");
}

void unbind_from_multicast(const Chunk& object, const Gpu& gpu, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const CurrentAtEnd current(gpu.context());
  if (current) gpu.calls().cuMulticastUnbind(object.handle(), gpu.device(), offset, bytes);
}

}  // namespace isotope::cuda
