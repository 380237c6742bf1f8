/* store_packed.c - attention as PyTorch has it: query, key and value are one projection, in_proj_weight [3 n, m] and
 * in_proj_bias [3 n], and what is called out_proj there is output here. */
#include "store_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = BURN_STORE_PACKED_PARTS };
static const char *const parts[PARTS] = {"query", "key", "value"};

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for names"); }

/* -- paths of the module: sorted, so that a file of many names costs no walk for each ----------- */

typedef struct Paths {
  char **items;
  size_t count, capacity;
} Paths;

static BurnStatus note_path(void *context, const BurnModuleTensor *tensor) {
  Paths *paths = context;
  if (paths->count == paths->capacity) {
    const size_t capacity = 2 * paths->capacity + 64;
    char **items = realloc(paths->items, capacity * sizeof *items);
    if (!items) return no_memory();
    paths->items = items;
    paths->capacity = capacity;
  }
  char *path = strdup(tensor->path);
  if (path) paths->items[paths->count++] = path;
  return path ? BURN_OK : no_memory();
}

static int compare_paths(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool has(const Paths *paths, const char *path) {
  return paths->count && bsearch(&path, paths->items, paths->count, sizeof *paths->items, compare_paths);
}

static void release_paths(Paths *paths) {
  for (size_t i = 0; i < paths->count; i++) free(paths->items[i]);
  free(paths->items);
}

/* -- names ------------------------------------------------------------------------------------ */

/* The first `length` characters of a name, a layer and its field; malloc'd, NULL without memory. */
static char *field_of(const char *name, size_t length, const char *layer, const char *field) {
  const size_t bytes = length + strlen(layer) + strlen(field) + 2;
  char *made = malloc(bytes);
  if (made) snprintf(made, bytes, "%.*s%s.%s", (int)length, name, layer, field);
  return made;
}

/* Where the last step of a name begins, or the last but one. */
static size_t step_at(const char *name, bool last) {
  size_t end = strlen(name);
  for (int steps = last ? 1 : 2; end > 0; end--)
    if (name[end - 1] == '.' && --steps == 0) break;
  return end;
}

/* "weight" or "bias" where the last step is in_proj_weight or in_proj_bias, in thirds; else NULL. */
static const char *packed_field(const char *name, BurnShape shape) {
  const char *step = name + step_at(name, true);
  const bool is_packed = strcmp(step, "in_proj_weight") == 0 || strcmp(step, "in_proj_bias") == 0;
  const bool in_thirds = shape.rank > 0 && shape.dims[0] > 0 && shape.dims[0] % PARTS == 0;
  return is_packed && in_thirds ? step + strlen("in_proj_") : NULL;
}

/* Puts three entries into the place of item `at` of a list that has room for two more. */
static BurnStatus split(BurnStoreNameList *list, size_t at, const char *field) {
  const BurnStoreNamed packed = list->items[at];
  const size_t length = step_at(packed.name, true);
  char *names[PARTS] = {NULL};
  bool all = true;
  for (uint32_t i = 0; i < PARTS; i++) all = (names[i] = field_of(packed.name, length, parts[i], field)) && all;
  for (uint32_t i = 0; i < PARTS && all; i++) {
    list->items[i == 0 ? at : list->count++] = (BurnStoreNamed){names[i], packed.index, i + 1};
  }
  for (uint32_t i = 0; i < PARTS && !all; i++) free(names[i]);
  if (all) free(packed.name);
  return all ? BURN_OK : no_memory();
}

static BurnStatus split_packed(const BurnStore *store, const Paths *paths, BurnStoreNameList *list, size_t at) {
  const char *name = list->items[at].name;
  const char *field = packed_field(name, burn_store_entry(store, list->items[at].index)->shape);
  if (!field || has(paths, name)) return BURN_OK;
  char *query = field_of(name, step_at(name, true), parts[0], field);
  if (!query) return no_memory();
  const bool is_wanted = has(paths, query);
  free(query);
  if (!is_wanted) return BURN_OK;
  BurnStoreNamed *items = realloc(list->items, (list->count + PARTS) * sizeof *items);
  if (!items) return no_memory();
  list->items = items;
  return split(list, at, field);
}

static BurnStatus rename_output(const Paths *paths, BurnStoreNamed *item) {
  const size_t at = step_at(item->name, false), length = strlen("out_proj.");
  if (strncmp(item->name + at, "out_proj.", length) != 0 || has(paths, item->name)) return BURN_OK;
  char *name = field_of(item->name, at, "output", item->name + at + length);
  if (!name) return no_memory();
  const bool is_there = has(paths, name);
  free(is_there ? item->name : name);
  if (is_there) item->name = name;
  return BURN_OK;
}

BurnStatus burn__store_unpack_attention(const BurnStore *store, BurnModule module, BurnStoreNameList *list) {
  const size_t count = list->count;
  Paths paths = {NULL, 0, 0};
  BurnStatus status = burn_module_visit(module, note_path, &paths);
  if (paths.count) qsort(paths.items, paths.count, sizeof *paths.items, compare_paths);
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    status = split_packed(store, &paths, list, i);
    if (status == BURN_OK) status = rename_output(&paths, &list->items[i]);
  }
  release_paths(&paths);
  return status == BURN_OK ? burn__store_name_sort(store, list) : status;
}
