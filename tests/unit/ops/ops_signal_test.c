/* ops_signal_test.c - Fourier transforms, windows, grids; see ops_case.h. */
#define OPS_GOLDEN "ops_signal_golden.h"
#include "ops_golden.h"

static BurnStftOptions stft_options(const OpsRun *run) {
  return (BurnStftOptions){WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3) != 0, WHOLE(4) != 0};
}

static BurnDType window_dtype(const OpsRun *run) {
  return WHOLE(2) ? (BurnDType)BURN_DTYPE_F64 : (BurnDType)BURN_DTYPE_F32;
}

/* The numbers start with how many vectors there are. */
static size_t vectors_of(OpsRun *run, BurnTensor **vectors) {
  const size_t count = (size_t)WHOLE(0);
  for (size_t i = 0; i < count; i++) vectors[i] = IN(i);
  return count;
}
static void meshgrid(OpsRun *run) {
  BurnTensor *vectors[OPS_MAX_TENSORS];
  const size_t count = vectors_of(run, vectors);
  const BurnGridIndexing indexing = WHOLE(1) ? BURN_GRID_CARTESIAN : BURN_GRID_MATRIX;
  const BurnStatus status =
      burn_meshgrid(vectors, count, indexing, WHOLE(2) ? BURN_GRID_SPARSE : BURN_GRID_DENSE, run->outputs);
  assert_string_equal(burn_status_message(status), "ok");
}
static BurnTensor *meshgrid_stack(OpsRun *run) {
  BurnTensor *vectors[OPS_MAX_TENSORS];
  const size_t count = vectors_of(run, vectors);
  return burn_meshgrid_stack(vectors, count, WHOLE(1) ? BURN_GRID_INDEX_LAST : BURN_GRID_INDEX_FIRST);
}

#define ROWS(OPS)                                                                                              \
  OPS(rfft, OUT(0) = burn_rfft(IN(0), DIM(0), WHOLE(1), &OUT(1)))                                              \
  OPS(irfft, OUT(0) = burn_irfft(IN(0), IN(1), DIM(0), WHOLE(1)))                                              \
  OPS(cfft, OUT(0) = burn_cfft(IN(0), IN(1), DIM(0), WHOLE(1), &OUT(1)))                                       \
  OPS(stft, OUT(0) = burn_stft(IN(0), IN(1), stft_options(run)))                                               \
  OPS(istft, OUT(0) = burn_istft(IN(0), IN(1), WHOLE(5), stft_options(run)))                                   \
  OPS(hann_window, OUT(0) = burn_hann_window(run->device, WHOLE(0), WHOLE(1) != 0, window_dtype(run)))         \
  OPS(hamming_window, OUT(0) = burn_hamming_window(run->device, WHOLE(0), WHOLE(1) != 0, window_dtype(run)))   \
  OPS(blackman_window, OUT(0) = burn_blackman_window(run->device, WHOLE(0), WHOLE(1) != 0, window_dtype(run))) \
  OPS(meshgrid, meshgrid(run))                                                                                 \
  OPS(meshgrid_stack, OUT(0) = meshgrid_stack(run))                                                            \
  OPS(affine_grid_2d, OUT(0) = burn_affine_grid_2d(IN(0), WHOLE(0), WHOLE(1)))

OPS_MAIN("signals and grids", ROWS)
