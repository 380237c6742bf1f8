/* ops_move.h - tensor ops that move, index, pad, sort and run along an axis; part of burn/ops.h, whose rules hold here.
 *
 * Lists of dims may hold negative ones. Nothing here falls back to another dtype: empty results keep that of their
 * input (Burn gives the device default for empty slices and zero repeats). */
#ifndef BURN_OPS_MOVE_H
#define BURN_OPS_MOVE_H

#include <burn/plugin/op.h>
#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* A range along one axis: start up to but not including end; negative bounds count from the end of the axis, bounds
 * beyond it are clamped. A negative step walks the selected range backwards: 0..5 with step -1 gives elements 4, 3, 2,
 * 1, 0. */
typedef struct BurnRange {
  int64_t start;
  int64_t end;  /* BURN_END: to the end */
  int64_t step; /* not 0 */
} BurnRange;
#define BURN_END INT64_MAX
#define BURN_RANGE(start, end) BURN_INTERNAL_VALUE(BurnRange, (start), (end), 1)
#define BURN_RANGE_STEP(start, end, step) BURN_INTERNAL_VALUE(BurnRange, (start), (end), (step))
#define BURN_RANGE_ALL BURN_INTERNAL_VALUE(BurnRange, 0, BURN_END, 1)

/* -- create ----------------------------------------------------------------------------------- */

/* Elements with undefined values. [FIB] */
BURN_API BURN_GIVES BurnTensor *burn_empty(BurnDevice *device, BurnShape shape, BurnDType dtype);
/* The same, and random values, with shape, dtype and device of x; see burn_random_uniform and its siblings. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_empty_like(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_random_uniform_like(BurnTensor *x, double low, double high);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_random_uniform_like_i64(BurnTensor *x, int64_t low, int64_t high);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_random_normal_like(BurnTensor *x, double mean, double std);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_random_bernoulli_like(BurnTensor *x, double prob);
/* [shape.., rank of shape], default int dtype: element [i, j, ..] is the tuple i, j, .. */
BURN_API BURN_GIVES BurnTensor *burn_cartesian_grid(BurnDevice *device, BurnShape shape);
/* Bool masks over the last two axes, for burn_mask_fill: false on the upper triangle (column - row >= offset), the
 * lower one (<=) or the diagonal (==), which stay as they are; true everywhere else. Rank 2 or more. */
BURN_API BURN_GIVES BurnTensor *burn_triu_mask(BurnDevice *device, BurnShape shape, int64_t offset);
BURN_API BURN_GIVES BurnTensor *burn_tril_mask(BurnDevice *device, BurnShape shape, int64_t offset);
BURN_API BURN_GIVES BurnTensor *burn_diag_mask(BurnDevice *device, BurnShape shape, int64_t offset);

/* -- shape and order of axes ------------------------------------------------------------------ */

/* Drops the given axes, which have size 1; all such axes if count is 0. The last axis left is never dropped: giving all
 * is an error, count 0 keeps one. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_squeeze_dims(BurnTensor *x, const int *dims, uint32_t count);
/* Adds axes of size 1; dims are those of the result. A dim given again stands for the next place, a negative one for
 * the one before: {0, -1, -1} makes [1,3,4,1,1] of [3,4]. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_unsqueeze_dims(BurnTensor *x, const int *dims, uint32_t count);
/* Axis `source` becomes axis `destination`, or sources[i] becomes destinations[i]; the others keep their order. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_movedim(BurnTensor *x, int source, int destination);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_movedims(BurnTensor *x, const int *sources, const int *destinations,
                                                            uint32_t count);
/* Elements backwards along the given axes, each of them once. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_flip(BurnTensor *x, const int *dims, uint32_t count);
/* Elements shifted along an axis towards lower places, or shifts[i] along dims[i]; what leaves at one end comes in at
 * the other: 0 1 2 3 4 5 by 2 is 2 3 4 5 0 1. As in Burn; PyTorch's roll goes the other way. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_roll_dim(BurnTensor *x, int64_t shift, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_roll(BurnTensor *x, const int64_t *shifts, const int *dims,
                                                        uint32_t count);

/* -- parts and margins ------------------------------------------------------------------------ */

/* burn_slice along one axis. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_slice_dim(BurnTensor *x, int dim, BurnRange range);
/* x with the part in the ranges replaced by a value; see burn_slice. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_slice_fill(BurnTensor *x, const BurnRange *ranges, uint32_t count,
                                                              double value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_slice_fill_i64(BurnTensor *x, const BurnRange *ranges,
                                                                  uint32_t count, int64_t value);
/* Parts as in burn_split: of the given sizes, which sum to the axis and of which zeros give no part; or of size 1. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus
    burn_split_with_sizes(BurnTensor *x, const int64_t *sizes, size_t size_count, int dim, BurnTensor **parts,
                          size_t capacity, size_t *count);
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus
    burn_iter_dim(BurnTensor *x, int dim, BurnTensor **parts, size_t capacity, size_t *count);
/* Windows of `size` along dim, `step` apart: floor((n - size) / step) + 1 of them on that axis (none if n < size),
 * their elements on a new last axis. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_unfold(BurnTensor *x, int dim, int64_t size, int64_t step);
/* x with margins: `pairs` pairs of (before, after) for the last axes, in the order of axes. mode is BURN_PAD_CONSTANT
 * (of value), BURN_PAD_REFLECT (margins smaller than the axis) or BURN_PAD_EDGE. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_pad(BurnTensor *x, const int64_t *padding, uint32_t pairs,
                                                       int64_t mode, double value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_pad_i64(BurnTensor *x, const int64_t *padding, uint32_t pairs,
                                                           int64_t mode, int64_t value);

/* -- by index and mask ------------------------------------------------------------------------ */

/* x with the rows of values put along dim at the rank-1 indices. update is BURN_UPDATE_ASSIGN, _ADD, _MUL, _MIN or
 * _MAX; values for one row are applied in the order of the indices, so the last one assigned stays (Burn leaves that
 * open). Bool has ASSIGN, ADD (or) and MUL (and). All modes have gradients; min and max send theirs to the first hit.
 * [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1, 3, 4) BurnTensor *burn_select_assign(BurnTensor *x, int dim, BurnTensor *indices,
                                                                       BurnTensor *values, int64_t update);
/* The same with values (shaped like indices) put at indices along dim; see burn_gather for the shapes. */
BURN_API BURN_GIVES BURN_TAKES(1, 3, 4) BurnTensor *burn_scatter(BurnTensor *x, int dim, BurnTensor *indices,
                                                                 BurnTensor *values, int64_t update);
/* indices [.., k] are tuples that address the k leading axes: the result is [.., further axes of x]. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_gather_nd(BurnTensor *x, BurnTensor *indices);
/* x with values, shaped like the result of burn_gather_nd, put there; update as in burn_select_assign. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_scatter_nd(BurnTensor *x, BurnTensor *indices,
                                                                    BurnTensor *values, int64_t update);
/* burn_select with indices of any rank: their axes stand where dim was. */
BURN_API BURN_GIVES BURN_TAKES(1, 3) BurnTensor *burn_take(BurnTensor *x, int dim, BurnTensor *indices);
/* Elements where the bool mask, of x's shape, is true: rank 1, row-major order. Waits for the mask's values. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_mask_select(BurnTensor *x, BurnTensor *mask);
/* Where the bool tensor x is true, in row-major order and the default int dtype; they wait for its values. argwhere:
 * [n, rank] of tuples, [0, rank] if none is. nonzero: one rank-1 tensor per axis, in indices[0 .. *count-1], as in
 * burn_split; no tensors if nothing is true. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_argwhere(BurnTensor *x);
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus
    burn_nonzero(BurnTensor *x, BurnTensor **indices, size_t capacity, size_t *count);
/* A new axis with `classes` elements (the last, or `axis` of the result), of x's dtype: on where the class is the
 * integer in x, else off. Negative ones count from `classes`; others outside are an error. one_hot: 1 and 0, at least 2
 * classes. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_one_hot(BurnTensor *x, int64_t classes);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_one_hot_fill(BurnTensor *x, int64_t classes, double on, double off,
                                                                int axis);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_one_hot_fill_i64(BurnTensor *x, int64_t classes, int64_t on,
                                                                    int64_t off, int axis);

/* -- running along an axis [FI] --------------------------------------------------------------- */

/* Element i is the sum, product, smallest or largest of elements 0 .. i; a NaN stays from its position on. The gradient
 * of cumprod is right with zeros, that of cummin and cummax goes to the last place of the extreme so far. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cumsum(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cumprod(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cummin(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cummax(BurnTensor *x, int dim);

/* -- sorting [FI]: floats in IEEE total order, -NaN < -inf < .. < -0 < +0 < .. < +inf < +NaN; equal ones keep their
 * order, also when descending; indices have the default int dtype. (On x86, 0.0 / 0.0 is a negative NaN.) */

BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_argsort(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_argsort_descending(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sort(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sort_descending(BurnTensor *x, int dim);
/* Sorted, and in *indices (the caller's; a failed tensor after a failure) where the elements were. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sort_with_indices(BurnTensor *x, int dim, BurnTensor **indices);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sort_descending_with_indices(BurnTensor *x, int dim,
                                                                                BurnTensor **indices);
/* The k largest along dim, largest first; k is 1 .. size of the axis (Burn's argtopk refuses k = size). */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_topk(BurnTensor *x, int64_t k, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_topk_with_indices(BurnTensor *x, int64_t k, int dim,
                                                                     BurnTensor **indices);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_argtopk(BurnTensor *x, int64_t k, int dim);

/* -- reductions along several axes, which stay with size 1 [FI] ------------------------------- */

/* One axis after the other: means of ints truncate each time, as in Burn. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sum_dims(BurnTensor *x, const int *dims, uint32_t count);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_mean_dims(BurnTensor *x, const int *dims, uint32_t count);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_prod_dims(BurnTensor *x, const int *dims, uint32_t count);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_dims(BurnTensor *x, const int *dims, uint32_t count);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_min_dims(BurnTensor *x, const int *dims, uint32_t count);
/* The axes are dropped afterwards; count 0 leaves x as it is, all of them leave [1]. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sum_dims_squeeze(BurnTensor *x, const int *dims, uint32_t count);
/* The largest absolute value of all ([1]), along an axis, along several. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_abs(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_abs_dim(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_abs_dims(BurnTensor *x, const int *dims, uint32_t count);
/* [n] and [n] -> [1]: sum of lhs * rhs. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_dot(BurnTensor *lhs, BurnTensor *rhs);

BURN_EXTERN_C_END

#endif
