/* interpolate.c - resampling layers. One axis is resampled as planes of height 1. */
#include <burn/nn/interpolate.h>

#include "nn_internal.h"

const BurnType *BurnInterpolateMode_type(void) {
  static const BurnVariant variants[] = {[BURN_INTERPOLATE_NEAREST] = {"Nearest", 0, NULL},
                                         [BURN_INTERPOLATE_NEAREST_EXACT] = {"NearestExact", 0, NULL},
                                         [BURN_INTERPOLATE_BILINEAR] = {"Linear", 0, NULL},
                                         [BURN_INTERPOLATE_BICUBIC] = {"Cubic", 0, NULL},
                                         [BURN_INTERPOLATE_LANCZOS3] = {"Lanczos", 0, NULL}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnInterpolateMode",
                                .bytes = sizeof(BurnInterpolateMode),
                                .count = sizeof variants / sizeof variants[0],
                                .variants = variants};
  BURN_INTERNAL_STATIC_ASSERT(sizeof(BurnInterpolateMode) == sizeof(uint32_t), "a case is a uint32_t");
  return &type;
}

/* *size (0: none given) and the factor for an axis of `in` elements, as the size of the output. */
static BurnStatus output_size_of(const char *layer, size_t given, const BurnOptionF64 *factor, int64_t in,
                                 int64_t *size) {
  if ((given != 0) == factor->present) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: give an output size or a scale factor, %s", layer,
                            given ? "not both" : "one of them");
  }
  /* The product of an f32 and the size, as in Burn: 0.7 of 10 is 6. */
  const double product = factor->present ? (double)in * (double)(float)factor->value : (double)given;
  if (!(product >= 0 && product <= INT32_MAX)) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%s: the output size %g is outside 0..%ld", layer, product,
                            (long)INT32_MAX);
  }
  *size = (int64_t)product;
  return BURN_OK;
}

static BurnStatus check_rank(const char *layer, const BurnTensor *x, uint32_t rank) {
  if (burn_tensor_status(x) != BURN_OK || burn_rank(x) == rank) return burn_tensor_status(x);
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: rank %u expected, found %u", layer, rank, burn_rank(x));
}

BurnInterpolate1d burn_interpolate1d_init(const BurnInterpolate1dConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnInterpolate1dConfig_type(), "interpolate1d", NULL);
  return (BurnInterpolate1d){config->output_size, config->scale_factor, config->mode, config->align_corners};
}

BurnTensor *burn_interpolate1d_forward(const BurnInterpolate1d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const BurnNnOperand operand = {"x", x};
  const char *layer = "interpolate1d";
  int64_t size[2] = {1, 0};
  BurnStatus status = check_rank(layer, x, 3);
  if (status == BURN_OK) status = output_size_of(layer, m->output_size, &m->scale_factor, burn_dim(x, 2), &size[1]);
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  const BurnInterpolateOptions options = {m->mode, m->align_corners};
  return burn_squeeze_dim(burn_interpolate(burn_unsqueeze_dim(x, 2), size, options), 2);
}

BurnInterpolate2d burn_interpolate2d_init(const BurnInterpolate2dConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnInterpolate2dConfig_type(), "interpolate2d", NULL);
  return (BurnInterpolate2d){config->output_size, config->scale_height, config->scale_width, config->mode,
                             config->align_corners};
}

BurnTensor *burn_interpolate2d_forward(const BurnInterpolate2d *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const BurnNnOperand operand = {"x", x};
  const char *layer = "interpolate2d";
  int64_t size[2] = {0, 0};
  BurnStatus status = check_rank(layer, x, 4);
  if (status == BURN_OK)
    status = output_size_of(layer, m->output_size.at[0], &m->scale_height, burn_dim(x, 2), &size[0]);
  if (status == BURN_OK)
    status = output_size_of(layer, m->output_size.at[1], &m->scale_width, burn_dim(x, 3), &size[1]);
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  const BurnInterpolateOptions options = {m->mode, m->align_corners};
  return burn_interpolate(x, size, options);
}
