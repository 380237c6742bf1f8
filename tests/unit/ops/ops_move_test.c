/* ops_move_test.c - axes, parts, margins, and elements by index and mask; see ops_case.h. */
#define OPS_GOLDEN "ops_move_golden.h"
#include "ops_golden.h"

/* Numbers `first` .. as a list of dims; returns how many. */
static uint32_t dims_from(const OpsRun *run, size_t first, size_t step, int *dims) {
  uint32_t count = 0;
  for (size_t i = first; i < run->number_count; i += step) dims[count++] = (int)run->wholes[i];
  return count;
}

typedef BurnTensor *(*OverDims)(BurnTensor *x, const int *dims, uint32_t count);

static BurnTensor *over_dims(OpsRun *run, OverDims op) {
  int dims[OPS_MAX_NUMBERS];
  const uint32_t count = dims_from(run, 0, 1, dims);
  return op(IN(0), dims, count);
}

/* The first half of the numbers are sources. */
static BurnTensor *movedims_by_numbers(OpsRun *run) {
  int dims[OPS_MAX_NUMBERS];
  const uint32_t count = dims_from(run, 0, 1, dims) / 2;
  return burn_movedims(IN(0), dims, dims + count, count);
}

/* Pairs of shift and dim. */
static BurnTensor *roll_by_numbers(OpsRun *run) {
  int dims[OPS_MAX_NUMBERS];
  int64_t shifts[OPS_MAX_NUMBERS];
  const uint32_t count = dims_from(run, 1, 2, dims);
  for (uint32_t i = 0; i < count; i++) shifts[i] = run->wholes[2 * i];
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

static BurnTensor *slice_by_numbers(OpsRun *run) {
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t count = ops_ranges(run, ranges);
  return burn_slice(IN(0), ranges, count);
}

static void check_count(BurnStatus status, size_t count, BurnStatus refused, size_t needed) {
  assert_string_equal(burn_status_message(status), "ok");
  if (needed > 0) assert_int_equal(burn_status_code(refused), BURN_STATUS_INVALID_ARGUMENT); /* there was no room */
  assert_int_equal(count, needed);
}

static void split_with_sizes(OpsRun *run) {
  size_t needed = 0, count = 0;
  BurnTensor *x = IN(0);
  const size_t sizes = run->number_count - 1;
  const BurnStatus refused = burn_split_with_sizes(burn_clone(x), run->wholes + 1, sizes, DIM(0), NULL, 0, &needed);
  const BurnStatus status =
      burn_split_with_sizes(x, run->wholes + 1, sizes, DIM(0), run->outputs, OPS_MAX_TENSORS, &count);
  check_count(status, count, refused, needed);
}

static void iter_dim(OpsRun *run) {
  size_t needed = 0, count = 0;
  BurnTensor *x = IN(0);
  const BurnStatus refused = burn_iter_dim(burn_clone(x), DIM(0), NULL, 0, &needed);
  const BurnStatus status = burn_iter_dim(x, DIM(0), run->outputs, OPS_MAX_TENSORS, &count);
  check_count(status, count, refused, needed);
}

static void nonzero(OpsRun *run) {
  size_t needed = 0, count = 0;
  BurnTensor *x = IN(0);
  const BurnStatus refused = burn_nonzero(burn_clone(x), NULL, 0, &needed);
  const BurnStatus status = burn_nonzero(x, run->outputs, OPS_MAX_TENSORS, &count);
  check_count(status, count, refused, needed);
}

#define DTYPE(i) ((BurnDType)WHOLE(i))

#define ROWS(OPS)                                                                                       \
  OPS(empty, OUT(0) = burn_empty(run->device, ops_shape(run, 1), DTYPE(0)))                             \
  OPS(empty_like, OUT(0) = burn_empty_like(IN(0)))                                                      \
  OPS(cartesian_grid, OUT(0) = burn_cartesian_grid(run->device, ops_shape(run, 0)))                     \
  OPS(triu_mask, OUT(0) = burn_triu_mask(run->device, ops_shape(run, 1), WHOLE(0)))                     \
  OPS(tril_mask, OUT(0) = burn_tril_mask(run->device, ops_shape(run, 1), WHOLE(0)))                     \
  OPS(diag_mask, OUT(0) = burn_diag_mask(run->device, ops_shape(run, 1), WHOLE(0)))                     \
  OPS(squeeze_dims, OUT(0) = over_dims(run, burn_squeeze_dims))                                         \
  OPS(unsqueeze_dims, OUT(0) = over_dims(run, burn_unsqueeze_dims))                                     \
  OPS(movedim, OUT(0) = burn_movedim(IN(0), DIM(0), DIM(1)))                                            \
  OPS(movedims, OUT(0) = movedims_by_numbers(run))                                                      \
  OPS(flip, OUT(0) = over_dims(run, burn_flip))                                                         \
  OPS(roll_dim, OUT(0) = burn_roll_dim(IN(0), WHOLE(0), DIM(1)))                                        \
  OPS(roll, OUT(0) = roll_by_numbers(run))                                                              \
  OPS(slice, OUT(0) = slice_by_numbers(run))                                                            \
  OPS(slice_dim, OUT(0) = burn_slice_dim(IN(0), DIM(0), BURN_RANGE_STEP(WHOLE(1), WHOLE(2), WHOLE(3)))) \
  OPS(slice_fill, OUT(0) = fill_by_numbers(run))                                                        \
  OPS(split_with_sizes, split_with_sizes(run))                                                          \
  OPS(iter_dim, iter_dim(run))                                                                          \
  OPS(repeat_dim, OUT(0) = burn_repeat_dim(IN(0), DIM(0), WHOLE(1)))                                    \
  OPS(unfold, OUT(0) = burn_unfold(IN(0), DIM(0), WHOLE(1), WHOLE(2)))                                  \
  OPS(pad, OUT(0) = pad_by_numbers(run))                                                                \
  OPS(select_assign, OUT(0) = burn_select_assign(IN(0), DIM(0), IN(1), IN(2), WHOLE(1)))                \
  OPS(scatter, OUT(0) = burn_scatter(IN(0), DIM(0), IN(1), IN(2), WHOLE(1)))                            \
  OPS(gather_nd, OUT(0) = burn_gather_nd(IN(0), IN(1)))                                                 \
  OPS(scatter_nd, OUT(0) = burn_scatter_nd(IN(0), IN(1), IN(2), WHOLE(0)))                              \
  OPS(take, OUT(0) = burn_take(IN(0), DIM(0), IN(1)))                                                   \
  OPS(mask_select, OUT(0) = burn_mask_select(IN(0), IN(1)))                                             \
  OPS(argwhere, OUT(0) = burn_argwhere(IN(0)))                                                          \
  OPS(nonzero, nonzero(run))                                                                            \
  OPS(one_hot, OUT(0) = burn_one_hot(IN(0), WHOLE(0)))                                                  \
  OPS(one_hot_fill, OUT(0) = burn_one_hot_fill(IN(0), WHOLE(0), NUMBER(1), NUMBER(2), DIM(3)))

OPS_MAIN("moving and indexing", ROWS)
