/* plugin_probe_windows.c - plugins are probed in this process: there is no burn_probe on Windows, and so nothing to
 * keep on disk. What is loaded is logged before. */
#include "plugin_internal.h"

#include <time.h>

bool burn__probe_has_children(void) { return false; }

BurnChild burn__probe_in_child(const char *path, int64_t milliseconds) {
  (void)path;
  (void)milliseconds;
  return (BurnChild){.end = BURN__CHILD_NOT_STARTED};
}

bool burn__descriptor_write(int descriptor, const void *bytes, size_t count) {
  (void)descriptor;
  (void)bytes;
  (void)count;
  return false;
}

int64_t burn__wall_seconds(void) { return (int64_t)time(NULL); }

bool burn__file_identity(const char *path, char text[BURN__IDENTITY_BYTES]) {
  (void)path;
  text[0] = '\0';
  return false;
}

uint64_t burn__machine_stamp(void) { return 0; }

void burn__process_limits(char text[BURN__LIMITS_BYTES]) { text[0] = '\0'; }

char *burn__verdicts_path(void) { return NULL; }
