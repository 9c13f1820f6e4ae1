// NVSHMEM's collectives on a stream, for beside.sh: RANK and SIZE from isotope run's environment, the file for the
// unique id as the only argument. They cannot be captured in a graph, so calls follow each other on the stream.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdlib>

#include "nvshmem_join.cuh"
#include "timing.cuh"

int main(int argc, char** argv) {
  int me = 0, pes = 0;
  if (!beside::join_nvshmem(argc, argv, me, pes)) return 1;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  auto* src = static_cast<__nv_bfloat16*>(nvshmem_calloc(beside::kLargest / 2, 2));
  auto* dst = static_cast<__nv_bfloat16*>(nvshmem_calloc(beside::kLargest / 2, 2));
  const auto measure = [&](const char* name, const char* op, std::size_t bytes, auto call) {
    const int calls = bytes >= (4 << 20) ? 2 : 20;
    const double us = beside::microseconds(
        stream, [] { nvshmem_barrier_all(); },
        [&] {
          for (int i = 0; i < calls; ++i) call();
        });
    if (me == 0) beside::print("nvshmem", name, pes, bytes, 0, 0, "us", us / calls, "bf16", op);
  };
  for (const std::size_t bytes : beside::kReduced)
    measure("all_reduce", "add", bytes,
            [&] { nvshmemx_bfloat16_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dst, src, bytes / 2, stream); });
  for (const std::size_t bytes : beside::kGathered) {
    const std::size_t each = bytes / 2 / static_cast<std::size_t>(pes);
    measure("reduce_scatter", "add", bytes,
            [&] { nvshmemx_bfloat16_sum_reducescatter_on_stream(NVSHMEM_TEAM_WORLD, dst, src, each, stream); });
    measure("all_gather", nullptr, bytes,
            [&] { nvshmemx_bfloat16_fcollect_on_stream(NVSHMEM_TEAM_WORLD, dst, src, each, stream); });
    measure("all_to_all", nullptr, bytes,
            [&] { nvshmemx_bfloat16_alltoall_on_stream(NVSHMEM_TEAM_WORLD, dst, src, each, stream); });
  }
  nvshmem_barrier_all();
  nvshmem_finalize();
  return 0;
}
