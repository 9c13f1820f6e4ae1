// What torch_register.py calls: registers a tensor's memory in the job that the process belongs to.
#include <cstdio>
#include <vector>

#include "isotope/isotope.hpp"

/// Every PE's memory holds its rank + 1. Looks at that of all PEs, then writes 100 + its rank into its own. The number
/// of bytes that were wrong; -1, and the reason on standard error, where the memory cannot be registered.
extern "C" int torch_register(unsigned char* data, std::size_t bytes) {
  using namespace isotope;
  try {
    World world = init();
    auto x = world.register_memory(Span<unsigned char>(data, bytes));
    world.barrier();
    int wrong = 0;
    for (int pe = 0; pe < world.size(); ++pe) {
      for (const unsigned char value : x.read_from(world.team(), pe)) wrong += value != pe + 1;
    }
    world.barrier();
    x.write(std::vector<unsigned char>(bytes, static_cast<unsigned char>(100 + world.rank())));
    world.free(x);
    return wrong;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torch_register: %s\n", error.what());
    return -1;
  }
}
