// The demo's three kernels: a ring of puts, a neighbour exchange and a reduction; and a small one that compares times.
// Ordinary device code: puts, signals and waits.
#pragma once

#include <cstdint>

#include "isotope/isotope.hpp"

namespace demo {

using namespace isotope;

/// Sends a block once around the ring, adding each PE's rank + 1 to every element at each stop. `slots` holds one block
/// per stop and one more: a PE may be several stops ahead of its right neighbour, so no stop may write where an earlier
/// one is still being read.
ISOTOPE_KERNEL void ring(Team team, Span<std::int64_t> slots, Epoch arrived) {
  auto block = this_block();
  const auto stops = static_cast<std::size_t>(team.size());
  const std::size_t n = slots.size() / (stops + 1);
  const int right = (team.rank() + 1) % team.size();
  for (std::size_t stop = 0; stop < stops; ++stop) {
    Span<std::int64_t> here = slots.subspan(stop * n, n);
    for (std::size_t i = block.thread_rank(); i < n; i += block.size()) here[i] += team.rank() + 1;
    block.sync();
    const std::uint64_t round = arrived.next(block);
    put_signal(block, team, slots.subspan((stop + 1) * n, n), here, arrived.signal(), 1, SignalOp::add, right);
    if (!wait_until(block, team, arrived.signal(), Cmp::ge, round)) return;
  }
}

/// One Jacobi step of a one-dimensional heat equation per round: border cells come from both neighbours. `field` holds
/// the cells with a border cell at each end; the outermost borders stay 0. Counts arrivals from each side apart.
ISOTOPE_KERNEL void exchange(Team team, Span<std::int64_t> field, Span<std::int64_t> next, Epoch from_left,
                             Epoch from_right, int rounds) {
  auto block = this_block();
  const std::size_t n = field.size() - 2;
  const int left = team.rank() - 1, right = team.rank() + 1;
  for (int step = 0; step < rounds; ++step) {
    const std::uint64_t l = from_left.next(block), r = from_right.next(block);
    if (left >= 0)
      put_signal(block, team, field.subspan(n + 1, 1), field.subspan(1, 1), from_right.signal(), 1, SignalOp::add,
                 left);
    if (right < team.size())
      put_signal(block, team, field.subspan(0, 1), field.subspan(n, 1), from_left.signal(), 1, SignalOp::add, right);
    if (left >= 0 && !wait_until(block, team, from_left.signal(), Cmp::ge, l, Order::acquire, left)) return;
    if (right < team.size() && !wait_until(block, team, from_right.signal(), Cmp::ge, r, Order::acquire, right)) return;
    for (std::size_t i = 1 + block.thread_rank(); i <= n; i += block.size())
      next[i] = field[i - 1] + field[i] + field[i + 1];
    block.sync();
    for (std::size_t i = 1 + block.thread_rank(); i <= n; i += block.size()) field[i] = next[i] & 0xffff;
    block.sync();
    // Nobody writes my borders for the next round before I have read them: tell both neighbours that I have.
    if (left >= 0) signal(block, team, from_right.signal(), 1, SignalOp::add, left);
    if (right < team.size()) signal(block, team, from_left.signal(), 1, SignalOp::add, right);
    const std::uint64_t l2 = from_left.next(block), r2 = from_right.next(block);
    if (left >= 0 && !wait_until(block, team, from_left.signal(), Cmp::ge, l2, Order::acquire, left)) return;
    if (right < team.size() && !wait_until(block, team, from_right.signal(), Cmp::ge, r2, Order::acquire, right))
      return;
  }
}

/// All-reduce by pulling: each PE says that its input is ready, waits for everyone's word, and adds up all inputs in
/// rank order.
ISOTOPE_KERNEL void reduce(Team team, Span<std::int64_t> sum, Span<std::int64_t> input, Epoch ready) {
  auto block = this_block();
  const std::uint64_t round = ready.next(block);
  for (int pe = 0; pe < team.size(); ++pe) signal(block, team, ready.signal(), 1, SignalOp::add, pe);
  if (!wait_until(block, team, ready.signal(), Cmp::ge, round * static_cast<std::uint64_t>(team.size()))) return;
  for (std::size_t i = block.thread_rank(); i < sum.size(); i += block.size()) {
    std::int64_t total = 0;
    for (int pe = 0; pe < team.size(); ++pe) total += team.at(input.data(), pe)[i];
    sum[i] = total;
  }
}

/// Everyone's value to everyone: cell `rank` of each PE goes to all.
ISOTOPE_KERNEL void share(Team team, Span<double> cells) {
  const auto me = static_cast<std::size_t>(team.rank());
  for (int pe = 0; pe < team.size(); ++pe) p(team, &cells[me], cells[me], pe);
  barrier(this_thread(), team);
}

}  // namespace demo
