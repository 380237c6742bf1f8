/* torch_view.cpp - other shapes and orders over the same storage. */
#include "torch_internal.h"

#include <ATen/ops/flip.h>
#include <ATen/ops/reshape.h>

namespace burn_torch {
namespace {

void reshape(Run &run) { run.out[0] = run.in(0).reshape(sizes_of(run.desc())); }
void permute(Run &run) { run.out[0] = run.in(0).permute(ints(TORCH_ATTRS(permute, run)->axes)); }
void expand(Run &run) { run.out[0] = run.in(0).expand(sizes_of(run.desc())); }

/* ATen has no negative strides: an axis walked backwards is turned round, which copies. */
void slice(Run &run) {
  const BurnAttrs_slice *attrs = TORCH_ATTRS(slice, run);
  const at::IntArrayRef starts = ints(attrs->starts), counts = ints(attrs->counts), steps = ints(attrs->steps);
  at::Tensor x = run.in(0);
  std::vector<int64_t> turned;
  for (int64_t axis = 0; axis < x.dim(); axis++) {
    const size_t i = static_cast<size_t>(axis);
    const int64_t step = steps[i], count = counts[i];
    if (count == 0) {
      x = x.narrow(axis, 0, 0);
    } else if (step > 0) {
      x = x.slice(axis, starts[i], starts[i] + (count - 1) * step + 1, step);
    } else {
      x = x.slice(axis, starts[i] + (count - 1) * step, starts[i] + 1, -step);
      turned.push_back(axis);
    }
  }
  run.out[0] = turned.empty() ? x : at::flip(x, turned);
}

const Row rows[] = {
    {BURN_OP_reshape, reshape, Halves::keep},
    {BURN_OP_permute, permute, Halves::keep},
    {BURN_OP_expand, expand, Halves::keep},
    {BURN_OP_slice, slice, Halves::keep},
};

}  // namespace

Rows view_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
