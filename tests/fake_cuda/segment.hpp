// Allocations back to back at one range of addresses, as PyTorch's expandable segments are.
#pragma once

#include <vector>

#include "fake_cuda.hpp"

namespace fake_cuda {

class Segment {
 public:
  /// `types`: of the handles that may be exported.
  Segment(int gpu, const std::vector<std::size_t>& pieces, unsigned types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  char* data() const { return reinterpret_cast<char*>(base_); }

 private:
  std::vector<std::size_t> pieces_;
  CUdeviceptr base_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace fake_cuda
