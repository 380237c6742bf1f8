/* json_lines.c - a JSON object per line, into columns.
 *
 * Lines are read one by one and turned into items at once, so memory is that of the items and of the longest line.
 * Every byte is taken as hostile: a line has a limit, cJSON bounds how deep it nests, and a value must have just the
 * shape of its column and fit its dtype. Why a line is refused stays a text until it is told: a skipped line makes
 * no failure. */
#include "dataset_private.h"
#include "learner_internal.h"

#include <burn/file.h>

#include <cjson/cJSON.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16, MAX_LINE_BYTES = 1 << 26, FIRST_ITEMS = 64, REASON_BYTES = 256 };

/* -- lines of a file -------------------------------------------------------------------------- */

typedef struct Lines {
  const char *path;
  FILE *file;
  char *buffer;       /* [BUFFER_BYTES] */
  size_t next, there; /* bytes of the buffer that are not used up */
  char *line;         /* ends with a zero byte */
  size_t length, room;
  size_t number; /* of the line, from 1 */
} Lines;

static BurnStatus line_add(Lines *lines, const char *bytes, size_t count) {
  if (count > MAX_LINE_BYTES - lines->length)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "json_lines: %s: line %zu has more than %d bytes", lines->path,
                            lines->number, MAX_LINE_BYTES);
  if (lines->length + count + 1 > lines->room) {
    const size_t room = 2 * (lines->length + count + 1);
    char *grown = realloc(lines->line, room);
    if (grown == NULL)
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "json_lines: %s: no memory for line %zu", lines->path,
                              lines->number);
    lines->line = grown;
    lines->room = room;
  }
  memcpy(lines->line + lines->length, bytes, count);
  lines->length += count;
  lines->line[lines->length] = '\0';
  return BURN_OK;
}

/* Fills the buffer once it is used up; *any is false at the end of the file. */
static BurnStatus buffer_refill(Lines *lines, bool *any) {
  if (lines->next == lines->there) {
    errno = 0;
    lines->next = 0;
    lines->there = fread(lines->buffer, 1, BUFFER_BYTES, lines->file);
    if (lines->there == 0 && ferror(lines->file)) {
      char text[128];
      return burn_status_make(BURN_STATUS_IO, "json_lines: %s: %s", lines->path,
                              burn__train_errno_text(errno, text, sizeof text));
    }
  }
  *any = lines->there > 0;
  return BURN_OK;
}

/* The next line; *any is false when there is none. The last one need not end with a line feed. */
static BurnStatus line_next(Lines *lines, bool *any) {
  bool more = true;
  BurnStatus status = BURN_OK;
  lines->length = 0;
  lines->number++;
  for (*any = false; status == BURN_OK && more;) {
    status = buffer_refill(lines, &more);
    if (status != BURN_OK || !more) break;
    const char *begin = lines->buffer + lines->next;
    const char *end = memchr(begin, '\n', lines->there - lines->next);
    const size_t count = end != NULL ? (size_t)(end - begin) : lines->there - lines->next;
    *any = true;
    status = line_add(lines, begin, count);
    lines->next += count + (end != NULL);
    more = end == NULL;
  }
  return status;
}

static bool is_blank(const Lines *lines) { return strspn(lines->line, " \t\r") == lines->length; }

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

static bool in_range(double value, double low, double high) { return value >= low && value <= high; }

/* The number as an element at *out, if it is one of the dtype. Doubles tell integers apart below 2^53. */
static bool number_put(BurnDType dtype, double value, void *out) {
  const bool whole = value == floor(value) && fabs(value) < 0x1p53;
  switch (dtype) {
    case BURN_DTYPE_F64:
      *(double *)out = value;
      return isfinite(value) != 0;
    case BURN_DTYPE_F32:
      *(float *)out = fabs(value) <= (double)FLT_MAX ? (float)value : 0;
      return fabs(value) <= (double)FLT_MAX;
    case BURN_DTYPE_I64:
      *(int64_t *)out = whole ? (int64_t)value : 0;
      return whole;
    case BURN_DTYPE_I32:
      if (!whole || !in_range(value, INT32_MIN, INT32_MAX)) return false;
      *(int32_t *)out = (int32_t)value;
      return true;
    case BURN_DTYPE_I16:
      if (!whole || !in_range(value, INT16_MIN, INT16_MAX)) return false;
      *(int16_t *)out = (int16_t)value;
      return true;
    case BURN_DTYPE_I8:
      if (!whole || !in_range(value, INT8_MIN, INT8_MAX)) return false;
      *(int8_t *)out = (int8_t)value;
      return true;
    default:
      if (!whole || !in_range(value, 0, dtype == BURN_DTYPE_BOOL ? 1 : UINT8_MAX)) return false;
      *(uint8_t *)out = (uint8_t)value;
      return true;
  }
}

static bool scalar_put(Cell *cell, const cJSON *json) {
  const BurnDType dtype = cell->column->dtype;
  char what[64];
  if (!cJSON_IsNumber(json) && !cJSON_IsBool(json)) return refuse(cell, "no number where one is expected");
  const double value = cJSON_IsBool(json) ? cJSON_IsTrue(json) : json->valuedouble;
  if (!number_put(dtype, value, cell->out)) {
    snprintf(what, sizeof what, "a number that is no %s", burn_dtype_name(dtype));
    return refuse(cell, what);
  }
  cell->out += burn_dtype_bytes(dtype);
  return true;
}

/* A text as the bytes of a column u8 [n], with zeros after it. */
static bool text_put(Cell *cell, const char *text) {
  const size_t room = (size_t)cell->column->shape.dims[0], length = strlen(text);
  if (length > room) return refuse(cell, "a text that is longer than its column");
  memcpy(cell->out, text, length);
  memset(cell->out + length, 0, room - length);
  return true;
}

/* The values from an axis on, which is one of at most BURN_MAX_RANK. */
static bool value_put(Cell *cell, const cJSON *json, uint32_t axis) {
  const BurnShape *shape = &cell->column->shape;
  int64_t count = 0;
  if (axis == shape->rank) return scalar_put(cell, json);
  if (cJSON_IsString(json) && shape->rank == 1 && cell->column->dtype == BURN_DTYPE_U8)
    return text_put(cell, json->valuestring);
  if (!cJSON_IsArray(json)) return refuse(cell, "no list where one is expected");
  for (const cJSON *child = json->child; child != NULL; child = child->next) {
    if (++count > shape->dims[axis]) return refuse(cell, "a list with too many elements");
    if (!value_put(cell, child, axis + 1)) return false;
  }
  return count == shape->dims[axis] || refuse(cell, "a list with too few elements");
}

/* -- items ------------------------------------------------------------------------------------ */

typedef struct Items {
  const BurnColumn *columns;
  size_t column_count;
  size_t bytes[BURN_MAX_COLUMNS]; /* of one item */
  void *blocks[BURN_MAX_COLUMNS]; /* from malloc */
  size_t count, room;
} Items;

static BurnStatus items_reserve(Items *items) {
  if (items->count < items->room) return BURN_OK;
  const size_t room = items->room > 0 ? 2 * items->room : FIRST_ITEMS;
  for (size_t i = 0; i < items->column_count; i++) {
    void *grown =
        room <= (size_t)PTRDIFF_MAX / items->bytes[i] ? realloc(items->blocks[i], room * items->bytes[i]) : NULL;
    if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "json_lines: no memory for %zu items", room);
    items->blocks[i] = grown;
  }
  items->room = room;
  return BURN_OK;
}

/* A line as the item after the last; false with a reason. */
static bool item_put(const Items *items, const cJSON *json, char *reason) {
  if (!cJSON_IsObject(json)) {
    snprintf(reason, REASON_BYTES, "no JSON object");
    return false;
  }
  for (size_t i = 0; i < items->column_count; i++) {
    Cell cell = {&items->columns[i], (unsigned char *)items->blocks[i] + items->count * items->bytes[i], reason};
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, items->columns[i].name);
    if (value == NULL) return refuse(&cell, "missing");
    if (!value_put(&cell, value, 0)) return false;
  }
  return true;
}

static BurnStatus line_read(const Lines *lines, Items *items, bool skips, BurnSkips *skipped) {
  char reason[REASON_BYTES];
  const BurnStatus status = items_reserve(items);
  if (status != BURN_OK) return status;
  /* A zero byte within ends the text for cJSON: then bytes are left, and it is refused. */
  cJSON *json = strlen(lines->line) == lines->length ? cJSON_ParseWithOpts(lines->line, NULL, true) : NULL;
  const bool good = item_put(items, json, reason);
  cJSON_Delete(json);
  if (good) {
    items->count++;
    return BURN_OK;
  }
  if (!skips)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "json_lines: %s: line %zu: %s", lines->path, lines->number,
                            reason);
  char where[REASON_BYTES + 200];
  snprintf(where, sizeof where, "json_lines: %.150s: line %zu: %s", lines->path, lines->number, reason);
  burn__skip(skipped, where);
  return BURN_OK;
}

static BurnStatus lines_read(Lines *lines, Items *items, bool skips, BurnSkips *skipped) {
  BurnStatus status =
      burn_status_annotate(burn_file_open(lines->path, &lines->file, NULL), "json_lines: %s", lines->path);
  bool any = true;
  if (status != BURN_OK) return status;
  lines->buffer = malloc(BUFFER_BYTES);
  if (lines->buffer == NULL) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "json_lines: out of memory");
  while (status == BURN_OK) {
    status = line_next(lines, &any);
    if (status != BURN_OK || !any) break;
    if (!is_blank(lines)) status = line_read(lines, items, skips, skipped);
  }
  fclose(lines->file);
  free(lines->buffer);
  free(lines->line);
  return status;
}

/* -- the dataset ------------------------------------------------------------------------------ */

static BurnStatus columns_check(const BurnColumn *columns, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (columns[i].dtype == BURN_DTYPE_F16 || columns[i].dtype == BURN_DTYPE_BF16)
      return burn_status_make(BURN_STATUS_INVALID_DTYPE, "json_lines: column \"%s\" is %s, which is not read",
                              columns[i].name, burn_dtype_name(columns[i].dtype));
  }
  return BURN_OK;
}

BurnDataset *burn_dataset_json_lines(const char *path, const BurnColumn *columns, size_t column_count,
                                     const BurnReadConfig *config, BurnStatus *status) {
  const bool skips = config != NULL && config->skip_bad;
  Items items = {.columns = columns, .column_count = column_count};
  Lines lines = {.path = path};
  BurnSkips skipped = {0};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK && path == NULL) result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "json_lines: no path");
  if (result == BURN_OK) result = burn__columns_check(columns, column_count, items.bytes);
  if (result == BURN_OK) result = columns_check(columns, column_count);
  if (result == BURN_OK) result = lines_read(&lines, &items, skips, &skipped);
  if (result != BURN_OK) {
    for (size_t i = 0; i < BURN_MAX_COLUMNS; i++) free(items.blocks[i]);
    burn__store_status(status, result);
    return NULL;
  }
  burn__skips_end(&skipped, config);
  return burn__dataset_of_blocks(columns, column_count, items.blocks, items.count, status);
}
