/* bench_csv.h - results.csv: a line per case and stack in the order of cases.def, numbers rounded to what is
 * repeatable, so that a change shows as a diff; and the same as tables of a guide page. */
#ifndef BURN_BENCH_CSV_H
#define BURN_BENCH_CSV_H

#include "bench.h"

/* NaN: not measured, or no such limit. */
typedef struct CsvRow {
  size_t index; /* of the case */
  char stack[128];
  double ours, noise;                            /* seconds; half the distance of the quartiles by the median */
  double peer[PEER_WAYS], peer_noise[PEER_WAYS]; /* of the peers */
  double ratio, ratio_tuned;                     /* ours by PyTorch's; csv_put makes them */
  double limit;                                  /* share of what the machine can do, 1 is all */
  double peak, torch_peak;                       /* bytes of tensors at most; told on GPUs */
} CsvRow;

typedef struct CsvFile {
  CsvRow *rows;
  size_t count, capacity;
  char about[3][512]; /* when, where, how fast the machine is: the comments at the top */
} CsvFile;

/* Reads a file; lines of cases that are no more are left out. NOT_FOUND, and no rows, where it is not there. */
BurnStatus csv_load(CsvFile *file, const char *path);
/* Adds a row, or replaces that of the same case and stack. */
BurnStatus csv_put(CsvFile *file, const CsvRow *row);
BurnStatus csv_save(CsvFile *file, const char *path);
void csv_release(CsvFile *file);

/* The rows as Markdown tables, a group each. */
void csv_markdown(const CsvFile *file);

#endif
