/* torch_index.cpp - rows and elements at indices: read, and written with every BURN_UPDATE_*. Indices are checked
 * first: on GPUs ATen would end the process. */
#include "torch_write.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/scatter_reduce.h>
#include <ATen/ops/segment_reduce.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/unique_consecutive.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace burn_torch {
namespace {

/* -- reading ---------------------------------------------------------------------------------- */

void select(Run &run) {
  const int64_t dim = TORCH_ATTRS(select, run)->dim.value.i64;
  run.out[0] = at::index_select(run.in(0), dim, checked_indices(run, 1, run.in(1), run.in(0).size(dim)));
}

void gather(Run &run) {
  const int64_t dim = TORCH_ATTRS(gather, run)->dim.value.i64;
  run.out[0] = at::gather(run.in(0), dim, checked_indices(run, 1, run.in(1), run.in(0).size(dim)));
}

void embedding(Run &run) {
  const at::Tensor indices = checked_indices(run, 1, run.in(1), run.in(0).size(0));
  run.out[0] = at::index_select(run.in(0), 0, indices.reshape({-1}));
}

/* -- writing ---------------------------------------------------------------------------------- */

/* Several values for one element: the last stays. ATen promises an order on no device; on the CPU it goes along dim in
 * order, on others the last one is looked for. */
at::Tensor assign(const at::Tensor &x, int64_t dim, const at::Tensor &indices, const at::Tensor &values) {
  if (x.is_cpu()) return at::scatter(x, dim, indices, values);
  if (values.numel() == 0) return x.clone();
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(dim)] = values.size(dim);
  const at::Tensor positions =
      at::arange(values.size(dim), indices.options()).view(shape).expand(values.sizes()).contiguous();
  const at::Tensor nobody = at::full(x.sizes(), -1, indices.options());
  const at::Tensor last = at::scatter_reduce(nobody, dim, indices, positions, "amax");
  return at::where(last.ge(0), at::gather(values, dim, last.clamp_min(0)), x);
}

/* GPUs multiply by atomic operations, in any order, which shows in the last bits of floats: there the factors of each
 * element are sorted together and multiplied in their order. */
at::Tensor product(const at::Tensor &x, int64_t dim, const at::Tensor &indices, const at::Tensor &values) {
  if (x.is_cpu() || !x.is_floating_point()) return at::scatter_reduce(x, dim, indices, values, "prod");
  if (values.numel() == 0) return x.clone();
  const at::Tensor numbers = at::arange(x.numel(), indices.options().dtype(at::kLong)).view(x.sizes());
  const auto [targets, order] = at::sort(at::gather(numbers, dim, indices).reshape({-1}), /*stable=*/true, 0, false);
  const auto [elements, inverse, counts] = at::unique_consecutive(targets, false, /*return_counts=*/true);
  const at::Tensor factors = at::segment_reduce(values.reshape({-1}).index_select(0, order), "prod", counts);
  const at::Tensor flat = x.reshape({-1});
  return at::index_copy(flat, 0, elements, flat.index_select(0, elements) * factors).view(x.sizes());
}

at::Tensor updated(const at::Tensor &x, int64_t dim, const at::Tensor &indices, const at::Tensor &values,
                   int64_t update) {
  switch (update) {
    case BURN_UPDATE_ASSIGN:
      return assign(x, dim, indices, values);
    case BURN_UPDATE_ADD:
      return at::scatter_add(x, dim, indices, values);
    case BURN_UPDATE_MUL:
      return product(x, dim, indices, values);
    case BURN_UPDATE_MIN:
      return at::scatter_reduce(x, dim, indices, values, "amin");
    default:
      return at::scatter_reduce(x, dim, indices, values, "amax");
  }
}

/* Bools as bytes: adding is or, which is the larger; multiplying is and, the smaller. */
at::Tensor updated_any(const at::Tensor &x, int64_t dim, const at::Tensor &indices, const at::Tensor &values,
                       int64_t update) {
  if (x.scalar_type() != at::kBool) return updated(x, dim, indices, values, update);
  int64_t as_byte = update;
  if (update == BURN_UPDATE_ADD) as_byte = BURN_UPDATE_MAX;
  if (update == BURN_UPDATE_MUL) as_byte = BURN_UPDATE_MIN;
  return updated(x.to(at::kByte), dim, indices, values.to(at::kByte), as_byte).to(at::kBool);
}

void scatter(Run &run) {
  const BurnAttrs_scatter *attrs = TORCH_ATTRS(scatter, run);
  const int64_t dim = attrs->dim.value.i64;
  const at::Tensor indices = checked_indices(run, 1, run.in(1), run.in(0).size(dim));
  run.out[0] = updated_any(run.in(0), dim, indices, run.in(2), attrs->update.value.i64);
}

void select_assign(Run &run) {
  const BurnAttrs_select_assign *attrs = TORCH_ATTRS(select_assign, run);
  const int64_t dim = attrs->dim.value.i64;
  const at::Tensor indices = checked_indices(run, 1, run.in(1), run.in(0).size(dim));
  std::vector<int64_t> shape(static_cast<size_t>(run.in(0).dim()), 1);
  shape[static_cast<size_t>(dim)] = indices.numel();
  run.out[0] =
      updated_any(run.in(0), dim, indices.reshape(shape).expand(run.in(2).sizes()), run.in(2), attrs->update.value.i64);
}

/* -- several axes at once --------------------------------------------------------------------- */

/* indices [.., k] as the numbers of rows of x seen as [product of its k leading axes, ..]. */
at::Tensor row_numbers(const Run &run, const at::Tensor &x, const at::Tensor &indices) {
  const int64_t depth = indices.size(-1);
  at::Tensor numbers =
      at::zeros(indices.sizes().slice(0, static_cast<size_t>(indices.dim() - 1)), indices.options().dtype(at::kLong));
  for (int64_t axis = 0; axis < depth; axis++) {
    numbers = numbers * x.size(axis) + checked_indices(run, 1, indices.select(-1, axis), x.size(axis));
  }
  return numbers.reshape({-1});
}

/* x as [rows, elements of a row]; sizes are written out because -1 is ambiguous for empty tensors. */
at::Tensor as_rows(const at::Tensor &x, int64_t depth) {
  int64_t count = 1, width = 1;
  for (int64_t axis = 0; axis < x.dim(); axis++) (axis < depth ? count : width) *= x.size(axis);
  return x.reshape({count, width});
}

void gather_nd(Run &run) {
  const at::Tensor &x = run.in(0), &indices = run.in(1);
  run.out[0] = at::index_select(as_rows(x, indices.size(-1)), 0, row_numbers(run, x, indices));
}

void scatter_nd(Run &run) {
  const at::Tensor &x = run.in(0), &indices = run.in(1);
  const at::Tensor numbers = row_numbers(run, x, indices), rows = as_rows(x, indices.size(-1));
  const at::Tensor values = run.in(2).reshape({numbers.numel(), rows.size(1)});
  run.out[0] = updated_any(rows, 0, numbers.unsqueeze(1).expand(values.sizes()), values,
                           TORCH_ATTRS(scatter_nd, run)->update.value.i64);
}

/* -- masks ------------------------------------------------------------------------------------ */

void mask_where(Run &run) { run.out[0] = at::where(run.in(1), run.in(2), run.in(0)); }
void mask_fill(Run &run) {
  const at::Scalar value = element_of(run, TORCH_ATTRS(mask_fill, run)->value);
  const bool in_place = run.may_write(0) && run.in(0).sizes() == sizes_of(run.desc());
  run.out[0] = in_place ? run.inputs[0].masked_fill_(run.in(1), value) : at::masked_fill(run.in(0), run.in(1), value);
}

const Row rows[] = {
    {BURN_OP_select, select, Halves::keep},          {BURN_OP_gather, gather, Halves::keep},
    {BURN_OP_embedding, embedding, Halves::keep},    {BURN_OP_gather_nd, gather_nd, Halves::keep},
    {BURN_OP_scatter, scatter, Halves::widen},       {BURN_OP_select_assign, select_assign, Halves::widen},
    {BURN_OP_scatter_nd, scatter_nd, Halves::widen}, {BURN_OP_mask_where, mask_where, Halves::keep},
    {BURN_OP_mask_fill, mask_fill, Halves::keep},
};

}  // namespace

Rows index_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
