/* trust_windows.c - whom the process trusts, and texts as Windows has them.
 *
 * Of permissions one is checked: that not everybody may change the file or its folder. Not checked: the owner, rights
 * of groups (a new folder at the root of a drive can be changed by every user who has logged in), and the folders
 * above. */
#include "trust_windows.h"

#include "platform.h"

#include <io.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aclapi.h> /* needs windows.h */

BurnPresence burn__file_presence(const char *path) {
  if (_access(path, 4) == 0) return BURN__PRESENT;
  if (errno == EACCES) return BURN__FORBIDDEN;
  return errno == ENOENT ? BURN__ABSENT : BURN__PRESENT; /* reading it says what is wrong */
}

/* -- texts ------------------------------------------------------------------------------------ */

WCHAR *burn__wide_text(const char *text) {
  const int count = MultiByteToWideChar(CP_ACP, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  WCHAR *wide = count > 0 ? malloc((size_t)count * sizeof *wide) : NULL;
  if (wide) (void)MultiByteToWideChar(CP_ACP, MB_ERR_INVALID_CHARS, text, -1, wide, count);
  return wide;
}

char *burn__narrow_text(const WCHAR *wide) {
  BOOL lost = FALSE;
  BOOL *loss = GetACP() == CP_UTF8 ? NULL : &lost; /* UTF-8 can say all, and the question is refused */
  const int count = WideCharToMultiByte(CP_ACP, 0, wide, -1, NULL, 0, NULL, loss);
  char *text = count > 0 && !lost ? malloc((size_t)count) : NULL;
  if (text) (void)WideCharToMultiByte(CP_ACP, 0, wide, -1, text, count, NULL, NULL);
  return text;
}

WCHAR *burn__full_path(const char *path) {
  WCHAR *wide = burn__wide_text(path);
  const DWORD count = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
  WCHAR *full = count > 0 ? malloc(count * sizeof *full) : NULL;
  if (full && GetFullPathNameW(wide, count, full, NULL) >= count) {
    free(full);
    full = NULL;
  }
  free(wide);
  return full;
}

const char *burn__error_text(DWORD error, ErrorText *out) {
  const DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  DWORD length = FormatMessageA(flags, NULL, error, 0, out->text, sizeof out->text, NULL);
  while (length > 0 && strchr("\r\n .", out->text[length - 1])) out->text[--length] = '\0';
  if (length == 0) (void)snprintf(out->text, sizeof out->text, "unknown reason");
  return out->text;
}

/* -- permissions ------------------------------------------------------------------------------ */

/* True if the list lets everybody change the file; a file without a list belongs to everybody. */
static bool everybody_may_write(PACL list) {
  const DWORD writing =
      FILE_WRITE_DATA | FILE_APPEND_DATA | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
  BYTE everybody[SECURITY_MAX_SID_SIZE];
  DWORD bytes = sizeof everybody;
  if (!list || !CreateWellKnownSid(WinWorldSid, NULL, everybody, &bytes)) return true;
  for (DWORD i = 0; i < list->AceCount; i++) {
    void *found = NULL;
    if (!GetAce(list, i, &found)) return true;
    ACCESS_ALLOWED_ACE *entry = found;
    if (entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE || (entry->Header.AceFlags & INHERIT_ONLY_ACE)) continue;
    if ((entry->Mask & writing) && EqualSid(&entry->SidStart, everybody)) return true;
  }
  return false;
}

static BurnStatus check_rights(WCHAR *path, const char *shown, const char *what, BurnRefusal *refusal) {
  PACL list = NULL;
  PSECURITY_DESCRIPTOR descriptor = NULL;
  ErrorText text;
  *refusal = BURN_REFUSED_UNREADABLE;
  const DWORD error =
      GetNamedSecurityInfoW(path, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, &list, NULL, &descriptor);
  if (error != ERROR_SUCCESS) return BURN_FAIL(IO, "%s '%s': %s", what, shown, burn__error_text(error, &text));
  const bool unsafe = everybody_may_write(list);
  (void)LocalFree(descriptor);
  *refusal = BURN_REFUSED_UNSAFE;
  if (!unsafe) return BURN_OK;
  return BURN_FAIL(FAILED_PRECONDITION, "%s '%s' can be written by anybody (take that right from Everyone)", what,
                   shown);
}

BurnStatus burn__file_check(const char *path, BurnRefusal *refusal) {
  *refusal = BURN_REFUSED_UNREADABLE;
  WCHAR *full = burn__full_path(path);
  if (!full) return BURN_FAIL(IO, "'%s' is not a path, or there is no memory for it", path);
  BurnStatus status = check_rights(full, path, "file", refusal);
  WCHAR *slash = wcsrchr(full, L'\\');
  if (status == BURN_OK && slash) {
    slash[1] = L'\0'; /* C:\ is a folder, C: is not */
    char *folder = burn__text_format("%.*s", (int)(burn__path_file_name(path) - path), path);
    status = check_rights(full, folder ? folder : path, "folder", refusal);
    free(folder);
  }
  free(full);
  return status;
}
