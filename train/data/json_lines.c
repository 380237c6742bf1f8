/* json_lines.c - a JSON object per line, into columns.
 *
 * Lines are read one by one (lines.c) and turned into items at once (rows.c), so memory is that of the items and of the
 * longest line. Every byte is taken as hostile: a line has a limit, cJSON bounds how deep it nests, and a value must
 * have just the shape of its column and fit its dtype. Why a line is refused stays a text until it is reported: a
 * skipped line makes no failure. */
#include "dataset_private.h"
#include "lines.h"
#include "path_check.h"
#include "rows.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

enum { REASON_BYTES = 256 };

/* -- one value -------------------------------------------------------------------------------- */

/* What a value must be, where it goes, and why it is refused. */
typedef struct Cell {
  const BurnColumn *column;
  unsigned char *out;
  char *reason; /* [REASON_BYTES] */
} Cell;

static bool refuse(const Cell *cell, const char *what) {
  snprintf(cell->reason, REASON_BYTES, "column \"%s\" is %s", cell->column->name, what);
  return false;
}

static bool scalar_put(Cell *cell, const cJSON *json) {
  const BurnDType dtype = cell->column->dtype;
  char what[64];
  if (!cJSON_IsNumber(json) && !cJSON_IsBool(json)) return refuse(cell, "not a number where one is expected");
  const double value = cJSON_IsBool(json) ? cJSON_IsTrue(json) : json->valuedouble;
  if (!burn__number_put(dtype, value, cell->out)) {
    snprintf(what, sizeof what, "a number that is not %s", burn_dtype_name(dtype));
    return refuse(cell, what);
  }
  cell->out += burn_dtype_bytes(dtype);
  return true;
}

/* A text as the bytes of a column u8 [n], with zeros after it. */
static bool text_put(Cell *cell, const char *text) {
  const size_t room = (size_t)cell->column->shape.dims[0], length = strlen(text);
  if (length > room) return refuse(cell, "a text that is longer than its column");
  burn__text_put(text, length, room, cell->out);
  return true;
}

/* The values from an axis on, which is one of at most BURN_MAX_RANK. */
static bool value_put(Cell *cell, const cJSON *json, uint32_t axis) {
  const BurnShape *shape = &cell->column->shape;
  int64_t count = 0;
  if (axis == shape->rank) return scalar_put(cell, json);
  if (cJSON_IsString(json) && shape->rank == 1 && cell->column->dtype == BURN_DTYPE_U8)
    return text_put(cell, json->valuestring);
  if (!cJSON_IsArray(json)) return refuse(cell, "not a list where one is expected");
  for (const cJSON *child = json->child; child != NULL; child = child->next) {
    if (++count > shape->dims[axis]) return refuse(cell, "a list with too many elements");
    if (!value_put(cell, child, axis + 1)) return false;
  }
  return count == shape->dims[axis] || refuse(cell, "a list with too few elements");
}

/* -- items ------------------------------------------------------------------------------------ */

/* A line as the item after the last; false with a reason. */
static bool item_put(const BurnRows *items, const cJSON *json, char *reason) {
  if (!cJSON_IsObject(json)) {
    snprintf(reason, REASON_BYTES, "no JSON object");
    return false;
  }
  for (size_t i = 0; i < items->column_count; i++) {
    Cell cell = {&items->columns[i], burn__rows_next(items, i), reason};
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, items->columns[i].name);
    if (value == NULL) return refuse(&cell, "missing");
    if (!value_put(&cell, value, 0)) return false;
  }
  return true;
}

static BurnStatus line_read(const BurnLines *lines, BurnRows *items, bool skips, BurnSkips *skipped) {
  char reason[REASON_BYTES];
  const BurnStatus status = burn__rows_reserve(items);
  if (status != BURN_OK) return status;
  /* A zero byte within ends the text for cJSON: then bytes are left, and it is refused. */
  cJSON *json = strlen(lines->line) == lines->length ? cJSON_ParseWithOpts(lines->line, NULL, true) : NULL;
  const bool good = item_put(items, json, reason);
  cJSON_Delete(json);
  items->count += good;
  return good ? BURN_OK : burn__line_refuse(lines, lines->number, reason, skips, skipped);
}

static BurnStatus lines_read(BurnLines *lines, BurnRows *items, bool skips, BurnSkips *skipped) {
  BurnStatus status = burn__lines_open(lines);
  bool any = true;
  while (status == BURN_OK) {
    status = burn__lines_next(lines, &any);
    if (status != BURN_OK || !any) break;
    if (!burn__line_is_blank(lines)) status = line_read(lines, items, skips, skipped);
  }
  burn__lines_close(lines);
  return status;
}

BurnDataset *burn_dataset_json_lines(const char *path, const BurnColumn *columns, size_t column_count,
                                     const BurnReadConfig *config, BurnStatus *status) {
  const bool skips = config != NULL && config->skip_bad;
  BurnRows items = {.reader = "json_lines", .columns = columns, .column_count = column_count};
  BurnLines lines = {.reader = "json_lines", .path = path};
  BurnSkips skipped = {0};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__path_check("json_lines", path);
  if (result == BURN_OK) result = burn__rows_check(&items);
  if (result == BURN_OK) result = lines_read(&lines, &items, skips, &skipped);
  if (result == BURN_OK) burn__skips_end(&skipped, config);
  return burn__rows_end(&items, result, status);
}
