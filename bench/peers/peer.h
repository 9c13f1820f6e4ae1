/* What the peers' programs have in common: blocks that grow until they are long enough for the clock, as in our own
 * jobs, and the lines "NAME BYTES SECONDS" that rank 0 writes. A program defines meet() and slowest() for its own
 * library. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void meet(void);             /* all ranks */
static double slowest(double mine); /* the largest of all ranks' times, on every rank */

static FILE* results = NULL; /* of rank 0 */
static int rounds = 1;
static int quick = 0; /* shows that it works; the numbers mean little */

static inline double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A measured block comes after as long a one that does not count: a CPU that slept until now is slow at first. */
static double block(void (*run)(long n), long n, int measured) {
  meet();
  if (measured) run(n);
  const double start = seconds();
  run(n);
  return slowest(seconds() - start);
}

/* Three times over: once may only mean that somebody else had the core. */
static int long_enough(void (*run)(long n), long n) {
  for (int i = 0; i < 3; ++i) {
    if (block(run, n, 0) < (quick ? 200e-6 : 10e-3)) return 0;
  }
  return 1;
}

/* run(n) performs n operations; n is a multiple of step. */
static void measure(const char* name, size_t bytes, long step, void (*run)(long n)) {
  long n = step;
  while (n < 1L << 30 && !long_enough(run, n)) n *= 2;
  for (int round = 0; round < rounds; ++round) {
    const double each = block(run, n, 1) / (double)n;
    if (results != NULL) fprintf(results, "%s %zu %.9e\n", name, bytes, each);
  }
}

/* FILE ROUNDS TOPIC [quick]. Returns the topic; ends the program when the command line is another one. */
static const char* read_arguments(int argc, char** argv, int rank) {
  quick = argc == 5 && strcmp(argv[4], "quick") == 0;
  if (argc != 4 && !quick) {
    fprintf(stderr, "%s is a part of `isotope bench`; call that instead\n", argv[0]);
    exit(2);
  }
  rounds = atoi(argv[2]);
  if (rank == 0 && (results = fopen(argv[1], "w")) == NULL) {
    perror(argv[1]);
    exit(1);
  }
  return argv[3];
}

static int close_results(void) { return results != NULL && fclose(results) != 0; }

/* The sizes of put and get; the same as in bench/topics/put_get.cpp. */
#define LARGEST ((size_t)16 << 20)
#define SIZES {8, 64, 512, 4096, 65536, (size_t)1 << 20, (size_t)4 << 20, LARGEST}
