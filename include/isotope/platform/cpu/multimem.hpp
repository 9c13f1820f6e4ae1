// The CPU has no multicast instructions: device/multimem.hpp goes through the members' copies.
#pragma once

#include "isotope/base/order.hpp"

namespace isotope::cpu {

template <class V, ReduceOp Op, bool Wide>
inline constexpr bool kMultimemLoadReduce = false;
template <class V, ReduceOp Op>
inline constexpr bool kMultimemReduce = false;
template <class V>
inline constexpr bool kMultimemStore = false;

/// Two addresses of a byte are the same place to a processor.
inline void alias_fence() {}

template <ReduceOp Op, bool Wide, class V>
V multimem_load_reduce(const V* p) = delete;
template <ReduceOp Op, class V>
void multimem_reduce(V* p, const V& value) = delete;
template <class V>
void multimem_store(V* p, const V& value) = delete;

}  // namespace isotope::cpu
