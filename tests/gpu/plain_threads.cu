// What docs/gpu.md says of launches by threads, with nothing of Isotope in it: P threads, a stream each, enqueue D
// kernels in a row; kernel i of a thread waits for kernel i of its left neighbour. All have room on the GPU, so all
// should end at once; for some P and D a kernel does not start until the others give up, after 50 ms. No test: a driver
// that does better fails nothing. bench/results/h200-world-tests.json has what an earlier form of it printed, with 32
// threads a kernel.
//   nvcc -O2 -arch=native tests/gpu/plain_threads.cu -o plain_threads && CUDA_MODULE_LOADING=EAGER ./plain_threads
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

__global__ void meet_left(unsigned* counters, int me, int threads, unsigned round, unsigned* given_up) {
  atomicAdd_system(&counters[(me + 1) % threads], 1);
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  while (*static_cast<volatile unsigned*>(&counters[me]) < round) {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - begin < 50'000'000ull) continue;
    atomicAdd_system(given_up, 1);
    return;
  }
}

/// How many kernels gave up. `late`: one thread comes 5 ms after the others.
unsigned run(unsigned* counters, unsigned* given_up, int count, int depth, bool late) {
  cudaMemset(counters, 0, 4096);
  *given_up = 0;
  cudaDeviceSynchronize();
  std::atomic<int> here{0};
  std::vector<std::thread> threads;
  for (int me = 0; me < count; ++me) {
    threads.emplace_back([&, me] {
      cudaStream_t stream;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      for (++here; here < count;) std::this_thread::yield();
      if (late && me == count - 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      for (int i = 1; i <= depth; ++i) meet_left<<<1, 1, 0, stream>>>(counters, me, count, i, given_up);
      cudaStreamSynchronize(stream);
      for (++here; here < 2 * count;) std::this_thread::yield();
      cudaStreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *given_up;
}

int main() {
  unsigned *counters, *given_up;
  if (cudaMalloc(&counters, 4096) != cudaSuccess || cudaMallocHost(&given_up, sizeof(unsigned)) != cudaSuccess) {
    std::printf("no GPU here\n");
    return 0;
  }
  for (const bool late : {false, true}) {
    std::printf(late ? "one comes late:\n" : "together:\n");
    for (const int count : {2, 3, 5, 8}) {
      std::printf("  %d threads:", count);
      for (const int depth : {1, 2, 4, 10, 30}) {
        int stood = 0;
        for (int turn = 0; turn < 3; ++turn) stood += run(counters, given_up, count, depth, late) != 0 ? 1 : 0;
        std::printf("  %d launches %d of 3", depth, stood);
      }
      std::printf(" stood still\n");
    }
  }
}
