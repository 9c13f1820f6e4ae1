// Chooses a bootstrap from what init() was given and from the environment.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "isotope/host/unique_id.hpp"
#include "runtime/knobs.hpp"

namespace isotope::bootstrap {

/// The user's all-gather: every PE passes `bytes` bytes at `mine`, `all` receives size * bytes in rank order.
using AllgatherFn = std::function<void(const void* mine, void* all, std::size_t bytes)>;

/// From the environment, in this order unless ISOTOPE_BOOTSTRAP says which: launcher (ISOTOPE_CONTROL_FD), tcp
/// (ISOTOPE_ROOT), torchrun, mpi (Open MPI, MPICH, Intel MPI), slurm, single. Throws Error(invalid_argument) for an
/// environment that contradicts itself (rank >= size, a rank that is no number, one half of a pair missing).
std::unique_ptr<Bootstrap> from_environment(const runtime::Knobs& knobs);

std::unique_ptr<Bootstrap> single();
std::unique_ptr<Bootstrap> from_unique_id(int rank, int size, const UniqueId& id, const runtime::Knobs& knobs);
std::unique_ptr<Bootstrap> from_callback(int rank, int size, AllgatherFn allgather);

/// n bootstraps for n threads of this process.
std::vector<std::unique_ptr<Bootstrap>> for_threads(int n, const runtime::Knobs& knobs);

}  // namespace isotope::bootstrap
