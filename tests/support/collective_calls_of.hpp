// All that combines elements, of one type: collective_calls.hpp says why each type has a file.
#pragma once

#include "support/collective_calls.hpp"

namespace isotope::testing {

template <class T>
void enqueue_combining(Collectives& coll, const Stream& stream, const CollectiveCall& call, CallSite site) {
#define X(c)                                                                                                   \
  if constexpr (has_gpu_kernel(data_type_of<T>, Collective::c)) {                                              \
    if (call.collective == Collective::c) return coll.enqueue_typed<Collective::c, T>(stream, call, {}, site); \
  }
  X(all_reduce)
  X(reduce)
  X(reduce_scatter)
  X(inclusive_scan)
  X(exclusive_scan)
#undef X
  coll.enqueue(stream, call, site);
}

}  // namespace isotope::testing
