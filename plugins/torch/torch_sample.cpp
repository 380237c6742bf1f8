/* torch_sample.cpp - pictures in another size. Modes that ATen lacks, or has with other rules, are left to the
 * decomposition.
 */
#include "torch_internal.h"

#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>

namespace burn_torch {
namespace {

bool has_mode(const BurnOpCall *call, std::string &why) {
  why = "no kernel for lanczos3, nor for empty tensors";
  return BURN_ATTRS(interpolate, call)->mode.value.i64 != BURN_INTERPOLATE_LANCZOS3 &&
         burn_desc_count(&call->output_descs[0]) > 0 && burn_primitive_count(call->inputs[0]) > 0;
}

void interpolate(Run &run) {
  const BurnAttrs_interpolate *attrs = TORCH_ATTRS(interpolate, run);
  const at::IntArrayRef size = ints(attrs->output_size);
  const bool align_corners = attrs->align_corners.value.i64 != 0;
  switch (attrs->mode.value.i64) {
    case BURN_INTERPOLATE_NEAREST:
      run.out[0] = at::upsample_nearest2d(run.in(0), size);
      break;
    case BURN_INTERPOLATE_NEAREST_EXACT:
      run.out[0] = at::_upsample_nearest_exact2d(run.in(0), size);
      break;
    case BURN_INTERPOLATE_BILINEAR:
      run.out[0] = at::upsample_bilinear2d(run.in(0), size, align_corners);
      break;
    default:
      run.out[0] = at::upsample_bicubic2d(run.in(0), size, align_corners);
      break;
  }
}

const Row rows[] = {{BURN_OP_interpolate, interpolate, Halves::widen, has_mode}};

}  // namespace

Rows sample_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
