/* text_folder.c - a text file per item, classes by folder; all of it is read at once. */
#include <burn/train/class_files.h>

#include "rows.h"

#include <burn/file.h>
#include <burn/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_LIMIT = 1 << 26, MARK_BYTES = 3 };

/* The text, with a zero after it, as the item after the last, or why it is none. */
static BurnStatus text_put(const char *text, size_t count, int64_t label, const BurnTextConfig *config,
                           BurnRows *rows) {
  if (burn_text_utf8_bytes(text) != count) /* a zero within ends it */
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "no text in UTF-8");
  if (count > config->bytes && !config->cut_texts)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%zu bytes, at most %zu expected", count, config->bytes);
  const BurnStatus status = burn__rows_reserve(rows);
  if (status != BURN_OK) return status;
  burn__text_put(text, count, config->bytes, burn__rows_next(rows, 0));
  const int64_t length = (int64_t)strnlen((const char *)burn__rows_next(rows, 0), config->bytes);
  memcpy(burn__rows_next(rows, 1), &length, sizeof length);
  memcpy(burn__rows_next(rows, 2), &label, sizeof label);
  rows->count++;
  return BURN_OK;
}

static BurnStatus file_put(const char *path, int64_t label, const BurnTextConfig *config, BurnRows *rows) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = burn_file_read(path, TEXT_LIMIT, &bytes, &count);
  if (status == BURN_OK) {
    const size_t mark = count >= MARK_BYTES && memcmp(bytes, "\xef\xbb\xbf", MARK_BYTES) == 0 ? MARK_BYTES : 0;
    status = text_put((const char *)bytes + mark, count - mark, label, config, rows);
  }
  free(bytes);
  return burn_status_annotate(status, "text_folder: %s", path);
}

BurnDataset *burn_dataset_text_folder(const char *folder, const BurnTextConfig *config, BurnStatus *status) {
  static const char *const extensions[] = {".txt", NULL};
  const BurnColumn columns[] = {{"text", BURN_DTYPE_U8, BURN_SHAPE(config != NULL ? (int64_t)config->bytes : 0)},
                                {"length", BURN_DTYPE_I64, {0, {0}}},
                                {"label", BURN_DTYPE_I64, {0, {0}}}};
  BurnRows rows = {.reader = "text_folder", .columns = columns, .column_count = 3};
  BurnClassFiles files = {.count = 0};
  BurnSkips skipped = {0};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__text_config_check("text_folder", config);
  if (result == BURN_OK) result = burn__rows_check(&rows);
  if (result == BURN_OK) result = burn_class_files_read(folder, extensions, &files);
  for (size_t i = 0; result == BURN_OK && i < files.count; i++) {
    result = file_put(files.paths[i], files.labels[i], config, &rows);
    if (result == BURN_OK || !config->read.skip_bad || burn_status_code(result) == BURN_STATUS_OUT_OF_MEMORY) continue;
    burn__skip(&skipped, burn_status_message(result));
    result = BURN_OK;
  }
  burn_class_files_release(&files);
  if (result == BURN_OK) burn__skips_end(&skipped, &config->read);
  return burn__rows_end(&rows, result, status);
}
