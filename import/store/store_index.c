/* store_index.c - a model in parts: model.safetensors.index.json, {"metadata": {..}, "weight_map": {tensor:
 * file}}. A part is a file of any format beside the index; every other name is refused, whatever it would lead to. */
#include "store_format.h"
#include "store_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_LIMIT = 4096 };

/* The parts that are open, by name. */
typedef struct Parts {
  size_t count;
  char *names[PART_LIMIT];
  BurnStore *stores[PART_LIMIT];
} Parts;

/* The key weight_map is the first, or the second after metadata. */
static bool is_index(const uint8_t *bytes, size_t count) {
  BurnJson json = {bytes, 0, count, 0, BURN_OK};
  bool is_first = true;
  char key[16] = "";
  if (burn__json_peek(&json) != '{') return false;
  burn__json_take(&json, '{');
  while (burn__json_more(&json, &is_first, '}')) {
    burn__json_text_into(&json, key, sizeof key);
    if (json.status != BURN_OK || strcmp(key, "metadata") != 0) break;
    burn__json_take(&json, ':');
    burn__json_skip(&json);
  }
  return json.status == BURN_OK && strcmp(key, "weight_map") == 0;
}

/* A file beside the index: no folder, no drive, no name with a meaning of its own. */
static bool is_plain_name(const char *name) {
  const size_t length = strlen(name);
  if (length == 0 || length > 200 || name[0] == '.') return false;
  return strcspn(name, "/\\:*?\"<>|") == length;
}

static BurnStore *open_part(const char *index_path, const char *name, BurnStatus *status) {
  const char *slash = strrchr(index_path, '/'), *backslash = strrchr(index_path, '\\');
  const char *last = backslash && (!slash || backslash > slash) && burn__store_has_drives ? backslash : slash;
  const size_t folder = last ? (size_t)(last - index_path) + 1 : 0, bytes = folder + strlen(name) + 1;
  char *path = malloc(bytes);
  if (!path) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a path");
    return NULL;
  }
  memcpy(path, index_path, folder);
  memcpy(path + folder, name, bytes - folder);
  BurnStore *part = burn__store_open_part(path, status);
  free(path);
  return part;
}

/* The number of the part of that name, which is opened if it is not open. */
static BurnStatus find_part(BurnStore *store, const char *name, size_t *index) {
  Parts *parts = store->state;
  for (*index = 0; *index < parts->count && strcmp(parts->names[*index], name) != 0;) ++*index;
  if (*index < parts->count) return BURN_OK;
  if (!is_plain_name(name))
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "part \"%.80s\" is not a plain name of a file beside the index",
                            name);
  if (parts->count == PART_LIMIT) return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "more than %d parts", PART_LIMIT);
  BurnStatus status = BURN_OK;
  parts->names[*index] = strdup(name);
  if (!parts->names[*index]) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a name");
  parts->count++;
  parts->stores[*index] = open_part(store->file.path, name, &status);
  return status;
}

static BurnStatus add_tensor(BurnStore *store, const char *name, const char *file) {
  const Parts *parts = store->state;
  size_t part = 0;
  BurnStatus status = find_part(store, file, &part);
  if (status != BURN_OK) return status;
  const BurnStore *found = parts->stores[part];
  const size_t index = burn_store_find(found, name);
  if (index == found->count)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor %.80s is not in part %s", name, file);
  BurnStoreSlot slot = found->slots[index];
  slot.offset = index;
  slot.part = part;
  return burn__store_add(store, &slot);
}

static void read_weight_map(BurnStore *store, BurnJson *json) {
  bool is_first = true;
  burn__json_take(json, '{');
  while (burn__json_more(json, &is_first, '}')) {
    const size_t at = json->at;
    char *name = burn__json_text(json);
    burn__json_take(json, ':');
    char *file = burn__json_text(json);
    if (name && file)
      json->status = burn_status_annotate(add_tensor(store, name, file), "byte %llu", (unsigned long long)at);
    free(name);
    free(file);
  }
}

static BurnStatus open_index(BurnStore *store) {
  BurnJson json = {store->file.bytes, 0, store->file.count, 0, BURN_OK};
  bool is_first = true;
  char key[16];
  if (!store->file.path)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                            "an index of parts is opened by its path, beside which they lie");
  store->state = calloc(1, sizeof(Parts));
  if (!store->state) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for parts");
  burn__json_take(&json, '{');
  while (burn__json_more(&json, &is_first, '}')) {
    burn__json_text_into(&json, key, sizeof key);
    burn__json_take(&json, ':');
    if (strcmp(key, "weight_map") == 0 && store->count == 0)
      read_weight_map(store, &json);
    else
      burn__json_skip(&json);
  }
  if (json.status == BURN_OK && !burn__json_is_at_end(&json)) burn__json_expected(&json, "nothing after the index");
  return json.status;
}

static BurnStatus read_index(const BurnStore *store, const BurnStoreSlot *slot, void *out) {
  const Parts *parts = store->state;
  return burn_store_read(parts->stores[slot->part], (size_t)slot->offset, out, burn__store_value_bytes(slot));
}

static void close_index(BurnStore *store) {
  Parts *parts = store->state;
  for (size_t i = 0; parts && i < parts->count; i++) {
    burn_store_close(parts->stores[i]);
    free(parts->names[i]);
  }
  free(parts);
}

const BurnStoreFormat burn__store_index = {
    .name = "index", .is = is_index, .open = open_index, .read = read_index, .close = close_index};
