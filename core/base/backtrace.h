/* backtrace.h - which of the program's lines led here. One definition per system: backtrace_posix.c,
 * backtrace_windows.c. */
#ifndef BURN_CORE_BACKTRACE_H
#define BURN_CORE_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

/* Addresses of the calls that led here, innermost first, without those in libburn, its plugins and the C library; at
 * most `most`. None in a static build, where the program's code cannot be told from ours. */
size_t burn__program_frames(const void **frames, size_t most);

/* What is known about an address; texts are empty and `line` is 0 where it is not. */
typedef struct BurnPlace {
  char function[96];
  char file[96]; /* without folders */
  int line;
  char module[160];    /* program or library, as it was started or loaded */
  uint64_t offset;     /* in the module, as addr2line takes it */
  const char *missing; /* why there is no line and what helps; NULL if there is one */
} BurnPlace;
void burn__place_find(const void *address, BurnPlace *place);

#endif
