/* bench_growth.c - `burn bench growth`: how times grow with the size of tensors, the batch and the depth of a model, as
 * an SVG. A line that bends where no cache ends is a fault: a wrong choice of algorithm, too few threads, a copy. */
#include "bench.h"
#include "svg.h"

#include <errno.h>
#include <string.h>

enum { CHARTS = 4, ROW = 1024 };

/* Sizes of a kind as args; `scale` divides the time: elements, operations, or 1. */
typedef struct Point {
  Args args;
  double x, scale;
} Point;
typedef Point (*PointOf)(int64_t size);

static Point elements(int64_t size) { return (Point){ARGS(size), (double)size, (double)size * 1e-9}; }
/* Rows of 1024 where there are enough elements. */
static Point rows(int64_t size) {
  Point point = {ARGS(1, size, 1), (double)size, (double)size * 1e-9};
  if (size >= ROW)
    point = (Point){ARGS(size / ROW, ROW, 1), (double)(size / ROW * ROW), (double)(size / ROW * ROW) * 1e-9};
  return point;
}
static Point square(int64_t size) {
  return (Point){ARGS(0, size, size, size, 0, 0), (double)size, 2e-12 * (double)size * (double)size * (double)size};
}
static Point batch(int64_t size) { return (Point){ARGS(size, 512, 2), (double)size, 1e-3}; }
static Point depth(int64_t size) { return (Point){ARGS(128, 256, size), (double)size, 1e-3}; }

/* What is drawn: a line per row and side, in the chart of that number. */
static const struct Growth {
  int chart;
  const char *kind;
  PointOf point;
  int64_t first, last;
  double factor; /* from one size to the next */
} growths[] = {
    {0, "add", elements, 1, 100000000, 4}, {0, "gelu", elements, 1, 100000000, 4},
    {0, "sum", elements, 1, 100000000, 4}, {0, "softmax", rows, 1, 100000000, 4},
    {1, "matmul", square, 1, 4096, 2},     {2, "mlp", batch, 1, 1024, 2},
    {3, "mlp", depth, 1, 64, 2},
};
static const Chart titles[CHARTS] = {
    {.title = "Ops: time per element", .x_label = "elements", .y_label = "ns per element"},
    {.title = "matmul: time per operation", .x_label = "n of [n, n] x [n, n]", .y_label = "ps per operation"},
    {.title = "Training step of an MLP 784-512-512-10", .x_label = "batch", .y_label = "ms per step"},
    {.title = "Training step of an MLP of width 256, batch 128", .x_label = "hidden layers", .y_label = "ms per step"},
};

/* Adds a line per side to the chart; the peer's are dashed. */
static void add_lines(const Bench *bench, Chart *chart, const char *kind) {
  for (size_t i = 0; i < bench->stack_count + bench->peer_count; i++) {
    ChartLine *line = &chart->lines[chart->count++];
    line->dashed = i > 0;
    if (i < bench->stack_count) {
      snprintf(line->name, sizeof line->name, "%s%s", kind, i == 0 ? "" : " other stack");
    } else {
      snprintf(line->name, sizeof line->name, "%s %s", kind, peer_label(bench->peers[i - bench->stack_count]));
    }
  }
}

/* The last size of which tensors have at most `largest` elements. */
static int64_t last_size(const struct Growth *growth, int64_t largest) {
  int64_t last = growth->last;
  if (growth->chart == 0 && last > largest) last = largest;
  while (last > growth->first && growth->chart == 1 && last * last > largest) last /= 2;
  return last;
}

static BurnStatus measure_growth(const Bench *bench, const struct Growth *growth, int64_t largest, Chart *chart) {
  const int64_t last = last_size(growth, largest);
  const size_t sides = bench->stack_count + bench->peer_count, first = chart->count;
  static Result result;
  char text[32];
  BurnStatus status = BURN_OK;
  add_lines(bench, chart, growth->kind);
  for (int64_t size = growth->first; size <= last && status == BURN_OK;) {
    const Point point = growth->point(size);
    const Case c = {.name = growth->kind, .kind = growth->kind, .args = point.args, .repeats = 1};
    status = measure(bench, &c, &result);
    printf("%-8s %10lld", growth->kind, (long long)size);
    for (size_t i = 0; i < sides && status == BURN_OK; i++) {
      const Side *side = i < bench->stack_count ? &result.own[i] : &result.peer[i - bench->stack_count];
      if (side->known) chart_add(&chart->lines[first + i], point.x, side->time.median / point.scale);
      printf("  %9s", side->known ? time_text(side->time.median, text, sizeof text) : "-");
      if (side->problem[0]) status = burn_status_make(BURN_STATUS_INTERNAL, "%s", side->problem);
    }
    printf("\n");
    fflush(stdout);
    const int64_t next = (int64_t)((double)size * growth->factor);
    size = size < last && next > last ? last : next;
  }
  return status;
}

BurnStatus growth_run(const Bench *bench, const char *path, int64_t largest, const char *about) {
  static Chart charts[CHARTS];
  BurnStatus status = BURN_OK;
  memcpy(charts, titles, sizeof charts);
  for (size_t i = 0; i < sizeof growths / sizeof growths[0] && status == BURN_OK; i++) {
    status = measure_growth(bench, &growths[i], largest, &charts[growths[i].chart]);
  }
  if (status != BURN_OK) return status;
  FILE *file = fopen(path, "w");
  if (!file) return burn_status_make(BURN_STATUS_IO, "%s: %s", path, strerror(errno));
  svg_write(file, charts, CHARTS, about);
  const bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) return burn_status_make(BURN_STATUS_IO, "%s cannot be written", path);
  return BURN_OK;
}
