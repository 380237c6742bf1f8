/* platform.h - what libburn needs of the operating system besides plugins (plugin_load_*.c) and files (file_write_*.c). One
 * definition per system: platform_posix.c, platform_windows.c. */
#ifndef BURN_CORE_PLATFORM_H
#define BURN_CORE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

/* CPUs that this process may use; at least 1. */
unsigned burn__cpu_count(void);

/* Fills memory with random bytes of the system; false if it has none to give. */
bool burn__random_bytes(void *bytes, size_t count);

/* Memory aligned to 64 bytes, or NULL; `bytes` is a multiple of 64. */
void *burn__aligned_allocate(size_t bytes);
void burn__aligned_free(void *memory);

/* The text of an errno value, into a buffer of the caller; returns the buffer. */
const char *burn__errno_text(int number, char *buffer, size_t bytes);

#endif
