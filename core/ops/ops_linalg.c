/* ops_linalg.c - public linear algebra: the rows det, lu and qr, and what is composed of other public ops. */
#include "ops_internal.h"

#include <burn/linalg.h>

#include <math.h>
#include <stdlib.h>

/* -- rows of ops.def -------------------------------------------------------------------------- */

BINARY(matmul)

BurnTensor *burn_linear(BurnTensor *x, BurnTensor *weight, BurnTensor *bias) {
  return burn__apply(BURN_OP_linear, (BurnTensor *const[]){x, weight, bias}, 3, NULL, 0);
}

/* x can be used and has at least this rank. */
static BurnStatus check_rank(const BurnTensor *x, const char *user, uint32_t least) {
  const BurnStatus status = burn__tensor_check(x, user);
  if (status != BURN_OK || burn_rank(x) >= least) return status;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: shape %s; rank %u or more expected", user,
                   burn__shape_text(&text, burn_rank(x), x->primitive->shape), least);
}

/* -- decompositions --------------------------------------------------------------------------- */

BurnTensor *burn_det(BurnTensor *x) { return burn__apply(BURN_OP_det, &x, 1, NULL, 0); }

BurnTensor *burn_lu(BurnTensor *x, BurnTensor **lower, BurnTensor **upper) {
  BurnTensor *out[3];
  burn__apply_outputs(BURN_OP_lu, &x, 1, NULL, 0, out, 3);
  give(lower, out[1]);
  give(upper, out[2]);
  return out[0];
}

BurnTensor *burn_qr(BurnTensor *x, bool reduced, BurnTensor **upper) {
  BurnTensor *out[2];
  const BurnAttr attr = burn_attr_bool(reduced);
  burn__apply_outputs(BURN_OP_qr, &x, 1, &attr, 1, out, 2);
  give(upper, out[1]);
  return out[0];
}

/* OK if no pivot on the diagonal of `packed` is about 0. */
static BurnStatus check_pivots(const BurnTensor *packed) {
  const double least = 1e-6; /* Burn's */
  const size_t count = (size_t)burn_dim(packed, 0);
  if (count == 0) return BURN_OK;
  double *pivots = malloc(count * sizeof *pivots);
  if (!pivots) return BURN_FAIL(OUT_OF_MEMORY, "lu_decomposition: no memory for %zu pivots", count);
  BurnStatus status = burn_read_f64(burn_diag(burn_clone(packed)), pivots, count);
  for (size_t i = 0; status == BURN_OK && i < count; i++) {
    if (fabs(pivots[i]) > least) continue;
    status = BURN_FAIL(INVALID_ARGUMENT, "lu_decomposition: the matrix is singular: pivot %zu is %g", i, pivots[i]);
  }
  free(pivots);
  return status;
}

BurnTensor *burn_lu_decomposition(BurnTensor *x, BurnTensor **permutation) {
  BurnStatus status = burn__tensor_check(x, "lu_decomposition");
  if (status == BURN_OK && (burn_rank(x) != 2 || burn_dim(x, 0) != burn_dim(x, 1))) {
    BurnShapeText text;
    status = BURN_FAIL(INVALID_SHAPE, "lu_decomposition: shape %s; one square matrix expected",
                       burn__shape_text(&text, burn_rank(x), x->primitive->shape));
  }
  if (status != BURN_OK) {
    give(permutation, burn__tensor_failed(status));
    return fail_all(&x, 1, "lu_decomposition", status);
  }
  BurnTensor *lower = NULL, *upper = NULL;
  const int64_t count = burn_dim(x, 0);
  BurnTensor *places = burn_lu(x, &lower, &upper); /* column i has its 1 in the row that x's row i of L U comes from */
  BurnTensor *rows = burn__reshape_to(count > 0 ? burn_argmax(places, 0) : burn_int(places), BURN_SHAPE(count));
  BurnTensor *packed = burn_add(burn_tril(lower, -1), upper);
  status = burn__tensor_check(packed, "lu_decomposition");
  if (status == BURN_OK) status = check_pivots(packed);
  if (status != BURN_OK) {
    burn_drop(rows);
    rows = burn__tensor_failed(status);
  }
  give(permutation, rows);
  if (status == BURN_OK) return packed;
  return fail_all(&packed, 1, "lu_decomposition", status);
}

/* -- parts of matrices, products -------------------------------------------------------------- */

/* With rows and columns folded into one axis, the diagonal is every (columns + 1)th element. */
BurnTensor *burn_diag(BurnTensor *x) {
  const BurnStatus status = check_rank(x, "diag", 2);
  if (status != BURN_OK) return fail_all(&x, 1, "diag", status);
  BurnShape shape = burn_shape(x);
  const int64_t rows = shape.dims[shape.rank - 2], columns = shape.dims[shape.rank - 1],
                count = rows < columns ? rows : columns;
  shape.rank--;
  shape.dims[shape.rank - 1] = rows * columns;
  shape.dims[shape.rank] = 0;
  BurnRange ranges[BURN_MAX_RANK];
  for (uint32_t i = 0; i < shape.rank; i++) ranges[i] = BURN_RANGE_ALL;
  ranges[shape.rank - 1] = BURN_RANGE_STEP(0, count > 0 ? (count - 1) * (columns + 1) + 1 : 0, columns + 1);
  return burn_slice(burn__reshape_to(x, shape), ranges, shape.rank);
}

BurnTensor *burn_trace(BurnTensor *x) {
  const BurnStatus status = check_rank(x, "trace", 2);
  return status == BURN_OK ? burn_sum_dim(burn_diag(x), -1) : fail_all(&x, 1, "trace", status);
}

BurnTensor *burn_matvec(BurnTensor *matrix, BurnTensor *vector) {
  BurnTensor *const both[] = {matrix, vector};
  BurnStatus status = check_rank(matrix, "matvec", 2);
  if (status == BURN_OK) status = burn__tensor_check(vector, "matvec");
  if (status == BURN_OK &&
      (burn_rank(vector) + 1 != burn_rank(matrix) || burn_dim(vector, -1) != burn_dim(matrix, -1))) {
    BurnShapeText l, r;
    status = BURN_FAIL(INVALID_SHAPE, "matvec: %s x %s: a matrix [.., m, n] needs a vector [.., n] with one axis less",
                       burn__shape_text(&l, burn_rank(matrix), matrix->primitive->shape),
                       burn__shape_text(&r, burn_rank(vector), vector->primitive->shape));
  }
  if (status != BURN_OK) return fail_all(both, 2, "matvec", status);
  return burn_squeeze_dim(burn_matmul(matrix, burn_unsqueeze_dim(vector, -1)), -1);
}

static BurnTensor *outer(BurnTensor *lhs, BurnTensor *rhs, int dim, const char *user) {
  BurnTensor *const both[] = {lhs, rhs};
  int64_t axis = 0;
  BurnStatus status = burn__resolve_dim(lhs, user, dim, burn_rank(lhs), &axis);
  if (status == BURN_OK) status = burn__tensor_check(rhs, user);
  if (status == BURN_OK && burn_rank(lhs) != burn_rank(rhs)) {
    BurnShapeText l, r;
    status = BURN_FAIL(INVALID_SHAPE, "%s: %s and %s have different ranks; add axes with burn_unsqueeze", user,
                       burn__shape_text(&l, burn_rank(lhs), lhs->primitive->shape),
                       burn__shape_text(&r, burn_rank(rhs), rhs->primitive->shape));
  }
  if (status != BURN_OK) return fail_all(both, 2, user, status);
  lhs = burn_unsqueeze_dim(lhs, (int)axis + 1);
  return burn_mul(lhs, burn_unsqueeze_dim(rhs, (int)axis));
}

BurnTensor *burn_outer(BurnTensor *lhs, BurnTensor *rhs) { return outer(lhs, rhs, -1, "outer"); }
BurnTensor *burn_outer_dim(BurnTensor *lhs, BurnTensor *rhs, int dim) { return outer(lhs, rhs, dim, "outer_dim"); }

BurnTensor *burn_dot(BurnTensor *lhs, BurnTensor *rhs) {
  BurnTensor *const both[] = {lhs, rhs};
  BurnStatus status = burn__tensor_check(lhs, "dot");
  if (status == BURN_OK) status = burn__tensor_check(rhs, "dot");
  if (status == BURN_OK && (burn_rank(lhs) != 1 || burn_rank(rhs) != 1 || burn_dim(lhs, 0) != burn_dim(rhs, 0))) {
    const BurnShape a = burn_shape(lhs), b = burn_shape(rhs);
    BurnShapeText l, r;
    status = BURN_FAIL(INVALID_SHAPE, "dot: %s and %s; two tensors of rank 1 and one size expected",
                       burn__shape_text(&l, a.rank, a.dims), burn__shape_text(&r, b.rank, b.dims));
  }
  return status == BURN_OK ? burn_sum(burn_mul(lhs, rhs)) : fail_all(both, 2, "dot", status);
}

/* -- norms ------------------------------------------------------------------------------------ */

BurnTensor *burn_l0_norm(BurnTensor *x, int dim) {
  const BurnDType dtype = burn_dtype(x);
  const BurnStatus status = burn__tensor_check(x, "l0_norm");
  if (status != BURN_OK) return fail_all(&x, 1, "l0_norm", status);
  return in_name_of("l0_norm", burn_sum_dim(burn_cast(burn_not_equal_scalar(x, 0), dtype), dim));
}

/* A reduction of |x|. */
static BurnTensor *of_abs(BurnTensor *x, const char *user, int dim, BurnTensor *(*reduce)(BurnTensor *x, int dim)) {
  const BurnStatus status = burn__tensor_check(x, user);
  return status == BURN_OK ? in_name_of(user, reduce(burn_abs(x), dim)) : fail(x, user, status);
}
BurnTensor *burn_l1_norm(BurnTensor *x, int dim) { return of_abs(x, "l1_norm", dim, burn_sum_dim); }
BurnTensor *burn_max_abs_norm(BurnTensor *x, int dim) { return of_abs(x, "max_abs_norm", dim, burn_max_dim); }
BurnTensor *burn_min_abs_norm(BurnTensor *x, int dim) { return of_abs(x, "min_abs_norm", dim, burn_min_dim); }

/* The root of a sum of 0 is taken of 1 and masked: the gradient of the root at 0 is infinite, and would make NaN of
 * zeros. */
BurnTensor *burn_l2_norm(BurnTensor *x, int dim) {
  const BurnDType dtype = burn_dtype(x);
  const BurnStatus status = burn__tensor_check(x, "l2_norm");
  if (status != BURN_OK) return fail(x, "l2_norm", status);
  BurnTensor *total = burn_sum_dim(burn_square(unrounded(x)), dim);
  BurnTensor *zero = burn_equal_scalar(burn_clone(total), 0);
  BurnTensor *root = burn_sqrt(burn_mask_fill(total, burn_clone(zero), 1));
  return in_name_of("l2_norm", burn_cast(burn_mask_fill(root, zero, 0), dtype));
}

BurnTensor *burn_lp_norm(BurnTensor *x, double p, int dim) {
  if (p == BURN_NORM_L0) return burn_l0_norm(x, dim);
  if (p == BURN_NORM_L1) return burn_l1_norm(x, dim);
  if (p == BURN_NORM_L2) return burn_l2_norm(x, dim);
  if (isinf(p)) return p > 0 ? burn_max_abs_norm(x, dim) : burn_min_abs_norm(x, dim);
  if (isnan(p)) return fail_all(&x, 1, "lp_norm", BURN_FAIL(INVALID_ARGUMENT, "lp_norm: p is NaN"));
  const BurnDType dtype = burn_dtype(x);
  const BurnStatus status = burn__tensor_check(x, "lp_norm");
  if (status != BURN_OK) return fail(x, "lp_norm", status);
  x = burn_powf_scalar(burn_abs(unrounded(x)), p);
  return in_name_of("lp_norm", burn_cast(burn_powf_scalar(burn_sum_dim(x, dim), 1 / p), dtype));
}
BurnTensor *burn_vector_norm(BurnTensor *x, double norm, int dim) { return burn_lp_norm(x, norm, dim); }

BurnTensor *burn_vector_normalize(BurnTensor *x, double norm, int dim, double epsilon) {
  const BurnDType dtype = burn_dtype(x);
  const BurnStatus status = burn__tensor_check(x, "vector_normalize");
  if (status != BURN_OK) return fail(x, "vector_normalize", status);
  x = unrounded(x);
  BurnTensor *divisor = burn_clamp_min(burn_lp_norm(burn_clone(x), norm, dim), epsilon);
  return in_name_of("vector_normalize", burn_cast(burn_div(x, divisor), dtype));
}

BurnTensor *burn_cosine_similarity(BurnTensor *lhs, BurnTensor *rhs, int dim, double epsilon) {
  const char *user = "cosine_similarity";
  const BurnDType dtype = burn_dtype(lhs);
  BurnStatus status = burn__tensor_check(lhs, user);
  if (status == BURN_OK) status = burn__tensor_check(rhs, user);
  if (status != BURN_OK) return fail_all((BurnTensor *const[]){lhs, rhs}, 2, user, status);
  rhs = unrounded_as(rhs, dtype);
  lhs = unrounded(lhs);
  BurnTensor *left = burn_clamp_min(burn_l2_norm(burn_clone(lhs), dim), epsilon);
  BurnTensor *right = burn_clamp_min(burn_l2_norm(burn_clone(rhs), dim), epsilon);
  BurnTensor *dot = burn_sum_dim(burn_mul(lhs, rhs), dim);
  return in_name_of(user, burn_cast(burn_div(dot, burn_mul(left, right)), dtype));
}
