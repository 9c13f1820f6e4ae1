// The collectives that combine elements of f32.
#include "support/collective_calls_of.hpp"

namespace isotope::testing {

template void enqueue_combining<float>(Collectives&, const Stream&, const CollectiveCall&, CallSite);

}  // namespace isotope::testing
