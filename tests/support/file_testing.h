/* file_testing.h - files that a test writes for a reader. Include it after cmocka.h. */
#ifndef BURN_TESTS_FILE_TESTING_H
#define BURN_TESTS_FILE_TESTING_H

#include <stddef.h>
#include <stdio.h>

/* Replaces the file by these bytes. */
static inline void file_write(const char *path, const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

#endif
