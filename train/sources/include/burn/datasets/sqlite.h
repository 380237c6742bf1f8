/* sqlite.h - tables of SQLite files as datasets, with the columns of Burn's SqliteDataset: row_id, an integer primary
 * key from 1, and a column by the name of each of ours. Item i is the row whose row_id is i + 1. */
#ifndef BURN_DATASETS_SQLITE_H
#define BURN_DATASETS_SQLITE_H

#include <burn/train/dataset.h>

BURN_EXTERN_C_BEGIN

/* A table, opened for reading: rows are read when an item is asked for, by each thread on a connection of its own. A
 * column with a shape is a blob of as many little-endian values; a u8 column [n] may also be a text, with zeros after
 * it; a single number is an integer or a real that fits the dtype. Their count is the highest row_id; a row that is
 * missing, NULL or does not fit is CORRUPT_DATA, with file, table, row and column. A database that another process has
 * locked is waited for 5 s, then FAILED_PRECONDITION. */
BURN_API BURN_CHAINS(5) BURN_USE_RESULT BurnDataset *burn_dataset_sqlite(const char *path, const char *table,
                                                                         const BurnColumn *columns, size_t column_count,
                                                                         BurnStatus *status);

/* Writes the items of a dataset as a table of a new file: into a temporary file beside it, which is renamed when it is
 * whole. Without `overwrite` a file that is there is FAILED_PRECONDITION. Numbers go as integers and reals, columns
 * with a shape as blobs. */
BURN_API BURN_USE_RESULT BurnStatus burn_dataset_sqlite_write(const char *path, const char *table,
                                                              const BurnDataset *dataset, bool overwrite);

BURN_EXTERN_C_END

#endif
