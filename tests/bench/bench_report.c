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
static double limit_share(const Case *c, double seconds) {
  const double limit = limits_seconds(c);
  return limit > 0 ? limit / seconds : (double)NAN;
}

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

static void json_machine(const Bench *bench) {
  printf("{\"machine\":{\"threads\":%u,\"copy_GBps\":%.4g,\"read_GBps\":%.4g,\"fma_GFps\":%.5g", burn_threads(),
         1e-9 * limits_bandwidth(128e6, 128e6), 1e-9 * limits_bandwidth(256e6, 0), 1e-9 * limits_flops());
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
      json_side(peer_label(bench->peers[k])[5] ? "torch_tuned" : "torch", peer);
      json_number(k == 0 ? "ratio" : "ratio_2", own->time.median / peer->time.median);
    }
    json_number("limit_seconds", limits_seconds(c) > 0 ? limits_seconds(c) : (double)NAN);
    json_number("of_limit", limit_share(c, own->time.median));
    printf("}\n");
  }
}

/* -- the table ------------------------------------------------------------------------------------------------------------- */

static void table_machine(const Bench *bench) {
  printf("%u threads; copy %.1f GB/s, read %.1f, sum of two %.1f, fill %.1f in memory; copy %.0f GB/s in 1 MB; FMA f32 %.0f GF/s\n",
         burn_threads(), 1e-9 * limits_bandwidth(200e6, 200e6), 1e-9 * limits_bandwidth(400e6, 0),
         1e-9 * limits_bandwidth(266e6, 133e6), 1e-9 * limits_bandwidth(0, 400e6), 1e-9 * limits_bandwidth(5e5, 5e5),
         1e-9 * limits_flops());
  for (size_t i = 0; i < bench->peer_count; i++) {
    printf("%s: %s\n", peer_label(bench->peers[i]), peer_version(bench->peers[i]));
  }
}

static void table_head(const Bench *bench, const char *group) {
  printf("\n%-44s", group);
  if (bench->stack_count > 1) printf(" %-20s", "stack");
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
  printf("%-44s", i == 0 ? c->name : "");
  if (bench->stack_count > 1) printf(" %-20s", bench->stacks[i]);
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
  printf(" %6s", percent_text(limit_share(c, own->time.median), share, sizeof share));
  table_losses(own, bench->peer_count > 0 ? &result->peer[0] : NULL);
  printf("\n");
  fflush(stdout);
}

/* -- all ------------------------------------------------------------------------------------------------------------------- */

void report_begin(Report *report, const Bench *bench) {
  report->group = -1;
  if (report->json) {
    json_machine(bench);
  } else {
    table_machine(bench);
  }
}

BurnStatus report_case(Report *report, const Bench *bench, const Case *c, const Result *result) {
  if (report->json) {
    json_case(bench, c, result);
    return BURN_OK;
  }
  if (report->group != (int)c->group) table_head(bench, group_names[c->group]);
  report->group = (int)c->group;
  for (size_t i = 0; i < bench->stack_count; i++) table_row(bench, c, result, i);
  return BURN_OK;
}

BurnStatus report_end(Report *report) {
  (void)report;
  return BURN_OK;
}
