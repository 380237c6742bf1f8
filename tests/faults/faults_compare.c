/* faults_compare.c - do two artifact folders hold the same run? See faults.h. */
#define _XOPEN_SOURCE 700
#include "faults.h"

#include <burn/burn.h>
#include <burn/record.h>

#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 256, MAX_IDS = 256 };

typedef struct Files {
  char names[MAX_FILES][PATH_BYTES]; /* below the folder */
  size_t count;
} Files;

static char *reason; /* of the comparison that runs */

BURN_PRINTF(1, 2) static bool differ(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(reason, MESSAGE_BYTES, format, arguments);
  va_end(arguments);
  return false;
}

/* -- records ---------------------------------------------------------------------------------- */

/* Parameter ids are drawn by each run: which one of b stands for which one of a. */
static char ids[MAX_IDS][2][16];
static size_t id_count;

static const char *id_of(const char *a) {
  for (size_t i = 0; i < id_count; i++) {
    if (strcmp(ids[i][0], a) == 0) return ids[i][1];
  }
  return NULL;
}

static bool same_id(const char *a, const char *b) {
  const char *known = id_of(a);
  if (known) return strcmp(known, b) == 0 || differ("id %s is %s, and elsewhere %s", a, b, known);
  if (id_count == MAX_IDS) return differ("more than %d ids", MAX_IDS);
  (void)snprintf(ids[id_count][0], sizeof ids[0][0], "%s", a);
  (void)snprintf(ids[id_count++][1], sizeof ids[0][0], "%s", b);
  return true;
}

/* Times, and the number of epochs, which may be another one when a run is resumed. */
static bool may_differ(const char *key) {
  static const char *const keys[] = {"seconds", "items_per_second", "config.num_epochs"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (strcmp(key, keys[i]) == 0) return true;
  }
  return false;
}

static BurnDevice *device; /* of one comparison */

static bool same_tensor(const BurnValue *a, const BurnValue *b) {
  BurnTensor *x = burn_value_as_tensor(a, device), *y = burn_value_as_tensor(b, device);
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(burn_dtype(x));
  const bool alike =
      burn_dtype(x) == burn_dtype(y) && burn_element_count(x) == burn_element_count(y) && burn_rank(x) == burn_rank(y);
  char *data = malloc(2 * bytes + 1);
  const bool read = data && alike &&
                    burn_read_all((BurnTensor *const[]){x, y}, (void *const[]){data, data + bytes},
                                  (const size_t[]){bytes, bytes}, 2) == BURN_OK;
  const bool same = read && memcmp(data, data + bytes, bytes) == 0;
  free(data);
  return same || differ("a tensor differs");
}

static bool same_value(const BurnValue *a, const BurnValue *b);

static bool same_entry(const BurnValue *a, const BurnValue *b, size_t i) {
  const char *key = burn_value_key_at(a, i), *other = id_of(key) ? id_of(key) : key;
  const BurnValue *found = burn_value_get(b, other);
  if (may_differ(key)) return true;
  if (!found) return differ("there is no %s", key);
  if (strcmp(key, "id") == 0)
    return same_id(burn_value_as_text(burn_value_at(a, i), ""), burn_value_as_text(found, ""));
  if (same_value(burn_value_at(a, i), found)) return true;
  char below[MESSAGE_BYTES];
  (void)snprintf(below, sizeof below, "%s", reason);
  return differ("%.60s: %.900s", key, below);
}

static bool same_value(const BurnValue *a, const BurnValue *b) {
  const uint32_t kind = burn_value_kind(a);
  if (kind != burn_value_kind(b) || burn_value_count(a) != burn_value_count(b))
    return differ("of another kind or length");
  if (kind == BURN_VALUE_TENSOR) return same_tensor(a, b);
  if (kind == BURN_VALUE_BOOL)
    return burn_value_as_bool(a, false) == burn_value_as_bool(b, false) || differ("a flag differs");
  if (kind == BURN_VALUE_INT) return burn_value_as_int(a, 0) == burn_value_as_int(b, 0) || differ("an integer differs");
  if (kind == BURN_VALUE_TEXT)
    return strcmp(burn_value_as_text(a, ""), burn_value_as_text(b, "")) == 0 || differ("a text differs");
  if (kind == BURN_VALUE_FLOAT) {
    const double x = burn_value_as_float(a, 0), y = burn_value_as_float(b, 0);
    return memcmp(&x, &y, sizeof x) == 0 || differ("%.17g instead of %.17g", y, x);
  }
  for (size_t i = 0; i < burn_value_count(a); i++) {
    if (kind == BURN_VALUE_MAP ? !same_entry(a, b, i) : !same_value(burn_value_at(a, i), burn_value_at(b, i)))
      return false;
  }
  return true;
}

static bool same_record(const char *a, const char *b) {
  BurnValue *x = NULL, *y = NULL;
  BurnStatus status = burn_value_read(a, NULL, &x);
  if (status == BURN_OK) status = burn_value_read(b, NULL, &y);
  const bool same = status == BURN_OK ? same_value(x, y) : differ("%s", burn_status_message(status));
  burn_value_destroy(x);
  burn_value_destroy(y);
  return same;
}

/* -- files ------------------------------------------------------------------------------------ */

static char *contents(const char *path, size_t *bytes) {
  struct stat info;
  FILE *file = stat(path, &info) == 0 ? fopen(path, "rb") : NULL;
  char *text = file ? malloc((size_t)info.st_size + 1) : NULL;
  *bytes = text ? fread(text, 1, (size_t)info.st_size, file) : 0;
  if (file) fclose(file);
  return text;
}

static bool same_bytes(const char *a, const char *b) {
  size_t count[2];
  char *x = contents(a, &count[0]), *y = contents(b, &count[1]);
  const bool same = x && y && count[0] == count[1] && memcmp(x, y, count[0]) == 0;
  free(x);
  free(y);
  return same || differ("its bytes differ");
}

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), part = strlen(end);
  return length >= part && strcmp(text + length - part, end) == 0;
}

static bool is_leftover(const char *name) {
  const char *slash = strrchr(name, '/');
  return strncmp(slash ? slash + 1 : name, ".burn-", 6) == 0 && ends_with(name, ".tmp");
}

static Files *listed; /* nftw has no context */
static size_t root_length;

static int list_one(const char *path, const struct stat *info, int type, struct FTW *where) {
  (void)info;
  (void)where;
  if (type != FTW_F || listed->count == MAX_FILES) return 0; /* of the folder itself nothing follows its root */
  const char *name = path + root_length;
  const bool differs = strstr(name, "lock") || ends_with(name, "experiment.log"); /* it has times */
  if (!differs) (void)snprintf(listed->names[listed->count++], PATH_BYTES, "%s", name);
  return 0;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static Files *list(const char *folder) {
  Files *files = calloc(1, sizeof *files);
  if (!files) abort();
  listed = files;
  root_length = strlen(folder) + 1;
  (void)nftw(folder, list_one, 16, FTW_PHYS);
  qsort(files->names, files->count, sizeof files->names[0], by_name);
  return files;
}

static bool same_file(const char *a, const char *b, const char *name) {
  char path_a[2 * PATH_BYTES], path_b[2 * PATH_BYTES], below[MESSAGE_BYTES];
  (void)snprintf(path_a, sizeof path_a, "%s/%s", a, name);
  (void)snprintf(path_b, sizeof path_b, "%s/%s", b, name);
  if (ends_with(name, ".mpk") ? same_record(path_a, path_b) : same_bytes(path_a, path_b)) return true;
  (void)snprintf(below, sizeof below, "%s", reason);
  return differ("%.80s: %.900s", name, below);
}

/* Leftovers do not count here: they are told apart. */
static size_t skip_uncounted(const Files *files, size_t i, bool with_logs) {
  while (i < files->count && (is_leftover(files->names[i]) || (!with_logs && ends_with(files->names[i], ".log")))) i++;
  return i;
}

static bool same_lists(const char *a, const char *b, const Files *in_a, const Files *in_b, bool with_logs) {
  for (size_t i = 0, k = 0;; i++, k++) {
    i = skip_uncounted(in_a, i, with_logs);
    k = skip_uncounted(in_b, k, with_logs);
    if (i == in_a->count && k == in_b->count) return true;
    const int order = i == in_a->count ? 1 : k == in_b->count ? -1 : strcmp(in_a->names[i], in_b->names[k]);
    if (order)
      return differ(order < 0 ? "%s is missing" : "%s is there, too", order < 0 ? in_a->names[i] : in_b->names[k]);
    if (!same_file(a, b, in_a->names[i])) return false;
  }
}

bool folders_are_same(const char *a, const char *b, bool with_logs, char why[MESSAGE_BYTES]) {
  Files *in_a = list(a), *in_b = list(b);
  reason = why;
  id_count = 0;
  device = burn_device_open("ndarray");
  const bool same = in_a->count > 0 ? same_lists(a, b, in_a, in_b, with_logs) : differ("there is nothing in %s", a);
  burn_device_close(device);
  free(in_a);
  free(in_b);
  return same;
}

bool folder_has_leftover(const char *folder, char name[MESSAGE_BYTES]) {
  Files *files = list(folder);
  bool found = false;
  for (size_t i = 0; i < files->count && !found; i++) {
    found = is_leftover(files->names[i]);
    if (found) (void)snprintf(name, MESSAGE_BYTES, "%s is left", files->names[i]);
  }
  free(files);
  return found;
}

/* -- whole folders ---------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
  (void)info;
  (void)type;
  (void)where;
  return remove(path);
}

void folder_remove(const char *folder) { (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static const char *copy_to;

static int copy_one(const char *path, const struct stat *info, int type, struct FTW *where) {
  char target[2 * PATH_BYTES];
  (void)where;
  (void)snprintf(target, sizeof target, "%s%s", copy_to, path + root_length);
  if (type == FTW_D) return mkdir(target, info->st_mode & 0777);
  size_t bytes;
  char *data = contents(path, &bytes);
  FILE *file = fopen(target, "wb");
  const bool written = data && file && fwrite(data, 1, bytes, file) == bytes;
  if (file) fclose(file);
  free(data);
  return written ? 0 : -1;
}

void folder_copy(const char *from, const char *to) {
  copy_to = to;
  root_length = strlen(from);
  if (nftw(from, copy_one, 16, FTW_PHYS) != 0) abort();
}
