/* cpu_count_windows.c - how many CPUs this process may use on Windows. */
#include "platform.h"

#include <windows.h>

unsigned burn__cpu_count(void) {
  const DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return count > 0 ? (unsigned)count : 1;
}
