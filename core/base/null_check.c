/* null_check.c - the failure of a function that was given NULL where it needs something. */
#include "null_check.h"

BurnStatus burn__missing(const char *function, const char *what, const char *file, int line) {
  return burn_status_make_at(BURN_STATUS_INVALID_ARGUMENT, file, line, "%s: %s", function, what);
}
