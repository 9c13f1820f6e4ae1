/* The OSHMEM peer of `alloc`, `put`, `get`, `atomics`, `signal` and `barrier`. Called as: oshmem_device FILE ROUNDS
 * TOPIC [quick] As on our side, PE 0 works and PE 1 is idle, unless the two work together. */
#include <shmem.h>
#include <stdint.h>
#include <string.h>

#include "peer.h"

static int me;
static char *from, *into; /* symmetric, LARGEST bytes each */
static size_t bytes;
static long* word;
static struct {
  uint64_t data, flag;
} __attribute__((aligned(128))) mail; /* symmetric, since it is static */

static double my_time, longest;
static double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];

static void meet(void) { shmem_barrier_all(); }

static double slowest(double mine) {
  my_time = mine;
  shmem_barrier_all();
  shmem_double_max_to_all(&longest, &my_time, 1, 0, 0, shmem_n_pes(), work, sync_words);
  shmem_barrier_all();
  return longest;
}

static void puts_(long n) {
  if (me != 0) return;
  for (; n > 0; --n) shmem_putmem(into, from, bytes, 1);
  shmem_quiet();
}

static void gets_(long n) {
  if (me != 0) return;
  for (; n > 0; --n) shmem_getmem(into, from, bytes, 1);
}

static void fetch_adds_contended(long n) {
  if (me > 1) return;
  for (; n > 0; --n) shmem_long_atomic_fetch_add(word, 1, 1);
}

static void fetch_adds(long n) {
  if (me == 0) fetch_adds_contended(n);
}

static void adds(long n) {
  if (me != 0) return;
  for (; n > 0; --n) shmem_long_atomic_add(word, 1, 1);
  shmem_quiet();
}

/* n messages one way, data and then a flag: this version of the standard has no put with signal. */
static void ping_pong(long n) {
  static uint64_t round = 0;
  if (me > 1) return;
  for (; n > 0; n -= 2) {
    ++round;
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == me) {
        shmem_putmem(&mail.data, &round, sizeof round, 1 - me);
        shmem_fence();
        shmem_uint64_p(&mail.flag, round, 1 - me);
      } else {
        shmem_uint64_wait_until(&mail.flag, SHMEM_CMP_GE, round);
      }
    }
  }
}

static void barriers(long n) {
  for (; n > 0; --n) shmem_barrier_all();
}

static void allocs(long n) {
  for (; n > 0; --n) shmem_free(shmem_malloc(bytes));
}

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe();
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
  const char* topic = read_arguments(argc, argv, me);
  from = shmem_malloc(LARGEST);
  into = shmem_malloc(LARGEST);
  word = shmem_calloc(16, sizeof *word);
  memset(from, me + 1, LARGEST);
  memset(into, me + 1, LARGEST);
  shmem_barrier_all();

  const int two = shmem_n_pes() > 1;
  const size_t sizes[] = SIZES;
  for (size_t s = 0; two && s < sizeof sizes / sizeof *sizes; ++s) {
    bytes = sizes[s];
    if (strcmp(topic, "put") == 0) measure("put", bytes, 1, puts_);
    if (strcmp(topic, "get") == 0) measure("get", bytes, 1, gets_);
  }
  if (strcmp(topic, "atomics") == 0 && two) {
    measure("atomic_fetch_add", 8, 1, fetch_adds);
    measure("atomic_add", 8, 1, adds);
    measure("atomic_fetch_add_2_pes", 8, 1, fetch_adds_contended);
  }
  if (strcmp(topic, "signal") == 0 && two) measure("put_signal", 8, 2, ping_pong);
  if (strcmp(topic, "barrier") == 0) measure("barrier", 0, 1, barriers);
  const size_t objects[] = {4096, 1 << 20}; /* the same as in bench/topics/alloc.cpp */
  for (size_t o = 0; strcmp(topic, "alloc") == 0 && o < sizeof objects / sizeof *objects; ++o) {
    bytes = objects[o];
    measure("alloc", bytes, 1, allocs);
  }

  const int failed = close_results();
  shmem_finalize();
  return failed;
}
