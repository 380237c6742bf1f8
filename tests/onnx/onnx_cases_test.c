/* onnx_cases_test.c - the operator cases of ONNX against our ops, on the stack in BURN_BACKEND (default ndarray).
 *
 * Every case of cases.tsv passes, fails, or is not mapped with a reason. Those called `_expanded`, which write an
 * operator out in its parts, are counted apart. Fails unless all
 * failures are known differences, all known differences are failures, and as many cases pass as did when the number
 * below was written.
 *
 *   onnx_cases_test FOLDER CASES_TSV [--report FILE] [--page FILE] [--case NAME]     FOLDER holds a folder per case
 *   onnx_cases_test FOLDER CASES_TSV --suite SUITE --passes COUNT
 *
 * --report writes a table, --page fails if FILE is not that table, --case runs one and says what came out. --suite runs
 * another suite of the list, of which COUNT cases must pass and none may fail. */
#include "onnx_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  CASES = 1345,
  PASSES = 1310,
  EXPANDED = 457,
  EXPANDED_PASSES = 455,
  MAX_OPS = 256,
  MAX_REASONS = 512,
  SKIPPED = 77
};

typedef struct Difference {
  const char *name, *reason;
} Difference;
static const Difference known_differences[] = {
#define ONNX_KNOWN(name, reason) {name, reason},
#include "onnx_known_differences.def"
    {NULL, NULL}};

static const char *known_difference(const char *name) {
  for (const Difference *d = known_differences; d->name; d++) {
    if (strcmp(d->name, name) == 0) return d->reason;
  }
  return NULL;
}

/* -- counting --------------------------------------------------------------------------------- */

typedef struct Count {
  char op[64];
  char reason[256]; /* of cases that are not mapped */
  int passed, known, failed, not_mapped;
} Count;

typedef struct Counts {
  Count all, expanded;
  Count ops[MAX_OPS];         /* by operator */
  Count reasons[MAX_REASONS]; /* by operator and reason */
  size_t op_count, reason_count;
  int unexpected; /* known differences that pass */
} Counts;

static Count *entry(Count *list, size_t *count, size_t room, const char *op, const char *reason) {
  for (size_t i = 0; i < *count; i++) {
    if (strcmp(list[i].op, op) == 0 && strcmp(list[i].reason, reason) == 0) return &list[i];
  }
  if (*count == room) return &list[room - 1];
  Count *made = &list[(*count)++];
  snprintf(made->op, sizeof made->op, "%s", op);
  snprintf(made->reason, sizeof made->reason, "%s", reason);
  return made;
}

static void add(Count *count, OnnxResult result, bool known) {
  if (result == ONNX_PASSED) count->passed++;
  if (result == ONNX_FAILED && known) count->known++;
  if (result == ONNX_FAILED && !known) count->failed++;
  if (result == ONNX_NOT_MAPPED) count->not_mapped++;
}

static void tally(Counts *counts, const char *name, const OnnxOutcome *outcome) {
  const bool known = known_difference(name) != NULL, expanded = strstr(name, "_expanded") != NULL;
  add(expanded ? &counts->expanded : &counts->all, outcome->result, known);
  if (!expanded) add(entry(counts->ops, &counts->op_count, MAX_OPS, outcome->op, ""), outcome->result, known);
  if (outcome->result == ONNX_NOT_MAPPED) {
    const char *op = expanded ? "(expanded)" : outcome->op;
    Count *reason = entry(counts->reasons, &counts->reason_count, MAX_REASONS, op, outcome->reason);
    add(reason, outcome->result, known);
  }
  if (outcome->result == ONNX_FAILED && !known) printf("FAILED %s: %s: %s\n", name, outcome->op, outcome->reason);
  if (outcome->result == ONNX_PASSED && known) {
    printf("UNEXPECTED %s passes and is in onnx_known_differences.def\n", name);
    counts->unexpected++;
  }
}

static int total(const Count *c) { return c->passed + c->known + c->failed + c->not_mapped; }

static int by_name(const void *a, const void *b) {
  const Count *lhs = a, *rhs = b;
  const int order = strcmp(lhs->op, rhs->op);
  return order ? order : strcmp(lhs->reason, rhs->reason);
}

/* -- the report ------------------------------------------------------------------------------- */

static void report_reasons(FILE *file, const Counts *counts) {
  fprintf(file, "\n## Not mapped\n\n| cases | operator | reason |\n|--:|---|---|\n");
  for (size_t i = 0; i < counts->reason_count; i++) {
    fprintf(file, "| %d | %s | %s |\n", counts->reasons[i].not_mapped, counts->reasons[i].op,
            counts->reasons[i].reason);
  }
  fprintf(file, "\n## Known differences\n\n| case | reason |\n|---|---|\n");
  for (const Difference *d = known_differences; d->name; d++) fprintf(file, "| %s | %s |\n", d->name, d->reason);
}

static void write_report(FILE *file, const Counts *counts, const char *stack) {
  const Count *all = &counts->all;
  const Count *expanded = &counts->expanded;
  fprintf(file, "# ONNX operator cases\n\n");
  fprintf(file, "The operator cases of ONNX (those of onnx/backend/test) through our ops, on %s. Those called\n",
          stack);
  fprintf(file,
          "`_expanded` write an operator out in its parts: of %d, %d pass, %d fail, %d are not mapped. The others:\n\n",
          total(expanded), expanded->passed, expanded->known + expanded->failed, expanded->not_mapped);
  fprintf(file,
          "| cases | map to ops that exist here | pass | differ on purpose | fail | not mapped "
          "|\n|--:|--:|--:|--:|--:|--:|\n");
  fprintf(file, "| %d | %d | %d | %d | %d | %d |\n\n", total(all), total(all) - all->not_mapped, all->passed,
          all->known, all->failed, all->not_mapped);
  fprintf(file, "%.1f %% pass.\n\n", total(all) ? 100.0 * all->passed / total(all) : 0.0);
  fprintf(
      file,
      "Values are compared as ONNX does (relative 1e-3, absolute 1e-7; for Fourier transforms 1e-6 of the largest bin "
      "more),\n"
      "shapes and dtypes exactly, outputs drawn at random by shape and dtype only. Rank 0 is [1] here.\n\n"
      "The test `onnx_cases_test` writes this page with `--report` and compares it with `--page`; the mappings are in\n"
      "`import/onnx`.\n\n");
  fprintf(file, "| operator | cases | pass | differ | fail | not mapped |\n|---|--:|--:|--:|--:|--:|\n");
  for (size_t i = 0; i < counts->op_count; i++) {
    const Count *c = &counts->ops[i];
    fprintf(file, "| %s | %d | %d | %d | %d | %d |\n", c->op, total(c), c->passed, c->known, c->failed, c->not_mapped);
  }
  report_reasons(file, counts);
}

static bool report(const char *path, const Counts *counts, const char *stack) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  write_report(file, counts, stack);
  return fclose(file) == 0;
}

/* Whether the page is what a report would be now. */
static bool is_page(const char *path, const Counts *counts, const char *stack) {
  FILE *page = fopen(path, "r"), *now = tmpfile();
  bool same = page && now;
  if (now) {
    write_report(now, counts, stack);
    rewind(now);
  }
  while (same) {
    const int a = fgetc(page), b = fgetc(now);
    same = a == b;
    if (a == EOF) break;
  }
  if (page) fclose(page);
  if (now) fclose(now);
  if (!same) printf("%s is not what comes out now; write it again with --report\n", path);
  return same;
}

/* -- the run ---------------------------------------------------------------------------------- */

/* The next case of a suite in the list: its second column; false at the end. */
static bool next_case(FILE *list, const char *suite, char *name, size_t room) {
  char line[1024];
  while (fgets(line, sizeof line, list)) {
    const char *start = strchr(line, '\t'), *stop = start ? strchr(start + 1, '\t') : NULL;
    const bool of_suite = start && strncmp(line, suite, (size_t)(start - line)) == 0 && !suite[start - line];
    if (!of_suite || !stop || (size_t)(stop - start) > room) continue;
    snprintf(name, room, "%.*s", (int)(stop - start - 1), start + 1);
    return true;
  }
  return false;
}

static const char *option(int argc, char **argv, const char *name) {
  for (int i = 3; i + 1 < argc; i++) {
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return NULL;
}

static void run_all(BurnDevice *device, const char *folder, FILE *list, const char *suite, const char *only,
                    Counts *counts) {
  char name[256];
  while (next_case(list, suite ? suite : "node", name, sizeof name)) {
    if (only && strcmp(only, name) != 0) continue;
    const OnnxOutcome outcome = onnx_case_run(device, folder, name);
    if (only) printf("%s: %s %s\n", name, outcome.result == ONNX_PASSED ? "passed" : "not passed", outcome.reason);
    tally(counts, name, &outcome);
  }
  qsort(counts->ops, counts->op_count, sizeof counts->ops[0], by_name);
  qsort(counts->reasons, counts->reason_count, sizeof counts->reasons[0], by_name);
}

/* 0 if all is as it should be; says what is not. */
static int judge(const Counts *counts) {
  const Count *all = &counts->all;
  printf("%d cases: %d passed, %d known differences, %d failed, %d not mapped\n", total(all), all->passed, all->known,
         all->failed, all->not_mapped);
  const Count *expanded = &counts->expanded;
  printf("%d expanded cases: %d passed, %d failed, %d not mapped\n", total(expanded), expanded->passed,
         expanded->known + expanded->failed, expanded->not_mapped);
  if (total(expanded) != EXPANDED || expanded->passed < EXPANDED_PASSES) {
    printf("expected %d expanded cases, and %d of them to pass\n", EXPANDED, EXPANDED_PASSES);
    return 1;
  }
  if (expanded->failed > 0) return 1;
  if (total(all) != CASES) printf("expected %d cases\n", CASES);
  if (all->passed < PASSES) printf("expected %d to pass\n", PASSES);
  return total(all) != CASES || all->passed < PASSES || all->failed > 0 || counts->unexpected > 0;
}

static int judge_suite(const Counts *counts, const char *suite, const char *passes) {
  const Count *all = &counts->all;
  const int expected = passes ? atoi(passes) : 0;
  printf("%s: %d passed, %d expected, %d failed, %d not mapped\n", suite, all->passed, expected, all->failed,
         all->not_mapped);
  return all->passed != expected || expected == 0 || all->failed > 0;
}

int main(int argc, char **argv) {
  FILE *list = argc > 2 ? fopen(argv[2], "r") : NULL;
  if (!list) {
    printf("skipped: no list of cases %s\n", argc > 2 ? argv[2] : "(onnx_cases_test FOLDER CASES_TSV)");
    return SKIPPED;
  }
  const char *stack = getenv("BURN_BACKEND"), *only = option(argc, argv, "--case");
  const char *suite = option(argc, argv, "--suite"), *passes = option(argc, argv, "--passes");
  const char *file = option(argc, argv, "--report"), *page = option(argc, argv, "--page");
  BurnDevice *device = burn_device_open(stack && stack[0] ? stack : "ndarray");
  Counts *counts = calloc(1, sizeof *counts);
  int result = 1;
  if (burn_device_status(device) != BURN_OK) {
    printf("%s\n", burn_status_message(burn_device_status(device)));
  } else if (counts) {
    run_all(device, argv[1], list, suite, only, counts);
    result = suite  ? judge_suite(counts, suite, passes)
             : only ? counts->all.failed + counts->expanded.failed > 0
                    : judge(counts);
    if (file && !report(file, counts, burn_device_name(device))) result = 1;
    if (page && !is_page(page, counts, burn_device_name(device))) result = 1;
  }
  free(counts);
  burn_device_close(device);
  fclose(list);
  return result;
}
