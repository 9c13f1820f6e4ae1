// What the device library's primitives cost on one GPU, beside the least that hand-written code needs for the same, in
// turns in one run. PEs are streams of one process; every figure is the median over the turns.
//   nvcc -std=c++20 --expt-relaxed-constexpr -O3 -arch=native -I include -I tests/gpu
//     bench/gpu/primitives.cu -o primitives
#include <algorithm>
#include <functional>

#include "isotope/device/atomic.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/device/sync.hpp"
#include "one_gpu_job.hpp"

using namespace isotope;
using isotope::testing::OneGpuJob;

namespace {

// ---- ours -----------------------------------------------------------------------------------------------------------
ISOTOPE_KERNEL void barriers(Team team, int rounds) {
  for (int i = 0; i < rounds; ++i)
    if (!barrier(this_block(), team)) return;
}
ISOTOPE_KERNEL void relaxed_syncs(Team team, int rounds) {
  for (int i = 0; i < rounds; ++i)
    if (!sync(this_block(), team, 1, Order::relaxed)) return;
}
template <Order Send, Order Receive>
ISOTOPE_KERNEL void ping_pong(Team team, Signal* flag, std::uint64_t first, int rounds) {
  const int peer = 1 - team.rank();
  for (std::uint64_t i = first; i < first + static_cast<std::uint64_t>(rounds); ++i) {
    if (team.rank() == 0) signal(this_thread(), team, flag, i, SignalOp::set, peer, Send);
    if (!wait_until(this_thread(), team, flag, Cmp::ge, i, Receive)) return;
    if (team.rank() == 1) signal(this_thread(), team, flag, i, SignalOp::set, peer, Send);
  }
}
ISOTOPE_KERNEL void put_ping_pong(Team team, char* dst, const char* src, std::size_t bytes, Signal* flag,
                                  std::uint64_t first, int rounds) {
  const Block block = this_block();
  const int peer = 1 - team.rank();
  for (std::uint64_t i = first; i < first + static_cast<std::uint64_t>(rounds); ++i) {
    if (team.rank() == 0) put_signal_bytes(block, team, dst, src, bytes, flag, i, SignalOp::set, peer);
    if (!wait_until(block, team, flag, Cmp::ge, i)) return;
    if (team.rank() == 1) put_signal_bytes(block, team, dst, src, bytes, flag, i, SignalOp::set, peer);
  }
}
template <bool Get>
ISOTOPE_KERNEL void stream_copy(Team team, char* dst, const char* src, std::size_t bytes, int rounds) {
  const Block block = this_block();
  const std::size_t each = bytes / block.grid_size();
  for (int i = 0; i < rounds; ++i) {
    if constexpr (Get) {
      get_bytes(block, team, dst + each * block.rank(), src + each * block.rank(), each, 1);
    } else {
      put_bytes(block, team, dst + each * block.rank(), src + each * block.rank(), each, 1);
    }
  }
}
ISOTOPE_KERNEL void adds(Team team, std::uint64_t* words, int rounds, bool spread) {
  const Block block = this_block();
  const std::uint64_t me = block.rank() * block.size() + block.thread_rank();
  std::uint64_t* word = words + (spread ? me : 0);
  for (int i = 0; i < rounds; ++i) atomic_add(team, word, 1ull, 1);
}
ISOTOPE_KERNEL void fetch_adds(Team team, std::uint64_t* word, int rounds) {
  std::uint64_t sum = 0;
  for (int i = 0; i < rounds; ++i) sum += atomic_fetch_add(team, word, 1 + (sum & 1), 1);
  if (sum == 1) store(word, sum);
}
ISOTOPE_KERNEL void one_put(Team team, char* dst, const char* src, std::size_t bytes, int to) {
  put_bytes(this_block(), team, dst, src, bytes, to);
}

// ---- by hand --------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void raise(std::uint64_t* p, std::uint64_t v, bool ordered) {
  if (ordered) {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
  } else {
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
  }
}
__device__ __forceinline__ std::uint64_t look(std::uint64_t* p, bool ordered) {
  std::uint64_t v;
  if (ordered) {
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  } else {
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  }
  return v;
}
__global__ void hand_barriers(std::uint64_t** flags, int me, int pes, std::uint64_t first, int rounds, bool ordered) {
  for (std::uint64_t i = first; i < first + rounds; ++i) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < pes && static_cast<int>(threadIdx.x) != me) {
      raise(flags[threadIdx.x] + me, i, ordered);
      while (look(flags[me] + threadIdx.x, ordered) < i) {
      }
    }
    __syncthreads();
  }
}
__global__ void hand_ping_pong(std::uint64_t* mine, std::uint64_t* theirs, int me, std::uint64_t first, int rounds,
                               bool ordered) {
  for (std::uint64_t i = first; i < first + rounds; ++i) {
    if (me == 0) raise(theirs, i, ordered);
    while (look(mine, ordered) < i) {
    }
    if (me == 1) raise(theirs, i, ordered);
  }
}
template <int Deep>
__global__ void hand_copy(uint4* dst, const uint4* src, std::size_t words, int rounds) {
  const std::size_t each = words / gridDim.x;
  dst += each * blockIdx.x;
  src += each * blockIdx.x;
  for (int r = 0; r < rounds; ++r) {
    std::size_t i = threadIdx.x;
    for (; i + (Deep - 1) * blockDim.x < each; i += Deep * blockDim.x) {
      uint4 held[Deep];
#pragma unroll
      for (int k = 0; k < Deep; ++k) held[k] = src[i + k * blockDim.x];
#pragma unroll
      for (int k = 0; k < Deep; ++k) dst[i + k * blockDim.x] = held[k];
    }
    for (; i < each; i += blockDim.x) dst[i] = src[i];
    __syncthreads();
  }
}

// ---- timing ---------------------------------------------------------------------------------------------------------
constexpr int kTurns = 7;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of what `launch` starts on the streams of all PEs: from the first one's start to the last one's end.
double seconds(OneGpuJob& job, const std::function<void()>& launch) {
  job.synchronize();
  timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  launch();
  job.synchronize();
  clock_gettime(CLOCK_MONOTONIC, &end);
  return static_cast<double>(end.tv_sec - start.tv_sec) + static_cast<double>(end.tv_nsec - start.tv_nsec) * 1e-9;
}

/// Both, in turns; prints and returns ours / hand. The launch itself, some 10 us, is spread over all rounds.
void compare(const char* name, int pes, std::size_t bytes, int blocks, const char* unit, OneGpuJob& job,
             const std::function<void()>& ours, const std::function<void()>& hand,
             const std::function<double(double)>& figure) {
  std::vector<double> a, b;
  for (int turn = 0; turn < kTurns + 1; ++turn) {
    const double first = figure(seconds(job, ours)), second = hand ? figure(seconds(job, hand)) : 0;
    if (turn == 0) continue;
    a.push_back(first);
    b.push_back(second);
  }
  std::printf(
      "{\"name\": \"%s\", \"pes\": %d, \"bytes\": %zu, \"blocks\": %d, \"unit\": \"%s\", \"ours\": %.4g, \"by_hand\": "
      "%.4g}\n",
      name, pes, bytes, blocks, unit, median(a), median(b));
  std::fflush(stdout);
}

void bench_barriers(int pes) {
  OneGpuJob job(pes);
  const int rounds = 2000;
  std::uint64_t** flags = nullptr;
  CUDA_OK(cudaMalloc(&flags, sizeof(*flags) * pes));
  for (int pe = 0; pe < pes; ++pe) {
    auto* mine = job.heap<std::uint64_t>(pe, 1 << 16);
    CUDA_OK(cudaMemcpy(&flags[pe], &mine, sizeof mine, cudaMemcpyDefault));
  }
  cudaStream_t streams[8];
  for (int pe = 0; pe < pes; ++pe) CUDA_OK(cudaStreamCreateWithFlags(&streams[pe], cudaStreamNonBlocking));
  std::uint64_t first = 1;
  const auto by_hand = [&](bool ordered) {
    for (int pe = 0; pe < pes; ++pe) hand_barriers<<<1, 128, 0, streams[pe]>>>(flags, pe, pes, first, rounds, ordered);
    first += rounds;
    for (int pe = 0; pe < pes; ++pe) CUDA_OK(cudaStreamSynchronize(streams[pe]));
  };
  const auto us = [&](double s) { return s / rounds * 1e6; };
  compare(
      "barrier", pes, 0, 1, "us", job,
      [&] {
        for (int pe = 0; pe < pes; ++pe) job.launch<barriers>(pe, 1, 128, job.team(pe), rounds);
      },
      [&] { by_hand(true); }, us);
  compare(
      "sync_relaxed", pes, 0, 1, "us", job,
      [&] {
        for (int pe = 0; pe < pes; ++pe) job.launch<relaxed_syncs>(pe, 1, 128, job.team(pe), rounds);
      },
      [&] { by_hand(false); }, us);
  for (int pe = 0; pe < pes; ++pe) cudaStreamDestroy(streams[pe]);
  cudaFree(flags);
}

template <Order Send, Order Receive>
void bench_ping_pong(const char* name, bool ordered) {
  OneGpuJob job(2);
  const int rounds = 5000;
  std::uint64_t next = 1, hand_next = 1;
  cudaStream_t streams[2];
  for (auto& stream : streams) CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  compare(
      name, 2, 8, 1, "us", job,
      [&] {
        for (int pe = 0; pe < 2; ++pe)
          job.launch<ping_pong<Send, Receive>>(pe, 1, 1, job.team(pe), job.heap<Signal>(pe, 4096), next, rounds);
        next += rounds;
      },
      [&] {
        for (int pe = 0; pe < 2; ++pe)
          hand_ping_pong<<<1, 1, 0, streams[pe]>>>(
              job.heap<std::uint64_t>(pe, 8192), job.heap<std::uint64_t>(1 - pe, 8192), pe, hand_next, rounds, ordered);
        hand_next += rounds;
        for (auto& stream : streams) CUDA_OK(cudaStreamSynchronize(stream));
      },
      [&](double s) { return s / rounds * 1e6; });
}

void bench_put_signal() {
  OneGpuJob job(2);
  const int rounds = 2000;
  std::uint64_t next = 1;
  for (const std::size_t bytes : {8, 512, 4096, 16384, 65536}) {
    for (const int threads : {32, 256, 1024}) {
      char name[64];
      std::snprintf(name, sizeof name, "put_signal_%d_threads", threads);
      compare(
          name, 2, bytes, 1, "us one way", job,
          [&] {
            for (int pe = 0; pe < 2; ++pe)
              job.launch<put_ping_pong>(pe, 1, threads, job.team(pe), job.heap(pe, 1 << 20),
                                        static_cast<const char*>(job.heap(pe, 2 << 20)), bytes,
                                        job.heap<Signal>(pe, 4096), next, rounds);
            next += rounds;
          },
          nullptr, [&](double s) { return s / rounds / 2 * 1e6; });
    }
  }
}

void bench_copies() {
  OneGpuJob job(2);
  const std::size_t bytes = 32 << 20;
  for (const int blocks : {1, 8, 32, 64}) {
    const int rounds = blocks == 1 ? 2 : 20;
    const auto rate = [&](double s) { return static_cast<double>(bytes) * rounds / s * 1e-9; };
    const auto hand = [&](bool get) {
      return [&, get] {
        auto* near_end = job.heap<uint4>(0, get ? 40 << 20 : 0);
        auto* far_end = job.heap<uint4>(1, get ? 0 : 40 << 20);
        hand_copy<8><<<blocks, 1024>>>(get ? near_end : far_end, get ? far_end : near_end, bytes / 16, rounds);
        CUDA_OK(cudaDeviceSynchronize());
      };
    };
    compare(
        "put", 2, bytes, blocks, "GB/s", job,
        [&] {
          job.launch<stream_copy<false>>(0, blocks, 1024, job.team(0), job.heap(0, 40 << 20),
                                         static_cast<const char*>(job.heap(0)), bytes, rounds);
        },
        hand(false), rate);
    compare(
        "get", 2, bytes, blocks, "GB/s", job,
        [&] {
          job.launch<stream_copy<true>>(0, blocks, 1024, job.team(0), job.heap(0, 40 << 20),
                                        static_cast<const char*>(job.heap(0)), bytes, rounds);
        },
        hand(true), rate);
  }
}

void bench_atomics() {
  OneGpuJob job(2);
  for (const int blocks : {1, 8, 32, 66}) {
    const int rounds = 20000;
    compare(
        "atomic_add_spread", 2, 8, blocks, "Gop/s", job,
        [&] { job.launch<adds>(0, blocks, 256, job.team(0), job.heap<std::uint64_t>(0), rounds, true); }, nullptr,
        [&](double s) { return static_cast<double>(rounds) * blocks * 256 / s * 1e-9; });
  }
  compare(
      "atomic_add_one_word", 2, 8, 66, "Gop/s", job,
      [&] { job.launch<adds>(0, 66, 256, job.team(0), job.heap<std::uint64_t>(0), 2000, false); }, nullptr,
      [&](double s) { return 2000.0 * 66 * 256 / s * 1e-9; });
  compare(
      "fetch_add", 2, 8, 1, "us", job,
      [&] { job.launch<fetch_adds>(0, 1, 1, job.team(0), job.heap<std::uint64_t>(0), 20000); }, nullptr,
      [&](double s) { return s / 20000 * 1e6; });
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
    return 77;  // skipped: run.sh says so
  }
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  std::printf("{\"device\": \"%s\", \"cuda_runtime\": %d, \"cuda_driver\": %d, \"nvcc\": \"%d.%d.%d\"}\n", device.name,
              runtime, driver, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
  cudaFuncAttributes put{};
  CUDA_OK(
      cudaFuncGetAttributes(&put, (isotope::testing::gpu_entry<one_put, Team, char*, const char*, std::size_t, int>)));
  std::printf("{\"name\": \"registers_of_one_put\", \"ours\": %d}\n", put.numRegs);
  for (const int pes : {2, 4, 8}) bench_barriers(pes);
  bench_ping_pong<Order::relaxed, Order::relaxed>("ping_pong_relaxed", false);
  bench_ping_pong<Order::release, Order::acquire>("ping_pong_ordered", true);
  bench_put_signal();
  bench_copies();
  bench_atomics();
  return 0;
}
