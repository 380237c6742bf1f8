/* gpu_trust.h - what a backend believes of a cache on disk. */
#ifndef BURN_GPU_TRUST_H
#define BURN_GPU_TRUST_H

#include <stdio.h>

/* Opens a file of a cache for reading; NULL where there is none, where something else lies in its place (a pipe would
 * keep the program waiting for ever), and where others could have written it: XDG_CACHE_HOME may name a folder of all,
 * and what is read is code, which a driver believes. */
FILE *burn__gpu_open_cached(const char *path);

#endif
