/* write_safetensors.c - safetensors, laid out as the reference implementation does: by size of dtype, then name, so
 * that all values are aligned, after a header filled up with blanks to a multiple of 8. */
#include "safetensors.h"
#include "store_write.h"
#include "text_builder.h"

#include <burn/file.h>

#include <stdlib.h>
#include <string.h>

#define METADATA "__metadata__"

static int compare_items(const void *a, const void *b) {
  const BurnStoreItem *first = *(const BurnStoreItem *const *)a, *second = *(const BurnStoreItem *const *)b;
  const uint32_t x = burn_dtype_bytes(burn_dtype(first->x)), y = burn_dtype_bytes(burn_dtype(second->x));
  return x != y ? (x > y ? -1 : 1) : strcmp(first->name, second->name);
}

/* The header has its metadata in the place of a tensor of that name. */
static BurnStatus check_names(const BurnStoreItem *items, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(items[i].name, METADATA) == 0)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "safetensors cannot hold a tensor that is called " METADATA
                                                            ", where it has its metadata: rename it");
  }
  return BURN_OK;
}

static void add_text(BurnTextBuilder *header, const char *text) { burn__text_add_json(header, text, strlen(text)); }

static void add_metadata(BurnTextBuilder *header, const BurnStoreSave *options, size_t count) {
  const BurnValue *metadata = options->metadata;
  const size_t texts = burn_value_count(metadata);
  if (!metadata && options->adapter == BURN_STORE_PYTORCH)
    burn__text_addf(header, "\"" METADATA "\":{\"format\":\"pt\"}%s", count ? "," : "");
  if (texts == 0) return;
  burn__text_add(header, "\"" METADATA "\":{");
  for (size_t i = 0; i < texts; i++) {
    if (i > 0) burn__text_add(header, ",");
    add_text(header, burn_value_key_at(metadata, i));
    burn__text_add(header, ":");
    add_text(header, burn_value_as_text(burn_value_at(metadata, i), ""));
  }
  burn__text_addf(header, "}%s", count ? "," : "");
}

/* The format's name of a dtype of the same size: unsigned ones have none here. */
static const char *dtype_name(BurnDType dtype) {
  for (size_t i = 0; i < burn__safetensors_dtype_count; i++) {
    const BurnSafetensorsDType *row = &burn__safetensors_dtypes[i];
    if (row->dtype == dtype && row->bits == 8 * burn_dtype_bytes(dtype)) return row->name;
  }
  return "";
}

static void add_tensor(BurnTextBuilder *header, const BurnStoreItem *item, size_t begin) {
  const BurnShape shape = burn_shape(item->x);
  add_text(header, item->name);
  burn__text_addf(header, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(burn_dtype(item->x)));
  for (uint32_t i = 0; i < shape.rank && !item->scalar; i++)
    burn__text_addf(header, "%s%lld", i ? "," : "", (long long)shape.dims[i]);
  burn__text_addf(header, "],\"data_offsets\":[%zu,%zu]}", begin, begin + burn__store_item_bytes(item));
}

/* The header, and how many bytes of values follow; NULL without memory. */
static char *make_header(const BurnStoreItem *const *items, size_t count, const BurnStoreSave *options, size_t *length,
                         size_t *values) {
  BurnTextBuilder header = BURN_TEXT_BUILDER;
  *values = 0;
  burn__text_add(&header, "{");
  add_metadata(&header, options, count);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) burn__text_add(&header, ",");
    add_tensor(&header, items[i], *values);
    *values += burn__store_item_bytes(items[i]);
  }
  burn__text_add(&header, "}");
  while (header.length % 8 != 0 && !header.failed) burn__text_add(&header, " ");
  *length = header.length;
  return burn__text_finish(&header);
}

BurnStatus burn__store_write_safetensors(const char *path, const BurnStoreItem *items, size_t count,
                                         const BurnStoreSave *options) {
  const BurnStatus names = check_names(items, count);
  if (names != BURN_OK) return names;
  const BurnStoreItem **sorted = calloc(count + 1, sizeof *sorted);
  size_t length = 0, values = 0;
  for (size_t i = 0; sorted && i < count; i++) sorted[i] = &items[i];
  if (sorted && count) qsort(sorted, count, sizeof *sorted, compare_items);
  char *header = sorted ? make_header(sorted, count, options, &length, &values) : NULL;
  uint8_t *bytes = header ? malloc(8 + length + values) : NULL;
  BurnStatus status = bytes ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the file");
  if (bytes) {
    for (unsigned i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)length >> (8 * i));
    memcpy(bytes + 8, header, length);
  }
  for (size_t i = 0, at = 8 + length; i < count && status == BURN_OK; i++) {
    status = burn_status_annotate(burn_read(burn_clone(sorted[i]->x), bytes + at, burn__store_item_bytes(sorted[i])),
                                  "%.200s", sorted[i]->name);
    at += burn__store_item_bytes(sorted[i]);
  }
  if (status == BURN_OK) status = burn_file_write(path, bytes, 8 + length + values);
  free(bytes);
  free(header);
  free(sorted);
  return status;
}
