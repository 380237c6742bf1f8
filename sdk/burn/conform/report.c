/* report.c - what passed, failed and was skipped: recorded by the child, printed by the parent. */
#include "../command.h"
#include "conform.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const check_names[CHECK_COUNT] = {
#define CHECK(NAME, name, per_op, level, what) #name,
    CONFORM_CHECKS(CHECK)
#undef CHECK
};
static const char *const check_texts[CHECK_COUNT] = {
#define CHECK(NAME, name, per_op, level, what) what,
    CONFORM_CHECKS(CHECK)
#undef CHECK
};

const char *report_check_name(uint32_t check) { return check_names[check]; }

/* -- recording -------------------------------------------------------------------------------- */

/* What this process records into. */
static Report *running;

void report_beat(void) {
  if (running) atomic_fetch_add(&running->beat, 1);
}

void report_doing(const char *what) {
  if (running) atomic_store(&running->doing, (uintptr_t)what);
}

void report_begin(Report *report, uint32_t check, const BurnOpInfo *op, uint32_t index, const char *text) {
  running = report;
  report_doing("");
  report->check = check;
  report->op = op && conform_place(op) < MAX_OPS ? conform_place(op) : 0;
  report->index = index;
  snprintf(report->sample, sizeof report->sample, "%s", text);
  atomic_fetch_add(&report->beat, 1);
}

void report_begin_sample(Report *report, uint32_t check, const Sample *sample) {
  report_begin(report, check, sample->op, sample->index, "");
  sample_describe(sample, report->sample, sizeof report->sample);
}

static Counts *current(Report *report) { return &report->counts[report->check][report->op]; }

void report_pass(Report *report) { current(report)->passed++; }

void report_fail(Report *report, const char *format, ...) {
  Counts *counts = current(report);
  counts->failed++;
  if (counts->failed > FAILURES_PER_OP || report->failure_count == MAX_FAILURES) return;
  Failure *failure = &report->failures[report->failure_count++];
  *failure = (Failure){.check = report->check, .op = report->op, .index = report->index};
  snprintf(failure->sample, sizeof failure->sample, "%s", report->sample);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(failure->reason, sizeof failure->reason, format, arguments);
  va_end(arguments);
}

static void add_skip(Report *report, const Skip *more) {
  for (uint32_t i = 0; i < report->skip_count; i++) {
    Skip *skip = &report->skips[i];
    if (skip->check != more->check || strcmp(skip->reason, more->reason) != 0) continue;
    skip->count += more->count;
    return;
  }
  if (report->skip_count < MAX_SKIPS) report->skips[report->skip_count++] = *more;
}

void report_skip(Report *report, const char *format, ...) {
  char reason[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  current(report)->skipped++;
  Skip skip = {.check = report->check, .count = 1, .reason = ""};
  memcpy(skip.reason, reason, sizeof skip.reason);
  add_skip(report, &skip);
}

/* -- sums ------------------------------------------------------------------------------------- */

static void add(Counts *sum, Counts more) {
  sum->passed += more.passed;
  sum->failed += more.failed;
  sum->skipped += more.skipped;
}

void report_merge(Report *report, const Report *more) {
  for (uint32_t check = 0; check < CHECK_COUNT; check++) {
    for (uint32_t op = 0; op < MAX_OPS; op++) add(&report->counts[check][op], more->counts[check][op]);
  }
  for (uint32_t i = 0; i < more->failure_count && report->failure_count < MAX_FAILURES; i++)
    report->failures[report->failure_count++] = more->failures[i];
  for (uint32_t i = 0; i < more->skip_count; i++) add_skip(report, &more->skips[i]);
  if (more->async_way[0]) memcpy(report->async_way, more->async_way, sizeof report->async_way);
}

static int by_plan(const void *a, const void *b) {
  const Failure *x = a, *y = b;
  if (x->check != y->check) return x->check < y->check ? -1 : 1;
  if (x->op != y->op) return x->op < y->op ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

void report_sort(Report *report) {
  qsort(report->failures, report->failure_count, sizeof report->failures[0], by_plan);
}

static uint32_t cases(Counts counts) { return counts.passed + counts.failed + counts.skipped; }

Counts report_total(const Report *report, uint32_t check) {
  Counts sum = {0, 0, 0};
  for (uint32_t op = 0; op < MAX_OPS; op++) add(&sum, report->counts[check][op]);
  return sum;
}

Counts report_op_total(const Report *report, uint32_t op) {
  Counts sum = {0, 0, 0};
  for (uint32_t check = 0; check < CHECK_COUNT; check++) add(&sum, report->counts[check][op]);
  return sum;
}

static Counts all_total(const Report *report) {
  Counts sum = {0, 0, 0};
  for (uint32_t check = 0; check < CHECK_COUNT; check++) add(&sum, report_total(report, check));
  return sum;
}

/* -- text ------------------------------------------------------------------------------------- */

static void print_row(const char *name, Counts counts) {
  printf("  %-24s %8u %8u %8u %8u\n", name, cases(counts), counts.passed, counts.failed, counts.skipped);
}

static void print_heads(const char *what) {
  printf("\n  %-24s %8s %8s %8s %8s\n", what, "cases", "passed", "failed", "skipped");
}

/* Ops by the kind of work that they do. */
static void print_families(const Report *report) {
  static const struct {
    uint32_t trait;
    const char *name;
  } families[] = {{BURN_TRAIT_CREATE, "creation"},
                  {BURN_TRAIT_ELEMENTWISE, "elementwise"},
                  {BURN_TRAIT_REDUCE, "reductions"},
                  {BURN_TRAIT_COMPUTE, "products and layers"},
                  {BURN_TRAIT_VIEW, "views"},
                  {BURN_TRAIT_MOVE, "moves"},
                  {0, "other"}};
  bool taken[MAX_OPS] = {false};
  print_heads("ops");
  for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
    Counts sum = {0, 0, 0};
    for (uint32_t op = 1; op < MAX_OPS; op++) {
      const BurnOpInfo *info = conform_op(op);
      if (!info || taken[op] || (families[f].trait && !(info->traits & families[f].trait))) continue;
      taken[op] = true;
      add(&sum, report_op_total(report, op));
    }
    if (cases(sum) > 0) print_row(families[f].name, sum);
  }
}

static void print_ops(const Report *report) {
  print_heads("op");
  for (uint32_t op = 1; op < MAX_OPS; op++) {
    const Counts counts = report_op_total(report, op);
    if (cases(counts) > 0) print_row(conform_op(op)->name, counts);
  }
}

static void command_line(const Conform *run, const Failure *failure, char *text, size_t bytes) {
  const BurnOpInfo *info = failure->op ? conform_op(failure->op) : NULL;
  char op[96] = "", on[160] = "", against[160] = "", fails[96] = "";
  if (info && failure->check != CHECK_THREADS)
    snprintf(op, sizeof op, " --op %s --case %u", info->name, failure->index);
  if (run->fails) snprintf(fails, sizeof fails, " --fails %s", run->fails);
  if (strcmp(run->against, "reference") != 0) snprintf(against, sizeof against, " --against '%s'", run->against);
  if (run->on) snprintf(on, sizeof on, " --on '%s'", run->on);
  snprintf(text, bytes, "burn conform '%s'%s%s%s --level %s --seed %" PRIu64 " --check %s%s", run->argument, on,
           against, fails, conform_level_name(run), run->seed, check_names[failure->check], op);
}

static void print_failures(const Conform *run) {
  const Report *report = run->report;
  char line[512];
  if (report->failure_count == 0) return;
  printf("\nfailures (the smallest first for each op%s):\n", run->verbose ? "" : "; --verbose shows more");
  for (uint32_t i = 0; i < report->failure_count; i++) {
    const Failure *failure = &report->failures[i];
    bool first = true;
    for (uint32_t k = 0; k < i && failure->op; k++) {
      first = first && !(report->failures[k].op == failure->op && report->failures[k].check == failure->check);
    }
    if (!first && !run->verbose) continue;
    command_line(run, failure, line, sizeof line);
    printf("  %s: %s\n      %s\n      %s\n", check_names[failure->check], failure->sample, failure->reason, line);
  }
}

static void print_text(const Conform *run, double seconds) {
  const Report *report = run->report;
  if (run->pack) printf("kernel pack %s on ", run->pack);
  printf("%s against %s, level %s, seed %" PRIu64 "\n", run->stack, run->against, conform_level_name(run), run->seed);
  print_heads("check");
  for (uint32_t check = 0; check < CHECK_COUNT; check++) {
    const Counts counts = report_total(report, check);
    if (cases(counts) > 0) print_row(check_names[check], counts);
  }
  if (report->async_way[0]) printf("\nasync was tested through %s\n", report->async_way);
  if (run->verbose) {
    print_ops(report);
  } else if (cases(all_total(report)) > 0) {
    print_families(report);
  }
  if (report->skip_count > 0) printf("\nskipped:\n");
  for (uint32_t i = 0; i < report->skip_count; i++) {
    printf("  %u of %s: %s\n", report->skips[i].count, check_names[report->skips[i].check], report->skips[i].reason);
  }
  print_failures(run);
  const Counts all = all_total(report);
  printf("\n%s: %u cases, %u passed, %u failed, %u skipped, %.1f s\n",
         all.failed   ? "FAILED"
         : all.passed ? "passed"
                      : "FAILED, nothing could be run",
         cases(all), all.passed, all.failed, all.skipped, seconds);
}

/* -- JSON ------------------------------------------------------------------------------------- */

static void add_counts(cJSON *object, Counts counts) {
  cJSON_AddNumberToObject(object, "cases", cases(counts));
  cJSON_AddNumberToObject(object, "passed", counts.passed);
  cJSON_AddNumberToObject(object, "failed", counts.failed);
  cJSON_AddNumberToObject(object, "skipped", counts.skipped);
}

static void add_failures(const Conform *run, cJSON *root) {
  cJSON *failures = cJSON_AddArrayToObject(root, "failures");
  char line[512];
  for (uint32_t i = 0; i < run->report->failure_count; i++) {
    const Failure *failure = &run->report->failures[i];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "check", check_names[failure->check]);
    cJSON_AddStringToObject(object, "op", failure->op ? conform_op(failure->op)->name : "");
    cJSON_AddNumberToObject(object, "case", failure->index);
    cJSON_AddStringToObject(object, "sample", failure->sample);
    cJSON_AddStringToObject(object, "reason", failure->reason);
    command_line(run, failure, line, sizeof line);
    cJSON_AddStringToObject(object, "command", line);
    cJSON_AddItemToArray(failures, object);
  }
}

static cJSON *make_json(const Conform *run, double seconds) {
  const Report *report = run->report;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "stack", run->stack);
  if (run->pack) cJSON_AddStringToObject(root, "pack", run->pack);
  cJSON_AddStringToObject(root, "against", run->against);
  cJSON_AddStringToObject(root, "level", conform_level_name(run));
  cJSON_AddNumberToObject(root, "seed", (double)run->seed);
  cJSON_AddNumberToObject(root, "seconds", seconds);
  if (report->async_way[0]) cJSON_AddStringToObject(root, "async_way", report->async_way);
  add_counts(root, all_total(report));
  cJSON *checks = cJSON_AddObjectToObject(root, "checks");
  for (uint32_t check = 0; check < CHECK_COUNT; check++) {
    cJSON *object = cJSON_AddObjectToObject(checks, check_names[check]);
    cJSON_AddStringToObject(object, "what", check_texts[check]);
    add_counts(object, report_total(report, check));
  }
  cJSON *ops = cJSON_AddObjectToObject(root, "ops");
  for (uint32_t op = 1; op < MAX_OPS; op++) {
    const Counts counts = report_op_total(report, op);
    if (cases(counts) > 0) add_counts(cJSON_AddObjectToObject(ops, conform_op(op)->name), counts);
  }
  cJSON *skips = cJSON_AddArrayToObject(root, "skips");
  for (uint32_t i = 0; i < report->skip_count; i++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "check", check_names[report->skips[i].check]);
    cJSON_AddNumberToObject(object, "count", report->skips[i].count);
    cJSON_AddStringToObject(object, "reason", report->skips[i].reason);
    cJSON_AddItemToArray(skips, object);
  }
  add_failures(run, root);
  return root;
}

bool report_print(const Conform *run, bool json, double seconds) {
  if (json) {
    if (command_print_json(make_json(run, seconds)) != COMMAND_OK) return false;
  } else {
    print_text(run, seconds);
  }
  const Counts all = all_total(run->report);
  return all.failed == 0 && all.passed > 0;
}
