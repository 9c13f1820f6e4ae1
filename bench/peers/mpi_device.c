/* The Open MPI peer of `signal` and `barrier`. Called as: mpi_device FILE ROUNDS TOPIC */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "peer.h"

static int rank;

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static double slowest(double mine) {
  double most = 0;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static void barriers(long n) {
  for (; n > 0; --n) MPI_Barrier(MPI_COMM_WORLD);
}

/* n messages one way: every second one is an answer. */
static void ping_pong(long n) {
  uint64_t word = 0;
  if (rank > 1) return;
  for (; n > 0; n -= 2) {
    if (rank == 0) MPI_Send(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 8, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++word;
    if (rank == 1) MPI_Send(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* topic = read_arguments(argc, argv, rank);
  if (strcmp(topic, "barrier") == 0) measure("barrier", 0, 1, barriers);
  if (strcmp(topic, "signal") == 0 && size > 1) measure("put_signal", 8, 2, ping_pong);
  const int failed = close_results();
  MPI_Finalize();
  return failed;
}
