// Collectives whose type is a value, on every platform. The CPU has them for all types. For GPUs nvcc compiles a kernel
// for each algorithm of each type, more than a second each: here is the choice of types that tests run there.
//
//   for (const DataType type : types_on(world, Collective::reduce)) visit_type(type, ...);
//   enqueue_any(coll, stream, call);
//
// A float and an integer that has all operations, and for all_reduce, which has every kind of protocol, a narrow float,
// whose two ways to accumulate are two kernels. Left out on GPUs: the other sizes of each kind, whose reductions differ
// in the conversion of one element (unit tests have those). What only moves elements has all types.
#pragma once

#include <vector>

#include "isotope/isotope.hpp"
#include "support/collective_reference.hpp"

namespace isotope::testing {

constexpr bool has_gpu_kernel(DataType type, Collective collective) {
  return !combines(collective) || type == DataType::f32 || type == DataType::i32 ||
         (type == DataType::bf16 && collective == Collective::all_reduce);
}

inline std::vector<DataType> types_on(const World& world, Collective collective) {
  std::vector<DataType> types;
  for (const DataType type : kTypes)
    if (!world.drives_gpu() || has_gpu_kernel(type, collective)) types.push_back(type);
  return types;
}

/// As Collectives::enqueue. On a GPU a combining call of another type is refused, as one that has no kernel.
void enqueue_any(Collectives& coll, const Stream& stream, const CollectiveCall& call,
                 CallSite site = CallSite::current());
inline void run_any(Collectives& coll, const CollectiveCall& call, CallSite site = CallSite::current()) {
  enqueue_any(coll, {}, call, site);
  coll.world().stream().synchronize();
}

/// The part of one type; collective_calls_<type>.cpp has the kernels.
template <class T>
void enqueue_combining(Collectives& coll, const Stream& stream, const CollectiveCall& call, CallSite site);

}  // namespace isotope::testing
