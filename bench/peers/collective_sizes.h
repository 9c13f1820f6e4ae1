/* The sizes of the collectives' benchmarks, for ours (bench/topics/collectives.cpp) and for the peers' programs: bytes
 * of the whole vector on each PE. C and C++. */
#pragma once

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define COLLECTIVE_SIZES {KIB, 8 * KIB, 64 * KIB, 512 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB}
#define COLLECTIVE_LARGEST (64 * MIB)
#define COLLECTIVE_LARGEST_QUICK MIB
