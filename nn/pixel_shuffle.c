/* pixel_shuffle.c - channels to pixels and back, as one permutation of six axes. */
#include <burn/nn/pixel_shuffle.h>

#include "nn_internal.h"

BurnPixelShuffle burn_pixel_shuffle_init(const BurnPixelShuffleConfig *config, BurnDevice *device) {
  (void)device;
  return (BurnPixelShuffle){config ? config->upscale_factor : BURN_NN_NO_CONFIG};
}

BurnPixelUnshuffle burn_pixel_unshuffle_init(const BurnPixelUnshuffleConfig *config, BurnDevice *device) {
  (void)device;
  return (BurnPixelUnshuffle){config ? config->downscale_factor : BURN_NN_NO_CONFIG};
}

static BurnStatus check_factor(const char *layer, const char *name, size_t factor, const BurnTensor *x) {
  const BurnNnSize sizes[] = {{name, factor}};
  BurnStatus status = burn_tensor_status(x);
  if (status == BURN_OK) status = burn_nn_check_sizes(layer, sizes, 1);
  if (status != BURN_OK || burn_rank(x) == 4) return status;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: rank 4 expected, found %u", layer, burn_rank(x));
}

BurnTensor *burn_pixel_shuffle_forward(const BurnPixelShuffle *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const BurnNnOperand operand = {"x", x};
  const char *layer = "pixel_shuffle";
  const int64_t r = (int64_t)m->upscale_factor;
  if (m->upscale_factor == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnPixelShuffleConfig_type(), layer);
  BurnStatus status = check_factor(layer, "upscale_factor", m->upscale_factor, x);
  const BurnShape in = burn_shape(x);
  if (status == BURN_OK && in.dims[1] % (r * r) != 0) {
    status = burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %lld channels are not a multiple of %lld * %lld", layer,
                              (long long)in.dims[1], (long long)r, (long long)r);
  }
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  const int64_t n = in.dims[0], c = in.dims[1] / (r * r), h = in.dims[2], w = in.dims[3];
  x = burn_permute(burn_reshape(x, BURN_SHAPE(n, c, r, r, h, w)), (int[]){0, 1, 4, 2, 5, 3});
  return burn_reshape(x, BURN_SHAPE(n, c, h * r, w * r));
}

BurnTensor *burn_pixel_unshuffle_forward(const BurnPixelUnshuffle *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const BurnNnOperand operand = {"x", x};
  const char *layer = "pixel_unshuffle";
  const int64_t r = (int64_t)m->downscale_factor;
  if (m->downscale_factor == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnPixelUnshuffleConfig_type(), layer);
  BurnStatus status = check_factor(layer, "downscale_factor", m->downscale_factor, x);
  const BurnShape in = burn_shape(x);
  if (status == BURN_OK && (in.dims[2] % r != 0 || in.dims[3] % r != 0)) {
    status = burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: height %lld and width %lld are not multiples of %lld",
                              layer, (long long)in.dims[2], (long long)in.dims[3], (long long)r);
  }
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  const int64_t n = in.dims[0], c = in.dims[1], h = in.dims[2] / r, w = in.dims[3] / r;
  x = burn_permute(burn_reshape(x, BURN_SHAPE(n, c, h, r, w, r)), (int[]){0, 1, 3, 5, 2, 4});
  return burn_reshape(x, BURN_SHAPE(n, c * r * r, h, w));
}
