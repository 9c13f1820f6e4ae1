/* The MPI peer of the collectives, compiled once with Open MPI and once with MPICH. Called as:
 *   mpi_collective FILE ROUNDS TOPIC [quick]
 * Sizes are those of nccl-tests: of the whole vector, which is the larger of a rank's two buffers. Floats, sums, root
 * 0, not in place, as on our side. Buffers are aligned to pages and touched before anything is timed, and both
 * libraries choose their algorithms themselves: what a user gets who asks for nothing special.
 * bench/harness/launcher.cpp says how ranks are bound. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <string.h>

#include "collective_sizes.h"
#include "peer.h"

static int rank, size;
static float *from, *into;
static int count; /* floats of the whole vector, or of one rank's part of it */

/* With more ranks than CPUs, Open MPI gives way while it waits. Debian's MPICH 4.0 spins until its time slice is over,
 * which makes 1 KiB take 10 ms; its users then start the call and test it, giving way in between, and so do we. */
static int gives_way = 0;
static MPI_Request pending;

static void finish(void) {
  int done = 0;
  while (MPI_Test(&pending, &done, MPI_STATUS_IGNORE), !done) sched_yield();
}

static int must_give_way(void) {
#if defined(MPICH_VERSION)
  cpu_set_t mine;
  return sched_getaffinity(0, sizeof mine, &mine) == 0 && size > CPU_COUNT(&mine);
#else
  return 0;
#endif
}

/* MPI_X or MPI_Ix, with the same arguments. */
#define CALL(at_once, started, ...)                   \
  do {                                                \
    if (gives_way) {                                  \
      started(__VA_ARGS__, MPI_COMM_WORLD, &pending); \
      finish();                                       \
    } else {                                          \
      at_once(__VA_ARGS__, MPI_COMM_WORLD);           \
    }                                                 \
  } while (0)

static double slowest(double mine) {
  double most = 0;
  CALL(MPI_Allreduce, MPI_Iallreduce, &mine, &most, 1, MPI_DOUBLE, MPI_MAX);
  return most;
}

static void meet(void) { slowest(0); }

static void all_reduce(long n) {
  for (; n > 0; --n) CALL(MPI_Allreduce, MPI_Iallreduce, from, into, count, MPI_FLOAT, MPI_SUM);
}

static void all_gather(long n) {
  for (; n > 0; --n) CALL(MPI_Allgather, MPI_Iallgather, from, count, MPI_FLOAT, into, count, MPI_FLOAT);
}

static void reduce_scatter(long n) {
  for (; n > 0; --n) {
    CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, from, into, count, MPI_FLOAT, MPI_SUM);
  }
}

static void all_to_all(long n) {
  for (; n > 0; --n) CALL(MPI_Alltoall, MPI_Ialltoall, from, count, MPI_FLOAT, into, count, MPI_FLOAT);
}

/* The root sends what it has and the others receive elsewhere: MPI's broadcast has one buffer on each rank. */
static void broadcast(long n) {
  for (; n > 0; --n) CALL(MPI_Bcast, MPI_Ibcast, rank == 0 ? from : into, count, MPI_FLOAT, 0);
}

static void reduce(long n) {
  for (; n > 0; --n) CALL(MPI_Reduce, MPI_Ireduce, from, into, count, MPI_FLOAT, MPI_SUM, 0);
}

static const struct {
  const char* topic;
  void (*run)(long n);
  int in_parts; /* `count` is one rank's part, so sizes are rounded down to whole parts */
} collectives[] = {{"allreduce", all_reduce, 0}, {"allgather", all_gather, 1}, {"reducescatter", reduce_scatter, 1},
                   {"alltoall", all_to_all, 1},  {"broadcast", broadcast, 0},  {"reduce", reduce, 0}};

static float* buffer(float value) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, COLLECTIVE_LARGEST) != 0) {
    fprintf(stderr, "no memory for a buffer of %d bytes\n", COLLECTIVE_LARGEST);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  float* floats = memory;
  for (size_t i = 0; i < COLLECTIVE_LARGEST / sizeof *floats; ++i) floats[i] = value;
  return floats;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gives_way = must_give_way();
  const char* topic = read_arguments(argc, argv, rank);
  from = buffer((float)(rank + 1));
  into = buffer(0);

  const size_t sizes[] = COLLECTIVE_SIZES;
  for (size_t c = 0; c < sizeof collectives / sizeof *collectives; ++c) {
    if (strcmp(topic, collectives[c].topic) != 0) continue;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
      if (quick && sizes[s] > COLLECTIVE_LARGEST_QUICK) continue;
      const int parts = collectives[c].in_parts ? size : 1;
      count = (int)(sizes[s] / sizeof(float)) / parts;
      if (count > 0) measure(topic, (size_t)count * (size_t)parts * sizeof(float), 1, collectives[c].run);
    }
  }
  free(from);
  free(into);
  const int failed = close_results();
  MPI_Finalize();
  return failed;
}
