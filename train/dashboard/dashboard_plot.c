/* dashboard_plot.c - points as dots of a grid. */
#include "dashboard_internal.h"

#include <math.h>
#include <stdlib.h>

bool dashboard_plot_range(Plot *plot, Point *const points[RUN_SPLITS], const size_t counts[RUN_SPLITS]) {
  bool any = false;
  for (int split = 0; split < RUN_SPLITS; split++) {
    for (size_t i = 0; i < counts[split]; i++) {
      const Point p = points[split][i];
      if (!any) {
        plot->x_min = plot->x_max = p.x;
        plot->y_min = plot->y_max = p.y;
      }
      any = true;
      plot->x_min = fmin(plot->x_min, p.x);
      plot->x_max = fmax(plot->x_max, p.x);
      plot->y_min = fmin(plot->y_min, p.y);
      plot->y_max = fmax(plot->y_max, p.y);
    }
  }
  if (!(plot->y_max - plot->y_min > 1e-12 * fabs(plot->y_max))) {
    const double margin = fabs(plot->y_max) > 0 ? fabs(plot->y_max) / 10 : 1;
    plot->y_min -= margin;
    plot->y_max += margin;
  }
  return any;
}

/* The place of a value in 0 .. dots - 1. */
static int place(double value, double min, double max, int dots) {
  const double share = max > min ? (value - min) / (max - min) : 0;
  const int dot = (int)(share * (double)(dots - 1) + 0.5);
  return dot < 0 ? 0 : dot >= dots ? dots - 1 : dot;
}

/* Bits of U+2800: dots 1 2 3 7 from top to bottom on the left, 4 5 6 8 on the right. */
static uint8_t braille_bit(int x, int y) {
  static const uint8_t bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
  return bits[x][y];
}

static void dot_on(Plot *plot, int split, int x, int y) {
  const int column = plot->braille ? x / 2 : x, row = plot->braille ? y / 4 : y;
  plot->cells[split][row * plot->columns + column] |= plot->braille ? braille_bit(x % 2, y % 4) : 1;
}

/* Bresenham's line. */
static void line_on(Plot *plot, int split, int x, int y, int x_end, int y_end) {
  const int dx = abs(x_end - x), dy = -abs(y_end - y), step_x = x < x_end ? 1 : -1, step_y = y < y_end ? 1 : -1;
  int error = dx + dy;
  for (;;) {
    dot_on(plot, split, x, y);
    if (x == x_end && y == y_end) return;
    const int twice = 2 * error;
    if (twice >= dy) {
      error += dy;
      x += step_x;
    }
    if (twice <= dx) {
      error += dx;
      y += step_y;
    }
  }
}

void dashboard_plot_curve(Plot *plot, int split, const Point *points, size_t count) {
  const int wide = plot->columns * (plot->braille ? 2 : 1), high = plot->rows * (plot->braille ? 4 : 1);
  int before_x = 0, before_y = 0;
  for (size_t i = 0; i < count; i++) {
    const int x = place(points[i].x, plot->x_min, plot->x_max, wide);
    const int y = high - 1 - place(points[i].y, plot->y_min, plot->y_max, high);
    line_on(plot, split, i ? before_x : x, i ? before_y : y, x, y);
    before_x = x;
    before_y = y;
  }
}
