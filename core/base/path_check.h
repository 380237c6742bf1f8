/* path_check.h - what a public function says of a path that is NULL, before it reads or prints it. */
#ifndef BURN_PATH_CHECK_H
#define BURN_PATH_CHECK_H

#include <burn/error.h>

/* BURN_OK if there is a path; `what` begins the message: "npz: no path". */
static inline BurnStatus burn__path_check(const char *what, const char *path) {
  if (path) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: no path", what);
}

/* "what: path: reason" where there is a path: for functions whose failures come together at their end. */
static inline BurnStatus burn__path_annotate(BurnStatus status, const char *what, const char *path) {
  return path ? burn_status_annotate(status, "%s: %s", what, path) : status;
}

#endif
