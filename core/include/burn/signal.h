/* signal.h - Fourier transforms, their short-time forms, windows. The functions are those of burn::tensor::signal. [F]
 *
 * Complex numbers are pairs of tensors, real and imaginary part, or a last axis of size 2. Any length is possible: a
 * power of two takes n log n steps, an odd factor m of n takes n m. (Burn takes powers of two only.) Halves are
 * computed in f32. */
#ifndef BURN_SIGNAL_H
#define BURN_SIGNAL_H

#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* -- transforms along dim (negative: from the last axis) -------------------------------------- */

/* The bins 0 .. n / 2 of sum over j of x[j] e^(-2 pi i j k / n): returns the real part and, in *imaginary (the
 * caller's; a failed tensor after a failure), the imaginary part. x is cut or padded with zeros to n first; n = 0 is
 * the size of the axis.
 */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_rfft(BurnTensor *x, int dim, int64_t n, BurnTensor **imaginary);
/* The inverse: n real values from the bins 0 .. n / 2, which are cut or padded with zeros; n = 0 is 2 * (bins - 1). The
 * imaginary parts of bin 0 and, for even n, of bin n / 2 are ignored. Takes both parts, which have one shape. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_irfft(BurnTensor *real, BurnTensor *imaginary, int dim,
                                                            int64_t n);
/* All n bins of a complex signal; otherwise as rfft. Takes both parts, which have one shape. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_cfft(BurnTensor *real, BurnTensor *imaginary, int dim, int64_t n,
                                                           BurnTensor **imaginary_bins);

/* -- short-time transforms -------------------------------------------------------------------- */

/* Start from BURN_STFT_OPTIONS(n_fft). */
typedef struct BurnStftOptions {
  int64_t n_fft;      /* length of a frame */
  int64_t hop_length; /* from frame to frame; at most the length of the window */
  int64_t win_length; /* length of the window, at most n_fft: zeros are added on both sides; 0: n_fft */
  bool center;   /* frame i is centred on sample i * hop_length: the signal is reflected by n_fft / 2 at its ends */
  bool onesided; /* bins 0 .. n_fft / 2, else all n_fft */
} BurnStftOptions;
#define BURN_STFT_OPTIONS(n_fft) \
  BURN_INTERNAL_VALUE(BurnStftOptions, (n_fft), (n_fft) < 4 ? 1 : (n_fft) / 4, 0, true, true)

/* x [batch, samples] -> [batch, frames, bins, 2]: the rfft of every frame times the window ([win_length] of x's dtype;
 * NULL: ones; taken). A centred signal must be longer than n_fft / 2, another one not shorter than n_fft. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_stft(BurnTensor *x, BurnTensor *window, BurnStftOptions options);
/* The inverse, [batch, frames, bins, 2] -> [batch, samples], with the window and options of the forward transform:
 * frames times window are added up and divided by the sum of squared windows, or by 1e-10 where that is smaller.
 * `length` cuts the result or pads it with zeros; 0: as long as the frames reach. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_istft(BurnTensor *x, BurnTensor *window, int64_t length,
                                                            BurnStftOptions options);

/* -- windows: [size] of a float dtype (BURN_DTYPE_DEFAULT: the device's); size 0 is empty and size 1 is [1] -- */

/* With t = 2 pi i / size if periodic (for transforms), else 2 pi i / (size - 1): 0.5 - 0.5 cos t */
BURN_API BURN_GIVES BurnTensor *burn_hann_window(BurnDevice *device, int64_t size, bool periodic, BurnDType dtype);
/* a - (1 - a) cos t with a = 25 / 46, as in Burn (PyTorch and SciPy have 0.54) */
BURN_API BURN_GIVES BurnTensor *burn_hamming_window(BurnDevice *device, int64_t size, bool periodic, BurnDType dtype);
/* 0.42 - 0.5 cos t + 0.08 cos 2t */
BURN_API BURN_GIVES BurnTensor *burn_blackman_window(BurnDevice *device, int64_t size, bool periodic, BurnDType dtype);

BURN_EXTERN_C_END

#endif
