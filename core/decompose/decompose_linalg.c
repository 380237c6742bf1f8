/* decompose_linalg.c - determinant, LU and QR of batches of matrices, written with other ops; see decompose_internal.h
 * for the rules. They loop over columns on the host, but never look at values: pivots are found by argmax and rows
 * exchanged by gather. */
#include "decompose_internal.h"

static int64_t rows_of(const BurnPrimitive *x) { return x->shape[x->rank - 2]; }
static int64_t columns_of(const BurnPrimitive *x) { return x->shape[x->rank - 1]; }

/* Rows from `start`, columns from `start` of matrices; NULL after a failure. */
static BurnPrimitive *rows(BurnBuilder *b, BurnPrimitive *x, int64_t start, int64_t count) {
  return x ? range(b, x, (int64_t)x->rank - 2, start, count) : NULL;
}
static BurnPrimitive *columns(BurnBuilder *b, BurnPrimitive *x, int64_t start, int64_t count) {
  return x ? range(b, x, last_axis(x), start, count) : NULL;
}

/* `like`'s shape with other rows and columns, every element value. */
static BurnPrimitive *filled(BurnBuilder *b, const BurnPrimitive *like, int64_t row_count, int64_t column_count,
                             double value) {
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < like->rank; i++) shape[i] = like->shape[i];
  shape[like->rank - 2] = row_count;
  shape[like->rank - 1] = column_count;
  return burn_build_full(b, shape, like->rank, at_least_f32(like->dtype), value);
}

/* A vector as the rows (down) or columns of matrices of this rank. */
static BurnPrimitive *counted(BurnBuilder *b, uint32_t rank, int64_t count, bool down) {
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) shape[i] = 1;
  shape[down ? rank - 2 : rank - 1] = count;
  return burn_build_reshape(b, arange(b, count, 0), shape, rank);
}

/* -- LU --------------------------------------------------------------------------------------- */

enum { PACKED = 0, ORDER, SIGN, FACTORS }; /* what goes from turn to turn */

/* x [.., count, w] with its rows taken from where order [.., count, 1] says. */
static BurnPrimitive *reordered(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *order) {
  if (!x || !order) return NULL;
  BurnPrimitive *wide = burn_build_expand(b, order, x->shape, x->rank);
  return burn_build_dim2(b, BURN_OP_gather, x, wide, (int64_t)x->rank - 2);
}

/* The rows 0 .. count-1 with k and the pivot's [.., 1, 1] exchanged. */
static BurnPrimitive *exchange(BurnBuilder *b, const BurnPrimitive *x, BurnPrimitive *pivot, int64_t k) {
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) shape[i] = x->shape[i];
  shape[x->rank - 1] = 1;
  BurnPrimitive *row = burn_build_expand(b, counted(b, x->rank, rows_of(x), true), shape, x->rank);
  BurnPrimitive *is_pivot = burn_build_op2(b, BURN_OP_equal, row, pivot);
  BurnPrimitive *is_k = burn_build_scalar(b, BURN_OP_equal_scalar, row, (double)k);
  return burn_build_op3(b, BURN_OP_mask_where, masked(b, row, is_pivot, (double)k), is_k, pivot);
}

/* Column k below the diagonal divided by the pivot, and what it takes off the columns to its right. A pivot of 0 has
 * only zeros below it, which it leaves as they are. */
static BurnPrimitive *eliminated(BurnBuilder *b, BurnPrimitive *x, int64_t k) {
  if (!x || k + 1 == rows_of(x)) return x;
  const int64_t below = rows_of(x) - k - 1, right = columns_of(x) - k - 1;
  const int64_t dim = last_axis(x);
  BurnPrimitive *top = rows(b, x, k, 1), *rest = rows(b, x, k + 1, below);
  BurnPrimitive *pivot = columns(b, top, k, 1);
  pivot = masked(b, pivot, burn_build_scalar(b, BURN_OP_equal_scalar, pivot, 0), 1);
  BurnPrimitive *parts[3];
  int64_t count = 0;
  if (k > 0) parts[count++] = columns(b, rest, 0, k);
  BurnPrimitive *factors = parts[count++] = burn_build_div(b, columns(b, rest, k, 1), pivot);
  if (right > 0) {
    BurnPrimitive *taken = burn_build_op2(b, BURN_OP_matmul, factors, columns(b, top, k + 1, right));
    parts[count++] = burn_build_sub(b, columns(b, rest, k + 1, right), taken);
  }
  BurnPrimitive *const halves[] = {rows(b, x, 0, k + 1), joined(b, parts, count, dim)};
  return joined(b, halves, 2, dim - 1);
}

/* One column: the row with the largest element comes up, and the column below it is eliminated. */
static void lu_turn(BurnBuilder *builder, BurnPrimitive **kept, int64_t k) {
  BurnBuilder turn = burn__builder_within(builder), *b = &turn;
  BurnPrimitive *x = kept[PACKED];
  BurnPrimitive *below = one(b, BURN_OP_abs, columns(b, rows(b, x, k, rows_of(x) - k), k, 1));
  BurnPrimitive *pivot = plus(b, burn_build_dim(b, BURN_OP_argmax, below, (int64_t)x->rank - 2), (double)k);
  BurnPrimitive *order = exchange(b, x, pivot, k);
  BurnPrimitive *moved = burn_build_cast(b, burn_build_scalar(b, BURN_OP_not_equal_scalar, pivot, (double)k), x->dtype);
  BurnPrimitive *turned = plus(b, scaled(b, moved, -2), 1); /* -1 for an exchange, else 1 */
  BurnPrimitive *const next[FACTORS] = {eliminated(b, reordered(b, x, order), k), reordered(b, kept[ORDER], order),
                                        burn_build_mul(b, kept[SIGN], turned)};
  end_turn(builder, b, kept, next, FACTORS);
}

/* x [.., m, n] as L below and U on and above the diagonal; the row of x that came to each place, i64 [.., m, 1]; and
 * the sign of that permutation [.., 1, 1]. Entries are NULL after a failure. */
static void factorise(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *factors[FACTORS]) {
  const int64_t row_count = rows_of(x), column_count = columns_of(x),
                steps = row_count < column_count ? row_count : column_count;
  int64_t shape[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) shape[i] = x->shape[i];
  shape[x->rank - 1] = 1;
  BurnPrimitive *order = burn_build_expand(b, counted(b, x->rank, row_count, true), shape, x->rank);
  factors[PACKED] = burn_build_give(b, in_dtype(b, x, at_least_f32(x->dtype)));
  factors[ORDER] = burn_build_give(b, order);
  factors[SIGN] = burn_build_give(b, filled(b, x, 1, 1, 1));
  for (int64_t k = 0; k < steps && b->status == BURN_OK; k++) lu_turn(b, factors, k);
  for (int i = 0; i < FACTORS; i++) factors[i] = burn_build_own(b, factors[i]);
}

static BurnPrimitive *triangle(BurnBuilder *b, uint32_t op, BurnPrimitive *x, int64_t diagonal) {
  return burn_build_dim(b, op, x, diagonal); /* one integer attribute, as a dim is */
}

/* x = P L U, where row i of L U is row order[i] of x: P[r, i] is 1 where r = order[i]. */
DECOMPOSE(lu) {
  BurnPrimitive *x = call->inputs[0], *factors[FACTORS];
  const int64_t row_count = rows_of(x), column_count = columns_of(x),
                least = row_count < column_count ? row_count : column_count;
  factorise(builder, x, factors);
  BurnPrimitive *placed = burn_build_op2(builder, BURN_OP_equal, counted(builder, x->rank, row_count, true),
                                         burn_build_transpose(builder, factors[ORDER]));
  out[0] = burn_build_cast(builder, placed, x->dtype);
  BurnPrimitive *lower = triangle(builder, BURN_OP_tril, columns(builder, factors[PACKED], 0, least), -1);
  const int64_t square[] = {row_count, least};
  BurnPrimitive *diagonal = burn_build_op2(builder, BURN_OP_equal, counted(builder, x->rank, square[0], true),
                                           counted(builder, x->rank, square[1], false));
  out[1] = in_dtype(builder, masked(builder, lower, diagonal, 1), x->dtype);
  BurnPrimitive *upper = triangle(builder, BURN_OP_triu, rows(builder, factors[PACKED], 0, least), 0);
  out[2] = in_dtype(builder, upper, x->dtype);
}

/* -- determinant ------------------------------------------------------------------------------ */

static BurnPrimitive *element(BurnBuilder *b, BurnPrimitive *x, int64_t row, int64_t column) {
  return columns(b, rows(b, x, row, 1), column, 1);
}
/* Of rows `top` and `top` + 1, columns i and j. */
static BurnPrimitive *minor_of(BurnBuilder *b, BurnPrimitive *x, int64_t top, int64_t i, int64_t j) {
  return burn_build_sub(b, burn_build_mul(b, element(b, x, top, i), element(b, x, top + 1, j)),
                        burn_build_mul(b, element(b, x, top, j), element(b, x, top + 1, i)));
}
static BurnPrimitive *det_3(BurnBuilder *b, BurnPrimitive *x) {
  BurnPrimitive *first = burn_build_mul(b, element(b, x, 0, 0), minor_of(b, x, 1, 1, 2));
  BurnPrimitive *second = burn_build_mul(b, element(b, x, 0, 1), minor_of(b, x, 1, 0, 2));
  BurnPrimitive *third = burn_build_mul(b, element(b, x, 0, 2), minor_of(b, x, 1, 0, 1));
  return burn_build_add(b, burn_build_sub(b, first, second), third);
}

/* The product of the pivots. Where one is about 0 all of them are replaced first, so that no gradient divides by it. */
static BurnPrimitive *det_by_lu(BurnBuilder *b, BurnPrimitive *x) {
  BurnPrimitive *factors[FACTORS];
  const int64_t count = rows_of(x), dim = last_axis(x);
  factorise(b, x, factors);
  BurnPrimitive *diagonal =
      burn_build_op2(b, BURN_OP_equal, counted(b, x->rank, count, true), counted(b, x->rank, count, false));
  BurnPrimitive *off = one(b, BURN_OP_bool_not, diagonal);
  BurnPrimitive *pivots = burn_build_dim(b, BURN_OP_sum_dim, masked(b, factors[PACKED], off, 0), dim);
  const double least = x->dtype == BURN_DTYPE_F64 ? 1e-10 : 1e-5;
  BurnPrimitive *small = burn_build_scalar(b, BURN_OP_lower_equal_scalar, one(b, BURN_OP_abs, pivots), least);
  BurnPrimitive *singular = burn_build_dim(b, BURN_OP_any_dim, small, dim - 1);
  BurnPrimitive *product = burn_build_dim(b, BURN_OP_prod_dim, masked(b, pivots, singular, 1), dim - 1);
  return masked(b, burn_build_mul(b, product, factors[SIGN]), singular, 0);
}

DECOMPOSE(det) {
  const int64_t count = columns_of(call->inputs[0]);
  BurnPrimitive *x = in_dtype(builder, call->inputs[0], at_least_f32(call->inputs[0]->dtype));
  if (!x) return;
  BurnPrimitive *result = count == 0   ? filled(builder, x, 1, 1, 1)
                          : count == 1 ? x
                          : count == 2 ? minor_of(builder, x, 0, 0, 1)
                          : count == 3 ? det_3(builder, x)
                                       : det_by_lu(builder, x);
  result = burn_build_reshape(builder, result, call->output_descs[0].shape, call->output_descs[0].rank);
  out[0] = in_dtype(builder, result, call->inputs[0]->dtype);
}

/* -- QR by Householder reflections ------------------------------------------------------------ */

/* H = I - tau w w^T with w = (1, tail) makes the first column (-sign(x0) |x|, 0, ..); sign(0) is 1. */
typedef struct Reflection {
  BurnPrimitive *tau;  /* [.., 1, 1]; 0 for a column of zeros */
  BurnPrimitive *tail; /* [.., rows - 1, 1]; NULL if there is one row */
} Reflection;

/* The column is divided by its largest element first, so that no square leaves the range of the dtype. */
static Reflection reflection(BurnBuilder *b, BurnPrimitive *x) {
  const int64_t dim = (int64_t)x->rank - 2, count = rows_of(x);
  BurnPrimitive *column = columns(b, x, 0, 1);
  BurnPrimitive *scale = burn_build_dim(b, BURN_OP_max_dim, one(b, BURN_OP_abs, column), dim);
  BurnPrimitive *zero = burn_build_scalar(b, BURN_OP_equal_scalar, scale, 0);
  BurnPrimitive *unit = burn_build_div(b, column, masked(b, scale, zero, 1));
  BurnPrimitive *total = burn_build_dim(b, BURN_OP_sum_dim, burn_build_mul(b, unit, unit), dim);
  BurnPrimitive *norm = one(b, BURN_OP_sqrt, masked(b, total, zero, 1));
  BurnPrimitive *first = rows(b, unit, 0, 1);
  BurnPrimitive *negative = burn_build_scalar(b, BURN_OP_lower_scalar, first, 0);
  norm = burn_build_op3(b, BURN_OP_mask_where, norm, negative, one(b, BURN_OP_neg, norm));
  BurnPrimitive *divisor = burn_build_add(b, first, norm);
  BurnPrimitive *tau = masked(b, burn_build_div(b, divisor, norm), zero, 0);
  return (Reflection){tau, count > 1 ? burn_build_div(b, rows(b, unit, 1, count - 1), divisor) : NULL};
}

/* tau times the sum of `first` and the product; an absent product counts as 0. */
static BurnPrimitive *weighted(BurnBuilder *b, const Reflection *h, BurnPrimitive *first, BurnPrimitive *product) {
  return burn_build_mul(b, product ? burn_build_add(b, first, product) : first, h->tau);
}
static BurnPrimitive *product_of(BurnBuilder *b, BurnPrimitive *lhs, BurnPrimitive *rhs) {
  return burn_build_op2(b, BURN_OP_matmul, lhs, rhs);
}

/* What goes from turn to turn: the parts that further reflections change; and what came out of the last turn. */
enum { LEFT_OF_R = 0, LEFT_OF_Q, ROW, COLUMN, KEPT };

/* One reflection H: the first row of H R is a row of the result, and the first column of Q H one of its columns. */
static void qr_turn(BurnBuilder *builder, BurnPrimitive **kept) {
  BurnBuilder turn = burn__builder_within(builder), *b = &turn;
  BurnPrimitive *r = kept[LEFT_OF_R], *q = kept[LEFT_OF_Q], *next[KEPT] = {NULL};
  const int64_t below = rows_of(r) - 1, right = columns_of(r) - 1;
  const Reflection h = reflection(b, r);
  BurnPrimitive *turned = below > 0 ? burn_build_transpose(b, h.tail) : NULL;
  BurnPrimitive *top = rows(b, r, 0, 1), *left = columns(b, q, 0, 1);
  BurnPrimitive *of_r = weighted(b, &h, top, below > 0 ? product_of(b, turned, rows(b, r, 1, below)) : NULL);
  BurnPrimitive *of_q = weighted(b, &h, left, below > 0 ? product_of(b, columns(b, q, 1, below), h.tail) : NULL);
  next[ROW] = burn_build_sub(b, top, of_r);
  next[COLUMN] = burn_build_sub(b, left, of_q);
  if (below > 0 && right > 0) {
    BurnPrimitive *taken = product_of(b, h.tail, columns(b, of_r, 1, right));
    next[LEFT_OF_R] = burn_build_sub(b, columns(b, rows(b, r, 1, below), 1, right), taken);
  }
  if (below > 0) next[LEFT_OF_Q] = burn_build_sub(b, columns(b, q, 1, below), product_of(b, of_q, turned));
  end_turn(builder, b, kept, next, KEPT);
}

static BurnPrimitive *identity(BurnBuilder *b, const BurnPrimitive *like) {
  int64_t shape[BURN_MAX_RANK];
  const int64_t count = rows_of(like), square[] = {count, count};
  for (uint32_t i = 0; i < like->rank; i++) shape[i] = 1;
  shape[like->rank - 2] = shape[like->rank - 1] = count;
  const BurnAttr attrs[] = {burn_attr_i64s(square, 2), burn_attr_dtype(at_least_f32(like->dtype))};
  BurnPrimitive *eye = burn_build_reshape(b, burn_build(b, BURN_OP_eye, 0, NULL, 2, attrs), shape, like->rank);
  for (uint32_t i = 0; i + 2 < like->rank; i++) shape[i] = like->shape[i];
  return burn_build_expand(b, eye, shape, like->rank);
}

/* All reflections: row i of R goes to parts[i], column i of Q to parts[steps + i], and what is left of Q after them.
 */
static void qr_parts(BurnBuilder *b, BurnPrimitive *x, int64_t steps, BurnPrimitive **parts) {
  BurnPrimitive *kept[KEPT] = {NULL};
  kept[LEFT_OF_R] = burn_build_give(b, in_dtype(b, x, at_least_f32(x->dtype)));
  kept[LEFT_OF_Q] = burn_build_give(b, identity(b, x));
  for (int64_t i = 0; i < steps && b->status == BURN_OK; i++) {
    qr_turn(b, kept);
    BurnPrimitive *row = burn_build_own(b, kept[ROW]);
    parts[steps + i] = burn_build_own(b, kept[COLUMN]);
    kept[ROW] = kept[COLUMN] = NULL;
    BurnPrimitive *const padded[] = {i > 0 ? filled(b, x, 1, i, 0) : NULL, row};
    parts[i] = i > 0 ? joined(b, padded, 2, last_axis(x)) : row;
  }
  (void)burn_build_own(b, kept[LEFT_OF_R]);
  parts[2 * steps] = burn_build_own(b, kept[LEFT_OF_Q]);
}

DECOMPOSE(qr) {
  BurnPrimitive *x = call->inputs[0];
  const int64_t row_count = rows_of(x), column_count = columns_of(x),
                steps = row_count < column_count ? row_count : column_count;
  const int64_t inner = call->output_descs[1].shape[x->rank - 2]; /* columns of Q, rows of R */
  const uint64_t bytes = (uint64_t)(2 * steps + 2) * sizeof(BurnPrimitive *);
  BurnPrimitive **parts = builder->host->allocate(bytes);
  if (!parts) {
    burn_builder_fail(builder, BURN_FAIL(OUT_OF_MEMORY, "qr: no memory for %lld columns", (long long)steps));
    return;
  }
  qr_parts(builder, x, steps, parts);
  /* The columns of Q lie after the rows of R, and what is left of Q after them. R is joined last: its zero rows go
   * there. */
  const bool whole = inner > steps, none = inner == 0;
  BurnPrimitive *q =
      none ? filled(builder, x, row_count, 0, 0) : joined(builder, parts + steps, steps + whole, last_axis(x));
  if (whole) parts[steps] = filled(builder, x, inner - steps, column_count, 0);
  BurnPrimitive *r =
      none ? filled(builder, x, 0, column_count, 0) : joined(builder, parts, steps + whole, last_axis(x) - 1);
  out[0] = in_dtype(builder, q, x->dtype);
  out[1] = in_dtype(builder, r, x->dtype);
  builder->host->free(parts, bytes);
}

/* x is folded to two axes around the product, so that one matrix product serves every rank. */
DECOMPOSE(linear) {
  BurnPrimitive *x = call->inputs[0], *weight = call->inputs[1];
  const BurnTensorDesc *desc = call->output_descs;
  int64_t rows = 1;
  for (uint32_t i = 0; i + 1 < x->rank; i++) rows *= x->shape[i];
  const int64_t folded[] = {rows, weight->shape[0]}, row[] = {1, weight->shape[1]};
  if (x->rank != 2) x = burn_build_reshape(builder, x, folded, 2);
  out[0] = burn_build_op2(builder, BURN_OP_matmul, x, weight);
  if (call->input_count > 2 && call->inputs[2]) {
    out[0] = burn_build_add(builder, out[0], burn_build_reshape(builder, call->inputs[2], row, 2));
  }
  if (desc->rank != 2) out[0] = burn_build_reshape(builder, out[0], desc->shape, desc->rank);
}

/* [.., width] as [rows, width]. */
static BurnPrimitive *as_rows(BurnBuilder *b, BurnPrimitive *x) {
  int64_t shape[2] = {1, x->shape[x->rank - 1]};
  for (uint32_t i = 0; i + 1 < x->rank; i++) shape[0] *= x->shape[i];
  return x->rank == 2 ? x : burn_build_reshape(b, x, shape, 2);
}

/* Sums over one row are that row. */
DECOMPOSE(linear_backward) {
  BurnPrimitive *grad = call->inputs[0], *weight = call->inputs[2], *rows = as_rows(builder, grad);
  const BurnTensorDesc *descs = call->output_descs;
  if (weight) {
    out[0] = burn_build_op3(builder, BURN_OP_linear, grad, burn_build_transpose(builder, weight), NULL);
  } else {
    out[0] = burn_build_full(builder, descs[0].shape, 1, descs[0].dtype, 0);
  }
  out[1] =
      burn_build_op2(builder, BURN_OP_matmul, burn_build_transpose(builder, as_rows(builder, call->inputs[1])), rows);
  if (rows && rows->shape[0] != 1) rows = burn_build_dim(builder, BURN_OP_sum_dim, rows, 0);
  out[2] = burn_build_reshape(builder, rows, descs[2].shape, 1);
}
