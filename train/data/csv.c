/* csv.c - comma-separated values as RFC 4180 has them: fields in quotes, in which quotes are doubled and lines may end.
 *
 * A record is a line, and the lines after it while a quote is open (lines.c). It is cut into fields in place, fields
 * become the elements of the columns (rows.c). Every byte is taken as hostile: a record has a limit, every record must
 * have the number of fields of the first, and zero bytes are refused. Why a record is refused stays a text until it is
 * told: a skipped one makes no failure. */
#include "lines.h"
#include "path_check.h"
#include "rows.h"

#include <burn/text.h>

#include <stdlib.h>
#include <string.h>

enum { REASON_BYTES = 256, SHOWN_BYTES = 40, FIRST_FIELDS = 16, BOM_BYTES = 3 };

/* One field, within the line; it ends with a zero byte. */
typedef struct Field {
  char *text;
  size_t length;
} Field;

/* The record that is being read. */
typedef struct Record {
  Field *fields;
  size_t count, room;
  size_t line; /* its first */
} Record;

typedef struct Csv {
  const BurnCsvConfig *config;
  BurnLines lines;
  BurnRows rows;
  Record record;
  size_t field_count;             /* of every record; 0: not known yet */
  size_t first[BURN_MAX_COLUMNS]; /* the field that a column begins at */
  BurnSkips skipped;
  char reason[REASON_BYTES]; /* why the record is refused */
} Csv;

static char delimiter_of(const BurnCsvConfig *config) { return config->delimiter != '\0' ? config->delimiter : ','; }

/* -- records ---------------------------------------------------------------------------------- */

/* Whether a quote is open at the end of the line; a doubled one closes and opens. */
static bool quote_is_open(const BurnLines *lines, size_t from, bool open) {
  for (size_t i = from; i < lines->length; i++) open ^= lines->line[i] == '"';
  return open;
}

/* Reads the lines of the next record; *any is false at the end of the file. */
static BurnStatus record_read(Csv *csv, bool *any) {
  BurnLines *lines = &csv->lines;
  BurnStatus status = burn__lines_next(lines, any);
  csv->record.line = lines->number;
  if (status != BURN_OK || !*any) return status;
  if (lines->number == 1 && lines->length >= BOM_BYTES && memcmp(lines->line, "\xef\xbb\xbf", BOM_BYTES) == 0) {
    lines->length -= BOM_BYTES;
    memmove(lines->line, lines->line + BOM_BYTES, lines->length + 1);
  }
  bool more = true, open = quote_is_open(lines, 0, false);
  while (status == BURN_OK && open && more) {
    const size_t from = lines->length;
    status = burn__lines_append(lines, &more);
    open = quote_is_open(lines, from, open);
  }
  return status;
}

static bool refuse(Csv *csv, const char *what) {
  (void)snprintf(csv->reason, sizeof csv->reason, "%s", what);
  return false;
}

static Field *field_add(Record *record) {
  if (record->count == record->room) {
    const size_t room = record->room > 0 ? 2 * record->room : FIRST_FIELDS;
    Field *grown = realloc(record->fields, room * sizeof *grown);
    if (grown == NULL) return NULL;
    record->fields = grown;
    record->room = room;
  }
  return &record->fields[record->count++];
}

/* A field in quotes, of which *at is the first, made plain in place; *at is then after its last. */
static bool quoted_take(Csv *csv, char **at, Field *field) {
  char *read = *at + 1, *write = *at;
  field->text = write;
  for (;; *write++ = *read++) {
    if (*read == '\0') return refuse(csv, "a quote is not closed");
    if (*read != '"') continue;
    if (read[1] != '"') break;
    read++;
  }
  field->length = (size_t)(write - field->text);
  *at = read + 1;
  return true;
}

/* A field without quotes up to a delimiter or the end. */
static bool plain_take(Csv *csv, char **at, Field *field) {
  const char ends[] = {delimiter_of(csv->config), '"', '\0'};
  field->text = *at;
  field->length = strcspn(*at, ends);
  *at += field->length;
  return **at != '"' || refuse(csv, "a quote within a field that does not begin with one");
}

/* Cuts the line into fields; false with a reason. *memory is false where there is none. */
static bool record_cut(Csv *csv, bool *memory) {
  BurnLines *lines = &csv->lines;
  char *at = lines->line;
  csv->record.count = 0;
  if (strlen(at) != lines->length) return refuse(csv, "a zero byte");
  if (lines->length > 0 && at[lines->length - 1] == '\r') at[--lines->length] = '\0';
  for (;; at++) {
    Field *field = field_add(&csv->record);
    *memory = field != NULL;
    if (field == NULL || !(*at == '"' ? quoted_take(csv, &at, field) : plain_take(csv, &at, field))) return false;
    const char end = *at;
    field->text[field->length] = '\0';
    if (end == '\0') return true;
    if (end != delimiter_of(csv->config)) return refuse(csv, "text after the quote that ends a field");
  }
}

/* -- what columns are made of ----------------------------------------------------------------- */

static bool is_text(const BurnColumn *column) { return column->dtype == BURN_DTYPE_U8 && column->shape.rank == 1; }

/* Fields of a column: a text is one. */
static size_t fields_of(const BurnColumn *column, size_t bytes) {
  return is_text(column) ? 1 : bytes / burn_dtype_bytes(column->dtype);
}

static BurnStatus column_missing(const Csv *csv, const BurnColumn *column) {
  char names[REASON_BYTES] = "";
  for (size_t i = 0, used = 0; i < csv->record.count && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%.32s\"", i > 0 ? ", " : "",
                             csv->record.fields[i].text);
  return burn_status_make(BURN_STATUS_NOT_FOUND, "csv: %s: line %zu: no column \"%s\" in the header; it has %s",
                          csv->lines.path, csv->record.line, column->name, names);
}

/* Finds the fields of each column: by the names of the header, or from the first field on where there is none. */
static BurnStatus columns_place(Csv *csv) {
  const Record *record = &csv->record;
  size_t next = 0;
  csv->field_count = record->count;
  for (size_t i = 0; i < csv->rows.column_count; i++) {
    const BurnColumn *column = &csv->rows.columns[i];
    const size_t wanted = fields_of(column, csv->rows.bytes[i]);
    size_t first = next;
    if (!csv->config->no_header) {
      for (first = 0; first < record->count && strcmp(record->fields[first].text, column->name) != 0;) first++;
      if (first == record->count) return column_missing(csv, column);
    }
    if (wanted > record->count - first)
      return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                              "csv: %s: line %zu: column \"%s\" wants %zu fields from field %zu on, there are %zu",
                              csv->lines.path, csv->record.line, column->name, wanted, first + 1, record->count);
    csv->first[i] = first;
    next = first + wanted;
  }
  return BURN_OK;
}

static bool value_refuse(Csv *csv, const BurnColumn *column, const Field *field) {
  char shown[SHOWN_BYTES];
  (void)snprintf(shown, sizeof shown, "%s", field->text);
  (void)snprintf(csv->reason, sizeof csv->reason, "column \"%s\" is \"%s\", which is not %s", column->name,
                 burn_text_clean(shown), burn_dtype_name(column->dtype));
  return false;
}

static bool text_put(Csv *csv, const BurnColumn *column, const Field *field, unsigned char *out) {
  const size_t room = (size_t)column->shape.dims[0];
  if (field->length > room && !csv->config->cut_texts) {
    (void)snprintf(csv->reason, sizeof csv->reason, "column \"%s\" is a text of %zu bytes, at most %zu expected",
                   column->name, field->length, room);
    return false;
  }
  burn__text_put(field->text, field->length, room, out);
  return true;
}

/* The fields of the record as the item after the last; false with a reason. */
static bool item_put(Csv *csv) {
  const Record *record = &csv->record;
  if (record->count != csv->field_count) {
    (void)snprintf(csv->reason, sizeof csv->reason, "%zu fields, %zu expected", record->count, csv->field_count);
    return false;
  }
  for (size_t i = 0; i < csv->rows.column_count; i++) {
    const BurnColumn *column = &csv->rows.columns[i];
    const Field *field = &record->fields[csv->first[i]];
    unsigned char *out = burn__rows_next(&csv->rows, i);
    const size_t count = fields_of(column, csv->rows.bytes[i]), step = csv->rows.bytes[i] / count;
    if (is_text(column) && !text_put(csv, column, field, out)) return false;
    for (size_t j = 0; !is_text(column) && j < count; j++) {
      if (!burn__number_text_put(column->dtype, field[j].text, out + j * step))
        return value_refuse(csv, column, &field[j]);
    }
  }
  return true;
}

/* -- the file --------------------------------------------------------------------------------- */

/* The record as an item, or as the header. */
static BurnStatus record_use(Csv *csv) {
  bool memory = true;
  BurnStatus status = burn__rows_reserve(&csv->rows);
  if (status != BURN_OK) return status;
  const bool cut = record_cut(csv, &memory), placed = csv->field_count > 0;
  if (!memory)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "csv: %s: no memory for the fields of line %zu", csv->lines.path,
                            csv->record.line);
  if (cut && !placed) status = columns_place(csv);
  if (status != BURN_OK || (cut && !placed && !csv->config->no_header)) return status;
  if (cut && item_put(csv)) {
    csv->rows.count++;
    return BURN_OK;
  }
  /* A header that cannot be cut says nothing about the rest. */
  const bool skips = csv->config->read.skip_bad && csv->field_count > 0;
  return burn__line_refuse(&csv->lines, csv->record.line, csv->reason, skips, &csv->skipped);
}

static BurnStatus file_read(Csv *csv) {
  BurnStatus status = burn__lines_open(&csv->lines);
  bool any = true;
  while (status == BURN_OK) {
    status = record_read(csv, &any);
    if (status != BURN_OK || !any) break;
    if (!burn__line_is_blank(&csv->lines)) status = record_use(csv);
  }
  if (status == BURN_OK && csv->field_count == 0 && !csv->config->no_header)
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "csv: %s: no header, the file is empty", csv->lines.path);
  burn__lines_close(&csv->lines);
  free(csv->record.fields);
  return status;
}

static BurnStatus arguments_check(const char *path, const BurnCsvConfig *config) {
  const BurnStatus status = burn__path_check("csv", path);
  if (status != BURN_OK) return status;
  if (strchr("\"\r\n", delimiter_of(config)) != NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "csv: quotes and line ends cannot be the delimiter");
  return BURN_OK;
}

BurnDataset *burn_dataset_csv(const char *path, const BurnColumn *columns, size_t column_count,
                              const BurnCsvConfig *config, BurnStatus *status) {
  static const BurnCsvConfig defaults;
  Csv csv = {.config = config != NULL ? config : &defaults,
             .lines = {.reader = "csv", .path = path},
             .rows = {.reader = "csv", .columns = columns, .column_count = column_count}};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = arguments_check(path, csv.config);
  if (result == BURN_OK) result = burn__rows_check(&csv.rows);
  if (result == BURN_OK) result = file_read(&csv);
  if (result == BURN_OK) burn__skips_end(&csv.skipped, &csv.config->read);
  return burn__rows_end(&csv.rows, result, status);
}
