/* The peer of `startup`: an MPI program up to its first barrier. Called as: mpi_startup FILE
 * Rank 0 writes the time, on the machine-wide monotonic clock in nanoseconds, at which the last rank had passed it. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double mine = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
  double last = 0;
  MPI_Reduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  int rank = 0, failed = argc < 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && !failed) {
    FILE* file = fopen(argv[1], "w");
    failed = file == NULL || fprintf(file, "%.0f\n", last) < 0 || fclose(file) != 0;
  }
  MPI_Finalize();
  return failed;
}
