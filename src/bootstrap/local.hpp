// Rendezvous of the PEs of one host that share nothing but their environment: torchrun, mpirun, srun.
//
// Rank 0 listens on an abstract unix socket whose name all PEs can compute; the kernel tells each side which user the
// other one is. That proof takes the place of a key: there is no secret channel to move one.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"
#include "runtime/knobs.hpp"

namespace isotope::bootstrap {

/// The n-th call of a process meets the n-th call of the others.
std::unique_ptr<Bootstrap> meet_locally(const Place& place, const runtime::Knobs& knobs);

}  // namespace isotope::bootstrap
