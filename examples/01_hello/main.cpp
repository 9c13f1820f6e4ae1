// The smallest program: every PE says who it is.
#include <cstdio>

#include "isotope/isotope.hpp"

ISOTOPE_MAIN(argc, argv) {
  isotope::World world = isotope::init();
  std::printf("hello from PE %d of %d\n", world.rank(), world.size());
  world.barrier();
  return 0;
}
