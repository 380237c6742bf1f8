/* torch_move.cpp - elements copied to other places: parts replaced, tensors joined and repeated, triangles,
 * padding, windows. */
#include "torch_write.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>

namespace burn_torch {
namespace {

/* Input 0 to write into: itself where it was given up, else a copy. */
at::Tensor writable(Run &run) { return run.may_write(0) ? run.in(0) : run.in(0).clone(at::MemoryFormat::Contiguous); }

/* ATen has no negative steps: an axis walked backwards is the same region with its values turned round. */
void slice_assign(Run &run) {
  const BurnAttrs_slice_assign *attrs = TORCH_ATTRS(slice_assign, run);
  const at::IntArrayRef starts = ints(attrs->starts), steps = ints(attrs->steps);
  const at::Tensor &values = run.in(1);
  run.out[0] = writable(run);
  if (values.numel() == 0) return;
  at::Tensor region = run.out[0];
  std::vector<int64_t> turned;
  for (int64_t axis = 0; axis < region.dim(); axis++) {
    const size_t i = static_cast<size_t>(axis);
    const int64_t last = starts[i] + (values.size(axis) - 1) * steps[i];
    if (steps[i] < 0) turned.push_back(axis);
    region = steps[i] > 0 ? region.slice(axis, starts[i], last + 1, steps[i])
                          : region.slice(axis, last, starts[i] + 1, -steps[i]);
  }
  region.copy_(turned.empty() ? values : at::flip(values, turned));
}

void cat(Run &run) { run.out[0] = at::cat(at::TensorList(run.inputs), TORCH_ATTRS(cat, run)->dim.value.i64); }

void repeat_dim(Run &run) {
  const BurnAttrs_repeat_dim *attrs = TORCH_ATTRS(repeat_dim, run);
  std::vector<int64_t> times(static_cast<size_t>(run.in(0).dim()), 1);
  times[static_cast<size_t>(attrs->dim.value.i64)] = attrs->times.value.i64;
  run.out[0] = run.in(0).repeat(times);
}

void triu(Run &run) { run.out[0] = at::triu(run.in(0), TORCH_ATTRS(triu, run)->diagonal.value.i64); }
void tril(Run &run) { run.out[0] = at::tril(run.in(0), TORCH_ATTRS(tril, run)->diagonal.value.i64); }

bool pads_with_constant(const BurnOpCall *call, std::string &why) {
  why = "only constant padding has a kernel";
  return BURN_ATTRS(pad, call)->mode.value.i64 == BURN_PAD_CONSTANT;
}
void pad(Run &run) {
  const BurnAttrs_pad *attrs = TORCH_ATTRS(pad, run);
  std::vector<int64_t> widths; /* last axis first */
  for (uint32_t axis = attrs->before.count; axis-- > 0;) {
    widths.push_back(attrs->before.value.i64s[axis]);
    widths.push_back(attrs->after.value.i64s[axis]);
  }
  run.out[0] = at::constant_pad_nd(run.in(0), widths, element_of(run, attrs->value));
}

void unfold(Run &run) {
  const BurnAttrs_unfold *attrs = TORCH_ATTRS(unfold, run);
  run.out[0] = run.in(0).unfold(attrs->dim.value.i64, attrs->size.value.i64, attrs->step.value.i64);
}

const Row rows[] = {
    {BURN_OP_slice_assign, slice_assign, Halves::keep},
    {BURN_OP_cat, cat, Halves::keep},
    {BURN_OP_repeat_dim, repeat_dim, Halves::keep},
    {BURN_OP_triu, triu, Halves::keep},
    {BURN_OP_tril, tril, Halves::keep},
    {BURN_OP_unfold, unfold, Halves::keep},
    {BURN_OP_pad, pad, Halves::keep, pads_with_constant},
};

}  // namespace

Rows move_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
