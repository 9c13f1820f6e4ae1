// A kernel that makes every device call there is, at every scope. It has to compile on every platform.
#pragma once

#include <initializer_list>

#include "isotope/device/atomic.hpp"
#include "isotope/device/kernel_order.hpp"
#include "isotope/device/multimem.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/device/scratch_copy.hpp"
#include "isotope/device/sync.hpp"
#include "isotope/device/sync_session.hpp"
#include "isotope/device/vector.hpp"
#include "isotope/device/waits.hpp"

namespace isotope::testing {

struct EveryCall {
  std::uint64_t* words;
  std::uint32_t* words32;
  float* floats;
  double* doubles;
  f16* halves;
  bf16* bhalves;
  Signal* signals;
  Bits128* wide;
  std::size_t* indices;
  const int* status;
  Epoch epoch;
};

template <class T>
ISOTOPE_HD void every_access(T* p, Order order, Scope scope) {
  T expected{};
  store(p, load(p, order, scope), order, scope);
  exchange(p, T{1}, order, scope);
  compare_exchange(p, expected, T{2}, order, scope);
  fetch_add(p, T{1}, order, scope);
  if constexpr (AtomicWord<T>) {
    fetch_sub(p, T{1}, order, scope);
    fetch_and(p, T{1}, order, scope);
    fetch_or(p, T{1}, order, scope);
    fetch_xor(p, T{1}, order, scope);
    fetch_min(p, T{1}, order, scope);
    fetch_max(p, T{1}, order, scope);
  }
}

template <class T>
ISOTOPE_HD void every_word_operation(const Team& team, T* p) {
  every_access(p, Order::acq_rel, Scope::system);
  atomic_set(team, p, atomic_fetch(team, p, 0), 0);
  atomic_swap(team, p, T{1}, 0);
  atomic_add(team, p, atomic_fetch_add(team, p, T{1}, 0), 0);
  if constexpr (AtomicWord<T>) {
    atomic_compare_swap(team, p, T{1}, T{2}, 0);
    atomic_inc(team, p, 0);
    atomic_fetch_inc(team, p, 0);
    atomic_and(team, p, atomic_fetch_and(team, p, T{1}, 0), 0);
    atomic_or(team, p, atomic_fetch_or(team, p, T{1}, 0), 0);
    atomic_xor(team, p, atomic_fetch_xor(team, p, T{1}, 0), 0);
  }
}

template <class V>
ISOTOPE_HD void every_multimem(const Team& team, void* p) {
  using T = typename V::value_type;
  auto* v = static_cast<V*>(p);
  multimem_store(team, v, multimem_load_reduce<ReduceOp::add>(team, v));
  multimem_store(team, v, multimem_load_reduce<ReduceOp::add, Accumulate::native>(team, v));
  multimem_store(team, v, multimem_load_reduce<ReduceOp::min>(team, v));
  multimem_store(team, v, multimem_load_reduce<ReduceOp::max>(team, v));
  alias_fence();
  multimem_reduce<ReduceOp::add>(team, v, *v);
  multimem_reduce<ReduceOp::min>(team, v, *v);
  multimem_reduce<ReduceOp::max>(team, v, *v);
  if constexpr (AtomicWord<T>) {
    multimem_store(team, v, multimem_load_reduce<ReduceOp::bit_and>(team, v));
    multimem_store(team, v, multimem_load_reduce<ReduceOp::bit_or>(team, v));
    multimem_store(team, v, multimem_load_reduce<ReduceOp::bit_xor>(team, v));
    multimem_reduce<ReduceOp::bit_and>(team, v, *v);
    multimem_reduce<ReduceOp::bit_or>(team, v, *v);
    multimem_reduce<ReduceOp::bit_xor>(team, v, *v);
  }
}

template <class T>
ISOTOPE_HD void every_multimem_width(const Team& team, void* p) {
  if constexpr (sizeof(T) <= 4) every_multimem<Vec<T, 4 / sizeof(T)>>(team, p);
  if constexpr (sizeof(T) >= 4) every_multimem<Vec<T, 8 / sizeof(T)>>(team, p);
  every_multimem<Vec<T, 16 / sizeof(T)>>(team, p);
}

template <Group G>
ISOTOPE_HD void every_group_call(G group, const Team& team, const EveryCall& a) {
  const Span<std::uint64_t> dst(a.words, 8), src(a.words + 8, 8);
  put(group, team, dst, src, 0);
  put_nbi(group, team, dst, src, 0);
  get(group, team, dst, src, 0);
  get_nbi(group, team, dst, src, 0, Context{});
  put_signal(group, team, dst, src, a.signals, 1, SignalOp::add, 0);
  put_signal_nbi(group, team, dst, src, a.signals, 1, SignalOp::set, 0);
  put(group, team, dst, src, 0, dynamic_shared<char>());
  get(group, team, dst, src, 0, dynamic_shared<char>());
  iput(group, team, a.words, a.words + 8, 2, 1, 2, 0);
  iget(group, team, a.words, a.words + 8, 2, 1, 2, 0);
  fence(group, team);
  quiet(group, team, Context{});
  signal(group, team, a.signals, 1, SignalOp::add, 0);
  wait_until(group, team, a.signals, Cmp::ge, 1);
  wait_until(group, team, a.words32, Cmp::ne, 1);
  wait_until_all(group, team, a.signals, 4, Cmp::ge, 1, a.status);
  wait_until_any(group, team, a.signals, 4, Cmp::ge, 1, a.status);
  wait_until_some(group, team, a.signals, 4, a.indices, Cmp::ge, 1, a.status);
  wait_until_all_vector(group, team, a.signals, 4, Cmp::ge, a.words, a.status);
  wait_until_any_vector(group, team, a.signals, 4, Cmp::ge, a.words, a.status);
  wait_until_some_vector(group, team, a.signals, 4, a.indices, Cmp::ge, a.words, a.status);
  barrier(group, team);
  sync(group, team, 1);
  sync(group, team, 2, Order::relaxed);
  wait(group, team, arrive(group, team, 3));
  SyncSession session(group, team, 4);
  session.sync(Order::relaxed);
  session.barrier();
  a.epoch.next(group);
}

ISOTOPE_KERNEL void every_call(Team team, EveryCall a) {
  begin_kernel(team);
  await_previous_kernel(team);
  allow_next_kernel();
  for (const Order order : {Order::relaxed, Order::acquire, Order::release, Order::acq_rel, Order::seq_cst}) {
    for (const Scope scope : {Scope::thread, Scope::block, Scope::cluster, Scope::device, Scope::system}) {
      every_access(a.words, order, scope);
      fence(order, scope);
    }
  }
  every_word_operation(team, a.words);
  every_word_operation(team, reinterpret_cast<std::int64_t*>(a.words));
  every_word_operation(team, a.words32);
  every_word_operation(team, reinterpret_cast<std::int32_t*>(a.words32));
  every_word_operation(team, a.floats);
  every_word_operation(team, a.doubles);
  for (const Order order : {Order::relaxed, Order::acquire, Order::release, Order::acq_rel, Order::seq_cst}) {
    for (const Scope scope : {Scope::block, Scope::device, Scope::system}) {
      fetch_add(a.halves, f16(1.0f), order, scope);
      fetch_add(a.bhalves, bf16(1.0f), order, scope);
    }
  }
  atomic_add(team, a.halves, atomic_fetch_add(team, a.halves, f16(1.0f), 0), 0);
  atomic_add(team, a.bhalves, bf16(1.0f), 0);

  store_vec(a.floats, load_vec<4>(a.floats + 4));
  store_vec(a.halves, load_vec<8>(a.halves + 8));
  store_vec(a.bhalves, load_vec<2>(a.bhalves + 8));
  store_vec(a.words32, load_vec<2>(a.words32 + 4));
  store_vec(a.words, load_vec<2>(a.words + 2));
  store16(a.wide, load16(a.wide + 1));
  store16(a.wide, pack(a.words[0], a.words[1]));
  a.words[0] = pack(a.words32[0], unpack<std::uint32_t>(a.words[1])[1]);

  every_multimem_width<float>(team, a.wide);
  every_multimem_width<double>(team, a.wide);
  every_multimem_width<f16>(team, a.wide);
  every_multimem_width<bf16>(team, a.wide);
  every_multimem_width<e4m3>(team, a.wide);
  every_multimem_width<e5m2>(team, a.wide);
  every_multimem_width<std::int32_t>(team, a.wide);
  every_multimem_width<std::uint32_t>(team, a.wide);
  every_multimem_width<std::int64_t>(team, a.wide);
  every_multimem_width<std::uint64_t>(team, a.wide);

  p(team, a.floats, g(team, a.floats, 0), 0);
  every_group_call(this_thread(), team, a);
  every_group_call(this_warp(), team, a);
  every_group_call(this_block(), team, a);
  test(a.signals, Cmp::ge, 1);
  signal_fetch(a.signals);
  test_all(a.signals, 4, Cmp::ge, 1, a.status);
  test_any(a.signals, 4, Cmp::ge, 1, a.status);
  test_some(a.signals, 4, a.indices, Cmp::ge, 1, a.status);
  test_all_vector(a.signals, 4, Cmp::ge, a.words, a.status);
  test_any_vector(a.signals, 4, Cmp::ge, a.words, a.status);
  test_some_vector(a.signals, 4, a.indices, Cmp::ge, a.words, a.status);
  grid_sync(team);
  ISOTOPE_SHARED(float[64], tile);
  tile[0] = dynamic_shared<float>().size() > 0 ? 1.0f : 0.0f;
  a.floats[0] = this_warp().shuffle_xor(tile[0], 1) + static_cast<float>(team.multicast(a.floats) != nullptr);
}

}  // namespace isotope::testing
