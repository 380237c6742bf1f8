/* text_lines.c - a line of text per item. */
#include "lines.h"
#include "path_check.h"
#include "rows.h"

#include <string.h>

/* A line without its carriage return as the item after the last. */
static BurnStatus line_put(BurnLines *lines, BurnRows *rows, const BurnTextConfig *config, BurnSkips *skipped) {
  const BurnStatus status = burn__rows_reserve(rows);
  if (status != BURN_OK) return status;
  if (lines->length > 0 && lines->line[lines->length - 1] == '\r') lines->line[--lines->length] = '\0';
  if (lines->length == 0 && !config->keep_blank) return BURN_OK;
  const bool whole = lines->length <= config->bytes || config->cut_texts;
  if (!whole || memchr(lines->line, '\0', lines->length) != NULL) {
    char reason[128];
    (void)snprintf(reason, sizeof reason, "%zu bytes, at most %zu expected", lines->length, config->bytes);
    return burn__line_refuse(lines, lines->number, whole ? "a zero byte" : reason, config->read.skip_bad, skipped);
  }
  burn__text_put(lines->line, lines->length, config->bytes, burn__rows_next(rows, 0));
  const int64_t length = (int64_t)strnlen((const char *)burn__rows_next(rows, 0), config->bytes);
  memcpy(burn__rows_next(rows, 1), &length, sizeof length);
  rows->count++;
  return BURN_OK;
}

BurnDataset *burn_dataset_text_lines(const char *path, const BurnTextConfig *config, BurnStatus *status) {
  const BurnColumn columns[] = {{"text", BURN_DTYPE_U8, BURN_SHAPE(config != NULL ? (int64_t)config->bytes : 0)},
                                {"length", BURN_DTYPE_I64, {0, {0}}}};
  BurnRows rows = {.reader = "text_lines", .columns = columns, .column_count = 2};
  BurnLines lines = {.reader = "text_lines", .path = path};
  BurnSkips skipped = {0};
  bool any = true;
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__path_check("text_lines", path);
  if (result == BURN_OK) result = burn__text_config_check("text_lines", config);
  if (result == BURN_OK) result = burn__rows_check(&rows);
  if (result == BURN_OK) result = burn__lines_open(&lines);
  while (result == BURN_OK) {
    result = burn__lines_next(&lines, &any);
    if (result != BURN_OK || !any) break;
    result = line_put(&lines, &rows, config, &skipped);
  }
  burn__lines_close(&lines);
  if (result == BURN_OK) burn__skips_end(&skipped, &config->read);
  return burn__rows_end(&rows, result, status);
}
