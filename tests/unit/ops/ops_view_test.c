/* ops_view_test.c - views: other shapes, axes in another order, parts; see ops_case.h. */
#define OPS_GOLDEN "ops_view_golden.h"
#include "ops_golden.h"

/* The numbers as a list of dims; returns how many. */
static uint32_t all_dims(const OpsRun *run, int *dims) {
  for (size_t i = 0; i < run->number_count; i++) dims[i] = DIM(i);
  return (uint32_t)run->number_count;
}

typedef BurnTensor *(*OverDims)(BurnTensor *x, const int *dims, uint32_t count);

static BurnTensor *over_dims(OpsRun *run, OverDims op) {
  int dims[OPS_MAX_NUMBERS];
  const uint32_t count = all_dims(run, dims);
  return op(IN(0), dims, count);
}

/* The first half of the numbers are sources. */
static BurnTensor *movedims_by_numbers(OpsRun *run) {
  int dims[OPS_MAX_NUMBERS];
  const uint32_t count = all_dims(run, dims) / 2;
  return burn_movedims(IN(0), dims, dims + count, count);
}

static BurnTensor *permute_by_numbers(OpsRun *run) {
  int axes[OPS_MAX_NUMBERS];
  all_dims(run, axes);
  return burn_permute(IN(0), axes);
}

static BurnTensor *slice_by_numbers(OpsRun *run) {
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t count = ops_ranges(run, ranges);
  return burn_slice(IN(0), ranges, count);
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

static void split_with_sizes(OpsRun *run) {
  size_t needed = 0, count = 0;
  BurnTensor *x = IN(0);
  const size_t sizes = run->number_count - 1;
  const BurnStatus refused = burn_split_with_sizes(burn_clone(x), run->wholes + 1, sizes, DIM(0), NULL, 0, &needed);
  const BurnStatus status =
      burn_split_with_sizes(x, run->wholes + 1, sizes, DIM(0), run->outputs, OPS_MAX_TENSORS, &count);
  ops_check_count(status, count, refused, needed);
}

static void iter_dim(OpsRun *run) {
  size_t needed = 0, count = 0;
  BurnTensor *x = IN(0);
  const BurnStatus refused = burn_iter_dim(burn_clone(x), DIM(0), NULL, 0, &needed);
  const BurnStatus status = burn_iter_dim(x, DIM(0), run->outputs, OPS_MAX_TENSORS, &count);
  ops_check_count(status, count, refused, needed);
}

#define ROWS(OPS)                                                                                       \
  OPS(reshape, OUT(0) = burn_reshape(IN(0), ops_shape(run, 0)))                                         \
  OPS(flatten, OUT(0) = burn_flatten(IN(0), DIM(0), DIM(1)))                                            \
  OPS(squeeze, OUT(0) = burn_squeeze(IN(0)))                                                            \
  OPS(squeeze_dim, OUT(0) = burn_squeeze_dim(IN(0), DIM(0)))                                            \
  OPS(unsqueeze, OUT(0) = burn_unsqueeze(IN(0), (uint32_t)WHOLE(0)))                                    \
  OPS(unsqueeze_dim, OUT(0) = burn_unsqueeze_dim(IN(0), DIM(0)))                                        \
  OPS(transpose, OUT(0) = burn_transpose(IN(0)))                                                        \
  OPS(swap_dims, OUT(0) = burn_swap_dims(IN(0), DIM(0), DIM(1)))                                        \
  OPS(permute, OUT(0) = permute_by_numbers(run))                                                        \
  OPS(expand, OUT(0) = burn_expand(IN(0), ops_shape(run, 0)))                                           \
  OPS(slice, OUT(0) = slice_by_numbers(run))                                                            \
  OPS(narrow, OUT(0) = burn_narrow(IN(0), DIM(0), WHOLE(1), WHOLE(2)))                                  \
  OPS(select_dim, OUT(0) = burn_select_dim(IN(0), DIM(0), WHOLE(1)))                                    \
  OPS(split, cut_all(run, burn_split))                                                                  \
  OPS(chunk, cut_all(run, burn_chunk))                                                                  \
  OPS(squeeze_dims, OUT(0) = over_dims(run, burn_squeeze_dims))                                         \
  OPS(unsqueeze_dims, OUT(0) = over_dims(run, burn_unsqueeze_dims))                                     \
  OPS(movedim, OUT(0) = burn_movedim(IN(0), DIM(0), DIM(1)))                                            \
  OPS(movedims, OUT(0) = movedims_by_numbers(run))                                                      \
  OPS(flip, OUT(0) = over_dims(run, burn_flip))                                                         \
  OPS(slice_dim, OUT(0) = burn_slice_dim(IN(0), DIM(0), BURN_RANGE_STEP(WHOLE(1), WHOLE(2), WHOLE(3)))) \
  OPS(split_with_sizes, split_with_sizes(run))                                                          \
  OPS(iter_dim, iter_dim(run))

OPS_MAIN("views", ROWS)
