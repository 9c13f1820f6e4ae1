// Several PEs on one GPU of one process, for tests of device code alone: one allocation cut into slots at equal stride,
// a stream per PE, control words in pinned memory. What the runtime does for a real job, without the runtime.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "isotope/device/team.hpp"

namespace isotope::runtime {

struct TeamAccess {
  static Team make(int rank, int size, std::int64_t slot_bytes, TeamState* state, TeamWords* words,
                   const std::int32_t* table = nullptr) {
    Team team;
    team.rank_ = rank;
    team.size_ = size;
    team.world_rank_ = rank;
    team.slot_bytes_ = slot_bytes;
    team.member_bytes_ = slot_bytes;
    team.state_ = state;
    team.words_ = words;
    team.table_ = table;
    return team;
  }
};

}  // namespace isotope::runtime

namespace isotope::testing {

inline void cuda_ok(cudaError_t error, const char* what, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s at line %d: %s\n", what, line, cudaGetErrorString(error));
  std::exit(2);
}
#define CUDA_OK(call) ::isotope::testing::cuda_ok((call), #call, __LINE__)

// Blocks of up to 1024 threads: without the bound a kernel may take more registers than such a block can have.
template <auto Kernel, class... A>
__global__ void __launch_bounds__(1024) gpu_entry(A... arguments) {
  Kernel(arguments...);
}

class OneGpuJob {
 public:
  static constexpr std::size_t kHeapBytes = std::size_t{256} << 20;

  explicit OneGpuJob(int pes, std::uint64_t deadline_ns = 5'000'000'000) : pes_(pes) {
    slot_bytes_ = kHeapBytes + kWordsBytes;
    CUDA_OK(cudaMalloc(&base_, slot_bytes_ * static_cast<std::size_t>(pes)));
    CUDA_OK(cudaMemset(base_, 0, slot_bytes_ * static_cast<std::size_t>(pes)));
    CUDA_OK(cudaHostAlloc(&pinned_, sizeof(Pinned) * static_cast<std::size_t>(pes), cudaHostAllocMapped));
    CUDA_OK(cudaMalloc(&local_, sizeof(Local) * static_cast<std::size_t>(pes)));
    for (int pe = 0; pe < pes; ++pe) {
      new (&pinned_[pe]) Pinned{};
      deadline_ns_ = deadline_ns;
      write_local(pe);
      cudaStream_t stream;
      CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      streams_.push_back(stream);
    }
  }
  ~OneGpuJob() {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    cudaFree(local_);
    cudaFree(base_);
    cudaFreeHost(pinned_);
  }
  OneGpuJob(const OneGpuJob&) = delete;
  OneGpuJob& operator=(const OneGpuJob&) = delete;

  int pes() const { return pes_; }
  Team team(int pe) const {
    return runtime::TeamAccess::make(pe, pes_, static_cast<std::int64_t>(slot_bytes_), &local_[pe].state,
                                     reinterpret_cast<TeamWords*>(slot(pe)));
  }
  /// PE `pe`'s address of byte `offset` of the heap.
  template <class T = char>
  T* heap(int pe, std::size_t offset = 0) const {
    return reinterpret_cast<T*>(slot(pe) + kWordsBytes + offset);
  }
  template <auto Kernel, class... A>
  void launch(int pe, dim3 grid, dim3 block, A... arguments) {
    gpu_entry<Kernel><<<grid, block, 0, streams_[static_cast<std::size_t>(pe)]>>>(arguments...);
    CUDA_OK(cudaGetLastError());
  }
  void synchronize() {
    for (cudaStream_t stream : streams_) CUDA_OK(cudaStreamSynchronize(stream));
  }
  const FaultRecord& fault(int pe) const { return pinned_[pe].fault; }
  void abort() { *const_cast<volatile std::uint64_t*>(&pinned_[0].abort_word) = 1; }
  /// A string that device code recorded: it lies in the GPU's memory.
  static std::string text(const char* device) {
    std::string found;
    for (char c = 1; device != nullptr && found.size() < 200;) {
      if (cudaMemcpy(&c, device + found.size(), 1, cudaMemcpyDefault) != cudaSuccess || c == 0) break;
      found += c;
    }
    return found;
  }
  /// After a fault: works again.
  void rearm() {
    for (int pe = 0; pe < pes_; ++pe) {
      pinned_[pe].fault = {};
      write_local(pe);
    }
    pinned_[0].abort_word = 0;
  }

 private:
  static constexpr std::size_t kWordsBytes = (sizeof(TeamWords) + 4095) / 4096 * 4096;
  struct Pinned {
    FaultRecord fault;
    std::uint64_t abort_word = 0;
  };
  /// In the GPU's memory.
  struct Local {
    TeamState state;
    Control control;
    ObjectRange range;  // the one object: all of the heap but its last megabyte
  };
  void write_local(int pe) {
    Local local;
    local.state.control = &local_[pe].control;
    local.control.abort_word = &pinned_[0].abort_word;
    local.control.wait_deadline_ns = deadline_ns_;
    local.control.pe = pe;
    local.control.fault = &pinned_[pe].fault;
    local.range = {reinterpret_cast<std::uint64_t>(slot(pe) + kWordsBytes), kHeapBytes - (1 << 20)};
    local.control.objects.count = 1;
    local.control.objects.ranges = reinterpret_cast<std::uint64_t>(&local_[pe].range);
    CUDA_OK(cudaMemcpy(&local_[pe], &local, sizeof local, cudaMemcpyHostToDevice));
  }
  char* slot(int pe) const { return base_ + slot_bytes_ * static_cast<std::size_t>(pe); }

  int pes_;
  std::size_t slot_bytes_ = 0;
  char* base_ = nullptr;
  Pinned* pinned_ = nullptr;
  Local* local_ = nullptr;
  std::uint64_t deadline_ns_ = 0;
  std::vector<cudaStream_t> streams_;
};

}  // namespace isotope::testing
