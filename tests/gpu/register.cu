// Memory that the user owns on a GPU, registered where it lies: kernels of all PEs use it, and the user's addresses
// name the same bytes. Run as a job; prints what failed and one line at the end.
#include <chrono>
#include <vector>

#include "checks.hpp"
#include "isotope/isotope.h"
#include "isotope/isotope.hpp"

namespace gpu_register {

using namespace isotope;
using namespace gpu_checks;

ISOTOPE_KERNEL void pass_on(Team team, Span<int> to, Span<const int> from) {
  const auto block = this_block();
  put(block, team, to, from, (team.rank() + 1) % team.size());
  barrier(block, team);
}

ISOTOPE_KERNEL void add_everywhere(Team team, Span<int> values) {
  const auto block = this_block();
  for (int pe = 0; pe < team.size(); ++pe) {
    for (std::size_t i = block.thread_rank(); i < values.size(); i += block.size())
      atomic_add(team, values.data() + i, team.rank() + 1, pe);
  }
  barrier(block, team);
}

ISOTOPE_KERNEL void spin_until(Team team, Signal* flag) { wait_until(this_thread(), team, flag, Cmp::ge, 1); }
ISOTOPE_KERNEL void raise(Team team, Signal* flag, int to) { signal(this_thread(), team, flag, 1, SignalOp::set, to); }

/// A user's buffer, written and read at the user's own address.
class Buffer {
 public:
  explicit Buffer(std::size_t n)
      : bytes_(n * sizeof(int)), data_(static_cast<int*>(isotope_gpu_alloc(bytes_, device(), nullptr))) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  }
  ~Buffer() {
    isotope_gpu_free(data_, bytes_, device(), stream_);
    cudaStreamDestroy(stream_);
  }
  int* data() const { return data_; }
  void write(const std::vector<int>& values, std::size_t first = 0) const {
    cudaMemcpyAsync(data_ + first, values.data(), values.size() * sizeof(int), cudaMemcpyDefault, stream_);
    cudaStreamSynchronize(stream_);
  }
  std::vector<int> read(std::size_t first, std::size_t n) const {
    std::vector<int> values(n);
    cudaMemcpyAsync(values.data(), data_ + first, n * sizeof(int), cudaMemcpyDefault, stream_);
    cudaStreamSynchronize(stream_);
    return values;
  }
  static int device() {
    int device = 0;
    cudaGetDevice(&device);
    return device;
  }

 private:
  std::size_t bytes_;
  int* data_;
  cudaStream_t stream_ = nullptr;
};

std::vector<int> values_of(int pe, std::size_t n, int round) {
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<int>(i) * 3 + pe * 1000003 + round;
  return values;
}

void kernels_use_it(World& world) {
  constexpr std::size_t kCount = 3000001;
  const int left = (world.rank() + world.size() - 1) % world.size();
  const Buffer from(kCount), to(kCount + 1024);
  expect(from.data() != nullptr && to.data() != nullptr, "isotope_gpu_alloc");
  for (int round = 0; round < 3; ++round) {
    auto in = world.register_memory(Span<int>(from.data(), kCount));
    auto out = world.register_memory(Span<int>(to.data() + 1024, kCount));  // a part of the allocation
    from.write(values_of(world.rank(), kCount, round));
    world.barrier();
    world.launch<pass_on>({.grid = 1, .block = 512}, world.team(), out.span(), in.span());
    world.synchronize();
    expect(to.read(1024, kCount) == values_of(left, kCount, round), "what the neighbour put, at the user's address");
    expect(out.read() == values_of(left, kCount, round), "the same through the Symmetric");
    to.write(std::vector<int>(kCount, 0), 1024);
    world.barrier();
    world.launch<add_everywhere>({.grid = 1, .block = 256}, world.team(), Span<int>(out.data(), 1000));
    world.synchronize();
    world.barrier();
    expect(to.read(1024, 1000) == std::vector<int>(1000, world.size() * (world.size() + 1) / 2),
           "atomic adds of all PEs");
    world.barrier();
    world.free(in);
    world.free(out);
  }
}

void what_cannot_be(World& world) {
  int* plain = nullptr;
  expect(cudaMalloc(&plain, 1 << 20) == cudaSuccess, "cudaMalloc");
  world.barrier();
  const std::string why = message_of([&] { (void)world.register_memory(Span<int>(plain, 1000)); }, Code::not_supported);
  expect(says(why, "isotope_gpu_alloc") && says(why, "cudaMalloc"), why);
  static int host[1000];
  message_of([&] { (void)world.register_memory(Span<int>(host, 1000)); }, Code::invalid_argument);
  world.barrier();
  cudaFree(plain);
  world.barrier();
}

// While the kernel of PE 1 waits for PE 0, all register and free, and nobody waits for that kernel.
void nothing_waits_for_the_device(World& world) {
  auto flag = world.alloc_zeroed<Signal>(1);
  const Buffer early(1000);
  if (world.size() > 1 && world.rank() == 1) world.launch<spin_until>({}, world.team(), flag.data());
  world.barrier();
  int* mine = static_cast<int*>(isotope_gpu_alloc(4000, Buffer::device(), nullptr));
  {
    auto x = world.register_memory(Span<int>(mine, 1000));
    auto y = world.register_memory(Span<int>(early.data(), 1000));
    x.set(1, 5);
    world.free(x);
    world.free(y);
  }
  if (world.rank() == 0) {
    Stream side = world.create_stream();
    world.launch<raise>({.stream = side}, world.team(), flag.data(), world.size() > 1 ? 1 : 0);
    side.synchronize();
  }
  world.synchronize();
  world.barrier();
  isotope_gpu_free(mine, 4000, Buffer::device(), nullptr);
}

}  // namespace gpu_register

ISOTOPE_MAIN(argc, argv) {
  isotope::InitOptions options;
  options.wait_deadline = std::chrono::seconds(5);
  isotope::World world = isotope::init(options);
  gpu_checks::t_rank = world.rank();
  gpu_checks::expect(world.drives_gpu(), "the World drives a GPU");
  gpu_register::kernels_use_it(world);
  gpu_register::nothing_waits_for_the_device(world);
  gpu_register::what_cannot_be(world);
  return gpu_checks::verdict(world);
}
