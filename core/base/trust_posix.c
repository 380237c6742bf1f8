/* trust_posix.c - whom the process trusts: files that only root and its user can change.
 *
 * A file is what is found at the end of a walk from the root on: each folder is opened below the one before, without
 * following symbolic links (they are resolved first), and looked at by its descriptor. A folder that nobody else may
 * change keeps the name of the next part where it is, so there is no moment between looking and opening. Access lists
 * (ACLs) are not looked at. */
#define _GNU_SOURCE /* O_PATH */
#include "trust_posix.h"

#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder that is only gone through. Where the system cannot open it for that alone, it must be readable, too. */
#if !defined(O_PATH) && defined(O_SEARCH)
#define O_PATH O_SEARCH
#elif !defined(O_PATH)
#define O_PATH O_RDONLY
#endif

/* Is the group the user's alone, as where every user has one of the same name or number? A umask of 002 lets it write.
 */
static bool is_private_group(gid_t group) {
  char user_room[4096], group_room[4096];
  struct passwd user, *found_user = NULL;
  struct group record, *found_group = NULL;
  if (getpwuid_r(geteuid(), &user, user_room, sizeof user_room, &found_user) != 0) return false;
  if (getgrgid_r(group, &record, group_room, sizeof group_room, &found_group) != 0) return false;
  const bool is_primary = (found_user ? user.pw_gid : getegid()) == group;
  const bool same_name = found_user && found_group && strcmp(user.pw_name, record.gr_name) == 0;
  if (!is_primary || (!same_name && group != geteuid())) return false;
  for (char **member = found_group ? record.gr_mem : NULL; member && *member; member++) {
    if (!found_user || strcmp(*member, user.pw_name) != 0) return false;
  }
  return true;
}

/* Who may write, by what one file or folder says of itself. In a sticky folder others may add files, but touch only
 * their own. */
static BurnStatus check_writers(const struct stat *info, const char *path, bool may_be_sticky) {
  const char *what = S_ISDIR(info->st_mode) ? "folder" : "file";
  if (info->st_uid != 0 && info->st_uid != geteuid()) {
    return BURN_FAIL(FAILED_PRECONDITION, "%s '%s' belongs to user %u, neither to root nor to you", what, path,
                     (unsigned)info->st_uid);
  }
  if (may_be_sticky && (info->st_mode & S_ISVTX)) return BURN_OK;
  if (info->st_mode & S_IWOTH) {
    return BURN_FAIL(FAILED_PRECONDITION, "%s '%s' can be written by anybody (chmod o-w it)", what, path);
  }
  if ((info->st_mode & S_IWGRP) && info->st_gid != 0 && !is_private_group(info->st_gid)) {
    return BURN_FAIL(FAILED_PRECONDITION, "%s '%s' can be written by the members of group %u (chmod g-w it)", what,
                     path, (unsigned)info->st_gid);
  }
  return BURN_OK;
}

/* Looks at what a descriptor has open. */
static BurnStatus check_open(int file, const char *path, bool may_be_sticky, BurnRefusal *refusal) {
  struct stat info;
  char reason[128];
  *refusal = BURN_REFUSED_UNREADABLE;
  if (file < 0 || fstat(file, &info) != 0)
    return BURN_FAIL(IO, "'%s': %s", path, burn__errno_text(errno, reason, sizeof reason));
  *refusal = BURN_REFUSED_UNSAFE;
  return check_writers(&info, path, may_be_sticky);
}

/* Parts of a path from here on. */
static unsigned parts_left(const char *path) {
  unsigned count = 0;
  for (; *path; path++) count += *path == '/';
  return count;
}

/* Walks along a path without symbolic links to its end, which is opened by `flags`. The last `strict` parts must not be
 * sticky folders that others write. *file is -1 on failure. */
static BurnStatus walk(char *real, int flags, unsigned strict, int *file, BurnRefusal *refusal) {
  int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  BurnStatus status = check_open(at, "/", parts_left(real) >= strict, refusal);
  for (char *name = real; status == BURN_OK && *name == '/' && name[1];) {
    char *end = name + 1 + strcspn(name + 1, "/");
    const unsigned left = parts_left(end);
    const char kept = *end;
    *end = '\0';
    const int next = openat(at, name + 1, (left ? O_PATH | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC);
    status = check_open(next, real, left >= strict, refusal);
    *end = kept;
    if (at >= 0) (void)close(at);
    at = next;
    name = end;
  }
  if (status != BURN_OK && at >= 0) (void)close(at);
  *file = status == BURN_OK ? at : -1;
  return status;
}

/* The folder where the file is named; another one than where it lies, if the name is a symbolic link. */
static BurnStatus check_named_folder(const char *path, BurnRefusal *refusal) {
  const char *slash = strrchr(path, '/');
  char *folder = slash == path ? burn__text_copy("/")
                               : burn__text_format("%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
  char *real = folder ? realpath(folder, NULL) : NULL;
  int file = -1;
  char reason[128];
  *refusal = BURN_REFUSED_UNREADABLE;
  BurnStatus status = real ? walk(real, O_PATH | O_DIRECTORY, 1, &file, refusal)
                           : BURN_FAIL(IO, "'%s': %s", path, burn__errno_text(errno, reason, sizeof reason));
  if (file >= 0) (void)close(file);
  free(real);
  free(folder);
  return status;
}

BurnStatus burn__file_open_checked(const char *path, char **real, int *file, BurnRefusal *refusal) {
  BurnStatus status = check_named_folder(path, refusal);
  if (status != BURN_OK) return status;
  char *resolved = realpath(path, NULL), reason[128];
  struct stat info;
  int opened = -1;
  *refusal = BURN_REFUSED_UNREADABLE;
  status = resolved ? walk(resolved, O_RDONLY | O_NONBLOCK, 2, &opened, refusal)
                    : BURN_FAIL(IO, "'%s': %s", path, burn__errno_text(errno, reason, sizeof reason));
  if (status == BURN_OK && (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode))) {
    *refusal = BURN_REFUSED_UNREADABLE;
    status = BURN_FAIL(IO, "'%s' is not a regular file", path);
  }
  if (status == BURN_OK) {
    *real = resolved;
    *file = opened;
    return BURN_OK;
  }
  if (opened >= 0) (void)close(opened);
  free(resolved);
  return status;
}

BurnStatus burn__file_check(const char *path, BurnRefusal *refusal) {
  char *real = NULL;
  int file = -1;
  const BurnStatus status = burn__file_open_checked(path, &real, &file, refusal);
  if (status != BURN_OK) return status;
  (void)close(file);
  free(real);
  return BURN_OK;
}

BurnPresence burn__file_presence(const char *path) {
  if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0) return BURN__PRESENT;
  if (errno == EACCES) return BURN__FORBIDDEN;
  return errno == ENOENT || errno == ENOTDIR ? BURN__ABSENT : BURN__PRESENT; /* reading it says what is wrong */
}
