// Compiled for each architecture by nvcc, without relocatable device code; nothing here runs.
#include "every_call.hpp"

template <auto Kernel, class... A>
__global__ void entry(A... arguments) {
  Kernel(arguments...);
}

void instantiate(isotope::Team team, isotope::testing::EveryCall calls) {
  entry<isotope::testing::every_call><<<1, 32>>>(team, calls);
}
