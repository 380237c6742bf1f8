/* report_svg.c - the curves of a metric as an inline SVG. */
#include <math.h>
#include <string.h>

#include <burn/text.h>

#include "logger_files.h"
#include "report_internal.h"

enum { WIDTH = 520, HEIGHT = 260, LEFT = 62, RIGHT = 12, TOP = 10, BOTTOM = 30, TICKS = 5 };

typedef struct Range {
  double x_min, x_max, y_min, y_max;
  bool any;
} Range;

static double at(const cJSON *point, int index) { return cJSON_GetNumberValue(cJSON_GetArrayItem(point, index)); }

static const cJSON *get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* What can be drawn: so far from the largest doubles that a difference is finite. */
static bool is_drawn(const cJSON *point) { return isfinite(at(point, 0)) && fabs(at(point, 1)) < 1e300; }

static void widen(Range *range, const cJSON *points) {
  const cJSON *point;
  cJSON_ArrayForEach(point, points) {
    const double x = at(point, 0), y = at(point, 1);
    if (!is_drawn(point)) continue;
    range->x_min = range->any ? fmin(range->x_min, x) : x;
    range->x_max = range->any ? fmax(range->x_max, x) : x;
    range->y_min = range->any ? fmin(range->y_min, y) : y;
    range->y_max = range->any ? fmax(range->y_max, y) : y;
    range->any = true;
  }
}

static Range range_of(const cJSON *metric) {
  Range range = {0, 0, 0, 0, false};
  for (int split = 0; split < BURN_SPLITS; split++) {
    const cJSON *curves = get(metric, burn__split_names[split]);
    widen(&range, get(curves, "epochs"));
    if (split == BURN_SPLIT_TRAIN) widen(&range, get(curves, "batches"));
  }
  const double size = fmax(fabs(range.y_min), fabs(range.y_max)), span = range.y_max - range.y_min;
  if (span < 1e-9 * size || span < 1e-290) {
    const double margin = size > 1e-290 ? size / 10 : 1;
    range.y_min -= margin;
    range.y_max += margin;
  }
  if (!(range.x_max > range.x_min)) range.x_max = range.x_min + 1;
  return range;
}

static double x_of(const Range *range, double x) {
  return (double)LEFT + (x - range->x_min) / (range->x_max - range->x_min) * (double)(WIDTH - LEFT - RIGHT);
}

static double y_of(const Range *range, double y) {
  return HEIGHT - BOTTOM - (y - range->y_min) / (range->y_max - range->y_min) * (double)(HEIGHT - TOP - BOTTOM);
}

/* A coordinate with one digit after the point, in every locale. */
static void add_coordinate(BurnTextBuilder *out, double value) {
  const long tenths = lround(value * 10);
  burn__text_addf(out, "%ld.%ld", tenths / 10, tenths % 10);
}

static void add_point(BurnTextBuilder *out, const Range *range, const cJSON *point) {
  add_coordinate(out, x_of(range, at(point, 0)));
  burn__text_add(out, ",");
  add_coordinate(out, y_of(range, at(point, 1)));
  burn__text_add(out, " ");
}

static void add_line(BurnTextBuilder *out, const Range *range, const cJSON *points, const char *class) {
  const cJSON *point;
  if (cJSON_GetArraySize(points) < 2) return;
  burn__text_addf(out, "<polyline class=\"%s\" points=\"", class);
  cJSON_ArrayForEach(point, points) {
    if (is_drawn(point)) add_point(out, range, point);
  }
  burn__text_add(out, "\"/>\n");
}

/* Dots that say what they are under the pointer. */
static void add_dots(BurnTextBuilder *out, const Range *range, const cJSON *points, const char *split) {
  const cJSON *point;
  cJSON_ArrayForEach(point, points) {
    if (!is_drawn(point)) continue;
    burn__text_addf(out, "<circle class=\"%s\" r=\"2.5\" cx=\"", split);
    add_coordinate(out, x_of(range, at(point, 0)));
    burn__text_add(out, "\" cy=\"");
    add_coordinate(out, y_of(range, at(point, 1)));
    burn__text_addf(out, "\"><title>%s, epoch %.0f: ", split, at(point, 0));
    burn__html_add_number(out, at(point, 1));
    burn__text_add(out, "</title></circle>\n");
  }
}

/* The step of 1, 2 or 5 times a power of ten that makes about TICKS parts of a range. */
static double tick_step(double span) {
  const double power = pow(10, floor(log10(span / (double)TICKS)));
  const double parts = span / power / (double)TICKS;
  return power * (parts > 5 ? 10 : parts > 2 ? 5 : parts > 1 ? 2 : 1);
}

static void add_tick(BurnTextBuilder *out, double value, double x, double y, bool is_x) {
  burn__text_addf(out, "<text text-anchor=\"%s\" x=\"", is_x ? "middle" : "end");
  add_coordinate(out, is_x ? x : LEFT - 6);
  burn__text_add(out, "\" y=\"");
  add_coordinate(out, is_x ? HEIGHT - BOTTOM + 16 : y + 4);
  burn__text_add(out, "\">");
  burn__html_add_number(out, value);
  burn__text_add(out, "</text>\n");
  if (is_x) return;
  burn__text_addf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"", LEFT, WIDTH - RIGHT);
  add_coordinate(out, y);
  burn__text_add(out, "\" y2=\"");
  add_coordinate(out, y);
  burn__text_add(out, "\"/>\n");
}

static void add_axes(BurnTextBuilder *out, const Range *range) {
  const double y_step = tick_step(range->y_max - range->y_min), x_span = range->x_max - range->x_min;
  const double x_step = x_span > (double)TICKS ? fmax(1, tick_step(x_span)) : tick_step(x_span);
  const double y_first = ceil(range->y_min / y_step), x_first = ceil(range->x_min / x_step);
  for (int i = 0; i < 3 * TICKS; i++) {
    const double x = (x_first + i) * x_step, y = (y_first + i) * y_step;
    if (y <= range->y_max) add_tick(out, fabs(y) < y_step / 1e6 ? 0 : y, 0, y_of(range, y), false);
    if (x <= range->x_max) add_tick(out, fabs(x) < x_step / 1e6 ? 0 : x, x_of(range, x), 0, true);
  }
  burn__text_addf(out, "<text text-anchor=\"end\" x=\"%d\" y=\"%d\">epoch</text>\n", WIDTH - RIGHT, HEIGHT - 2);
}

void burn__report_svg(BurnTextBuilder *out, const cJSON *metric) {
  const Range range = range_of(metric);
  burn__text_addf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH, HEIGHT);
  if (range.any) {
    add_axes(out, &range);
    /* All batches of a validation are of one model: their curve would say nothing of the run. */
    add_line(out, &range, get(get(metric, burn__split_names[BURN_SPLIT_TRAIN]), "batches"), "train batches");
    for (int split = 0; split < BURN_SPLITS; split++) {
      const cJSON *epochs = get(get(metric, burn__split_names[split]), "epochs");
      add_line(out, &range, epochs, burn__split_names[split]);
      add_dots(out, &range, epochs, burn__split_names[split]);
    }
  } else {
    burn__text_addf(out, "<text x=\"%d\" y=\"%d\">no finite value</text>\n", LEFT, HEIGHT / 2);
  }
  burn__text_add(out, "</svg>\n");
}
