/* bench_report.c - see bench_report.h. */
#include "bench_report.h"

#include <math.h>
#include <string.h>

const char *time_text(double seconds, char *buffer, size_t capacity) {
  static const struct {
    double scale;
    const char *unit;
  } units[] = {{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}, {1, "s "}};
  size_t i = 0;
  while (i < 3 && seconds * units[i].scale >= 999.5) i++;
  const double value = seconds * units[i].scale;
  snprintf(buffer, capacity, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[i].unit);
  return buffer;
}

static const char *percent_text(double share, char *buffer, size_t capacity) {
  if (isnan(share)) return "-";
  snprintf(buffer, capacity, "%.0f %%", 100 * share);
  return buffer;
}

/* The share of what the machine can do; NaN where there is no limit. */
static double limit_share(const Result *result, const Side *own) {
  return result->limit_time.median > 0 ? result->limit_time.median / own->time.median : (double)NAN;
}

static bool is_tuned(const Peer *peer) { return strstr(peer_label(peer), "tuned") != NULL; }

/* -- JSON ------------------------------------------------------------------------------------------------------------------ */

static void json_text(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= ' ') putchar(*text);
  }
  putchar('"');
}

static void json_number(const char *name, double value) {
  if (isfinite(value)) {
    printf(",\"%s\":%.6g", name, value);
  } else {
    printf(",\"%s\":null", name);
  }
}

static void json_side(const char *name, const Side *side) {
  printf(",\"%s\":{\"seconds\":%.6g,\"low\":%.6g,\"high\":%.6g", name, side->time.median, side->time.low, side->time.high);
  if (isfinite(side->last_loss)) printf(",\"first_loss\":%.6g,\"last_loss\":%.6g", side->first_loss, side->last_loss);
  putchar('}');
}

static void json_machine(const Report *report, const Bench *bench) {
  const Machine *m = &report->machine;
  printf("{\"machine\":{\"about\":");
  json_text(report->about ? report->about : "");
  printf(",\"threads\":%u", burn_threads());
  json_number("copy_GBps", m->copy);
  json_number("read_GBps", m->read);
  json_number("add_GBps", m->add);
  json_number("fill_GBps", m->fill);
  json_number("cache_copy_GBps", m->cache_copy);
  json_number("fma_GFps", m->fma);
  for (size_t i = 0; i < bench->peer_count; i++) {
    printf(",\"%s\":", i == 0 ? "peer" : "peer_2");
    json_text(peer_version(bench->peers[i]));
  }
  printf("}}\n");
}

static void json_case(const Bench *bench, const Case *c, const Result *result) {
  for (size_t i = 0; i < bench->stack_count; i++) {
    const Side *own = &result->own[i];
    printf("{\"group\":\"%s\",\"case\":", group_names[c->group]);
    json_text(c->name);
    printf(",\"stack\":");
    json_text(bench->stacks[i]);
    json_side("ours", own);
    for (size_t k = 0; k < bench->peer_count; k++) {
      const Side *peer = &result->peer[k];
      if (!peer->known) continue;
      json_side(is_tuned(bench->peers[k]) ? "torch_tuned" : "torch", peer);
      json_number(is_tuned(bench->peers[k]) ? "ratio_tuned" : "ratio", own->time.median / peer->time.median);
    }
    json_number("limit_seconds", result->limit_time.median > 0 ? result->limit_time.median : (double)NAN);
    json_number("of_limit", limit_share(result, own));
    printf("}\n");
  }
}

/* -- the table ------------------------------------------------------------------------------------------------------------- */

static const char *machine_text(const Machine *m, char *buffer, size_t capacity) {
  snprintf(buffer, capacity, "%u threads; memory: copy %.1f GB/s, read %.1f, sum of two %.1f, fill %.1f; 1 MB: copy %.0f GB/s; FMA %.0f GF/s",
           burn_threads(), m->copy, m->read, m->add, m->fill, m->cache_copy, m->fma);
  return buffer;
}

static void table_machine(const Report *report, const Bench *bench) {
  char text[256];
  printf("%s\n", machine_text(&report->machine, text, sizeof text));
  for (size_t i = 0; i < bench->peer_count; i++) {
    printf("%s: %s\n", peer_label(bench->peers[i]), peer_version(bench->peers[i]));
  }
}

/* Width of the column of stacks; 0 for one that is not worth a column. */
static int stack_width(const Bench *bench) {
  size_t width = 0;
  for (size_t i = 0; i < bench->stack_count && bench->stack_count > 1; i++) {
    if (strlen(bench->stacks[i]) > width) width = strlen(bench->stacks[i]);
  }
  return (int)width;
}

static void table_head(const Bench *bench, const char *group) {
  printf("\n%-48s", group);
  if (bench->stack_count > 1) printf(" %-*s", stack_width(bench), "stack");
  printf(" %9s %6s", "ours", "+-");
  for (size_t i = 0; i < bench->peer_count; i++) printf(" %12s %6s %6s", peer_label(bench->peers[i]), "+-", "ratio");
  printf(" %6s\n", "limit");
}

/* Half the distance between the quartiles, of the median. */
static const char *spread_text(const Spread *time, char *buffer, size_t capacity) {
  return percent_text((time->high - time->low) / 2 / time->median, buffer, capacity);
}

static void table_losses(const Side *own, const Side *peer) {
  if (!isfinite(own->last_loss)) return;
  printf("   loss %.3f -> %.3f", own->first_loss, own->last_loss);
  if (peer && peer->known) printf("; torch %.3f -> %.3f", peer->first_loss, peer->last_loss);
}

static void table_row(const Bench *bench, const Case *c, const Result *result, size_t i) {
  const Side *own = &result->own[i];
  char text[32], spread[32], share[32];
  printf("%-48s", i == 0 ? c->name : "");
  if (bench->stack_count > 1) printf(" %-*s", stack_width(bench), bench->stacks[i]);
  printf(" %9s %6s", time_text(own->time.median, text, sizeof text), spread_text(&own->time, spread, sizeof spread));
  for (size_t k = 0; k < bench->peer_count; k++) {
    const Side *peer = &result->peer[k];
    if (!peer->known) {
      printf(" %12s %6s %6s", "-", "-", "-");
      continue;
    }
    printf(" %12s %6s %6.2f", time_text(peer->time.median, text, sizeof text), spread_text(&peer->time, spread, sizeof spread),
           own->time.median / peer->time.median);
  }
  printf(" %6s", percent_text(limit_share(result, own), share, sizeof share));
  table_losses(own, bench->peer_count > 0 ? &result->peer[0] : NULL);
  printf("\n");
}

/* -- results.csv ----------------------------------------------------------------------------------------------------------- */

static BurnStatus csv_case(Report *report, const Bench *bench, const Case *c, const Result *result, size_t i) {
  const Side *own = &result->own[i];
  CsvRow row = {.index = (size_t)(c - bench_cases),
                .ours = own->time.median,
                .torch = (double)NAN,
                .tuned = (double)NAN,
                .limit = limit_share(result, own)};
  snprintf(row.stack, sizeof row.stack, "%s", bench->stacks[i]);
  for (size_t k = 0; k < bench->peer_count; k++) {
    if (!result->peer[k].known) continue;
    *(is_tuned(bench->peers[k]) ? &row.tuned : &row.torch) = result->peer[k].time.median;
  }
  return csv_put(&report->csv, &row);
}

static void csv_about(Report *report, const Bench *bench) {
  char text[256];
  CsvFile *csv = &report->csv;
  snprintf(csv->about[0], sizeof csv->about[0], "%s", report->about ? report->about : "unknown machine");
  snprintf(csv->about[1], sizeof csv->about[1], "%s", machine_text(&report->machine, text, sizeof text));
  if (bench->peer_count == 0) return; /* what was said of the peer stays, as do its figures */
  snprintf(csv->about[2], sizeof csv->about[2], "%s", peer_version(bench->peers[0]));
}

/* -- all ------------------------------------------------------------------------------------------------------------------- */

/* The best of some samples. */
static double rate(double (*seconds)(double read_bytes, double write_bytes), double read_bytes, double write_bytes) {
  double best = (double)INFINITY;
  for (int i = 0; i < 3; i++) best = fmin(best, seconds(read_bytes, write_bytes));
  return 1e-9 * (read_bytes + write_bytes) / best;
}

static double compute_seconds(double flops, double nothing) {
  (void)nothing;
  return limits_compute_seconds(flops);
}

static Machine machine_measure(void) {
  return (Machine){.copy = rate(limits_move_seconds, 200e6, 200e6),
                   .read = rate(limits_move_seconds, 400e6, 0),
                   .add = rate(limits_move_seconds, 266e6, 133e6),
                   .fill = rate(limits_move_seconds, 0, 400e6),
                   .cache_copy = rate(limits_move_seconds, 5e5, 5e5),
                   .fma = rate(compute_seconds, 1e9, 0)};
}

BurnStatus report_begin(Report *report, const Bench *bench) {
  const BurnStatus status = report->csv_path ? csv_load(&report->csv, report->csv_path) : BURN_OK;
  if (status != BURN_OK) return status;
  report->group = -1;
  report->machine = machine_measure();
  if (report->csv_path) csv_about(report, bench);
  if (report->json) {
    json_machine(report, bench);
  } else {
    table_machine(report, bench);
  }
  fflush(stdout);
  return BURN_OK;
}

BurnStatus report_case(Report *report, const Bench *bench, const Case *c, const Result *result) {
  if (report->json) {
    json_case(bench, c, result);
  } else {
    if (report->group != (int)c->group) table_head(bench, group_names[c->group]);
    for (size_t i = 0; i < bench->stack_count; i++) table_row(bench, c, result, i);
  }
  report->group = (int)c->group;
  fflush(stdout);
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < bench->stack_count && report->csv_path && status == BURN_OK; i++) {
    status = csv_case(report, bench, c, result, i);
  }
  return status;
}

BurnStatus report_end(Report *report) {
  const BurnStatus status = report->csv_path ? csv_save(&report->csv, report->csv_path) : BURN_OK;
  csv_release(&report->csv);
  return status;
}
