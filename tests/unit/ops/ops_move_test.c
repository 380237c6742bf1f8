/* ops_move_test.c - ops that move elements: joins, repetitions, parts that are written, triangles, windows, margins; see ops_case.h. */
#define OPS_GOLDEN "ops_move_golden.h"
#include "ops_golden.h"

/* Inputs 0 .. as a list. */
static size_t take_all(OpsRun *run, BurnTensor **tensors) {
  for (size_t i = 0; i < run->input_count; i++) tensors[i] = IN(i);
  return run->input_count;
}

static BurnTensor *cat_all(OpsRun *run) {
  BurnTensor *tensors[OPS_MAX_TENSORS];
  const size_t count = take_all(run, tensors);
  return burn_cat(tensors, count, DIM(0));
}

static BurnTensor *stack_all(OpsRun *run) {
  BurnTensor *tensors[OPS_MAX_TENSORS];
  const size_t count = take_all(run, tensors);
  return burn_stack(tensors, count, DIM(0));
}

static BurnTensor *assign_by_numbers(OpsRun *run) {
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t count = ops_ranges(run, ranges);
  return burn_slice_assign(IN(0), ranges, count, IN(1));
}

/* Pairs of shift and dim. */
static BurnTensor *roll_by_numbers(OpsRun *run) {
  int dims[OPS_MAX_NUMBERS];
  int64_t shifts[OPS_MAX_NUMBERS];
  const uint32_t count = (uint32_t)run->number_count / 2;
  for (uint32_t i = 0; i < count; i++) {
    shifts[i] = WHOLE(2 * i);
    dims[i] = DIM(2 * i + 1);
  }
  return burn_roll(IN(0), shifts, dims, count);
}

/* The value, then triples. */
static BurnTensor *fill_by_numbers(OpsRun *run) {
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t count = (uint32_t)(run->number_count - 1) / 3;
  for (uint32_t i = 0; i < count; i++)
    ranges[i] = BURN_RANGE_STEP(WHOLE(3 * i + 1), WHOLE(3 * i + 2), WHOLE(3 * i + 3));
  return burn_slice_fill(IN(0), ranges, count, NUMBER(0));
}

/* Mode, value, pairs. */
static BurnTensor *pad_by_numbers(OpsRun *run) {
  return burn_pad(IN(0), run->wholes + 2, (uint32_t)(run->number_count - 2) / 2, WHOLE(0), NUMBER(1));
}

#define ROWS(OPS)                                                      \
  OPS(slice_assign, OUT(0) = assign_by_numbers(run))                   \
  OPS(cat, OUT(0) = cat_all(run))                                      \
  OPS(stack, OUT(0) = stack_all(run))                                  \
  OPS(repeat_dim, OUT(0) = burn_repeat_dim(IN(0), DIM(0), WHOLE(1)))   \
  OPS(repeat, OUT(0) = burn_repeat(IN(0), run->wholes))                \
  OPS(triu, OUT(0) = burn_triu(IN(0), WHOLE(0)))                       \
  OPS(tril, OUT(0) = burn_tril(IN(0), WHOLE(0)))                       \
  OPS(roll_dim, OUT(0) = burn_roll_dim(IN(0), WHOLE(0), DIM(1)))       \
  OPS(roll, OUT(0) = roll_by_numbers(run))                             \
  OPS(slice_fill, OUT(0) = fill_by_numbers(run))                       \
  OPS(unfold, OUT(0) = burn_unfold(IN(0), DIM(0), WHOLE(1), WHOLE(2))) \
  OPS(pad, OUT(0) = pad_by_numbers(run))

OPS_MAIN("moving", ROWS)
