/* environment.h - variables of the environment that a plugin may believe. C99 and C++11, nothing to link.
 *
 *   const char *folder = burn_common_trusted_variable("XDG_CACHE_HOME");
 *
 * For names of what is loaded or written. In a program that has more rights than its caller (setuid), the caller would
 * choose the code that runs with them. The core has a copy of its own, core/base/privileged.h. */
#ifndef BURN_COMMON_ENVIRONMENT_H
#define BURN_COMMON_ENVIRONMENT_H

#include <stdbool.h>
#include <stdlib.h>

#if defined(__linux__)
#include <sys/auxv.h>
#elif !defined(_WIN32)
#ifdef __cplusplus
extern "C"
#endif
    int
    issetugid(void); /* some systems hide it in unistd.h */
#endif

/* Whether this program has more rights than its caller, as the system says; never on Windows, which has no such
 * programs. */
static inline bool burn_common_is_privileged(void) {
#if defined(__linux__)
  return getauxval(AT_SECURE) != 0;
#elif defined(_WIN32)
  return false;
#else
  return issetugid() != 0;
#endif
}

/* The variable's text, which is the environment's; NULL where it is not set, and in a privileged program. */
static inline const char *burn_common_trusted_variable(const char *name) {
  return burn_common_is_privileged() ? NULL : getenv(name);
}

#endif
