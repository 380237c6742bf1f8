/* program.c - see program.h. */
#define _POSIX_C_SOURCE 200809L
#include "program.h"

#include <burn/streams.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* An exit status is set by then, and _Exit alone can change it. */
static void finish_output(void) {
  if (burn_streams_finish(0) != 0) _Exit(1);
}

void program_begin(void) {
  burn_streams_pin();
  (void)atexit(finish_output); /* 32 functions are the least that C takes */
}

ProgramPath program_path(const char *folder, const char *name) {
  ProgramPath path;
  snprintf(path.text, sizeof path.text, "%.3800s/%.200s", folder, name);
  return path;
}

double program_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double program_processor_seconds(void) {
  return (double)clock() / (double)CLOCKS_PER_SEC;
}

int program_end(const char *name, BurnStatus status) {
  if (status == BURN_OK) return 0;
  fprintf(stderr, "%s: %s\n", name, burn_status_message(status));
  return 1;
}
