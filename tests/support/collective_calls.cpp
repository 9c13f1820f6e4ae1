#include "support/collective_calls.hpp"

namespace isotope::testing {

namespace {

/// What only moves: one kernel for all sizes of element.
template <Collective C>
void enqueue_moving(Collectives& coll, const Stream& stream, const CollectiveCall& call, CallSite site) {
  switch (size_of(call.type)) {
    case 1:
      return coll.enqueue_typed<C, std::uint8_t>(stream, call, {}, site);
    case 2:
      return coll.enqueue_typed<C, std::uint16_t>(stream, call, {}, site);
    case 4:
      return coll.enqueue_typed<C, std::uint32_t>(stream, call, {}, site);
    default:
      return coll.enqueue_typed<C, std::uint64_t>(stream, call, {}, site);
  }
}

}  // namespace

void enqueue_any(Collectives& coll, const Stream& stream, const CollectiveCall& call, CallSite site) {
  // Bad calls are refused there as well, and before anything is launched.
  const bool bad = why_not(call.collective, call.algo, call.type, call.op) != nullptr;
  if (bad || !coll.world().drives_gpu()) return coll.enqueue(stream, call, site);
  if (call.collective == Collective::all_gather)
    return enqueue_moving<Collective::all_gather>(coll, stream, call, site);
  if (call.collective == Collective::all_to_all)
    return enqueue_moving<Collective::all_to_all>(coll, stream, call, site);
  if (call.collective == Collective::broadcast) return enqueue_moving<Collective::broadcast>(coll, stream, call, site);
  if (call.type == DataType::f32) return enqueue_combining<float>(coll, stream, call, site);
  if (call.type == DataType::bf16) return enqueue_combining<bf16>(coll, stream, call, site);
  if (call.type == DataType::i32) return enqueue_combining<std::int32_t>(coll, stream, call, site);
  coll.enqueue(stream, call, site);
}

}  // namespace isotope::testing
