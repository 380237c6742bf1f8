/* keep_every.c - epochs at a fixed distance. */
#include <burn/train/checkpoint.h>

static bool keeps(const void *context, const BurnEpochResult *history, size_t count, size_t epoch) {
  const size_t interval = context ? *(const size_t *)context : 1;
  (void)history;
  (void)count;
  return interval < 2 || epoch % interval == 0;
}

BurnCheckpointStrategy burn_keep_every(const size_t *interval) { return (BurnCheckpointStrategy){keeps, interval}; }
