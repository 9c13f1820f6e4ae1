// The collectives that combine elements of bf16.
#include "support/collective_calls_of.hpp"

namespace isotope::testing {

template void enqueue_combining<bf16>(Collectives&, const Stream&, const CollectiveCall&, CallSite);

}  // namespace isotope::testing
