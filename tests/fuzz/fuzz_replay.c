/* fuzz_replay.c - main for a target without libFuzzer: runs inputs, and mutations of each that are always the same.
 *
 *   fuzz_records FILE|FOLDER.. [mutations=N]
 *
 * With BURN_FUZZ_NOTE=FILE the input that runs is in that file, so that it is there when the process has died. */
#define _XOPEN_SOURCE 700
#include "fuzz_target.h"

#include <dirent.h>
#include <sys/stat.h>

static uint64_t state;

static uint64_t next(void) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717u;
}

/* One to four small changes: another byte, a flipped bit, a number at an edge, a piece left out, doubled or moved. */
static size_t mutate(uint8_t *bytes, size_t count, size_t room) {
  static const uint8_t edges[] = {0x00, 0x7f, 0x80, 0xff, 0x01, 0xf0};
  for (uint64_t changes = 1 + next() % 4; changes > 0 && count > 0; changes--) {
    const size_t at = next() % count, length = 1 + next() % (count - at < 8 ? count - at : 8);
    switch (next() % 5) {
      case 0:
        bytes[at] = (uint8_t)next();
        break;
      case 1:
        bytes[at] = (uint8_t)(bytes[at] ^ 1u << next() % 8);
        break;
      case 2:
        bytes[at] = edges[next() % sizeof edges];
        break;
      case 3:
        memmove(bytes + at, bytes + at + length, count - at - length);
        count -= length;
        break;
      default:
        if (count + length > room) break;
        memmove(bytes + at + length, bytes + at, count - at);
        count += length;
    }
  }
  return count;
}

static size_t runs;

static void run_file(const char *path, size_t mutations) {
  size_t count;
  uint8_t *bytes = fuzz_file_read(path, &count), *changed = malloc(2 * count + 64);
  if (!changed) abort();
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(bytes, count);
  state = 88172645463325252u;
  for (size_t i = 1; i <= mutations; i++, runs++) {
    memcpy(changed, bytes, count);
    const size_t length = mutate(changed, count, 2 * count + 64);
    uint8_t *exact = malloc(length ? length : 1); /* so that a read beyond the end is one beyond the block */
    if (!exact) abort();
    memcpy(exact, changed, length);
    FILE *note = getenv("BURN_FUZZ_NOTE") ? fopen(getenv("BURN_FUZZ_NOTE"), "wb") : NULL;
    if (note) {
      fwrite(exact, 1, length, note);
      fclose(note);
    }
    LLVMFuzzerTestOneInput(exact, length);
    free(exact);
  }
  runs++;
  free(changed);
  free(bytes);
}

static void run_path(const char *path, size_t mutations) {
  struct stat info;
  FUZZ_REQUIRE(stat(path, &info) == 0, "there is no %s", path);
  if (!S_ISDIR(info.st_mode)) {
    run_file(path, mutations);
    return;
  }
  struct dirent **entries;
  const int found = scandir(path, &entries, NULL, alphasort);
  for (int i = 0; i < found; i++) {
    char inside[4096];
    if (entries[i]->d_name[0] != '.') {
      snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
      run_path(inside, mutations);
    }
    free(entries[i]);
  }
  if (found >= 0) free(entries);
}

int main(int argc, char **argv) {
  size_t mutations = 0;
  if (!freopen("/dev/null", "w", stdout)) return 2;
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "mutations=", 10) == 0) mutations = (size_t)strtoul(argv[i] + 10, NULL, 10);
  }
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "mutations=", 10) == 0) continue;
    char *path = realpath(argv[i], NULL); /* targets change the working directory */
    FUZZ_REQUIRE(path, "there is no %s", argv[i]);
    run_path(path, mutations);
    free(path);
  }
  fprintf(stderr, "%zu inputs without a finding\n", runs);
  return runs > 0 ? 0 : 2;
}
