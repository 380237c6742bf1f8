/* linalg.h - linear algebra: decompositions, products of vectors, norms. The functions are those of
 * burn::tensor::linalg.
 *
 * A matrix is the last two axes of a tensor; axes before them are a batch. A negative dim counts from the last. Halves
 * are computed in f32 in det, lu and qr. Everything is differentiable where its mathematics is. */
#ifndef BURN_LINALG_H
#define BURN_LINALG_H

#include <burn/tensor.h>

#include <math.h>

BURN_EXTERN_C_BEGIN

/* -- decompositions [F] ----------------------------------------------------------------------- */

/* Determinants: [.., n, n] of rank 3 or more -> [..]; a single matrix needs a batch axis of size 1. Closed form for n
 * <= 3. Above, by LU: 0, with a gradient of 0, where a pivot is at most 1e-5 (f64: 1e-10), as in Burn, also if that is
 * only a matter of scale. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_det(BurnTensor *x);
/* x [.., m, n] = P L U with partial pivoting, k = min(m, n): returns the permutation P [.., m, m] of x's dtype, and in
 * *lower and *upper (the caller's; failed tensors after a failure) L [.., m, k] with ones on the diagonal and U [.., k,
 * n]. Singular matrices are fine: a pivot of 0 stands on U's diagonal. Of equal candidates for a pivot the first is
 * taken. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_lu(BurnTensor *x, BurnTensor **lower, BurnTensor **upper);
/* The same for one regular matrix [n, n], packed: returns U on and above the diagonal and L, without its ones, below
 * it; in *permutation (the caller's) the rows [n] of x, in the default int dtype: row i of L U is row permutation[i] of
 * x. Fails if a pivot is at most 1e-6, as Burn: it reads the pivots, so it waits for the device. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_lu_decomposition(BurnTensor *x, BurnTensor **permutation);
/* x [.., m, n] = Q R by Householder reflections: returns Q [.., m, k] with orthonormal columns and, in *upper (the
 * caller's), R [.., k, n], zero below the diagonal; k = min(m, n) if reduced, else m. Element i of R's diagonal has the
 * sign opposite to that of the element that the reflection met there, as in Burn, so it may be negative; LAPACK leaves
 * the last row of a square or wide R as it is, so Q's last column and R's last row can have the other sign there. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_qr(BurnTensor *x, bool reduced, BurnTensor **upper);

/* -- parts of matrices, products -------------------------------------------------------------- */

/* The diagonal: [.., m, n] -> [.., min(m, n)]. Makes no matrices of vectors. [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_diag(BurnTensor *x);
/* Sum of the diagonal: [.., m, n] -> [.., 1]. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_trace(BurnTensor *x);
/* [.., m, n] x [.., n] -> [.., m]; leading axes broadcast. Takes both. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_matvec(BurnTensor *matrix, BurnTensor *vector);
/* lhs[.., i] * rhs[.., j] -> [.., i, j]; leading axes broadcast. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_outer(BurnTensor *lhs, BurnTensor *rhs);
/* The same for elements along dim, which becomes the two axes dim and dim + 1. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_outer_dim(BurnTensor *lhs, BurnTensor *rhs, int dim);

/* -- norms along dim, which stays with size 1 ------------------------------------------------- */

/* Names of norms for burn_vector_norm; every other number p is the norm sum(|x|^p)^(1/p). */
#define BURN_NORM_L0 0.0                       /* how many elements are not 0 */
#define BURN_NORM_L1 1.0                       /* sum of |x| */
#define BURN_NORM_L2 2.0                       /* square root of the sum of squares */
#define BURN_NORM_LINF ((double)INFINITY)      /* largest |x| */
#define BURN_NORM_LNEG_INF (-(double)INFINITY) /* smallest |x| */

/* A norm given by its number. An empty axis is an error for LINF and LNEG_INF. [F; FI for L0, L1, LINF, LNEG_INF] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_vector_norm(BurnTensor *x, double norm, int dim);
/* The same; p may be any of the numbers above, too. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_lp_norm(BurnTensor *x, double p, int dim);
/* How many elements are not 0 (NaN is not), in x's dtype. Its gradient is 0. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_l0_norm(BurnTensor *x, int dim);
/* Sum of |x|. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_l1_norm(BurnTensor *x, int dim);
/* Square root of the sum of squares; its gradient at a vector of zeros is 0. [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_l2_norm(BurnTensor *x, int dim);
/* Largest and smallest |x|. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_abs_norm(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_min_abs_norm(BurnTensor *x, int dim);
/* x / max(norm of x along dim, epsilon). [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_vector_normalize(BurnTensor *x, double norm, int dim,
                                                                    double epsilon);
/* sum(lhs * rhs) / (max(|lhs|, epsilon) * max(|rhs|, epsilon)) along dim, with L2 norms. epsilon is the smallest normal
 * number of the dtype where Burn is given none, 1e-8 in PyTorch. [F] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_cosine_similarity(BurnTensor *lhs, BurnTensor *rhs, int dim,
                                                                        double epsilon);

BURN_EXTERN_C_END

#endif
