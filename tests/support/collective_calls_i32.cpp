// The collectives that combine elements of i32.
#include "support/collective_calls_of.hpp"

namespace isotope::testing {

template void enqueue_combining<std::int32_t>(Collectives&, const Stream&, const CollectiveCall&, CallSite);

}  // namespace isotope::testing
