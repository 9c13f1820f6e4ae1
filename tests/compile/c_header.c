/* A C program sees the C edge. Compiled, not run. */
#include "isotope/isotope.h"

int main(void) {
  int (*put)(const isotope_team*, void*, const void*, size_t, int) = isotope_put;
  return put(0, 0, 0, 0, 0) + (isotope_barrier_block(0, 0) == ISOTOPE_CMP_EQ);
}
