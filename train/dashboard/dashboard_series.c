/* dashboard_series.c - the values of a metric, in a memory that does not grow with the run. */
#include "dashboard_internal.h"

#include <math.h>
#include <string.h>

void dashboard_series_init(Series *series) {
  *series = (Series){.stride = 1, .last = (double)NAN, .last_epoch = (double)NAN};
}

/* Makes one point of each two, which leaves half of them. */
static void halve(Series *series) {
  for (size_t i = 0; i < WHOLE_POINTS / 2; i++) {
    const Point *pair = &series->whole[2 * i];
    series->whole[i] = (Point){(pair[0].x + pair[1].x) / 2, (pair[0].y + pair[1].y) / 2};
  }
  series->whole_count = WHOLE_POINTS / 2;
  series->stride *= 2;
}

void dashboard_series_add(Series *series, double x, double y) {
  series->last = y;
  if (!isfinite(y)) return;
  series->recent[series->recent_next] = (Point){x, y};
  series->recent_next = (series->recent_next + 1) % RECENT_POINTS;
  if (series->recent_count < RECENT_POINTS) series->recent_count++;
  series->sum.x += x;
  series->sum.y += y;
  if (++series->summed < series->stride) return;
  if (series->whole_count == WHOLE_POINTS) halve(series);
  const double count = (double)series->summed;
  series->whole[series->whole_count++] = (Point){series->sum.x / count, series->sum.y / count};
  series->sum = (Point){0, 0};
  series->summed = 0;
}

void dashboard_series_add_epoch(Series *series, size_t epoch, double y) {
  series->last_epoch = y;
  if (!isfinite(y)) return;
  if (series->epoch_count == EPOCH_POINTS) {
    memmove(series->epochs, series->epochs + 1, (EPOCH_POINTS - 1) * sizeof(Point));
    series->epoch_count--;
  }
  series->epochs[series->epoch_count++] = (Point){(double)epoch, y};
  if (!series->min_epoch || y < series->min) {
    series->min = y;
    series->min_epoch = epoch;
  }
  if (!series->max_epoch || y > series->max) {
    series->max = y;
    series->max_epoch = epoch;
  }
}

size_t dashboard_series_points(const Series *series, PlotKind kind, Point points[MAX_PLOT_POINTS]) {
  if (kind == PLOT_WHOLE) {
    memcpy(points, series->whole, series->whole_count * sizeof *points);
    return series->whole_count;
  }
  if (kind == PLOT_EPOCHS) {
    memcpy(points, series->epochs, series->epoch_count * sizeof *points);
    return series->epoch_count;
  }
  const size_t first = (series->recent_next + RECENT_POINTS - series->recent_count) % RECENT_POINTS;
  for (size_t i = 0; i < series->recent_count; i++) points[i] = series->recent[(first + i) % RECENT_POINTS];
  return series->recent_count;
}
