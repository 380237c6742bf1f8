/* file_write.h - whole files: written so that nobody ever sees half of one, read with a limit. */
#ifndef BURN_CORE_FILE_WRITE_H
#define BURN_CORE_FILE_WRITE_H

#include <burn/error.h>

/* Writes the bytes to a temporary file beside `path`, flushes it to disk, renames it to `path` and flushes the folder. On
 * failure the temporary file is gone and an existing file at `path` is as it was. A symbolic link is followed; anything but a
 * regular file at `path` is refused. Messages do not name the path. */
BurnStatus burn__file_write(const char *path, const void *bytes, size_t count);

/* Reads a regular file of at most `limit` bytes into malloc'd memory, with a zero byte behind the last. Messages do not name
 * the path. */
BurnStatus burn__file_read(const char *path, size_t limit, uint8_t **bytes, size_t *count);

#endif
