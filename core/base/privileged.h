/* privileged.h - whether the environment counts. It does not in a program that has more rights than its caller
 * (setuid): the caller would choose what runs, and what is written, with those rights. Plugins have the same in
 * plugins/common/include/burn/common/environment.h. */
#ifndef BURN_PRIVILEGED_H
#define BURN_PRIVILEGED_H

#include <stdbool.h>
#include <stdlib.h>

#if defined(__linux__)
#include <sys/auxv.h>
#elif !defined(_WIN32)
int issetugid(void); /* some systems hide it in unistd.h */
#endif

/* Whether this program is such a one, as the system says. Windows has none that take their caller's environment. */
static inline bool burn__process_is_privileged(void) {
#if defined(__linux__)
  return getauxval(AT_SECURE) != 0;
#elif defined(_WIN32)
  return false;
#else
  return issetugid() != 0;
#endif
}

/* The variable's text; NULL where it is not set, and in a privileged program. */
static inline const char *burn__trusted_variable(const char *name) {
  return burn__process_is_privileged() ? NULL : getenv(name);
}

#endif
