/* trust_windows.h - texts as Windows has them: UTF-16 towards the system, the code page of the process here. */
#ifndef BURN_CORE_TRUST_WINDOWS_H
#define BURN_CORE_TRUST_WINDOWS_H

#include "core_internal.h"

#include <windows.h>

/* malloc'd; NULL when out of memory or for a text that is not of the code page. */
WCHAR *burn__wide_text(const char *text);
/* malloc'd; NULL when out of memory or for a text that the code page cannot say. */
char *burn__narrow_text(const WCHAR *wide);
/* The path from a drive or a share on, with backslashes, as LoadLibraryExW needs it; malloc'd, NULL on failure. */
WCHAR *burn__full_path(const char *path);

/* The system's words for an error. */
typedef struct ErrorText {
  char text[256];
} ErrorText;
const char *burn__error_text(DWORD error, ErrorText *out);

#endif
