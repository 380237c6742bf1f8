/* svg.h - charts with logarithmic axes, several in one drawing. */
#ifndef BURN_BENCH_SVG_H
#define BURN_BENCH_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { MAX_POINTS = 64, MAX_LINES = 40 };

/* Points with x > 0 and y > 0, from left to right. Dashed lines have the colour of the line before. */
typedef struct ChartLine {
  char name[32];
  bool dashed;
  size_t count;
  double x[MAX_POINTS], y[MAX_POINTS];
} ChartLine;

typedef struct Chart {
  const char *title, *x_label, *y_label;
  size_t count;
  ChartLine lines[MAX_LINES];
} Chart;

void chart_add(ChartLine *line, double x, double y); /* more than MAX_POINTS are left out */

/* Writes all charts, two to a row. `about` stands below. */
void svg_write(FILE *file, const Chart *charts, size_t count, const char *about);

#endif
