/* streams.c - see streams.h; what depends on the system is in platform_*.c. */
#include "platform.h"

#include <burn/streams.h>

#include <errno.h>
#include <stdio.h>

int burn_streams_finish(int exit_status) {
  char reason[128];
  errno = 0;
  const bool failed_before = ferror(stdout) != 0;
  const bool written = fflush(stdout) == 0;
  const int error = errno;
  if (fclose(stdout) == 0 && written && !failed_before) return exit_status;
  fprintf(stderr, "error: the output could not be written%s%s\n", error ? ": " : "",
          error ? burn__errno_text(error, reason, sizeof reason) : "");
  return exit_status ? exit_status : 1;
}
