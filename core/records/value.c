/* value.c - trees of values, the content of record files.
 *
 * A NULL value means "out of memory or failed before". A list that is given one remembers it (broken), so that a record
 * is never written with a part silently missing. */
#include "record_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- making ----------------------------------------------------------------------------------- */

BurnValue *burn__value_new(uint32_t kind) {
  BurnValue *value = calloc(1, sizeof *value);
  if (value) value->kind = kind;
  return value;
}

BurnValue *burn_value_nil(void) { return burn__value_new(BURN_VALUE_NIL); }
BurnValue *burn_value_array(void) { return burn__value_new(BURN_VALUE_ARRAY); }
BurnValue *burn_value_map(void) { return burn__value_new(BURN_VALUE_MAP); }

BurnValue *burn_value_bool(bool value) {
  BurnValue *made = burn__value_new(BURN_VALUE_BOOL);
  if (made) made->as.boolean = value;
  return made;
}

BurnValue *burn_value_int(int64_t value) {
  BurnValue *made = burn__value_new(BURN_VALUE_INT);
  if (made) made->as.integer = value;
  return made;
}

BurnValue *burn_value_float(double value) {
  BurnValue *made = burn__value_new(BURN_VALUE_FLOAT);
  if (made) made->as.number = value;
  return made;
}

BurnValue *burn_value_text(const char *value) {
  char *text = value ? strdup(value) : NULL;
  BurnValue *made = text ? burn__value_new(BURN_VALUE_TEXT) : NULL;
  if (made) {
    made->as.text = text;
  } else {
    free(text);
  }
  return made;
}

bool burn__shape_bytes(const BurnShape *shape, uint32_t element_bytes, size_t *elements, size_t *bytes) {
  size_t product = 1, limit = SIZE_MAX / 2 / element_bytes;
  bool empty = false;
  if (shape->rank == 0 || shape->rank > BURN_MAX_RANK) return false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    int64_t size = shape->dims[i];
    if (size < 0) return false;
    if (size == 0) {
      empty = true; /* the other axes must multiply without overflow all the same: strides are made of them */
    } else if ((uint64_t)size > limit / product) {
      return false;
    } else {
      product *= (size_t)size;
    }
  }
  *elements = empty ? 0 : product;
  *bytes = *elements * element_bytes;
  return true;
}

BurnStatus burn__value_of_host(const BurnHostTensor *tensor, BurnValue **out) {
  BurnHostTensor *copy = tensor->data ? malloc(sizeof *copy) : NULL;
  BurnValue *value = copy ? burn__value_new(BURN_VALUE_TENSOR) : NULL;
  if (!value) {
    if (!tensor->is_borrowed) free(tensor->data);
    free(copy);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes", tensor->bytes);
  }
  *copy = *tensor;
  value->as.tensor = copy;
  *out = value;
  return BURN_OK;
}

BurnStatus burn__value_new_tensor(BurnDType dtype, const BurnShape *shape, BurnValue **out) {
  size_t elements = 0, bytes = 0;
  uint32_t element_bytes = burn_dtype_bytes(dtype);
  if (!element_bytes || !burn__shape_bytes(shape, element_bytes, &elements, &bytes)) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "tensor of shape %s and dtype %s", burn_shape_text(*shape).text,
                            burn_dtype_name(dtype));
  }
  uint8_t *data = malloc(bytes ? bytes : 1);
  const BurnHostTensor tensor = {.dtype = dtype, .shape = *shape, .count = elements, .bytes = bytes, .data = data};
  return burn__value_of_host(&tensor, out);
}

BurnStatus burn__value_from_tensor(BurnTensor *x, BurnValue **out) {
  if (!x) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "tensor value: no tensor");
  BurnShape shape = burn_shape(x);
  BurnValue *value = NULL;
  BurnStatus status = burn_tensor_status(x);
  if (status == BURN_OK) status = burn__value_new_tensor(burn_dtype(x), &shape, &value);
  if (status != BURN_OK) {
    burn_drop(x);
    return status;
  }
  status = burn_read(x, value->as.tensor->data, value->as.tensor->bytes);
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return status;
  }
  *out = value;
  return BURN_OK;
}

BurnValue *burn_value_tensor(BurnTensor *x) {
  BurnValue *value = NULL;
  return burn__value_from_tensor(x, &value) == BURN_OK ? value : NULL;
}

static bool is_list(const BurnValue *value) {
  return value && (value->kind == BURN_VALUE_ARRAY || value->kind == BURN_VALUE_MAP);
}

void burn_value_destroy(BurnValue *value) {
  if (!value) return;
  if (is_list(value)) {
    for (size_t i = 0; i < value->as.list.count; i++) {
      burn_value_destroy(value->as.list.items[i]);
      if (value->as.list.keys) free(value->as.list.keys[i]);
    }
    free(value->as.list.items);
    free(value->as.list.keys);
  } else if (value->kind == BURN_VALUE_TEXT) {
    free(value->as.text);
  } else if (value->kind == BURN_VALUE_TENSOR) {
    if (!value->as.tensor->is_borrowed) free(value->as.tensor->data);
    free(value->as.tensor);
  } else if (value->kind == BURN_INTERNAL_VALUE_OWN_BYTES) {
    free(value->as.own_bytes.data);
  }
  free(value);
}

/* -- adding ----------------------------------------------------------------------------------- */

/* Room for one more child. */
static bool list_grow(BurnValue *list) {
  if (list->as.list.count < list->as.list.capacity) return true;
  size_t capacity = list->as.list.capacity ? list->as.list.capacity * 2 : 4;
  BurnValue **items = realloc(list->as.list.items, capacity * sizeof *items);
  if (!items) return false;
  list->as.list.items = items;
  if (list->kind == BURN_VALUE_MAP) {
    char **keys = realloc(list->as.list.keys, capacity * sizeof *keys);
    if (!keys) return false;
    list->as.list.keys = keys;
  }
  list->as.list.capacity = capacity;
  return true;
}

bool burn__value_push(BurnValue *list, char *key, BurnValue *child) {
  if (!is_list(list) || !child || (list->kind == BURN_VALUE_MAP && !key) || !list_grow(list)) {
    if (list) list->broken = true;
    burn_value_destroy(child);
    free(key);
    return false;
  }
  size_t index = list->as.list.count++;
  list->as.list.items[index] = child;
  if (list->kind == BURN_VALUE_MAP) {
    list->as.list.keys[index] = key;
  } else {
    free(key);
  }
  return true;
}

bool burn_value_append(BurnValue *array, BurnValue *child) {
  if (array && array->kind == BURN_VALUE_ARRAY) return burn__value_push(array, NULL, child);
  if (array) array->broken = true;
  burn_value_destroy(child);
  return false;
}

bool burn_value_set(BurnValue *map, const char *key, BurnValue *child) {
  if (!map || map->kind != BURN_VALUE_MAP || !key || !child) {
    if (map) map->broken = true;
    burn_value_destroy(child);
    return false;
  }
  for (size_t i = 0; i < map->as.list.count; i++) {
    if (strcmp(map->as.list.keys[i], key) != 0) continue;
    burn_value_destroy(map->as.list.items[i]);
    map->as.list.items[i] = child;
    return true;
  }
  return burn__value_push(map, strdup(key), child);
}

static int compare_keys(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

BurnStatus burn__value_check_keys(const BurnValue *map) {
  size_t count = map->as.list.count;
  if (count < 2) return BURN_OK;
  const char **keys = malloc(count * sizeof *keys);
  if (!keys) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu keys", count);
  for (size_t i = 0; i < count; i++) keys[i] = map->as.list.keys[i];
  qsort(keys, count, sizeof *keys, compare_keys);
  bool twice = false;
  for (size_t i = 1; i < count; i++) twice = twice || strcmp(keys[i - 1], keys[i]) == 0;
  free(keys);
  return twice ? burn_status_make(BURN_STATUS_CORRUPT_DATA, "a map with a key that stands twice") : BURN_OK;
}

/* -- looking ---------------------------------------------------------------------------------- */

uint32_t burn_value_kind(const BurnValue *value) { return value ? value->kind : BURN_VALUE_NIL; }
size_t burn_value_count(const BurnValue *value) { return is_list(value) ? value->as.list.count : 0; }

const BurnValue *burn_value_at(const BurnValue *value, size_t index) {
  return index < burn_value_count(value) ? value->as.list.items[index] : NULL;
}

const char *burn_value_key_at(const BurnValue *map, size_t index) {
  return burn_value_kind(map) == BURN_VALUE_MAP && index < map->as.list.count ? map->as.list.keys[index] : NULL;
}

const BurnValue *burn_value_get(const BurnValue *map, const char *key) {
  for (size_t i = 0; key && burn_value_kind(map) == BURN_VALUE_MAP && i < map->as.list.count; i++) {
    if (strcmp(map->as.list.keys[i], key) == 0) return map->as.list.items[i];
  }
  return NULL;
}

bool burn_value_as_bool(const BurnValue *value, bool fallback) {
  return burn_value_kind(value) == BURN_VALUE_BOOL ? value->as.boolean : fallback;
}

int64_t burn_value_as_int(const BurnValue *value, int64_t fallback) {
  return burn_value_kind(value) == BURN_VALUE_INT ? value->as.integer : fallback;
}

double burn_value_as_float(const BurnValue *value, double fallback) {
  if (burn_value_kind(value) == BURN_VALUE_INT) return (double)value->as.integer;
  return burn_value_kind(value) == BURN_VALUE_FLOAT ? value->as.number : fallback;
}

const char *burn_value_as_text(const BurnValue *value, const char *fallback) {
  return burn_value_kind(value) == BURN_VALUE_TEXT ? value->as.text : fallback;
}

BurnShape burn_value_shape(const BurnValue *value) {
  return burn_value_kind(value) == BURN_VALUE_TENSOR ? value->as.tensor->shape : (BurnShape){.rank = 0};
}

const void *burn_value_elements(const BurnValue *value, BurnDType *dtype, BurnShape *shape) {
  if (burn_value_kind(value) != BURN_VALUE_TENSOR || value->as.tensor->is_quantized) return NULL;
  *dtype = value->as.tensor->dtype;
  *shape = value->as.tensor->shape;
  return value->as.tensor->data;
}

bool burn_value_is_quantized(const BurnValue *value, BurnQuantScheme *scheme) {
  if (burn_value_kind(value) != BURN_VALUE_TENSOR || !value->as.tensor->is_quantized) return false;
  *scheme = value->as.tensor->scheme;
  return true;
}

BurnTensor *burn_value_as_tensor(const BurnValue *value, BurnDevice *device) {
  if (burn_value_kind(value) != BURN_VALUE_TENSOR) {
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "record value: no tensor (kind %u)", burn_value_kind(value)));
  }
  return burn__host_tensor_on(value->as.tensor, device);
}
