/* gpu_trust.h - what a backend takes from outside: names of libraries and folders, files of a cache. */
#ifndef BURN_GPU_TRUST_H
#define BURN_GPU_TRUST_H

#include <stdio.h>

/* A variable that names what is loaded or written; NULL where it is not set, and in a program that has more rights than
 * who calls it: there the caller would choose the code that runs with them. */
const char *burn__gpu_trusted_variable(const char *name);

/* Opens a file of a cache for reading; NULL where there is none, where something else lies in its place (a pipe would
 * keep the program waiting for ever), and where others could have written it: XDG_CACHE_HOME may name a folder of all,
 * and what is read is code, which a driver believes. */
FILE *burn__gpu_open_cached(const char *path);

#endif
