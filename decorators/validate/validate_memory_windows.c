/* validate_memory_windows.c - copies memory that may not be there, without an exception. */
#include "validate_internal.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

bool validate_copy(void *to, const void *from, uint64_t bytes) {
  SIZE_T got = 0;
  return bytes == 0 || (ReadProcessMemory(GetCurrentProcess(), from, to, (SIZE_T)bytes, &got) && got == (SIZE_T)bytes);
}
