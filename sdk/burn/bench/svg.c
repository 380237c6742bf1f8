/* svg.c - see svg.h. */
#include "svg.h"

#include <math.h>

enum { WIDTH = 460, HEIGHT = 320, LEFT = 64, RIGHT = 16, TOP = 36, BOTTOM = 48 };
static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                      "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"};

/* The decades of an axis. */
typedef struct Range {
  int low, high; /* powers of ten */
} Range;

void chart_add(ChartLine *line, double x, double y) {
  if (line->count == MAX_POINTS) return;
  line->x[line->count] = x;
  line->y[line->count++] = y;
}

static Range range_of(const Chart *chart, bool of_y) {
  double low = (double)INFINITY, high = 0;
  for (size_t i = 0; i < chart->count; i++) {
    const ChartLine *line = &chart->lines[i];
    for (size_t k = 0; k < line->count; k++) {
      const double value = of_y ? line->y[k] : line->x[k];
      low = fmin(low, value);
      high = fmax(high, value);
    }
  }
  if (!(high > 0)) return (Range){0, 1};
  const Range range = {(int)floor(log10(low) + 1e-9), (int)ceil(log10(high) - 1e-9)};
  return range.high > range.low ? range : (Range){range.low, range.low + 1};
}

static double place(double value, Range range, double begin, double end) {
  return begin + (log10(value) - range.low) / (range.high - range.low) * (end - begin);
}
static double x_place(double value, Range range) { return place(value, range, LEFT, WIDTH - RIGHT); }
static double y_place(double value, Range range) { return place(value, range, HEIGHT - BOTTOM, TOP); }

/* 1e3 as "1K", 1e-3 as "0.001". */
static const char *power_text(int power, char *buffer, size_t capacity) {
  if (power < 3 || power > 11) {
    snprintf(buffer, capacity, "%g", pow(10, power));
  } else {
    snprintf(buffer, capacity, "%g%c", pow(10, power % 3), "KMG"[power / 3 - 1]);
  }
  return buffer;
}

static void write_grid(FILE *file, Range x, Range y) {
  char text[32];
  for (int p = x.low; p <= x.high; p++) {
    const double at = x_place(pow(10, p), x);
    fprintf(file, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>", at, TOP, at, HEIGHT - BOTTOM);
    fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at, HEIGHT - BOTTOM + 15,
            power_text(p, text, sizeof text));
  }
  for (int p = y.low; p <= y.high; p++) {
    const double at = y_place(pow(10, p), y);
    fprintf(file, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", LEFT, at, WIDTH - RIGHT, at);
    fprintf(file, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 5, at + 4,
            power_text(p, text, sizeof text));
  }
}

static void write_line(FILE *file, const ChartLine *line, const char *colour, Range x, Range y) {
  fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s points=\"", colour,
          line->dashed ? " stroke-dasharray=\"5 3\"" : "");
  for (size_t i = 0; i < line->count; i++) fprintf(file, "%.1f,%.1f ", x_place(line->x[i], x), y_place(line->y[i], y));
  fprintf(file, "\"/>\n");
  for (size_t i = 0; i < line->count && !line->dashed; i++) {
    fprintf(file, "<circle r=\"2\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\"/>", colour, x_place(line->x[i], x),
            y_place(line->y[i], y));
  }
  fprintf(file, "\n");
}

/* The names of the lines in the upper right corner. */
static void write_legend(FILE *file, const Chart *chart) {
  int colour = -1;
  for (size_t i = 0; i < chart->count; i++) {
    const ChartLine *line = &chart->lines[i];
    colour += !line->dashed;
    const double y = TOP + 12 + 13.0 * (double)i;
    fprintf(file, "<line stroke=\"%s\" stroke-width=\"1.6\"%s x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>",
            colours[colour], line->dashed ? " stroke-dasharray=\"5 3\"" : "", WIDTH - RIGHT - 24, y - 4,
            WIDTH - RIGHT - 4, y - 4);
    fprintf(file, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", WIDTH - RIGHT - 28, y, line->name);
  }
}

static void write_chart(FILE *file, const Chart *chart) {
  const Range x = range_of(chart, false), y = range_of(chart, true);
  fprintf(file, "<text class=\"title\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
          (LEFT + WIDTH - RIGHT) / 2, TOP - 14, chart->title);
  write_grid(file, x, y);
  fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14,
          chart->x_label);
  fprintf(file, "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
          (TOP + HEIGHT - BOTTOM) / 2, chart->y_label);
  int colour = -1;
  for (size_t i = 0; i < chart->count; i++) {
    colour += !chart->lines[i].dashed;
    write_line(file, &chart->lines[i], colours[colour], x, y);
  }
  write_legend(file, chart);
}

void svg_write(FILE *file, const Chart *charts, size_t count, const char *about) {
  const int rows = (int)((count + 1) / 2), height = rows * HEIGHT + 28;
  fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
          2 * WIDTH, height, 2 * WIDTH, height);
  fprintf(
      file,
      "<style>text{font:11px sans-serif;fill:#333}.title{font-weight:bold;font-size:13px}.grid{stroke:#ddd}</style>\n");
  fprintf(file, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", 2 * WIDTH, height);
  for (size_t i = 0; i < count; i++) {
    fprintf(file, "<g transform=\"translate(%d %d)\">\n", (int)(i % 2) * WIDTH, (int)(i / 2) * HEIGHT);
    write_chart(file, &charts[i]);
    fprintf(file, "</g>\n");
  }
  fprintf(file, "<text x=\"%d\" y=\"%d\">%s</text>\n</svg>\n", LEFT, rows * HEIGHT + 14, about);
}
