/* sqlite.c - tables of SQLite files. SQLite's connections are not for several threads at once: there is a pool of them,
 * each with its prepared statement, from which a read takes one and gives it back. The file is opened for reading only,
 * and nothing of it is run: views, triggers and extensions are off (SQLITE_DBCONFIG_DEFENSIVE, TRUSTED_SCHEMA). */
#include "dataset_private.h"
#include "numbers.h"

#include <burn/datasets.h>
#include <burn/file.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 5000, SQL_BYTES = 4096 };

/* A connection and its statement, in the list of those that are free. */
typedef struct Connection {
  struct Connection *next;
  sqlite3 *database;
  sqlite3_stmt *select;
} Connection;

typedef struct SqliteContext {
  char *path, *table;
  char sql[SQL_BYTES];
  size_t column_count;
  BurnColumn columns[BURN_MAX_COLUMNS]; /* whose names are in the sql only */
  size_t bytes[BURN_MAX_COLUMNS];
  pthread_mutex_t mutex;
  Connection *free_list;
} SqliteContext;

/* -- statements ------------------------------------------------------------------------------- */

/* Adds a name in quotes, in which quotes are doubled; false if there is no room. */
static bool name_add(char *sql, const char *name) {
  size_t used = strlen(sql);
  if (used + 2 * strlen(name) + 3 > SQL_BYTES) return false;
  sql[used++] = '"';
  for (; *name != '\0'; name++) {
    if (*name == '"') sql[used++] = '"';
    sql[used++] = *name;
  }
  sql[used++] = '"';
  sql[used] = '\0';
  return true;
}

static bool text_add(char *sql, const char *text) {
  const size_t used = strlen(sql);
  if (used + strlen(text) >= SQL_BYTES) return false;
  memcpy(sql + used, text, strlen(text) + 1);
  return true;
}

static bool names_add(char *sql, const BurnColumn *columns, size_t count) {
  bool good = true;
  for (size_t i = 0; good && i < count; i++) good = (i == 0 || text_add(sql, ", ")) && name_add(sql, columns[i].name);
  return good;
}

static BurnStatus sqlite_failed(const char *path, const char *table, sqlite3 *database, int code) {
  const bool locked = (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
  if (locked)
    return burn_status_make(
        BURN_STATUS_FAILED_PRECONDITION,
        "sqlite: %s: table \"%s\": locked by another program, also after %d s; end it, or try later", path, table,
        WAIT_MS / 1000);
  const uint32_t kind = (code & 0xff) == SQLITE_NOMEM                                       ? BURN_STATUS_OUT_OF_MEMORY
                        : (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ? BURN_STATUS_CORRUPT_DATA
                                                                                            : BURN_STATUS_IO;
  return burn_status_make(kind, "sqlite: %s: table \"%s\": %s", path, table,
                          database != NULL ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

/* -- connections ------------------------------------------------------------------------------ */

static void connection_close(Connection *connection) {
  if (connection == NULL) return;
  sqlite3_finalize(connection->select);
  sqlite3_close(connection->database);
  free(connection);
}

static void database_harden(sqlite3 *database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_busy_timeout(database, WAIT_MS);
}

static BurnStatus connection_open(const SqliteContext *context, const char *sql, Connection **out) {
  Connection *connection = calloc(1, sizeof *connection);
  if (connection == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sqlite: out of memory");
  int code = sqlite3_open_v2(context->path, &connection->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) database_harden(connection->database);
  if (code == SQLITE_OK) code = sqlite3_prepare_v2(connection->database, sql, -1, &connection->select, NULL);
  if (code == SQLITE_OK) {
    *out = connection;
    return BURN_OK;
  }
  const BurnStatus status = sqlite_failed(context->path, context->table, connection->database, code);
  connection_close(connection);
  return status;
}

static BurnStatus connection_take(SqliteContext *context, Connection **out) {
  pthread_mutex_lock(&context->mutex);
  Connection *connection = context->free_list;
  if (connection != NULL) context->free_list = connection->next;
  pthread_mutex_unlock(&context->mutex);
  if (connection == NULL) return connection_open(context, context->sql, out);
  *out = connection;
  return BURN_OK;
}

static void connection_give(SqliteContext *context, Connection *connection) {
  sqlite3_reset(connection->select);
  pthread_mutex_lock(&context->mutex);
  connection->next = context->free_list;
  context->free_list = connection;
  pthread_mutex_unlock(&context->mutex);
}

/* -- items ------------------------------------------------------------------------------------ */

/* The value as an element of a single number; false if it is none. */
static bool number_read(sqlite3_stmt *select, int index, BurnDType dtype, void *out) {
  const int kind = sqlite3_column_type(select, index);
  if (kind == SQLITE_INTEGER && dtype == BURN_DTYPE_I64) {
    const int64_t number = sqlite3_column_int64(select, index);
    memcpy(out, &number, sizeof number);
    return true;
  }
  if (kind != SQLITE_INTEGER && kind != SQLITE_FLOAT) return false;
  return burn__number_put(dtype, sqlite3_column_double(select, index), out);
}

static bool are_bools(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i] > 1) return false;
  return true;
}

/* A blob of just the bytes of the column, or a text of at most so many. */
static bool block_read(sqlite3_stmt *select, int index, const BurnColumn *column, size_t bytes, void *out) {
  const int kind = sqlite3_column_type(select, index);
  const void *data = kind == SQLITE_BLOB ? sqlite3_column_blob(select, index) : sqlite3_column_text(select, index);
  const size_t count = (size_t)sqlite3_column_bytes(select, index);
  const bool text = kind == SQLITE_TEXT && column->dtype == BURN_DTYPE_U8 && column->shape.rank == 1;
  if (kind == SQLITE_BLOB && count == bytes && data != NULL) {
    memcpy(out, data, bytes);
    return column->dtype != BURN_DTYPE_BOOL || are_bools(out, bytes);
  }
  if (!text || count > bytes || data == NULL) return false;
  burn__text_put(data, count, bytes, out);
  return true;
}

static BurnStatus row_read(const SqliteContext *context, sqlite3_stmt *select, size_t index, void *const *columns) {
  for (size_t i = 0; i < context->column_count; i++) {
    const BurnColumn *column = &context->columns[i];
    const bool good = column->shape.rank == 0 ? number_read(select, (int)i, column->dtype, columns[i])
                                              : block_read(select, (int)i, column, context->bytes[i], columns[i]);
    if (!good)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "sqlite: %s: table \"%s\": row %zu: column \"%s\" is not %s of %zu bytes", context->path,
                              context->table, index + 1, sqlite3_column_name(select, (int)i),
                              burn_dtype_name(column->dtype), context->bytes[i]);
  }
  return BURN_OK;
}

static BurnStatus sqlite_get(void *opaque, size_t index, void *const *columns) {
  SqliteContext *context = opaque;
  Connection *connection = NULL;
  BurnStatus status = connection_take(context, &connection);
  if (status != BURN_OK || connection == NULL) return status;
  sqlite3_bind_int64(connection->select, 1, (sqlite3_int64)index + 1);
  const int code = sqlite3_step(connection->select);
  if (code == SQLITE_ROW)
    status = row_read(context, connection->select, index, columns);
  else if (code == SQLITE_DONE)
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "sqlite: %s: table \"%s\": there is no row %zu", context->path,
                              context->table, index + 1);
  else
    status = sqlite_failed(context->path, context->table, connection->database, code);
  connection_give(context, connection);
  return status;
}

static void sqlite_destroy(void *opaque) {
  SqliteContext *context = opaque;
  while (context->free_list != NULL) {
    Connection *connection = context->free_list;
    context->free_list = connection->next;
    connection_close(connection);
  }
  pthread_mutex_destroy(&context->mutex);
  free(context->path);
  free(context->table);
  free(context);
}

/* -- making it -------------------------------------------------------------------------------- */

static char *text_copy(const char *text) {
  char *copy = malloc(strlen(text) + 1);
  return copy != NULL ? memcpy(copy, text, strlen(text) + 1) : NULL;
}

static SqliteContext *context_create(const char *path, const char *table) {
  SqliteContext *context = calloc(1, sizeof *context);
  if (context == NULL) return NULL;
  pthread_mutex_init(&context->mutex, NULL);
  context->path = text_copy(path);
  context->table = text_copy(table);
  if (context->path != NULL && context->table != NULL) return context;
  sqlite_destroy(context);
  return NULL;
}

/* select "x", "y" from "table" where row_id = ? */
static BurnStatus select_write(SqliteContext *context) {
  const bool good = text_add(context->sql, "select ") &&
                    names_add(context->sql, context->columns, context->column_count) &&
                    text_add(context->sql, " from ") && name_add(context->sql, context->table) &&
                    text_add(context->sql, " where row_id = ?");
  if (good) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sqlite: %s: the names are longer than %d bytes", context->path,
                          SQL_BYTES);
}

static BurnStatus rows_count(const SqliteContext *context, size_t *count) {
  char sql[SQL_BYTES] = "select max(row_id) from ";
  Connection *connection = NULL;
  if (!name_add(sql, context->table))
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sqlite: the name of the table is too long");
  BurnStatus status = connection_open(context, sql, &connection);
  if (status != BURN_OK || connection == NULL) return status;
  const int code = sqlite3_step(connection->select);
  if (code != SQLITE_ROW) status = sqlite_failed(context->path, context->table, connection->database, code);
  const sqlite3_int64 last = code == SQLITE_ROW ? sqlite3_column_int64(connection->select, 0) : 0;
  if (last < 0 || (uint64_t)last > PTRDIFF_MAX)
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "sqlite: %s: table \"%s\": the highest row_id is %lld",
                              context->path, context->table, (long long)last);
  *count = (size_t)last;
  connection_close(connection);
  return status;
}

/* An empty dataset of the columns says whether they are right, and their bytes. */
static BurnStatus columns_take(SqliteContext *context, const BurnColumn *columns, size_t column_count) {
  BurnStatus status = BURN_OK;
  const BurnDatasetInterface interface = {column_count, columns, 0, sqlite_get, NULL, context};
  BurnDataset *empty = burn_dataset_create(&interface, &status);
  for (size_t i = 0; status == BURN_OK && i < column_count; i++) {
    context->columns[i] = columns[i];
    context->bytes[i] = burn_dataset_column_bytes(empty, i);
    if (columns[i].shape.rank == 0 && (columns[i].dtype == BURN_DTYPE_F16 || columns[i].dtype == BURN_DTYPE_BF16))
      status = burn_status_make(BURN_STATUS_INVALID_DTYPE, "sqlite: column \"%s\" is %s, which SQLite lacks",
                                columns[i].name, burn_dtype_name(columns[i].dtype));
  }
  context->column_count = column_count;
  burn_dataset_drop(empty);
  return status;
}

/* Counts the rows and makes a first connection: what is wrong with path, table or columns is reported at once. */
static BurnStatus table_open(SqliteContext *context, const BurnColumn *columns, size_t column_count, size_t *count) {
  FILE *file = NULL;
  BurnStatus status = columns_take(context, columns, column_count);
  if (status != BURN_OK) return status;
  status = burn_status_annotate(burn_file_open(context->path, &file, NULL), "sqlite: %s", context->path);
  if (file != NULL) fclose(file);
  if (status == BURN_OK) status = select_write(context);
  if (status == BURN_OK) status = rows_count(context, count);
  Connection *connection = NULL;
  if (status == BURN_OK) status = connection_open(context, context->sql, &connection);
  if (connection != NULL) connection_give(context, connection);
  return status;
}

BurnDataset *burn_dataset_sqlite(const char *path, const char *table, const BurnColumn *columns, size_t column_count,
                                 BurnStatus *status) {
  size_t count = 0;
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK && (path == NULL || table == NULL))
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sqlite: no path or no table");
  SqliteContext *context = result == BURN_OK ? context_create(path, table) : NULL;
  if (result == BURN_OK && context == NULL)
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "sqlite: out of memory");
  if (result == BURN_OK) result = table_open(context, columns, column_count, &count);
  if (result != BURN_OK) {
    if (context != NULL) sqlite_destroy(context);
    burn__store_status(status, result);
    return NULL;
  }
  const BurnDatasetInterface interface = {column_count, columns, count, sqlite_get, sqlite_destroy, context};
  return burn_dataset_create(&interface, status);
}
