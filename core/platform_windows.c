/* platform_windows.c - platform.h for Windows. */
#define _CRT_RAND_S /* rand_s: the system's generator */
#include "platform.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

unsigned burn__cpu_count(void) {
  const DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return count > 0 ? (unsigned)count : 1;
}

bool burn__random_bytes(void *bytes, size_t count) {
  unsigned char *at = bytes;
  for (size_t done = 0; done < count;) {
    unsigned int word;
    if (rand_s(&word) != 0) return false;
    for (size_t i = 0; i < sizeof word && done < count; i++) at[done++] = (unsigned char)(word >> (8 * i));
  }
  return true;
}

void *burn__aligned_allocate(size_t bytes) { return _aligned_malloc(bytes, 64); }
void burn__aligned_free(void *memory) { _aligned_free(memory); }

const char *burn__errno_text(int number, char *buffer, size_t bytes) {
  if (strerror_s(buffer, bytes, number) != 0) (void)snprintf(buffer, bytes, "error %d", number);
  return buffer;
}
