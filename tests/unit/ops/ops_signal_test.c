/* ops_signal_test.c - Fourier transforms, short-time transforms, windows; see ops_case.h. */
#define OPS_GOLDEN "ops_signal_golden.h"
#include "ops_golden.h"

static BurnStftOptions stft_options(const OpsRun *run) {
  return (BurnStftOptions){WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3) != 0, WHOLE(4) != 0};
}

static BurnDType window_dtype(const OpsRun *run) {
  return WHOLE(2) ? (BurnDType)BURN_DTYPE_F64 : (BurnDType)BURN_DTYPE_F32;
}

#define ROWS(OPS)                                                                                            \
  OPS(rfft, OUT(0) = burn_rfft(IN(0), DIM(0), WHOLE(1), &OUT(1)))                                            \
  OPS(irfft, OUT(0) = burn_irfft(IN(0), IN(1), DIM(0), WHOLE(1)))                                            \
  OPS(cfft, OUT(0) = burn_cfft(IN(0), IN(1), DIM(0), WHOLE(1), &OUT(1)))                                     \
  OPS(stft, OUT(0) = burn_stft(IN(0), IN(1), stft_options(run)))                                             \
  OPS(istft, OUT(0) = burn_istft(IN(0), IN(1), WHOLE(5), stft_options(run)))                                 \
  OPS(hann_window, OUT(0) = burn_hann_window(run->device, WHOLE(0), WHOLE(1) != 0, window_dtype(run)))       \
  OPS(hamming_window, OUT(0) = burn_hamming_window(run->device, WHOLE(0), WHOLE(1) != 0, window_dtype(run))) \
  OPS(blackman_window, OUT(0) = burn_blackman_window(run->device, WHOLE(0), WHOLE(1) != 0, window_dtype(run)))

OPS_MAIN("signals", ROWS)
