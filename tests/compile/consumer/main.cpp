// A program built against an installed copy: headers, library and ISOTOPE_MAIN are all found.
#include <isotope/isotope.hpp>

ISOTOPE_MAIN(argc, argv) {
  isotope::World world = isotope::init();
  world.barrier();
  return world.rank() < world.size() ? 0 : 1;
}
