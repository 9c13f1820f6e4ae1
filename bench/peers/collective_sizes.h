/* The sizes of the collectives' benchmarks in bytes, for ours (bench/topics/collectives.cpp) and for the peers'
 * programs. C and C++. */
#pragma once

#define COLLECTIVE_SIZES {1 << 10, 8 << 10, 64 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
#define COLLECTIVE_LARGEST (64 << 20)
#define COLLECTIVE_LARGEST_QUICK (1 << 20)
