/* ops_shape_test.c - creation, views, parts and joins; see ops_case.h. */
#define OPS_GOLDEN "ops_shape_golden.h"
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

typedef BurnStatus (*Cut)(BurnTensor *x, int64_t number, int dim, BurnTensor **parts, size_t capacity, size_t *count);

/* The parts are the results; one place too few must fail and say how many are needed. */
static void cut_all(OpsRun *run, Cut cut) {
  size_t needed = 0, count = 0;
  BurnTensor *x = IN(0), *none[1] = {NULL};
  const BurnStatus refused = cut(burn_clone(x), WHOLE(0), DIM(1), none, 0, &needed);
  assert_int_equal(burn_status_code(refused), BURN_STATUS_INVALID_ARGUMENT);
  const BurnStatus status = cut(x, WHOLE(0), DIM(1), run->outputs, OPS_MAX_TENSORS, &count);
  assert_string_equal(burn_status_message(status), "ok");
  assert_int_equal(count, needed);
}

static BurnTensor *permute_by_numbers(OpsRun *run) {
  int axes[BURN_MAX_RANK];
  for (size_t i = 0; i < run->number_count; i++) axes[i] = DIM(i);
  return burn_permute(IN(0), axes);
}

static BurnTensor *slice_by_numbers(OpsRun *run) {
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t count = ops_ranges(run, ranges);
  return burn_slice(IN(0), ranges, count);
}

static BurnTensor *assign_by_numbers(OpsRun *run) {
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t count = ops_ranges(run, ranges);
  return burn_slice_assign(IN(0), ranges, count, IN(1));
}

#define DTYPE(i) ((BurnDType)WHOLE(i))

#define ROWS(OPS)                                                                    \
  OPS(zeros, OUT(0) = burn_zeros(run->device, ops_shape(run, 1), DTYPE(0)))          \
  OPS(ones, OUT(0) = burn_ones(run->device, ops_shape(run, 1), DTYPE(0)))            \
  OPS(full, OUT(0) = burn_full(run->device, ops_shape(run, 2), DTYPE(0), NUMBER(1))) \
  OPS(zeros_like, OUT(0) = burn_zeros_like(IN(0)))                                   \
  OPS(ones_like, OUT(0) = burn_ones_like(IN(0)))                                     \
  OPS(full_like, OUT(0) = burn_full_like(IN(0), NUMBER(0)))                          \
  OPS(arange, OUT(0) = burn_arange(run->device, WHOLE(0), WHOLE(1), WHOLE(2)))       \
  OPS(eye, OUT(0) = burn_eye(run->device, WHOLE(1), DTYPE(0)))                       \
  OPS(reshape, OUT(0) = burn_reshape(IN(0), ops_shape(run, 0)))                      \
  OPS(flatten, OUT(0) = burn_flatten(IN(0), DIM(0), DIM(1)))                         \
  OPS(squeeze, OUT(0) = burn_squeeze(IN(0)))                                         \
  OPS(squeeze_dim, OUT(0) = burn_squeeze_dim(IN(0), DIM(0)))                         \
  OPS(unsqueeze, OUT(0) = burn_unsqueeze(IN(0), (uint32_t)WHOLE(0)))                 \
  OPS(unsqueeze_dim, OUT(0) = burn_unsqueeze_dim(IN(0), DIM(0)))                     \
  OPS(transpose, OUT(0) = burn_transpose(IN(0)))                                     \
  OPS(swap_dims, OUT(0) = burn_swap_dims(IN(0), DIM(0), DIM(1)))                     \
  OPS(permute, OUT(0) = permute_by_numbers(run))                                     \
  OPS(expand, OUT(0) = burn_expand(IN(0), ops_shape(run, 0)))                        \
  OPS(slice, OUT(0) = slice_by_numbers(run))                                         \
  OPS(slice_assign, OUT(0) = assign_by_numbers(run))                                 \
  OPS(narrow, OUT(0) = burn_narrow(IN(0), DIM(0), WHOLE(1), WHOLE(2)))               \
  OPS(select_dim, OUT(0) = burn_select_dim(IN(0), DIM(0), WHOLE(1)))                 \
  OPS(split, cut_all(run, burn_split))                                               \
  OPS(chunk, cut_all(run, burn_chunk))                                               \
  OPS(cat, OUT(0) = cat_all(run))                                                    \
  OPS(stack, OUT(0) = stack_all(run))                                                \
  OPS(repeat_dim, OUT(0) = burn_repeat_dim(IN(0), DIM(0), WHOLE(1)))                 \
  OPS(repeat, OUT(0) = burn_repeat(IN(0), run->wholes))                              \
  OPS(triu, OUT(0) = burn_triu(IN(0), WHOLE(0)))                                     \
  OPS(tril, OUT(0) = burn_tril(IN(0), WHOLE(0)))

OPS_MAIN("creation and shape", ROWS)
