/* gpu_cache_file.h - files of a cache on disk: which a backend believes, and how they are written. */
#ifndef BURN_GPU_CACHE_FILE_H
#define BURN_GPU_CACHE_FILE_H

#include <stddef.h>
#include <stdio.h>

/* Opens a file of a cache for reading; NULL where there is none, where something else lies in its place (a pipe would
 * keep the program waiting for ever), and where others could have written it: XDG_CACHE_HOME may name a folder of all,
 * and what is read is code, which a driver believes. */
FILE *burn__gpu_open_cached(const char *path);

/* Writes a file of a cache, a head (of 0 bytes: none) and data, beside its place and renames it, so that others see all
 * of it or nothing. Where that fails there is no file, or the one from before. A process that is killed leaves the file
 * beside; those are swept by the first call of another, which alone looks through the folder. */
void burn__gpu_write_cached(const char *path, const void *head, size_t head_bytes, const void *data, size_t bytes);

#endif
