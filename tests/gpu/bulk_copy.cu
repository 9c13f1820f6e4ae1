// put and get through shared memory in a job on GPUs, where the copy engine makes them. Run as a job; prints what failed and one
// line at the end.
#include <chrono>

#include "../support/scratch_copies.hpp"
#include "checks.hpp"
#include "isotope/isotope.hpp"

ISOTOPE_MAIN(argc, argv) {
  isotope::InitOptions options;
  options.wait_deadline = std::chrono::seconds(5);
  isotope::World world = isotope::init(options);
  gpu_checks::t_rank = world.rank();
  isotope::testing::scratch_copies(world, gpu_checks::expect);
  return gpu_checks::verdict(world);
}
