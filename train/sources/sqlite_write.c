/* sqlite_write.c - a dataset as a table of a new file. It is written beside, in one transaction and without a journal,
 * as nobody reads it before it is whole, and then renamed. */
#include "path_check.h"

#include <burn/datasets.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

typedef struct Writing {
  sqlite3 *database;
  sqlite3_stmt *insert;
  const BurnDataset *dataset;
  size_t column_count;
  void *columns[BURN_MAX_COLUMNS]; /* of one item */
} Writing;

/* The statements for the columns: "create table" with types, "insert" with a ? each. SQLite's %w doubles quotes. */
static char *sql_write(const Writing *writing, const char *table, bool insert) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  sqlite3_str_appendf(text,
                      insert ? "insert into \"%w\" ("
                             : "create table \"%w\" (row_id integer primary key "
                               "autoincrement not null",
                      table);
  for (size_t i = 0; i < writing->column_count; i++) {
    const BurnColumn *column = burn_dataset_column(writing->dataset, i);
    const bool real = column->dtype == BURN_DTYPE_F32 || column->dtype == BURN_DTYPE_F64;
    const char *type = column->shape.rank > 0 ? "blob" : real ? "real" : "integer";
    if (insert)
      sqlite3_str_appendf(text, "%s\"%w\"", i > 0 ? ", " : "", column->name);
    else
      sqlite3_str_appendf(text, ", \"%w\" %s not null", column->name, type);
  }
  sqlite3_str_appendall(text, insert ? ") values (" : ")");
  for (size_t i = 0; insert && i < writing->column_count; i++) sqlite3_str_appendall(text, i > 0 ? ", ?" : "?");
  if (insert) sqlite3_str_appendall(text, ")");
  return sqlite3_str_finish(text);
}

static int statement_run(sqlite3 *database, char *sql) {
  const int code = sql != NULL ? sqlite3_exec(database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
  sqlite3_free(sql);
  return code;
}

/* One single number. */
static int number_bind(sqlite3_stmt *insert, int index, BurnDType dtype, const void *value) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return sqlite3_bind_double(insert, index, *(const double *)value);
    case BURN_DTYPE_F32:
      return sqlite3_bind_double(insert, index, (double)*(const float *)value);
    case BURN_DTYPE_I64:
      return sqlite3_bind_int64(insert, index, *(const int64_t *)value);
    case BURN_DTYPE_I32:
      return sqlite3_bind_int(insert, index, *(const int32_t *)value);
    case BURN_DTYPE_I16:
      return sqlite3_bind_int(insert, index, *(const int16_t *)value);
    case BURN_DTYPE_I8:
      return sqlite3_bind_int(insert, index, *(const int8_t *)value);
    default:
      return sqlite3_bind_int(insert, index, *(const uint8_t *)value);
  }
}

static int row_insert(const Writing *writing) {
  int code = SQLITE_OK;
  for (size_t i = 0; code == SQLITE_OK && i < writing->column_count; i++) {
    const BurnColumn *column = burn_dataset_column(writing->dataset, i);
    const size_t bytes = burn_dataset_column_bytes(writing->dataset, i);
    code = column->shape.rank == 0 ? number_bind(writing->insert, (int)i + 1, column->dtype, writing->columns[i])
                                   : sqlite3_bind_blob64(writing->insert, (int)i + 1, writing->columns[i], bytes, NULL);
  }
  if (code == SQLITE_OK) code = sqlite3_step(writing->insert);
  sqlite3_reset(writing->insert);
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

static BurnStatus rows_insert(Writing *writing, const char *path) {
  BurnStatus status = BURN_OK;
  int code = SQLITE_OK;
  const size_t count = burn_dataset_count(writing->dataset);
  for (size_t i = 0; status == BURN_OK && code == SQLITE_OK && i < count; i++) {
    status = burn_status_annotate(burn_dataset_get(writing->dataset, i, writing->columns), "sqlite: item %zu", i);
    if (status == BURN_OK) code = row_insert(writing);
  }
  if (status == BURN_OK && code == SQLITE_OK) code = sqlite3_exec(writing->database, "commit", NULL, NULL, NULL);
  if (code == SQLITE_OK) return status;
  return burn_status_make(BURN_STATUS_IO, "sqlite: %s: %s", path, sqlite3_errmsg(writing->database));
}

static BurnStatus table_write(Writing *writing, const char *path, const char *table) {
  static const char begin[] = "pragma journal_mode = off; pragma synchronous = off; begin";
  int code = sqlite3_open_v2(path, &writing->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  if (code == SQLITE_OK) code = sqlite3_exec(writing->database, begin, NULL, NULL, NULL);
  if (code == SQLITE_OK) code = statement_run(writing->database, sql_write(writing, table, false));
  char *insert = sql_write(writing, table, true);
  if (code == SQLITE_OK) code = sqlite3_prepare_v2(writing->database, insert, -1, &writing->insert, NULL);
  sqlite3_free(insert);
  const BurnStatus status = code == SQLITE_OK ? rows_insert(writing, path)
                                              : burn_status_make(BURN_STATUS_IO, "sqlite: %s: table \"%s\": %s", path,
                                                                 table, sqlite3_errmsg(writing->database));
  sqlite3_finalize(writing->insert);
  sqlite3_close(writing->database);
  return status;
}

/* Flushes a file to disk. */
static bool file_flush(const char *path) {
  FILE *file = fopen(path, "rb+");
  const bool good = file != NULL && fsync(fileno(file)) == 0;
  if (file != NULL) fclose(file);
  return good;
}

static BurnStatus dtypes_check(const BurnDataset *dataset) {
  for (size_t i = 0; i < burn_dataset_column_count(dataset); i++) {
    const BurnColumn *column = burn_dataset_column(dataset, i);
    if (column->shape.rank == 0 && (column->dtype == BURN_DTYPE_F16 || column->dtype == BURN_DTYPE_BF16))
      return burn_status_make(BURN_STATUS_INVALID_DTYPE, "sqlite: column \"%s\" is %s, which SQLite lacks",
                              column->name, burn_dtype_name(column->dtype));
  }
  return BURN_OK;
}

BurnStatus burn_dataset_sqlite_write(const char *path, const char *table, const BurnDataset *dataset, bool overwrite) {
  char beside[PATH_BYTES];
  struct stat info;
  Writing writing = {.dataset = dataset, .column_count = burn_dataset_column_count(dataset)};
  const BurnStatus given = burn__path_check("sqlite", path);
  if (given != BURN_OK) return given;
  const int length = snprintf(beside, sizeof beside, "%s.%ld.tmp", path, (long)getpid());
  if (length < 0 || (size_t)length >= sizeof beside)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sqlite: a path of more than %d bytes", PATH_BYTES);
  if (!overwrite && stat(path, &info) == 0)
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "sqlite: %s is there already; overwrite it, or remove it",
                            path);
  BurnStatus status = dtypes_check(dataset);
  for (size_t i = 0; status == BURN_OK && i < writing.column_count; i++) {
    writing.columns[i] = malloc(burn_dataset_column_bytes(dataset, i));
    if (writing.columns[i] == NULL) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sqlite: out of memory");
  }
  (void)remove(beside);
  if (status == BURN_OK) status = table_write(&writing, beside, table);
  if (status == BURN_OK && (!file_flush(beside) || rename(beside, path) != 0))
    status = burn_status_make(BURN_STATUS_IO, "sqlite: %s could not be renamed to %s", beside, path);
  if (status != BURN_OK) (void)remove(beside);
  for (size_t i = 0; i < writing.column_count; i++) free(writing.columns[i]);
  return status;
}
