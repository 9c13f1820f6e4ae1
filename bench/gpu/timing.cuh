// What the two programs that are measured beside each other have in common: lines of results, and events around
// kernels.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace beside {

constexpr int kTurns = 7;

/// Microseconds of what `launch` puts on the stream, median of kTurns after one that does not count. `meet` brings all
/// PEs together before each.
template <class Meet, class Launch>
double microseconds(cudaStream_t stream, Meet&& meet, Launch&& launch) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<double> all;
  for (int turn = 0; turn <= kTurns; ++turn) {
    cudaStreamSynchronize(stream);
    meet();
    cudaEventRecord(begin, stream);
    launch();
    cudaEventRecord(end, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) {
      std::fprintf(stderr, "a kernel failed: %s\n", cudaGetErrorString(cudaGetLastError()));
      break;
    }
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (turn > 0) all.push_back(ms * 1e3);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() / 2];
}

/// Microseconds of one call out of a graph of kCallsInGraph of them, replayed kReplays times. `call` puts one on the
/// stream.
constexpr int kCallsInGraph = 20, kReplays = 10;
template <class Meet, class Call>
double microseconds_in_graph(cudaStream_t stream, Meet&& meet, Call&& call) {
  call();  // what is done once, at a first call
  cudaStreamSynchronize(stream);
  meet();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < kCallsInGraph; ++i) call();
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess) {
    std::fprintf(stderr, "no graph: %s\n", cudaGetErrorString(cudaGetLastError()));
    std::exit(1);  // or the others would meet it in the wrong place
  }
  cudaGraphUpload(ready, stream);
  const double us = microseconds(stream, meet, [&] {
    for (int i = 0; i < kReplays; ++i) cudaGraphLaunch(ready, stream);
  });
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  return us / (kCallsInGraph * kReplays);
}

/// Sizes of all-reduces, and of the larger buffer of the other collectives.
inline constexpr std::size_t kReduced[] = {1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20, 64 << 20};
inline constexpr std::size_t kGathered[] = {64 << 10, 4 << 20};
inline constexpr std::size_t kLargest = 64 << 20;

/// `dtype` and `op`: of a collective, by the names that `isotope bench` has for them; op null where nothing is
/// combined.
inline void print(const char* who, const char* name, int pes, std::size_t bytes, int blocks, int threads,
                  const char* unit, double figure, const char* dtype = nullptr, const char* op = nullptr) {
  if (!std::isfinite(figure) || figure <= 0) return;  // it failed, and has said so
  std::printf(
      "{\"who\": \"%s\", \"name\": \"%s\", \"pes\": %d, \"bytes\": %zu, \"blocks\": %d, \"threads\": %d, \"unit\": "
      "\"%s\", ",
      who, name, pes, bytes, blocks, threads, unit);
  if (dtype != nullptr) std::printf("\"dtype\": \"%s\", ", dtype);
  if (op != nullptr) std::printf("\"op\": \"%s\", ", op);
  std::printf("\"figure\": %.5g}\n", figure);
  std::fflush(stdout);
}

/// What this program was made with, for the record.
inline void print_about() {
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  std::printf("{\"about\": {\"cuda_runtime\": \"%d.%d\", \"host_compiler\": \"%s %s\"}}\n", runtime / 1000,
              runtime % 1000 / 10,
#if defined(__clang__)
              "clang", __clang_version__
#else
              "gcc", __VERSION__
#endif  // __clang__
  );
  std::fflush(stdout);
}

/// Rounds of messages and of single words go through places 4 KiB apart. How long an access takes depends on which part
/// of the L2 cache holds the word, near to the multiprocessor or far from it: with one place, a start's luck is up to
/// half of the figure.
inline constexpr std::size_t kPlaces = 32, kPlaceBytes = 4096;
__host__ __device__ inline std::size_t place(std::uint64_t round) { return round % kPlaces * kPlaceBytes; }
/// Worked out here, before a round, and not where it is used, after a wait: that would be the benchmark's time and not
/// the message's.
template <class T>
__host__ __device__ inline T* at_place(T* first, std::uint64_t round) {
  T* p = first + place(round) / sizeof(T);
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(p));
#endif  // __CUDA_ARCH__
  return p;
}
/// Where a round's message comes from, where it goes, and its flag.
template <class Flag>
struct Place {
  char* to;
  const char* from;
  Flag* flag;
  __host__ __device__ Place(char* dst, const char* src, Flag* flags, std::uint64_t round)
      : to(at_place(dst, round)), from(at_place(src, round)), flag(at_place(flags, round)) {}
};

inline constexpr std::size_t kMessages[] = {8, 64, 512, 4096, 16384, 65536};
inline constexpr int kMessageThreads[] = {32, 256, 512, 1024};
/// Copies that the host enqueues, with the whole of the PE's share of the GPU.
inline constexpr std::size_t kOnStream[] = {64 << 10, 4 << 20, 64 << 20};
inline constexpr int kCopyBlocks[] = {1, 8, 32, 64};
inline std::size_t copy_bytes(int blocks) {
  return std::min<std::size_t>(std::size_t{64} << 20, std::size_t(blocks) << 22);
}
/// Blocks of the atomics: as many as the PE's share of the GPU has multiprocessors, at most.
inline std::vector<int> atomic_blocks(int pes) { return {1, 8, 32, 132 / pes}; }

// Plain kernels that a peer of ours could have written by hand, for the copies' limit.
template <int Deep>
__global__ void __launch_bounds__(1024) hand_copy(uint4* dst, const uint4* src, std::size_t words) {
  const std::size_t each = words / gridDim.x;
  dst += each * blockIdx.x;
  src += each * blockIdx.x;
  std::size_t i = threadIdx.x;
  for (; i + (Deep - 1) * blockDim.x < each; i += Deep * blockDim.x) {
    uint4 held[Deep];
#pragma unroll
    for (int k = 0; k < Deep; ++k) held[k] = src[i + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < Deep; ++k) dst[i + k * blockDim.x] = held[k];
  }
  for (; i < each; i += blockDim.x) dst[i] = src[i];
}

/// One way and back of a message with its flag, between two blocks, as short as we can write it: PTX for this GPU
/// alone, no deadline and nobody to tell of one, words of 16 bytes, flags that every thread knows.
__device__ __forceinline__ void hand_send(uint4* dst, const uint4* src, unsigned words, unsigned long long* flag,
                                          unsigned long long round) {
  constexpr unsigned kDeep = 4;
  if (words <= blockDim.x) {
    if (threadIdx.x < words) dst[threadIdx.x] = src[threadIdx.x];
  } else {
    for (unsigned at = threadIdx.x / 32 * (kDeep * 32) + threadIdx.x % 32; at < words; at += blockDim.x * kDeep) {
      uint4 held[kDeep];
#pragma unroll
      for (unsigned k = 0; k < kDeep; ++k)
        if (at + k * 32 < words) held[k] = src[at + k * 32];
#pragma unroll
      for (unsigned k = 0; k < kDeep; ++k)
        if (at + k * 32 < words) dst[at + k * 32] = held[k];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(round) : "memory");
}
__device__ __forceinline__ void hand_receive(const unsigned long long* flag, unsigned long long round) {
  if (threadIdx.x == 0) {
    unsigned long long found;
    do {
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(flag) : "memory");
    } while (found < round);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.acquire.gpu;" ::: "memory");
#else
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif  // sm_90
  }
  __syncthreads();
}
inline __global__ void __launch_bounds__(1024)
    hand_ping_pong(int me, uint4* dst, const uint4* src, unsigned words, unsigned long long* theirs,
                   const unsigned long long* mine, unsigned long long first, int rounds) {
  uint4* to = at_place(dst, first);
  const uint4* from = at_place(src, first);
  unsigned long long* flag = at_place(theirs, first);
  const unsigned long long* own = at_place(mine, first);
  for (unsigned long long round = first; round < first + rounds; ++round) {
    if (me == 0) hand_send(to, from, words, flag, round);
    uint4* next_to = at_place(dst, round + 1);
    const uint4* next_from = at_place(src, round + 1);
    unsigned long long* next_flag = at_place(theirs, round + 1);
    const unsigned long long* next_own = at_place(mine, round + 1);
    hand_receive(own, round);
    if (me == 1) hand_send(to, from, words, flag, round);
    to = next_to, from = next_from, flag = next_flag, own = next_own;
  }
}

}  // namespace beside
