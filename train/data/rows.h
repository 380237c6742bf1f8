/* rows.h - items that a reader puts one after the other. */
#ifndef BURN_TRAIN_ROWS_H
#define BURN_TRAIN_ROWS_H

#include "dataset_private.h"
#include "numbers.h"

/* Columns that grow by an item at a time. The first three are filled in, the rest starts as zeros. */
typedef struct BurnRows {
  const char *reader; /* whose messages they are: "csv" */
  const BurnColumn *columns;
  size_t column_count;
  size_t bytes[BURN_MAX_COLUMNS]; /* of one item */
  void *blocks[BURN_MAX_COLUMNS]; /* from malloc */
  size_t count, room;
} BurnRows;

/* Checks the columns, whose dtypes are those that a number can be put into, and fills in their bytes. */
BURN_USE_RESULT BurnStatus burn__rows_check(BurnRows *rows);
/* Whether the config of a reader of texts is there: what their items are. */
BURN_USE_RESULT BurnStatus burn__text_config_check(const char *reader, const BurnTextConfig *config);
/* Makes room for one more item. */
BURN_USE_RESULT BurnStatus burn__rows_reserve(BurnRows *rows);
/* Where the next item of a column goes. */
static inline unsigned char *burn__rows_next(const BurnRows *rows, size_t column) {
  return (unsigned char *)rows->blocks[column] + rows->count * rows->bytes[column];
}
/* A dataset of all rows, or after a failure NULL, with it in *status. Takes the blocks. */
BurnDataset *burn__rows_end(BurnRows *rows, BurnStatus result, BurnStatus *status);

#endif
