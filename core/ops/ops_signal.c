/* ops_signal.c - public Fourier transforms (rows of ops.def), and composed of them and other ops: short-time
 * transforms, windows. */
#include "ops_internal.h"

#include <burn/signal.h>

#include <math.h>
#include <stdlib.h>

/* -- transforms ------------------------------------------------------------------------------- */

/* The attributes dim and n of a transform of x; n = 0 is what fits the axis: its size, or 2 (size - 1) of an inverse.
 */
static BurnStatus resolve(const BurnTensor *x, uint32_t op, int dim, int64_t n, BurnAttr attrs[2]) {
  int64_t axis = 0;
  const BurnStatus status = burn__resolve_dim(x, burn__op_name(op), dim, burn_rank(x), &axis);
  if (status != BURN_OK) return status;
  const int64_t size = burn_dim(x, dim), fitting = op == BURN_OP_irfft ? 2 * (size - 1) : size;
  attrs[0] = burn_attr_i64(axis);
  attrs[1] = burn_attr_i64(n == 0 ? fitting : n);
  return BURN_OK;
}

/* Takes the inputs. */
static void transform(uint32_t op, BurnTensor *const *inputs, uint32_t input_count, int dim, int64_t n,
                      BurnTensor **out, uint32_t output_count) {
  BurnAttr attrs[2];
  const BurnStatus status = resolve(inputs[0], op, dim, n, attrs);
  if (status == BURN_OK) {
    burn__apply_outputs(op, inputs, input_count, attrs, 2, out, output_count);
    return;
  }
  burn__tensor_take_all(inputs, input_count, burn__op_name(op));
  for (uint32_t i = 0; i < output_count; i++) out[i] = burn__tensor_failed(status);
}

BurnTensor *burn_rfft(BurnTensor *x, int dim, int64_t n, BurnTensor **imaginary) {
  BurnTensor *out[2];
  transform(BURN_OP_rfft, &x, 1, dim, n, out, 2);
  give(imaginary, out[1]);
  return out[0];
}

BurnTensor *burn_irfft(BurnTensor *real, BurnTensor *imaginary, int dim, int64_t n) {
  BurnTensor *out[1];
  transform(BURN_OP_irfft, (BurnTensor *const[]){real, imaginary}, 2, dim, n, out, 1);
  return out[0];
}

BurnTensor *burn_cfft(BurnTensor *real, BurnTensor *imaginary, int dim, int64_t n, BurnTensor **imaginary_bins) {
  BurnTensor *out[2];
  transform(BURN_OP_cfft, (BurnTensor *const[]){real, imaginary}, 2, dim, n, out, 2);
  give(imaginary_bins, out[1]);
  return out[0];
}

/* -- short-time transforms -------------------------------------------------------------------- */

/* Checks the options, puts the length of the window where it is 0, and checks x and the window; `rank` is x's. */
static BurnStatus check_options(const char *user, BurnStftOptions *options, const BurnTensor *x,
                                const BurnTensor *window, uint32_t rank) {
  const BurnStatus status = burn__tensor_check(x, user);
  if (status != BURN_OK) return status;
  if (burn_dtype_kind(burn_dtype(x)) != BURN_KIND_FLOAT) {
    return BURN_FAIL(INVALID_DTYPE, "%s: x must be float, not %s", user, burn_dtype_name(burn_dtype(x)));
  }
  if (options->n_fft < 1)
    return BURN_FAIL(INVALID_ARGUMENT, "%s: n_fft %lld is not positive", user, (long long)options->n_fft);
  if (options->win_length == 0) options->win_length = options->n_fft;
  if (options->win_length < 1 || options->win_length > options->n_fft) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: win_length %lld is not in 1..%lld (n_fft)", user,
                     (long long)options->win_length, (long long)options->n_fft);
  }
  if (options->hop_length < 1 || options->hop_length > options->win_length) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: hop_length %lld is not in 1..%lld (the length of the window)", user,
                     (long long)options->hop_length, (long long)options->win_length);
  }
  BurnShapeText text;
  if (burn_rank(x) != rank) {
    return BURN_FAIL(INVALID_SHAPE, "%s: x has shape %s, rank %u expected", user,
                     burn__shape_text(&text, burn_rank(x), x->primitive->shape), rank);
  }
  if (!window) return BURN_OK;
  const BurnStatus usable = burn__tensor_check(window, user);
  if (usable != BURN_OK) return usable;
  if (burn_rank(window) == 1 && burn_dim(window, 0) == options->win_length) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: the window has shape %s, [%lld] expected", user,
                   burn__shape_text(&text, burn_rank(window), window->primitive->shape),
                   (long long)options->win_length);
}

/* Takes window; it (NULL: ones) as [1, 1, n_fft], with zeros on both sides. */
static BurnTensor *whole_window(BurnTensor *window, const BurnStftOptions *options, BurnDevice *device,
                                BurnDType dtype) {
  const int64_t missing = options->n_fft - options->win_length, left = missing / 2;
  if (!window) window = burn_ones(device, BURN_SHAPE(options->win_length), dtype);
  if (missing > 0) {
    BurnTensor *const parts[] = {burn_zeros(device, BURN_SHAPE(left), dtype), window,
                                 burn_zeros(device, BURN_SHAPE(missing - left), dtype)};
    window = burn_cat(parts, 3, 0);
  }
  return burn__reshape_to(window, BURN_SHAPE(1, 1, options->n_fft));
}

/* Positions frame * hop + i, [frames, n_fft]. */
static BurnTensor *positions(BurnDevice *device, int64_t frames, const BurnStftOptions *options) {
  BurnTensor *starts = burn_mul_scalar(burn__places(device, frames), (double)options->hop_length);
  BurnTensor *within = burn__places(device, options->n_fft);
  starts = burn_unsqueeze_dim(starts, 1);
  return burn_add(starts, burn_unsqueeze_dim(within, 0));
}

/* Takes x: position p of a signal that is reflected at 0 and `last`. */
static BurnTensor *reflected(BurnTensor *p, int64_t pad, int64_t last) {
  p = burn_abs(burn_sub_scalar(p, (double)pad));
  return burn_add_scalar(burn_neg(burn_abs(burn_add_scalar(burn_neg(p), (double)last))), (double)last);
}

/* Takes x [batch, samples]: its frames [batch, frames, n_fft]. */
static BurnTensor *framed(BurnTensor *x, const BurnStftOptions *options) {
  const int64_t batch = burn_dim(x, 0), samples = burn_dim(x, 1), pad = options->center ? options->n_fft / 2 : 0;
  const int64_t frames = (samples + 2 * pad - options->n_fft) / options->hop_length + 1;
  BurnTensor *where = positions(burn_tensor_device(x), frames, options);
  if (pad > 0) where = reflected(where, pad, samples - 1);
  return burn__reshape_to(burn_select(x, 1, burn_flatten(where, 0, 1)), BURN_SHAPE(batch, frames, options->n_fft));
}

/* Takes bins [batch, frames, n / 2 + 1] and adds those of the negative frequencies, which are mirrored; sign as of the
 * part. */
static BurnTensor *two_sided(BurnTensor *bins, int64_t n, double sign) {
  const int64_t missing = n - burn_dim(bins, 2);
  if (missing <= 0) return bins;
  const BurnRange ranges[] = {BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE_STEP(1, missing + 1, -1)};
  BurnTensor *mirrored = burn_mul_scalar(burn_slice(burn_clone(bins), ranges, 3), sign);
  return burn_cat((BurnTensor *const[]){bins, mirrored}, 2, 2);
}

/* Halves are transformed in f32: their sums of windows would underflow and their bins lose digits. Casts x and window,
 * if there is one, and returns true if that was needed. */
static bool widen(BurnTensor **x, BurnTensor **window) {
  if (!burn__is_half(burn_dtype(*x))) return false;
  *x = burn_cast(*x, BURN_DTYPE_F32);
  if (*window) *window = burn_cast(*window, BURN_DTYPE_F32);
  return true;
}

BurnTensor *burn_stft(BurnTensor *x, BurnTensor *window, BurnStftOptions options) {
  BurnTensor *const both[] = {x, window};
  BurnStatus status = check_options("stft", &options, x, window, 2);
  const int64_t least = options.center ? options.n_fft / 2 + 1 : options.n_fft;
  if (status == BURN_OK && burn_dim(x, 1) < least) {
    status =
        BURN_FAIL(INVALID_SHAPE, "stft: %lld samples are too few: n_fft %lld%s needs %lld", (long long)burn_dim(x, 1),
                  (long long)options.n_fft, options.center ? ", centred," : "", (long long)least);
  }
  if (status != BURN_OK) return fail_all(both, 2, "stft", status);
  const BurnDType dtype = burn_dtype(x);
  if (widen(&x, &window)) return burn_cast(burn_stft(x, window, options), dtype);
  BurnTensor *imaginary = NULL;
  window = whole_window(window, &options, burn_tensor_device(x), burn_dtype(x));
  BurnTensor *real = burn_rfft(burn_mul(framed(x, &options), window), 2, options.n_fft, &imaginary);
  if (!options.onesided) {
    real = two_sided(real, options.n_fft, 1);
    imaginary = two_sided(imaginary, options.n_fft, -1);
  }
  return burn_stack((BurnTensor *const[]){real, imaginary}, 2, -1);
}

/* Takes x [batch, frames, bins, 2]: the inverse transform of every frame, [batch, frames, n_fft]. */
static BurnTensor *frames_of(BurnTensor *x, int64_t n_fft) {
  BurnTensor *imaginary = burn_select_dim(burn_clone(x), 3, 1);
  return burn_irfft(burn_select_dim(x, 3, 0), imaginary, 2, n_fft);
}

/* Takes frames [batch, frames, n_fft]: their sum [batch, samples] where they overlap. */
static BurnTensor *overlapped(BurnTensor *frames, int64_t samples, const BurnStftOptions *options) {
  BurnDevice *device = burn_tensor_device(frames);
  if (!device) return frames;
  BurnTensor *where = burn_flatten(positions(device, burn_dim(frames, 1), options), 0, 1);
  BurnTensor *sum = burn_zeros(device, BURN_SHAPE(burn_dim(frames, 0), samples), burn_dtype(frames));
  return burn_select_add(sum, 1, where, burn_flatten(frames, 1, 2));
}

/* Takes x [batch, samples]: `length` samples, cut or padded with zeros. */
static BurnTensor *with_length(BurnTensor *x, int64_t length) {
  const int64_t samples = burn_dim(x, 1);
  if (length == 0 || samples < 0 || length == samples) return x;
  if (length < samples) return burn_narrow(x, 1, 0, length);
  BurnTensor *rest = burn_zeros(burn_tensor_device(x), BURN_SHAPE(burn_dim(x, 0), length - samples), burn_dtype(x));
  return burn_cat((BurnTensor *const[]){x, rest}, 2, 1);
}

static BurnStatus check_bins(const BurnTensor *x, int64_t length, const BurnStftOptions *options) {
  const int64_t bins = options->onesided ? options->n_fft / 2 + 1 : options->n_fft;
  if (length < 0) return BURN_FAIL(INVALID_ARGUMENT, "istft: length %lld is negative", (long long)length);
  if (burn_dim(x, 1) >= 1 && burn_dim(x, 2) == bins && burn_dim(x, 3) == 2) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE,
                   "istft: x has shape %s; [batch,frames,%lld,2] with a frame or more expected for n_fft %lld%s",
                   burn__shape_text(&text, burn_rank(x), x->primitive->shape), (long long)bins,
                   (long long)options->n_fft, options->onesided ? ", onesided" : "");
}

BurnTensor *burn_istft(BurnTensor *x, BurnTensor *window, int64_t length, BurnStftOptions options) {
  BurnTensor *const both[] = {x, window};
  BurnStatus status = check_options("istft", &options, x, window, 4);
  if (status == BURN_OK) status = check_bins(x, length, &options);
  if (status != BURN_OK) return fail_all(both, 2, "istft", status);
  const BurnDType dtype = burn_dtype(x);
  if (widen(&x, &window)) return burn_cast(burn_istft(x, window, length, options), dtype);
  const int64_t frames = burn_dim(x, 1), samples = options.n_fft + (frames - 1) * options.hop_length;
  const int64_t pad = options.center ? options.n_fft / 2 : 0;
  window = whole_window(window, &options, burn_tensor_device(x), burn_dtype(x));
  BurnTensor *squares = burn_expand(burn_square(burn_clone(window)), BURN_SHAPE(1, frames, options.n_fft));
  BurnTensor *divisor = burn_clamp_min(overlapped(squares, samples, &options), 1e-10);
  BurnTensor *sum = overlapped(burn_mul(frames_of(x, options.n_fft), window), samples, &options);
  sum = burn_div(sum, divisor);
  if (pad > 0) sum = burn_slice(sum, (const BurnRange[]){BURN_RANGE_ALL, BURN_RANGE(pad, samples - pad)}, 2);
  return with_length(sum, length);
}

/* -- windows: sums of cosines ----------------------------------------------------------------- */

static BurnTensor *window(const char *name, BurnDevice *device, int64_t size, bool periodic, BurnDType dtype,
                          const double factors[3]) {
  const BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return burn__tensor_failed(status);
  if (size < 0 || size > INT64_MAX / 16) {
    return burn__tensor_failed(
        BURN_FAIL(INVALID_ARGUMENT, "%s: a window of size %lld is not possible", name, (long long)size));
  }
  if (dtype == BURN_DTYPE_DEFAULT) dtype = burn_device_float_dtype(device);
  if (!(burn_dtype_kind(dtype) & BURN_KIND_FLOAT)) {
    return burn__tensor_failed(BURN_FAIL(INVALID_DTYPE, "%s: a window of %s is not possible; windows are float", name,
                                         burn_dtype_name(dtype)));
  }
  const size_t bytes = size > 0 ? (size_t)size * sizeof(double) : 1;
  double *values = malloc(2 * bytes);
  if (!values)
    return burn__tensor_failed(BURN_FAIL(OUT_OF_MEMORY, "%s: no memory for %lld numbers", name, (long long)size));
  const double step = 6.28318530717958647693 / (double)(periodic || size < 2 ? size : size - 1);
  for (int64_t i = 0; i < size; i++) {
    const double t = step * (double)i;
    values[i] = size == 1 ? 1 : factors[0] - factors[1] * cos(t) + factors[2] * cos(2 * t);
  }
  const BurnStatus converted = burn__convert(values, BURN_DTYPE_F64, values + size, dtype, (size_t)size);
  BurnTensor *result = converted == BURN_OK ? burn_tensor_from(device, values + size, dtype, BURN_SHAPE(size))
                                            : burn__tensor_failed(converted);
  free(values);
  return result;
}

BurnTensor *burn_hann_window(BurnDevice *device, int64_t size, bool periodic, BurnDType dtype) {
  return window("hann_window", device, size, periodic, dtype, (const double[]){0.5, 0.5, 0});
}
BurnTensor *burn_hamming_window(BurnDevice *device, int64_t size, bool periodic, BurnDType dtype) {
  return window("hamming_window", device, size, periodic, dtype, (const double[]){25.0 / 46, 21.0 / 46, 0});
}
BurnTensor *burn_blackman_window(BurnDevice *device, int64_t size, bool periodic, BurnDType dtype) {
  return window("blackman_window", device, size, periodic, dtype, (const double[]){0.42, 0.5, 0.08});
}
