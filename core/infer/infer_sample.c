/* infer_sample.c - rules of ops that read pictures between their pixels. */
#include "infer_internal.h"

static BurnStatus check_mode(const BurnOpInfo *info, const BurnAttr *mode, const char *name, int64_t last) {
  if (mode->value.i64 >= 0 && mode->value.i64 <= last) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %s %lld is not in 0..%lld", info->name, name, (long long)mode->value.i64,
                   (long long)last);
}

BURN_RULE(interpolate) {
  const BurnAttrs_interpolate *attrs = BURN_ATTRS(interpolate, call);
  BURN_TRY(burn__infer_pictures(info, call));
  BURN_TRY(burn__infer_sizes(info, &attrs->output_size, "output_size", 2, 1));
  BURN_TRY(check_mode(info, &attrs->mode, "mode", BURN_INTERPOLATE_LANCZOS3));
  *out = burn_primitive_desc(call->inputs[0]);
  for (uint32_t i = 0; i < 2; i++) out->shape[2 + i] = attrs->output_size.value.i64s[i];
  return burn__infer_count(info, out);
}

BURN_RULE(grid_sample_2d) {
  const BurnAttrs_grid_sample_2d *attrs = BURN_ATTRS(grid_sample_2d, call);
  BURN_TRY(burn__infer_pictures(info, call));
  BURN_TRY(burn__infer_same_dtype(info, call, 0, 1));
  BURN_TRY(burn__infer_rank(info, call, 1, 4));
  BURN_TRY(check_mode(info, &attrs->mode, "mode", BURN_GRID_SAMPLE_BICUBIC));
  BURN_TRY(check_mode(info, &attrs->padding_mode, "padding_mode", BURN_GRID_PADDING_REFLECTION));
  const BurnPrimitive *x = call->inputs[0], *grid = call->inputs[1];
  if (grid->shape[0] != x->shape[0] || grid->shape[3] != 2) {
    BurnShapeText text;
    return BURN_FAIL(INVALID_SHAPE, "%s: grid has shape %s, [%lld, height, width, 2] expected", info->name,
                     burn__shape_text(&text, 4, grid->shape), (long long)x->shape[0]);
  }
  *out = burn_primitive_desc(x);
  for (uint32_t i = 0; i < 2; i++) out->shape[2 + i] = grid->shape[1 + i];
  return burn__infer_count(info, out);
}
