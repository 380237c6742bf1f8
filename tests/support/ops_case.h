/* ops_case.h - runs golden rows: every op, on several stacks, in several memory layouts, with owned and with shared
 * inputs.
 *
 * A test file has one OPS row per function: OPS(add, OUT(0) = burn_add(IN(0), IN(1))). The values stand in
 * tests/golden/ops_<family>_golden.h (written by make_ops_golden.py): all rows of the op "add" are run through that
 * line. IN(i) is input i (NULL where the row has "-"), NUMBER(i) and WHOLE(i) are its numbers, OUT(i) takes result i.
 *
 * The laws that every run checks: the expected dtype, shape and values; the same for views that are transposed or walk
 * backwards; inputs that somebody else holds stay as they were (clone invariance); no tensor is left over. */
#ifndef BURN_OPS_CASE_H
#define BURN_OPS_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/ops_optimizer.h>
#include <burn/plugin/plugin.h>

enum { OPS_MAX_TENSORS = 8, OPS_MAX_NUMBERS = 16 };

/* A row of the golden files. */
typedef struct OpsGolden {
  const char *op, *name;
  const char *inputs, *numbers, *outputs; /* texts, see make_ops_golden.py */
  double relative, absolute;              /* tolerance; both 0: equal bits */
} OpsGolden;

/* One run of a row: what an OPS line works with. */
typedef struct OpsRun {
  BurnDevice *device;
  const BurnHost *host;       /* for ops without a public function: of the stack below `device` */
  const BurnBackend *backend; /* likewise */
  BurnTensor *inputs[OPS_MAX_TENSORS];
  BurnTensor *outputs[OPS_MAX_TENSORS];
  size_t input_count, output_count;
  double numbers[OPS_MAX_NUMBERS];
  int64_t wholes[OPS_MAX_NUMBERS]; /* the same, rounded toward zero; "end" is BURN_END */
  size_t number_count;
  bool shared; /* inputs are cloned for the op and compared afterwards */
} OpsRun;

typedef struct OpsRow {
  const char *op;
  const char *code;
  void (*run)(OpsRun *run);
} OpsRow;

/* A family: its rows and its golden data. */
typedef struct OpsFamily {
  const char *name;
  const OpsRow *rows;
  size_t row_count;
  const OpsGolden *goldens;
  size_t golden_count;
  const char *const *texts; /* what "$k" stands for */
} OpsFamily;

/* Runs all rows; the result of main. Fails for golden rows without an OPS line and the other way round. */
int ops_run_family(const OpsFamily *family);

/* For OPS lines. */
BurnTensor *ops_input(OpsRun *run, size_t i);
double ops_number(const OpsRun *run, size_t i);
int64_t ops_integer(const OpsRun *run, size_t i);
BurnShape ops_shape(const OpsRun *run, size_t first);                    /* from the numbers from `first` on */
uint32_t ops_ranges(const OpsRun *run, BurnRange ranges[BURN_MAX_RANK]); /* triples start, end, step */
/* An op of ops.def by number, through host->invoke, for those that no public function reaches. Takes the inputs. */
BurnTensor *ops_raw(OpsRun *run, uint32_t op, BurnTensor *const *inputs, uint32_t count, const BurnAttr *attrs,
                    uint32_t attr_count);
/* The same with all results, as tensors of the stack; and that a list of results without room said how many it needs. */
void ops_call(OpsRun *run, uint32_t op, const BurnAttr *attrs, size_t attr_count);
void ops_check_count(BurnStatus status, size_t count, BurnStatus refused, size_t needed);
/* Takes both, which must have the same bits; returns the first. */
BurnTensor *ops_same(BurnTensor *x, BurnTensor *other);

#define IN(i) ops_input(run, i)
#define OUT(i) run->outputs[i]
#define NUMBER(i) ops_number(run, i)
#define WHOLE(i) ops_integer(run, i)
#define DIM(i) ((int)ops_integer(run, i))

#define OPS_FUNCTION(name, ...) \
  static void run_##name(OpsRun *run) { __VA_ARGS__; }
#define OPS_TABLE(name, ...) {#name, #__VA_ARGS__, run_##name},

/* Defines main for a table of OPS lines and a golden file's arrays. */
#define OPS_MAIN(family_name, ROWS)                                                                           \
  ROWS(OPS_FUNCTION)                                                                                          \
  static const OpsRow rows[] = {ROWS(OPS_TABLE)};                                                             \
  int main(void) {                                                                                            \
    const OpsFamily family = {                                                                                \
        family_name, rows, sizeof rows / sizeof rows[0], goldens, sizeof goldens / sizeof goldens[0], texts}; \
    return ops_run_family(&family);                                                                           \
  }

#endif
