/* ops.h - every tensor op; those that move, index, sort and run along an axis are in ops_move.h, which comes with it.
 * All take their tensors and return a new one; shapes stand in brackets.
 *
 * Common rules: operands live on one device and have one dtype (convert with burn_cast; there is no promotion).
 * "Broadcast" needs equal rank; axes of size 1 stretch. A negative dim counts from the last axis. Scalars are doubles,
 * converted to the tensor's dtype; burn_<name>_i64 takes an int64_t, all of whose bits count. Integer division by zero
 * gives 0. Kinds: F float, I int, B bool; "[FI]" says which an op accepts. Failures travel in the result (tensor.h). */
#ifndef BURN_OPS_H
#define BURN_OPS_H

#include <burn/activation.h>
#include <burn/ops_layers.h>
#include <burn/ops_move.h>
#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* -- create: BURN_DTYPE_DEFAULT means the default float dtype of the device (int for arange) -- */

/* Filled with 0, 1 or a value. */
BURN_API BURN_GIVES BurnTensor *burn_zeros(BurnDevice *device, BurnShape shape, BurnDType dtype);
BURN_API BURN_GIVES BurnTensor *burn_ones(BurnDevice *device, BurnShape shape, BurnDType dtype);
BURN_API BURN_GIVES BurnTensor *burn_full(BurnDevice *device, BurnShape shape, BurnDType dtype, double value);
/* The same with shape, dtype and device of x. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_zeros_like(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_ones_like(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_full_like(BurnTensor *x, double value);
/* Integers start, start + step, ... before end: rank 1. step is positive. */
BURN_API BURN_GIVES BurnTensor *burn_arange(BurnDevice *device, int64_t start, int64_t end, int64_t step);
/* [size, size] with ones on the diagonal. */
BURN_API BURN_GIVES BurnTensor *burn_eye(BurnDevice *device, int64_t size, BurnDType dtype);
/* Uniform in [low, high). Integer dtypes too; then the range is at most 2^32. Of floats low and high must be finite in
 * the dtype, and high - low in f32 or f64. Advances the device's random state. */
BURN_API BURN_GIVES BurnTensor *burn_random_uniform(BurnDevice *device, BurnShape shape, BurnDType dtype, double low,
                                                    double high);
/* Normal with mean and standard deviation. [F] */
BURN_API BURN_GIVES BurnTensor *burn_random_normal(BurnDevice *device, BurnShape shape, BurnDType dtype, double mean,
                                                   double std);
/* 1 with probability prob, else 0. */
BURN_API BURN_GIVES BurnTensor *burn_random_bernoulli(BurnDevice *device, BurnShape shape, BurnDType dtype,
                                                      double prob);

/* -- element by element, one tensor ----------------------------------------------------------- */

/* -x [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_neg(BurnTensor *x);
/* |x| [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_abs(BurnTensor *x);
/* -1, 0 or 1 [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sign(BurnTensor *x);
/* e^x [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_exp(BurnTensor *x);
/* natural logarithm [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_log(BurnTensor *x);
/* log(1 + x), accurate near 0 [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_log1p(BurnTensor *x);
/* square root [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sqrt(BurnTensor *x);
/* 1 / x [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_recip(BurnTensor *x);
/* sine [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sin(BurnTensor *x);
/* cosine [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cos(BurnTensor *x);
/* tangent of radians [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_tan(BurnTensor *x);
/* arc sine in radians; NaN outside -1 .. 1 [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_asin(BurnTensor *x);
/* arc cosine in radians; NaN outside -1 .. 1 [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_acos(BurnTensor *x);
/* arc tangent in radians [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_atan(BurnTensor *x);
/* inverse hyperbolic sine [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_asinh(BurnTensor *x);
/* inverse hyperbolic cosine; NaN below 1 [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_acosh(BurnTensor *x);
/* inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_atanh(BurnTensor *x);
/* degrees to radians: x * pi / 180 [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_deg2rad(BurnTensor *x);
/* radians to degrees: x * 180 / pi [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_rad2deg(BurnTensor *x);
/* hyperbolic tangent [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_tanh(BurnTensor *x);
/* hyperbolic sine [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sinh(BurnTensor *x);
/* hyperbolic cosine [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cosh(BurnTensor *x);
/* error function [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_erf(BurnTensor *x);
/* round down [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_floor(BurnTensor *x);
/* round up [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_ceil(BurnTensor *x);
/* nearest integer, halves to even [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_round(BurnTensor *x);
/* nearest integer toward zero [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_trunc(BurnTensor *x);
/* x * x [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_square(BurnTensor *x);
/* logical not [B] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bool_not(BurnTensor *x);
/* every bit flipped: -1 - x where the dtype is signed [I] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bitwise_not(BurnTensor *x);
/* bool: NaN [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_is_nan(BurnTensor *x);
/* bool: infinity or -infinity [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_is_inf(BurnTensor *x);
/* bool: neither NaN nor infinite [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_is_finite(BurnTensor *x);
/* Another dtype, any kind to any kind. Float to int truncates toward zero and saturates; NaN gives 0. To bool: x != 0.
 * Differentiable between floats. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cast(BurnTensor *x, BurnDType dtype);
/* To the default int, default float, or bool dtype. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_int(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_float(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bool(BurnTensor *x);

/* -- element by element, two tensors, broadcast ----------------------------------------------- */

/* lhs + rhs [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_add(BurnTensor *lhs, BurnTensor *rhs);
/* lhs - rhs [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_sub(BurnTensor *lhs, BurnTensor *rhs);
/* lhs * rhs [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_mul(BurnTensor *lhs, BurnTensor *rhs);
/* lhs / rhs; integers truncate toward zero [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_div(BurnTensor *lhs, BurnTensor *rhs);
/* remainder with the sign of rhs, as in Python [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_remainder(BurnTensor *lhs, BurnTensor *rhs);
/* lhs ^ rhs [F] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_powf(BurnTensor *lhs, BurnTensor *rhs);
/* rhs where rhs > lhs, else lhs; so a NaN in rhs is ignored [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_max_pair(BurnTensor *lhs, BurnTensor *rhs);
/* rhs where rhs < lhs, else lhs; so a NaN in rhs is ignored [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_min_pair(BurnTensor *lhs, BurnTensor *rhs);
/* [B] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bool_and(BurnTensor *lhs, BurnTensor *rhs);
/* [B] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bool_or(BurnTensor *lhs, BurnTensor *rhs);
/* [B] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bool_xor(BurnTensor *lhs, BurnTensor *rhs);
/* angle of the point (x = rhs, y = lhs) in radians, -pi .. pi; at (0, 0) the gradient is NaN, as in PyTorch [F] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_atan2(BurnTensor *lhs, BurnTensor *rhs);
/* sqrt(lhs^2 + rhs^2) without overflow between; at (0, 0) the gradient is NaN, as in PyTorch [F] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_hypot(BurnTensor *lhs, BurnTensor *rhs);
/* remainder with the sign of lhs, as in C; lhs where rhs is infinite and lhs is not; NaN where rhs is 0 [F] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_fmod(BurnTensor *lhs, BurnTensor *rhs);
/* lhs ^ rhs with lhs [FI] and rhs of any int dtype. x ^ 0 is 1, also for NaN. Integers wrap; their negative powers are
 * those of PyTorch: 1 for lhs 1, 1 or -1 for lhs -1, else 0. Differentiable in lhs. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_powi(BurnTensor *lhs, BurnTensor *rhs);
/* bits set in both [I] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bitwise_and(BurnTensor *lhs, BurnTensor *rhs);
/* bits set in lhs or rhs [I] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bitwise_or(BurnTensor *lhs, BurnTensor *rhs);
/* bits set in one of the two [I] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bitwise_xor(BurnTensor *lhs, BurnTensor *rhs);
/* lhs shifted left by rhs bits, those beyond the dtype are lost; 0 where rhs is negative or not below the number of
 * bits, as in PyTorch 2 [I] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bitwise_left_shift(BurnTensor *lhs, BurnTensor *rhs);
/* lhs shifted right by rhs bits, the sign stays (arithmetic); where rhs is negative or not below the number of bits, 0,
 * or -1 for negative lhs, as in PyTorch 2 [I] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_bitwise_right_shift(BurnTensor *lhs, BurnTensor *rhs);

/* -- element by element, a tensor and a scalar ------------------------------------------------ */

/* x + value [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_add_scalar(BurnTensor *x, double value);
/* x - value [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sub_scalar(BurnTensor *x, double value);
/* x * value [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_mul_scalar(BurnTensor *x, double value);
/* x / value; integers truncate toward zero [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_div_scalar(BurnTensor *x, double value);
/* remainder with the sign of value [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_remainder_scalar(BurnTensor *x, double value);
/* x ^ value; the exponents 0, 1, 2, -1, -2 are computed without pow [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_powf_scalar(BurnTensor *x, double value);
/* value - x [FI] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_scalar_sub(double value, BurnTensor *x);
/* value / x; integers truncate toward zero [FI] */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_scalar_div(double value, BurnTensor *x);
/* remainder with the sign of x; an infinite value returns x as it is, infinities too, as in Burn [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_fmod_scalar(BurnTensor *x, double value);
/* x ^ exponent: burn_powf_scalar for floats (an exponent that their dtype cannot hold is rounded), burn_powi for
 * integers [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_powi_scalar(BurnTensor *x, int64_t exponent);
/* The bitwise ops with a scalar, of which a narrower dtype takes the low bits (-1 has all bits set) [I] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bitwise_and_scalar(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bitwise_or_scalar(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bitwise_xor_scalar(BurnTensor *x, int64_t value);
/* The shifts with one count, with the same rules for counts out of range [I] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bitwise_left_shift_scalar(BurnTensor *x, int64_t count);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_bitwise_right_shift_scalar(BurnTensor *x, int64_t count);
/* not less than value; NaN stays NaN [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_clamp_min(BurnTensor *x, double value);
/* not more than value; NaN stays NaN [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_clamp_max(BurnTensor *x, double value);
/* min <= x <= max; NaN stays NaN [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_clamp(BurnTensor *x, double min, double max);

/* -- comparison: the result is bool; NaN compares false (not_equal true) ---------------------- */

/* lhs == rhs, broadcast [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_equal(BurnTensor *lhs, BurnTensor *rhs);
/* lhs != rhs [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_not_equal(BurnTensor *lhs, BurnTensor *rhs);
/* lhs > rhs [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_greater(BurnTensor *lhs, BurnTensor *rhs);
/* lhs >= rhs [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_greater_equal(BurnTensor *lhs, BurnTensor *rhs);
/* lhs < rhs [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_lower(BurnTensor *lhs, BurnTensor *rhs);
/* lhs <= rhs [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_lower_equal(BurnTensor *lhs, BurnTensor *rhs);
/* The same against a scalar. [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_equal_scalar(BurnTensor *x, double value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_not_equal_scalar(BurnTensor *x, double value);
/* The same against a scalar. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_greater_scalar(BurnTensor *x, double value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_greater_equal_scalar(BurnTensor *x, double value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_lower_scalar(BurnTensor *x, double value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_lower_equal_scalar(BurnTensor *x, double value);
/* Default tolerances of closeness, those of Burn and PyTorch. */
#define BURN_CLOSE_RTOL 1e-5
#define BURN_CLOSE_ATOL 1e-8
/* bool, broadcast: lhs == rhs or a finite |lhs - rhs| <= atol + rtol * |rhs|. NaN is never close, infinities only to
 * themselves. Integers are subtracted in f64. A negative tolerance is an error. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_is_close(BurnTensor *lhs, BurnTensor *rhs, double rtol,
                                                               double atol);
/* [1] bool: is_close everywhere; true when empty [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_all_close(BurnTensor *lhs, BurnTensor *rhs, double rtol,
                                                                double atol);

/* -- reductions: whole tensor to [1] ---------------------------------------------------------- */

/* 0 when empty [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sum(BurnTensor *x);
/* NaN when empty; integers truncate, and without an element are an error [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_mean(BurnTensor *x);
/* 1 when empty; the gradient of a factor of 0 is the product of the others, as PyTorch's (Burn gives NaN) [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_prod(BurnTensor *x);
/* NaN wins; an empty tensor is an error [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max(BurnTensor *x);
/* NaN wins; an empty tensor is an error [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_min(BurnTensor *x);
/* bool: some element is not 0; false when empty [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_any(BurnTensor *x);
/* bool: no element is 0; true when empty [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_all(BurnTensor *x);
/* [1] bool: some element is NaN [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_contains_nan(BurnTensor *x);

/* -- reductions along one axis, which stays with size 1 --------------------------------------- */

/* [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sum_dim(BurnTensor *x, int dim);
/* As burn_mean along dim. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_mean_dim(BurnTensor *x, int dim);
/* [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_prod_dim(BurnTensor *x, int dim);
/* NaN wins; the gradient goes to the first hit; an empty axis is an error, as for burn_argmax and the like [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_dim(BurnTensor *x, int dim);
/* NaN wins; the gradient goes to the first hit [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_min_dim(BurnTensor *x, int dim);
/* bool [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_any_dim(BurnTensor *x, int dim);
/* bool [FIB] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_all_dim(BurnTensor *x, int dim);
/* Index of the largest or smallest, in the default int dtype; NaN wins; lowest index on ties. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_argmax(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_argmin(BurnTensor *x, int dim);
/* The largest or smallest along dim and, in *indices (the caller's; a failed tensor after a failure), where they are.
 * [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_dim_with_indices(BurnTensor *x, int dim, BurnTensor **indices);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_min_dim_with_indices(BurnTensor *x, int dim, BurnTensor **indices);

/* -- statistics [F] --------------------------------------------------------------------------- */

/* Variance along dim, which stays with size 1: divided by n - 1 (so NaN for one element and for none), or by n for
 * var_bias. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_var(BurnTensor *x, int dim);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_var_bias(BurnTensor *x, int dim);
/* The same and, in *mean (the caller's; a failed tensor after a failure), the mean along dim. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_var_mean(BurnTensor *x, int dim, BurnTensor **mean);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_var_mean_bias(BurnTensor *x, int dim, BurnTensor **mean);
/* The lower of the two middle elements along dim, which stays with size 1 and must not be empty; a NaN is sorted as in
 * burn_sort. Its gradient goes to the element that was taken. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_median(BurnTensor *x, int dim);
/* The same and, in *indices (the caller's; a failed tensor after a failure), where it is, in the default int dtype. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_median_with_indices(BurnTensor *x, int dim, BurnTensor **indices);
/* Draws from weights x [.., categories], which need not add up to 1, by inversion of their running sum: `samples`
 * indices [.., samples] with replacement, in the default int dtype. A weight of 0 is never drawn; weights that are
 * negative, NaN or all 0 give indices without meaning. Advances the device's random state. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_categorical(BurnTensor *x, int64_t samples);
/* Covariance of data whose observations lie along dim: [variables, variables] for rank 2; sums of products of
 * deviations, divided by observations - correction, even if that is negative. With more axes, as in Burn: the
 * deviations from the mean along dim, with dim and axis 0 swapped, give d^T d for every matrix d of the last two axes:
 * [4,2,4] along 0 gives [4,4,4]. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_cov(BurnTensor *x, int dim, int64_t correction);
/* Cross product of vectors along dim, which must have size 3 in both; other axes broadcast. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_cross(BurnTensor *lhs, BurnTensor *rhs, int dim);

/* -- products --------------------------------------------------------------------------------- */

/* [.., m, k] x [.., k, n] -> [.., m, n]; rank 2 or more, equal; leading axes broadcast. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_matmul(BurnTensor *lhs, BurnTensor *rhs);

/* -- shape ------------------------------------------------------------------------------------ */

/* Same elements, other shape. One -1 is computed; 0 keeps the size of that axis. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_reshape(BurnTensor *x, BurnShape shape);
/* Axes start .. end (inclusive) become one. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_flatten(BurnTensor *x, int start, int end);
/* Drops all axes of size 1 (but never the last one left), or one such axis. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_squeeze(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_squeeze_dim(BurnTensor *x, int dim);
/* Adds leading axes of size 1 up to `rank`. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_unsqueeze(BurnTensor *x, uint32_t rank);
/* Adds an axis of size 1 at dim; -1 is after the last. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_unsqueeze_dim(BurnTensor *x, int dim);
/* Swaps the last two axes, or two given ones. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_transpose(BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_swap_dims(BurnTensor *x, int dim1, int dim2);
/* Axis i of the result is axis axes[i] of x; rank entries. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_permute(BurnTensor *x, const int *axes);
/* Stretches axes of size 1 and may add leading axes; -1 keeps an axis. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_expand(BurnTensor *x, BurnShape shape);

/* -- parts and joins -------------------------------------------------------------------------- */

/* The part of x in `count` ranges for the leading axes; further axes stay whole. An empty range gives an axis of size
 * 0 and keeps the dtype of x (Burn falls back to the device's default). */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_slice(BurnTensor *x, const BurnRange *ranges, uint32_t count);
/* x with that part replaced by values, whose shape is that of the part. If the part is empty it is x, whatever the
 * values. */
BURN_API BURN_GIVES BURN_TAKES(1, 4) BurnTensor *burn_slice_assign(BurnTensor *x, const BurnRange *ranges,
                                                                   uint32_t count, BurnTensor *values);
/* `length` elements from `start` along dim; length 0 is an error. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_narrow(BurnTensor *x, int dim, int64_t start, int64_t length);
/* One index along dim, and the axis is dropped. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_select_dim(BurnTensor *x, int dim, int64_t index);
/* Parts of x along dim, written to parts[0 .. *count-1]; the caller owns them. `capacity` is the room in parts; too
 * little is an error and *count then says what is needed. split: pieces of `size` (0 only for an empty axis), the last
 * may be smaller. chunk: as Burn, `chunks` pieces of ceil(n / chunks) with a smaller last one, or n pieces of 1 if n <
 * chunks; fewer pieces if fewer suffice (as PyTorch; Burn aborts there, for example for 9 in 4). An empty axis gives no
 * pieces. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus
    burn_split(BurnTensor *x, int64_t size, int dim, BurnTensor **parts, size_t capacity, size_t *count);
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus
    burn_chunk(BurnTensor *x, int64_t chunks, int dim, BurnTensor **parts, size_t capacity, size_t *count);
/* Joins `count` tensors, all taken, along an axis (cat) or along a new one (stack). */
BURN_API BURN_GIVES BurnTensor *burn_cat(BurnTensor *const *tensors, size_t count, int dim);
BURN_API BURN_GIVES BurnTensor *burn_stack(BurnTensor *const *tensors, size_t count, int dim);
/* x repeated `times` along dim, or times[i] along every axis i. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_repeat_dim(BurnTensor *x, int dim, int64_t times);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_repeat(BurnTensor *x, const int64_t *times);

/* -- by index and mask ------------------------------------------------------------------------ */

/* Rows of x along dim at the rank-1 int indices. An index outside is an error. */
BURN_API BURN_GIVES BURN_TAKES(1, 3) BurnTensor *burn_select(BurnTensor *x, int dim, BurnTensor *indices);
/* burn_select_assign with BURN_UPDATE_ADD: repeated indices add up. */
BURN_API BURN_GIVES BURN_TAKES(1, 3, 4) BurnTensor *burn_select_add(BurnTensor *x, int dim, BurnTensor *indices,
                                                                    BurnTensor *values);
/* Element [.., i, ..] is x[.., indices[.., i, ..], ..]; axes of indices other than dim equal those of x. */
BURN_API BURN_GIVES BURN_TAKES(1, 3) BurnTensor *burn_gather(BurnTensor *x, int dim, BurnTensor *indices);
/* burn_scatter with BURN_UPDATE_ADD: repeated indices add up. */
BURN_API BURN_GIVES BURN_TAKES(1, 3, 4) BurnTensor *burn_scatter_add(BurnTensor *x, int dim, BurnTensor *indices,
                                                                     BurnTensor *values);
/* value where the bool mask is true, else x; broadcast. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_mask_where(BurnTensor *x, BurnTensor *mask, BurnTensor *value);
/* The scalar value where the bool mask is true, else x; the mask broadcasts. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_mask_fill(BurnTensor *x, BurnTensor *mask, double value);
/* The upper or lower triangle of the last two axes, 0 elsewhere; diagonal > 0 moves the border up. [FI] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_triu(BurnTensor *x, int64_t diagonal);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_tril(BurnTensor *x, int64_t diagonal);

/* -- scalars as integers ---------------------------------------------------------------------------------------------
 *
 * Each is the function without _i64, for scalars that a double does not hold: from 2^53 on it lacks every other
 * integer. i64 tensors take all the bits. Narrower ones take the low bits in sums and products, which wrap, and else
 * the nearest integer that they have; comparisons compare with the number as it is. Floats round it. */

BURN_API BURN_GIVES BurnTensor *burn_full_i64(BurnDevice *device, BurnShape shape, BurnDType dtype, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_full_like_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BurnTensor *burn_random_uniform_i64(BurnDevice *device, BurnShape shape, BurnDType dtype,
                                                        int64_t low, int64_t high);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_add_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_sub_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_mul_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_div_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_remainder_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_scalar_sub_i64(int64_t value, BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_scalar_div_i64(int64_t value, BurnTensor *x);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_clamp_min_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_clamp_max_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_clamp_i64(BurnTensor *x, int64_t min, int64_t max);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_equal_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_not_equal_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_greater_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_greater_equal_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_lower_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_lower_equal_scalar_i64(BurnTensor *x, int64_t value);
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_mask_fill_i64(BurnTensor *x, BurnTensor *mask, int64_t value);

BURN_EXTERN_C_END

#endif
