// NVSHMEM's primitives, as job_primitives.cu measures ours. Started by isotope run too, so with the same shares of the
// GPU:
//   isotope run -n 2 --platform cuda nvshmem_peer FILE      FILE: where PE 0 leaves the unique id for the others
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdint>
#include <utility>

#include "nvshmem_join.cuh"
#include "timing.cuh"

namespace {

__global__ void barriers(int rounds) {
  for (int i = 0; i < rounds; ++i) nvshmemx_barrier_all_block();
}
__global__ void syncs(int rounds) {
  for (int i = 0; i < rounds; ++i) nvshmemx_sync_all_block();
}
__global__ void ping_pong(std::uint64_t* flag, int me, std::uint64_t first, int rounds) {
  const std::uint64_t end = first + rounds;
  std::uint64_t* now = beside::at_place(flag, first);
  if (me == 0) {
    for (std::uint64_t i = first; i < end; ++i) {
      nvshmemx_signal_op(now, i, NVSHMEM_SIGNAL_SET, 1);
      std::uint64_t* next = beside::at_place(flag, i + 1);
      nvshmem_signal_wait_until(now, NVSHMEM_CMP_GE, i);
      now = next;
    }
  } else {
    for (std::uint64_t i = first; i < end; ++i) {
      nvshmem_signal_wait_until(now, NVSHMEM_CMP_GE, i);
      nvshmemx_signal_op(now, i, NVSHMEM_SIGNAL_SET, 0);
      now = beside::at_place(flag, i + 1);
    }
  }
}
__global__ void put_ping_pong(char* dst, const char* src, std::size_t bytes, std::uint64_t* flag, int me,
                              std::uint64_t first, int rounds) {
  const std::uint64_t end = first + rounds;
  const auto wait = [](std::uint64_t* word, std::uint64_t round) {
    if (threadIdx.x == 0) nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, round);
    __syncthreads();
  };
  beside::Place now(dst, src, flag, first);
  if (me == 0) {
    for (std::uint64_t i = first; i < end; ++i) {
      nvshmemx_putmem_signal_block(now.to, now.from, bytes, now.flag, i, NVSHMEM_SIGNAL_SET, 1);
      const beside::Place next(dst, src, flag, i + 1);
      wait(now.flag, i);
      now = next;
    }
  } else {
    for (std::uint64_t i = first; i < end; ++i) {
      wait(now.flag, i);
      nvshmemx_putmem_signal_block(now.to, now.from, bytes, now.flag, i, NVSHMEM_SIGNAL_SET, 0);
      now = beside::Place(dst, src, flag, i + 1);
    }
  }
}
template <bool Get>
__global__ void copies(char* dst, const char* src, std::size_t bytes) {
  const std::size_t each = bytes / gridDim.x;
  if constexpr (Get) {
    nvshmemx_getmem_block(dst + blockIdx.x * each, src + blockIdx.x * each, each, 1);
  } else {
    nvshmemx_putmem_block(dst + blockIdx.x * each, src + blockIdx.x * each, each, 1);
  }
}
__global__ void adds(std::uint64_t* words, int rounds, int spread) {
  std::uint64_t* word = words + (blockIdx.x * blockDim.x + threadIdx.x) * spread % (1 << 16);
  for (int i = 0; i < rounds; ++i) nvshmem_uint64_atomic_add(word, 1, 1);
}
__global__ void fetch_adds(std::uint64_t* word, int rounds, std::uint64_t* out) {
  std::uint64_t sum = 0;
  for (int i = 0; i < rounds; ++i) sum += nvshmem_uint64_atomic_fetch_add(beside::at_place(word, i), 1 + (sum & 1), 1);
  *out = sum;
}
__global__ void one_put(char* dst, const char* src, std::size_t bytes, int to) {
  nvshmemx_putmem_block(dst, src, bytes, to);
}

}  // namespace

int main(int argc, char** argv) {
  int me = 0, pes = 0;
  if (!beside::join_nvshmem(argc, argv, me, pes)) return 1;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const auto time = [&](auto launch) { return beside::microseconds(stream, [] { nvshmem_barrier_all(); }, launch); };
  const auto say = [&](const char* name, std::size_t bytes, int blocks, int threads, const char* unit, double figure) {
    if (me == 0) beside::print("nvshmem", name, pes, bytes, blocks, threads, unit, figure);
  };
  constexpr int kRounds = 2000;
  for (const int threads : {32, 256}) {
    say("barrier", 0, 1, threads, "us", time([&] { barriers<<<1, threads, 0, stream>>>(kRounds); }) / kRounds);
    say("sync", 0, 1, threads, "us", time([&] { syncs<<<1, threads, 0, stream>>>(kRounds); }) / kRounds);
  }
  // Not from a graph: these calls cannot be captured.
  const auto on_stream = [&](auto call) {
    return time([&] {
             for (int i = 0; i < beside::kCallsInGraph; ++i) call();
           }) /
           beside::kCallsInGraph;
  };
  say("barrier_on_stream", 0, 0, 0, "us", on_stream([&] { nvshmemx_barrier_all_on_stream(stream); }));
  if (pes == 2) {
    auto* flag = static_cast<std::uint64_t*>(nvshmem_calloc(beside::kPlaces * beside::kPlaceBytes, 1));
    auto* words = static_cast<std::uint64_t*>(nvshmem_calloc(1 << 16, 8));
    const std::size_t most = std::size_t{64} << 20;
    auto* memory = static_cast<char*>(nvshmem_calloc(2 * most, 1));
    char *from = memory, *to = memory + most;
    std::uint64_t* out = nullptr;
    cudaMalloc(&out, 8);
    const bool works = me == 0;
    std::uint64_t next = 1;
    const auto step = [&] { return std::exchange(next, next + kRounds); };
    say("ping_pong", 8, 1, 1, "us", time([&] { ping_pong<<<1, 1, 0, stream>>>(flag, me, step(), kRounds); }) / kRounds);
    for (const std::size_t bytes : beside::kMessages) {
      for (const int threads : beside::kMessageThreads) {
        say("put_signal", bytes, 1, threads, "us",
            time([&] { put_ping_pong<<<1, threads, 0, stream>>>(to, from, bytes, flag, me, step(), kRounds); }) /
                kRounds / 2);
      }
    }
    constexpr int kRepeats = 20;
    for (const int blocks : beside::kCopyBlocks) {
      const std::size_t bytes = beside::copy_bytes(blocks);
      const auto rate = [&](double us) { return static_cast<double>(bytes) * kRepeats / us * 1e-3; };
      say("put", bytes, blocks, 1024, "GB/s", rate(time([&] {
            for (int i = 0; works && i < kRepeats; ++i) copies<false><<<blocks, 1024, 0, stream>>>(to, from, bytes);
          })));
      say("get", bytes, blocks, 1024, "GB/s", rate(time([&] {
            for (int i = 0; works && i < kRepeats; ++i) copies<true><<<blocks, 1024, 0, stream>>>(to, from, bytes);
          })));
    }
    for (const std::size_t bytes : beside::kOnStream) {
      say("put_on_stream", bytes, 0, 0, "us", on_stream([&] {
            if (works) nvshmemx_putmem_on_stream(to, from, bytes, 1, stream);
          }));
      say("get_on_stream", bytes, 0, 0, "us", on_stream([&] {
            if (works) nvshmemx_getmem_on_stream(to, from, bytes, 1, stream);
          }));
    }
    constexpr int kAdds = 200, kAddRepeats = 5;
    for (const int blocks : beside::atomic_blocks(pes)) {
      for (const int spread : {0, 1}) {
        const double us = time([&] {
          for (int i = 0; works && i < kAddRepeats; ++i) adds<<<blocks, 256, 0, stream>>>(words, kAdds, spread);
        });
        say(spread ? "atomic_add_spread" : "atomic_add_one_word", 8, blocks, 256, "Gop/s",
            static_cast<double>(blocks) * 256 * kAdds * kAddRepeats / us * 1e-3);
      }
    }
    say("fetch_add", 8, 1, 1, "us", time([&] {
                                      if (works) fetch_adds<<<1, 1, 0, stream>>>(words, 1000, out);
                                    }) / 1000);
    cudaFuncAttributes put{};
    cudaFuncGetAttributes(&put, one_put);
    say("registers_of_one_put", 0, 1, 1024, "registers", put.numRegs);
  }
  nvshmem_barrier_all();
  nvshmem_finalize();
  return 0;
}
