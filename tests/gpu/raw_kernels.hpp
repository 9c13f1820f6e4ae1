// Kernels that are launched by <<<...>>>, as programs that do not use World::launch have them: part of world.cu.
#pragma once

#include <vector>

#include "checks.hpp"
#include "isotope/isotope.hpp"

namespace gpu_world {

using namespace isotope;
using namespace gpu_checks;

__global__ void raw_ring(Team team, Span<int> out, Span<const int> in, Epoch arrived) {
  begin_kernel(team);
  const auto block = this_block();
  const std::uint64_t round = arrived.next(block);
  put_signal(block, team, out, in, arrived.signal(), 1, SignalOp::add, (team.rank() + 1) % team.size());
  wait_until(block, team, arrived.signal(), Cmp::ge, round);
}

__global__ void raw_wait(Team team, Signal* flag) {
  begin_kernel(team);
  wait_until(this_block(), team, flag, Cmp::ge, 7);
}

__global__ void raw_raise(Team team, Signal* flag, int to) {
  begin_kernel(team);
  signal(this_thread(), team, flag, 1, SignalOp::add, to);
}

struct Message {
  Team team;
  Signal* flag;
  int to;
};

__global__ void raw_raise_of_struct(Message message) {
  begin_kernel(message.team);
  signal(this_thread(), message.team, message.flag, 10, SignalOp::add, message.to);
}

ISOTOPE_KERNEL void raise_of_struct(Message message) {
  begin_kernel(message.team);
  signal(this_thread(), message.team, message.flag, 100, SignalOp::add, message.to);
}

inline void raw_messages(World& world, cudaStream_t stream) {
  auto in = world.alloc<int>(3000), out = world.alloc<int>(3000);
  auto arrived = world.alloc_epoch();
  const int left = (world.rank() + world.size() - 1) % world.size();
  for (int round = 0; round < 5; ++round) {
    in.write(std::vector<int>(3000, round * 100 + world.rank()));
    raw_ring<<<1, 256, 0, stream>>>(world.team(), out.span(), in.span(), arrived.get());
    expect(cudaGetLastError() == cudaSuccess, "a raw launch");
    world.synchronize();
    expect(out.read() == std::vector<int>(3000, round * 100 + left), "a raw ring's round");
    world.barrier();
  }
}

/// A raw kernel behind a wait that gave up, in a raw kernel or in one of World::launch, does nothing; no more does a
/// kernel whose Team lies in a struct. They come after a wait that nobody answers, so no PE's launches wait for
/// another.
inline void nothing_leaves_raw_kernels_after_giving_up(World& world, cudaStream_t stream, const Stream& wrapped) {
  auto flag = world.alloc_zeroed<Signal>(1), canary = world.alloc_zeroed<Signal>(1);
  const int right = (world.rank() + 1) % world.size();
  raw_wait<<<1, 64, 0, stream>>>(world.team(), flag.data());
  raw_raise<<<1, 1, 0, stream>>>(world.team(), canary.data(), right);
  raw_raise_of_struct<<<1, 1, 0, stream>>>(Message{world.team(), canary.data(), right});
  world.launch<raise_of_struct>({.stream = wrapped}, Message{world.team(), canary.data(), right});
  message_of([&] { world.synchronize(); }, Code::timeout);
  world.barrier();
  expect(canary.get(0).value == 0, "nothing left a raw kernel, or a Team in a struct, after a wait gave up");
  world.barrier();
  // Once the host has told of it, all of them send again.
  raw_raise<<<1, 1, 0, stream>>>(world.team(), canary.data(), right);
  raw_raise_of_struct<<<1, 1, 0, stream>>>(Message{world.team(), canary.data(), right});
  world.launch<raise_of_struct>({.stream = wrapped}, Message{world.team(), canary.data(), right});
  world.synchronize();
  world.barrier();
  expect(canary.get(0).value == 111, "raw kernels send again");
  world.barrier();
}

inline void raw_kernels(World& world) {
  cudaStream_t stream = nullptr;  // goes with the process: it may not before the World
  expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream of the user's");
  const Stream wrapped = world.wrap_stream(stream);
  raw_messages(world, stream);
  nothing_leaves_raw_kernels_after_giving_up(world, stream, wrapped);
}

}  // namespace gpu_world
