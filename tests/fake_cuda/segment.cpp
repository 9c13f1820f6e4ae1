#include "segment.hpp"

#include "driver.hpp"

namespace fake_cuda {

Segment::Segment(int gpu, const std::vector<std::size_t>& pieces, unsigned types) : pieces_(pieces) {
  for (const std::size_t piece : pieces) bytes_ += piece;
  fake_cuda::cuMemAddressReserve(&base_, bytes_, 0, 0, 0);
  CUmemAllocationProp properties{};
  properties.location.id = gpu;
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
  CUmemAccessDesc access{};
  access.location.id = gpu;
  CUdeviceptr at = base_;
  for (const std::size_t piece : pieces) {
    CUmemGenericAllocationHandle handle = 0;
    fake_cuda::cuMemCreate(&handle, piece, &properties, 0);
    fake_cuda::cuMemMap(at, piece, 0, handle, 0);
    fake_cuda::cuMemRelease(handle);
    at += piece;
  }
  fake_cuda::cuMemSetAccess(base_, bytes_, &access, 1);
}

Segment::~Segment() {
  CUdeviceptr at = base_;
  for (const std::size_t piece : pieces_) {
    fake_cuda::cuMemUnmap(at, piece);
    at += piece;
  }
  fake_cuda::cuMemAddressFree(base_, bytes_);
}

}  // namespace fake_cuda
