/* ops_sample.c - public ops that read pictures between their pixels. */
#include "ops_internal.h"

BurnTensor *burn_interpolate(BurnTensor *x, const int64_t output_size[2], BurnInterpolateOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(output_size, 2), burn_attr_i64(options.mode),
                            burn_attr_bool(options.align_corners)};
  return burn__apply(BURN_OP_interpolate, &x, 1, attrs, 3);
}

BurnTensor *burn_grid_sample_2d(BurnTensor *x, BurnTensor *grid, BurnGridSampleOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64(options.mode), burn_attr_i64(options.padding_mode),
                            burn_attr_bool(options.align_corners)};
  return burn__apply(BURN_OP_grid_sample_2d, (BurnTensor *const[]){x, grid}, 2, attrs, 3);
}
