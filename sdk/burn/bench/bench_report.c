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
  return own->known && result->limit_time.median > 0 ? result->limit_time.median / own->time.median : (double)NAN;
}

/* One side's time by another's; NaN where one of them has none. */
static double time_ratio(const Side *a, const Side *b) {
  return a->known && b->known ? a->time.median / b->time.median : (double)NAN;
}

/* -- JSON ------------------------------------------------------------------------------------- */

static void json_text(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    printf((unsigned char)*text >= ' ' ? "%c" : "\\u%04x", (unsigned char)*text);
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

static void json_side(const Case *c, const char *name, const Side *side) {
  const char *unit = "";
  const double rate = case_rate(c, side->time.median, &unit);
  printf(",\"%s\":{\"seconds\":%.6g,\"low\":%.6g,\"high\":%.6g", name, side->time.median, side->time.low,
         side->time.high);
  json_number("noise", spread_noise(&side->time));
  if (isfinite(rate)) printf(",\"%s\":%.6g", c->flops > 0 ? "TFLOPps" : "GBps", rate);
  if (isfinite(side->first_loss) || isfinite(side->last_loss)) { /* not of training: neither is known */
    json_number("first_loss", side->first_loss);
    json_number("last_loss", side->last_loss);
  }
  putchar('}');
}

static void json_machine(const Report *report, const Bench *bench) {
  const Machine *m = &report->machine;
  printf("{\"machine\":{\"about\":");
  json_text(report->about ? report->about : "");
  printf(",\"threads\":%u,\"rounds\":%zu", burn_threads(), bench->rounds);
  json_number("sample_seconds", bench->seconds);
  json_number("copy_GBps", m->copy);
  json_number("read_GBps", m->read);
  json_number("add_GBps", m->add);
  json_number("fill_GBps", m->fill);
  json_number("cache_copy_GBps", m->cache_copy);
  json_number("fma_GFps", m->fma);
  printf(",\"device\":");
  json_text(bench->device.text);
  json_number("device_copy_GBps", bench->device.copy);
  json_number("peer_copy_GBps", bench->device.peer_copy);
  for (size_t i = 0; i < bench->peer_count; i++) {
    printf(",\"peer%s\":", peer_ways[peer_way(bench->peers[i])].suffix);
    json_text(peer_version(bench->peers[i]));
  }
  printf("}}\n");
}

static void json_bytes(const Side *side) {
  if (side->bytes_peak >= 0) {
    printf(",\"bytes_peak\":%lld", (long long)side->bytes_peak);
  } else {
    printf(",\"bytes_peak\":null");
  }
}

/* A peer's figures and ours by its: "torch_compile", "torch_compile_bytes_peak", "ratio_compile"; or why it has
 * none. */
static void json_peer(const Case *c, const Side *own, const Side *peer, const PeerWay *way) {
  char name[48];
  if (!peer->known && peer->lacks) {
    printf(",\"%s_lacks\":", way->name);
    json_text(peer->problem);
  }
  if (!peer->known) return;
  json_side(c, way->name, peer);
  snprintf(name, sizeof name, "%s_bytes_peak", way->name);
  json_number(name, peer->bytes_peak >= 0 ? (double)peer->bytes_peak : (double)NAN);
  snprintf(name, sizeof name, "ratio%s", way->suffix);
  json_number(name, time_ratio(own, peer));
}

static void json_own(const Bench *bench, const Case *c, const Result *result, const Side *own) {
  if (!own->known) {
    printf(",\"%s\":", own->lacks ? "lacks" : "failed");
    json_text(own->problem);
    return;
  }
  json_side(c, "ours", own);
  json_bytes(own);
  json_number("first_ratio", time_ratio(&result->own[0], own));
  for (size_t k = 0; k < bench->peer_count; k++) {
    json_peer(c, own, &result->peer[k], &peer_ways[peer_way(bench->peers[k])]);
  }
  json_number("limit_seconds", result->limit_time.median > 0 ? result->limit_time.median : (double)NAN);
  json_number("of_limit", limit_share(result, own));
}

static void json_case(const Bench *bench, const Case *c, const Result *result) {
  for (size_t i = 0; i < bench->stack_count; i++) {
    printf("{\"group\":\"%s\",\"case\":", group_names[c->group]);
    json_text(c->name);
    printf(",\"stack\":");
    json_text(bench->stacks[i]);
    json_own(bench, c, result, &result->own[i]);
    printf("}\n");
  }
}

/* -- the table -------------------------------------------------------------------------------- */

static const char *machine_text(const Bench *bench, const Machine *m, char *buffer, size_t capacity) {
  if (bench->device.is_gpu) {
    snprintf(buffer, capacity, "%s; copy of 1 GiB: %.0f GB/s, the peer's %.0f", bench->device.text, bench->device.copy,
             bench->device.peer_copy);
    return buffer;
  }
  snprintf(
      buffer, capacity,
      "%u threads; memory: copy %.1f GB/s, read %.1f, sum of two %.1f, fill %.1f; 1 MB: copy %.0f GB/s; FMA %.0f GF/s",
      burn_threads(), m->copy, m->read, m->add, m->fill, m->cache_copy, m->fma);
  return buffer;
}

static void table_machine(const Report *report, const Bench *bench) {
  char text[512];
  printf("%s\n", machine_text(bench, &report->machine, text, sizeof text));
  for (size_t i = 0; i < bench->peer_count; i++) {
    printf("%s: %s\n", peer_label(bench->peers[i]), peer_version(bench->peers[i]));
  }
  if (bench->stack_count + bench->peer_count > 1) {
    printf("ratio: the time of %s by that of the column; below 1.00 %s is faster\n", bench->stacks[0],
           bench->stacks[0]);
  }
}

/* Columns of times: a stack each, then a peer each. The first has no ratio. */
static int column_width(const char *name) { return strlen(name) > 10 ? (int)strlen(name) : 10; }

static void table_head(const Bench *bench, const char *group) {
  printf("\n%-48s", group);
  for (size_t i = 0; i < bench->stack_count + bench->peer_count; i++) {
    const char *name = i < bench->stack_count ? bench->stacks[i] : peer_label(bench->peers[i - bench->stack_count]);
    printf(" %*s %6s", column_width(name), name, "+-");
    if (i > 0) printf(" %6s", "ratio");
  }
  printf(" %6s", "limit");
  if (bench->device.is_gpu) printf(" %13s", "rate");
  printf("\n");
}

static const char *ratio_text(double ratio, char *buffer, size_t capacity) {
  if (isnan(ratio)) return "-";
  snprintf(buffer, capacity, "%.2f", ratio);
  return buffer;
}

static void table_side(const Side *side, const Side *first, const char *name) {
  char text[32], spread[32], ratio[32];
  if (side->known) {
    printf(" %*s %6s", column_width(name), time_text(side->time.median, text, sizeof text),
           percent_text(spread_noise(&side->time), spread, sizeof spread));
  } else {
    printf(" %*s %6s", column_width(name), side->lacks ? "lacks it" : side->problem[0] ? "failed" : "-", "-");
  }
  if (side != first) printf(" %6s", ratio_text(time_ratio(first, side), ratio, sizeof ratio));
}

/* "   loss 2.301 -> 1.998; torch 2.310 -> 2.004" */
static void table_loss(const Side *side, const char *name, const char **before) {
  if (!side->known || !isfinite(side->last_loss)) return;
  printf("%s%s %.3f -> %.3f", *before, name, side->first_loss, side->last_loss);
  *before = "; ";
}

/* "   peak 66.1 MB": of models, whose memory people have to plan for. */
static void table_peak(const Side *side, const char *name, const char **before) {
  if (!side->known || side->bytes_peak < 0) return;
  printf("%s%s %.1f MB", *before, name, 1e-6 * (double)side->bytes_peak);
  *before = ", ";
}

/* " 4120 GB/s": of the first stack, on a GPU. */
static void table_rate(const Case *c, const Side *first) {
  const char *unit = "";
  const double rate = first->known ? case_rate(c, first->time.median, &unit) : (double)NAN;
  if (isfinite(rate)) {
    printf(" %5.*f %-7s", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, rate, unit);
  } else {
    printf(" %13s", "-");
  }
}

static void table_row(const Bench *bench, const Case *c, const Result *result) {
  const Side *first = &result->own[0];
  const char *before = "   loss ";
  char share[32];
  printf("%-48s", c->name);
  for (size_t i = 0; i < bench->stack_count; i++) table_side(&result->own[i], first, bench->stacks[i]);
  for (size_t i = 0; i < bench->peer_count; i++) table_side(&result->peer[i], first, peer_label(bench->peers[i]));
  printf(" %6s", percent_text(limit_share(result, first), share, sizeof share));
  if (bench->device.is_gpu) table_rate(c, first);
  for (size_t i = 0; i < bench->stack_count; i++) table_loss(&result->own[i], bench->stacks[i], &before);
  for (size_t i = 0; i < bench->peer_count; i++) table_loss(&result->peer[i], peer_label(bench->peers[i]), &before);
  before = "   peak ";
  const bool tells_peak = c->group == GROUP_MODEL || c->group == GROUP_LARGE || bench->device.is_gpu;
  for (size_t i = 0; i < bench->stack_count && tells_peak; i++) {
    table_peak(&result->own[i], bench->stacks[i], &before);
  }
  for (size_t i = 0; i < bench->peer_count && tells_peak; i++) {
    table_peak(&result->peer[i], peer_label(bench->peers[i]), &before);
  }
  printf("\n");
  for (size_t i = 0; i < bench->stack_count; i++) {
    if (!result->own[i].known) printf("    %s: %s\n", bench->stacks[i], result->own[i].problem);
  }
  for (size_t i = 0; i < bench->peer_count; i++) {
    if (result->peer[i].problem[0]) printf("    %s: %s\n", peer_label(bench->peers[i]), result->peer[i].problem);
  }
}

/* -- results.csv ------------------------------------------------------------------------------ */

static BurnStatus csv_case(Report *report, const Bench *bench, const Case *c, const Result *result, size_t i) {
  const Side *own = &result->own[i];
  if (!own->known) return BURN_OK;
  CsvRow row = {.index = (size_t)(c - bench_cases),
                .ours = own->time.median,
                .noise = spread_noise(&own->time),
                .limit = limit_share(result, own),
                .peak = (double)NAN,
                .torch_peak = (double)NAN};
  for (int way = 0; way < PEER_WAYS; way++) row.peer[way] = row.peer_noise[way] = (double)NAN;
  if (bench->device.is_gpu && own->bytes_peak >= 0) row.peak = (double)own->bytes_peak;
  snprintf(row.stack, sizeof row.stack, "%s", bench->stacks[i]);
  for (size_t k = 0; k < bench->peer_count; k++) {
    const Side *peer = &result->peer[k];
    if (!peer->known) continue;
    row.peer[peer_way(bench->peers[k])] = peer->time.median;
    row.peer_noise[peer_way(bench->peers[k])] = spread_noise(&peer->time);
    if (peer->bytes_peak >= 0) row.torch_peak = fmin((double)peer->bytes_peak, row.torch_peak); /* the least */
  }
  return csv_put(&report->csv, &row);
}

static void csv_about(Report *report, const Bench *bench) {
  char text[512];
  CsvFile *csv = &report->csv;
  snprintf(csv->about[0], sizeof csv->about[0], "%s", report->about ? report->about : "unknown machine");
  snprintf(csv->about[1], sizeof csv->about[1], "%s", machine_text(bench, &report->machine, text, sizeof text));
  if (bench->peer_count == 0) return; /* what was said of the peers stays, as do their figures */
  csv->about[2][0] = '\0';
  for (size_t i = 0, used = 0; i < bench->peer_count; i++) {
    const char *version = peer_version(bench->peers[i]);
    if (strstr(csv->about[2], version)) continue; /* PyTorch in another way */
    used += (size_t)snprintf(csv->about[2] + used, sizeof csv->about[2] - used, "%s%s", used ? "; " : "", version);
    if (used >= sizeof csv->about[2]) return;
  }
}

/* -- all -------------------------------------------------------------------------------------- */

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

/* On a GPU nothing is limited by these. */
static Machine no_machine(void) {
  const double unknown = (double)NAN;
  return (Machine){unknown, unknown, unknown, unknown, unknown, unknown};
}

/* What runs before this one have left; nothing is where they left no file. */
static BurnStatus load_results(Report *report) {
  const BurnStatus status = csv_load(&report->csv, report->csv_path);
  return burn_status_code(status) == BURN_STATUS_NOT_FOUND ? BURN_OK : status;
}

BurnStatus bench_report_begin(Report *report, const Bench *bench) {
  const BurnStatus status = report->csv_path ? load_results(report) : BURN_OK;
  if (status != BURN_OK) return status;
  report->group = -1;
  report->machine = bench->device.is_gpu ? no_machine() : machine_measure();
  if (report->csv_path) csv_about(report, bench);
  if (report->json) {
    json_machine(report, bench);
  } else {
    table_machine(report, bench);
  }
  fflush(stdout);
  load_begin(&report->run, bench);
  report->window = report->run;
  return BURN_OK;
}

/* What was measured since the last look is written, or, if others used the machine, given up: the file is read
 * again. */
static BurnStatus take_window(Report *report, const Bench *bench) {
  const double share = load_share(&report->window, bench);
  const bool is_busy = bench->keeps_quiet && share > ALLOWED_LOAD;
  BurnStatus status = BURN_OK;
  if (is_busy) {
    fprintf(stderr,
            "burn bench: the figures of the last %zu cases are not kept: other programs used %.0f %% of the processors "
            "meanwhile, and %.0f %% are allowed\n",
            report->untold, 100 * share, 100 * ALLOWED_LOAD);
    report->refused += report->untold;
    csv_release(&report->csv);
    status = load_results(report);
    if (status == BURN_OK) csv_about(report, bench);
  } else {
    status = csv_save(&report->csv, report->csv_path);
  }
  report->untold = 0;
  load_begin(&report->window, bench);
  return status;
}

/* Seconds after which it is asked who uses the machine: so many that a tick is less than a percent. */
#define WINDOW_SECONDS 5.0

BurnStatus bench_report_case(Report *report, const Bench *bench, const Case *c, const Result *result) {
  if (report->json) {
    json_case(bench, c, result);
  } else {
    if (report->group != (int)c->group) table_head(bench, group_names[c->group]);
    table_row(bench, c, result);
  }
  report->group = (int)c->group;
  fflush(stdout);
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < bench->stack_count; i++) report->failures += !result->own[i].known && !result->own[i].lacks;
  for (size_t i = 0; i < bench->stack_count && report->csv_path && status == BURN_OK; i++) {
    status = csv_case(report, bench, c, result, i);
  }
  report->untold++;
  /* Now, not at the end: a run on a machine that is lent may be cut off. */
  const bool is_time = !bench->keeps_quiet || system_seconds() - report->window.wall >= WINDOW_SECONDS;
  if (status == BURN_OK && report->csv_path && is_time) status = take_window(report, bench);
  return status;
}

/* The last line: who else used the machine. */
static void tell_load(const Report *report, const Bench *bench) {
  const double share = load_share(&report->run, bench);
  if (report->json) {
    printf("{\"load\":{\"allowed\":%.6g", ALLOWED_LOAD);
    json_number("others", share);
    printf("}}\n");
  }
  if (share > ALLOWED_LOAD)
    fprintf(stderr, "burn bench: other programs used %.0f %% of the machine meanwhile; these figures are not good\n",
            100 * share);
}

BurnStatus bench_report_end(Report *report, const Bench *bench) {
  BurnStatus status = report->csv_path ? take_window(report, bench) : BURN_OK;
  csv_release(&report->csv);
  tell_load(report, bench);
  if (status != BURN_OK || report->refused == 0) return status;
  return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                          "the figures of %zu cases are not kept, because other programs used the processors; measure "
                          "them again, or --busy takes the figures all the same",
                          report->refused);
}
