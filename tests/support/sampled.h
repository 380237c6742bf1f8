/* sampled.h - whether a test runs all of its cases: with BURN_LONG=1. Else it leaves out what would take minutes. */
#ifndef BURN_TEST_SAMPLED_H
#define BURN_TEST_SAMPLED_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool runs_all(void) {
  const char *all = getenv("BURN_LONG");
  return all && strcmp(all, "1") == 0;
}

#endif
