// The C edge as device functions: what the bitcode for Triton and other languages is made of. Compiled, not run.
#define ISOTOPE_C_FUNCTION extern "C" __device__
#define ISOTOPE_C_CHECK 0
#include "isotope/device/c_edge.inc"
