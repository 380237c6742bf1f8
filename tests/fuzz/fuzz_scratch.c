/* fuzz_scratch.c - files of a target, in a folder of its own that goes with the process; see fuzz_target.h. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "fuzz_target.h"

#include <ftw.h>
#include <unistd.h>
#include <zlib.h>

static char scratch[256];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
  (void)info;
  (void)type;
  return where->level > 0 ? remove(path) : 0;
}

static void clear(void) { (void)nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static void leave(void) {
  clear();
  (void)rmdir(scratch);
}

/* In memory where that is to be had: records are flushed to disk. */
static void enter(void) {
  const char *folder = getenv("TMPDIR");
  if (!folder) folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(scratch, sizeof scratch, "%s/burn-fuzz-XXXXXX", folder);
  FUZZ_REQUIRE(mkdtemp(scratch) && chdir(scratch) == 0, "no scratch folder in %s", folder);
  (void)atexit(leave);
}

void fuzz_scratch_clear(void) {
  if (scratch[0])
    clear();
  else
    enter();
}

void fuzz_file_write(const char *name, FuzzInput bytes) {
  FILE *file = fopen(name, "wb");
  FUZZ_REQUIRE(file && fwrite(bytes.next, 1, bytes.left, file) == bytes.left, "cannot write %s", name);
  FUZZ_REQUIRE(fclose(file) == 0, "cannot write %s", name);
}

void fuzz_file_write_gzip(const char *name, FuzzInput bytes) {
  gzFile file = gzopen(name, "wb1");
  FUZZ_REQUIRE(file && (bytes.left == 0 || gzwrite(file, bytes.next, (unsigned)bytes.left) == (int)bytes.left),
               "cannot write %s", name);
  FUZZ_REQUIRE(gzclose(file) == Z_OK, "cannot write %s", name);
}

uint8_t *fuzz_file_read(const char *name, size_t *count) {
  FILE *file = fopen(name, "rb");
  FUZZ_REQUIRE(file && fseek(file, 0, SEEK_END) == 0, "cannot read %s", name);
  const long size = ftell(file);
  rewind(file);
  *count = size > 0 ? (size_t)size : 0;
  uint8_t *bytes = malloc(*count + 1);
  FUZZ_REQUIRE(bytes && fread(bytes, 1, *count, file) == *count, "cannot read %s", name);
  fclose(file);
  return bytes;
}
