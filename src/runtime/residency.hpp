// How many multiprocessors of a GPU a PE may count on, where several PEs use it: all their kernels, which may wait for
// each other, are to be on the GPU at the same time. Pure arithmetic.
#pragma once

#include <cstdint>
#include <vector>

namespace isotope::runtime {

/// A PE on the same GPU, the caller among them.
struct Tenant {
  std::int32_t pid = 0;   // PEs of one process have its share in common
  double percentage = 0;  // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of its process; 0 where it is not set
};

struct Residency {
  int multiprocessors = 0;  // that this PE's kernels have to themselves; 0: too many PEs
  int sharing = 1;          // PEs that the multiprocessors this process may use are divided among
};

/// `multiprocessors` are those that this process may use: under MPS the driver has taken its percentage already.
/// Where the percentages of all processes come to more than 100 their kernels meet on the same multiprocessors, so each
/// counts on its part of what it may use. So does each where nothing is known of the others' shares. Without `mps`
/// processes take turns, and each has all.
inline Residency residency_of(std::int32_t pid, const std::vector<Tenant>& tenants, int multiprocessors, bool mps) {
  std::vector<std::int32_t> seen;
  double percent = 0;
  int threads = 0;
  for (const Tenant& tenant : tenants) {
    threads += tenant.pid == pid;
    bool known = false;
    for (const std::int32_t other : seen) known = known || other == tenant.pid;
    if (known) continue;
    seen.push_back(tenant.pid);
    percent += tenant.percentage > 0 && tenant.percentage < 100 ? tenant.percentage : 100;
  }
  const bool crowded = mps && percent > 100.001;  // tenths add up to a little more than they are
  const int mine = crowded ? static_cast<int>(multiprocessors * 100.0 / percent) : multiprocessors;
  return {mine / threads, crowded ? static_cast<int>(tenants.size()) : threads};
}

}  // namespace isotope::runtime
