/* bench_time.h - a clock, and the order of samples, for the programs of this folder. */
#ifndef BURN_BENCH_TIME_H
#define BURN_BENCH_TIME_H

#include <time.h>

/* Seconds since some moment in the past. */
static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* For qsort: doubles, the smallest first. */
static inline int by_size(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

#endif
