/* infer_windows.c - steps that the rules of convolutions and pools share: how a window moves over an axis. */
#include "infer_internal.h"

BurnStatus burn__infer_sizes(const BurnOpInfo *info, const BurnAttr *sizes, const char *name, uint32_t axes,
                             int64_t least) {
  if (sizes->count < axes) return BURN_FAIL(INVALID_ARGUMENT, "%s: %s needs %u entries", info->name, name, axes);
  bool valid = true;
  for (uint32_t i = 0; i < axes; i++) valid &= sizes->value.i64s[i] >= least && sizes->value.i64s[i] <= INT32_MAX;
  BurnShapeText text;
  if (valid) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %s %s; %lld or more expected", info->name, name,
                   burn__shape_text(&text, axes, sizes->value.i64s), (long long)least);
}

BurnStatus burn__infer_window(const BurnOpInfo *info, const BurnAttr *stride, const BurnAttr *padding,
                              const BurnAttr *dilation, uint32_t axes) {
  BURN_TRY(burn__infer_sizes(info, stride, "stride", axes, 1));
  BURN_TRY(burn__infer_sizes(info, padding, "padding", axes, 0));
  return burn__infer_sizes(info, dilation, "dilation", axes, 1);
}

BurnStatus burn__infer_planes(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t axes) {
  BURN_TRY(burn__infer_rank(info, call, input, axes + 2));
  const BurnPrimitive *x = call->inputs[input];
  bool fits = true;
  for (uint32_t i = axes == 2 ? 2 : 0; i < axes + 2; i++) fits &= x->shape[i] <= INT32_MAX;
  BurnShapeText text;
  if (fits) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has planes of shape %s, too large", info->name, info->input_names[input],
                   burn__shape_text(&text, x->rank, x->shape));
}

int64_t burn__infer_window_count(int64_t in, int64_t padding, int64_t dilation, int64_t kernel, int64_t stride,
                                 bool ceil_mode) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  return (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
}

BurnStatus burn__infer_bias(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, int64_t channels) {
  if (call->input_count <= input || !call->inputs[input]) return BURN_OK;
  BURN_TRY(burn__infer_same_dtype(info, call, 0, input));
  BURN_TRY(burn__infer_rank(info, call, input, 1));
  if (call->inputs[input]->shape[0] == channels) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has %lld entries, one per output channel (%lld) expected", info->name,
                   info->input_names[input], (long long)call->inputs[input]->shape[0], (long long)channels);
}

BurnStatus burn__infer_groups(const BurnOpInfo *info, int64_t groups, int64_t channels, const char *what) {
  if (groups >= 1 && channels % groups == 0) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: groups %lld does not divide the %lld %s channels", info->name,
                   (long long)groups, (long long)channels, what);
}

bool burn__infer_has_empty_axis(const int64_t *shape, uint32_t axes) {
  for (uint32_t i = 0; i < axes; i++) {
    if (shape[i] < 1) return true;
  }
  return false;
}

BurnStatus burn__infer_pictures(const BurnOpInfo *info, const BurnOpCall *call) {
  BURN_TRY(burn__infer_planes(info, call, 0, 2));
  const BurnPrimitive *x = call->inputs[0];
  BurnShapeText text;
  if (x->shape[2] > 0 && x->shape[3] > 0) return BURN_OK;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has no pixels to read", info->name, burn__shape_text(&text, 4, x->shape));
}
