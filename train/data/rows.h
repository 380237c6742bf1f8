/* rows.h - items that a reader puts one after the other, and numbers as elements of a dtype. */
#ifndef BURN_TRAIN_ROWS_H
#define BURN_TRAIN_ROWS_H

#include "dataset_private.h"

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
/* Makes room for one more item. */
BURN_USE_RESULT BurnStatus burn__rows_reserve(BurnRows *rows);
/* Where the next item of a column goes. */
static inline unsigned char *burn__rows_next(const BurnRows *rows, size_t column) {
  return (unsigned char *)rows->blocks[column] + rows->count * rows->bytes[column];
}
/* A dataset of all rows, or after a failure NULL, with it in *status. Takes the blocks. */
BurnDataset *burn__rows_end(BurnRows *rows, BurnStatus result, BurnStatus *status);

/* The number as an element at *out; false if it is none of the dtype. Doubles tell integers apart below 2^53. */
bool burn__number_put(BurnDType dtype, double value, void *out);
/* The same for a number written with a point, whatever the locale: an i64 is exact. true and false are 1 and 0. */
bool burn__number_text_put(BurnDType dtype, const char *text, void *out);
/* A text as a column u8 [room], with zeros after it; one that is longer is cut, not within a character of UTF-8. */
void burn__text_put(const char *text, size_t length, size_t room, uint8_t *out);

#endif
