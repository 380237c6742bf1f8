/* trust_posix.h - a file that only root and the user can change, as a descriptor. */
#ifndef BURN_CORE_TRUST_POSIX_H
#define BURN_CORE_TRUST_POSIX_H

#include "core_internal.h"

/* burn__file_check, and the regular file itself: *file is the caller's to close, *real (malloc'd) its path without
 * symbolic links. Both are untouched on failure. */
BurnStatus burn__file_open_checked(const char *path, char **real, int *file, BurnRefusal *refusal);

#endif
