/* bench_report.h - what is reported of a run: a table, JSON, lines of results.csv. */
#ifndef BURN_BENCH_REPORT_H
#define BURN_BENCH_REPORT_H

#include "bench_csv.h"

/* The machine at its best, in GB/s and GF/s; memory: of 400 MB, cache: of 1 MB. */
typedef struct Machine {
  double copy, read, add, fill, cache_copy, fma;
} Machine;

typedef struct Report {
  bool json;
  const char *about;    /* when and where, for the file and for JSON; may be NULL */
  const char *csv_path; /* NULL: none */
  Machine machine;
  int group;       /* of the line before; -1 at first */
  size_t failures; /* of a stack at a case; what a stack lacks is none */
  CsvFile csv;
  Load run, window;       /* since the first case; since the last look at who uses the machine */
  size_t untold, refused; /* cases since then; those of times in which others used it */
} Report;

/* Opens the file if there is one, measures the machine and tells about it. */
BurnStatus bench_report_begin(Report *report, const Bench *bench);
BurnStatus bench_report_case(Report *report, const Bench *bench, const Case *c, const Result *result);
/* Writes the file: what was measured so far, also after a failure. */
BurnStatus bench_report_end(Report *report, const Bench *bench);

#endif
