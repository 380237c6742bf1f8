/* rows.c - items that a reader puts one after the other. */
#include "rows.h"

#include <stdlib.h>

enum { FIRST_ITEMS = 64 };

BurnStatus burn__rows_check(BurnRows *rows) {
  const BurnStatus status = burn__columns_check(rows->columns, rows->column_count, rows->bytes);
  for (size_t i = 0; status == BURN_OK && i < rows->column_count; i++) {
    const BurnColumn *column = &rows->columns[i];
    if (column->dtype == BURN_DTYPE_F16 || column->dtype == BURN_DTYPE_BF16)
      return burn_status_make(BURN_STATUS_INVALID_DTYPE, "%s: column \"%s\" is %s, which is not read", rows->reader,
                              column->name, burn_dtype_name(column->dtype));
  }
  return status;
}

BurnStatus burn__text_config_check(const char *reader, const BurnTextConfig *config) {
  return config != NULL ? BURN_OK : burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the config is NULL", reader);
}

BurnStatus burn__rows_reserve(BurnRows *rows) {
  if (rows->count < rows->room) return BURN_OK;
  const size_t room = rows->room > 0 ? 2 * rows->room : FIRST_ITEMS;
  for (size_t i = 0; i < rows->column_count; i++) {
    const bool fits = room <= (size_t)PTRDIFF_MAX / rows->bytes[i];
    void *grown = fits ? realloc(rows->blocks[i], room * rows->bytes[i]) : NULL;
    if (grown == NULL)
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: no memory for %zu items", rows->reader, room);
    rows->blocks[i] = grown;
  }
  rows->room = room;
  return BURN_OK;
}

BurnDataset *burn__rows_end(BurnRows *rows, BurnStatus result, BurnStatus *status) {
  if (result == BURN_OK)
    return burn__dataset_of_blocks(rows->columns, rows->column_count, rows->blocks, rows->count, status);
  for (size_t i = 0; i < BURN_MAX_COLUMNS; i++) free(rows->blocks[i]);
  burn__store_status(status, result);
  return NULL;
}
