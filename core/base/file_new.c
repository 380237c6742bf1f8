/* file_new.c - whether a path is free to be written. */
#include "path_check.h"

#include <burn/file.h>

BurnStatus burn_file_check_new(const char *path, bool overwrite) {
  FILE *file = NULL;
  if (overwrite) return burn__path_check("file", path);
  const BurnStatus opened = burn_file_open(path, &file, NULL);
  if (burn_status_code(opened) == BURN_STATUS_NOT_FOUND) return BURN_OK;
  if (opened != BURN_OK) return opened; /* something is there that cannot be read */
  (void)fclose(file);
  return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                          "the file is there already; overwrite it, or choose another");
}
