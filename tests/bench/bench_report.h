/* bench_report.h - what is told about a run: a table, JSON, rows of results.csv. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench.h"

typedef struct CsvRow CsvRow;

typedef struct Report {
  bool json;
  const char *csv_path; /* NULL: none */
  int group;            /* of the line before; -1 at first */
  CsvRow *rows;
  size_t row_count, row_capacity;
} Report;

void report_begin(Report *report, const Bench *bench);
BurnStatus report_case(Report *report, const Bench *bench, const Case *c, const Result *result);
BurnStatus report_end(Report *report);

#endif
