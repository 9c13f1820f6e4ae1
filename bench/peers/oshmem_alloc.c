/* The peer of `alloc`: shmem_malloc + shmem_free. Called as: oshmem_alloc FILE ROUNDS
 * PE 0 writes a line "alloc BYTES SECONDS" per size and round. As in our own rounds, a time is that of the slowest PE, and a
 * block grows until it takes 2 ms. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double mine, slowest;
static double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double block(size_t bytes, long n) {
  shmem_barrier_all();
  const double start = seconds();
  for (long i = 0; i < n; ++i) shmem_free(shmem_malloc(bytes));
  mine = seconds() - start;
  shmem_barrier_all();
  shmem_double_max_to_all(&slowest, &mine, 1, 0, 0, shmem_n_pes(), work, sync_words);
  shmem_barrier_all();
  return slowest;
}

/* Three times over: once may only mean that somebody else had the core. */
static int long_enough(size_t bytes, long n) {
  for (int i = 0; i < 3; ++i) {
    if (block(bytes, n) < 2e-3) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  shmem_init();
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  const int rounds = argc > 2 ? atoi(argv[2]) : 1;
  const int writes = argc > 1 && shmem_my_pe() == 0;
  FILE* file = writes ? fopen(argv[1], "w") : NULL;
  const size_t sizes[] = {4096, 1 << 20};
  for (int s = 0; s < 2; ++s) {
    long n = 1;
    while (n < 1 << 20 && !long_enough(sizes[s], n)) n *= 2;
    for (int round = 0; round < rounds; ++round) {
      const double each = block(sizes[s], n) / (double)n;
      if (file != NULL) fprintf(file, "alloc %zu %.9e\n", sizes[s], each);
    }
  }
  const int failed = writes && (file == NULL || fclose(file) != 0);
  shmem_finalize();
  return failed;
}
