/* torch_scan.cpp - running sums, products and extremes. Halves arrive as f32 and are rounded once. */
#include "torch_write.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cummax.h>
#include <ATen/ops/cummin.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/where.h>

namespace burn_torch {
namespace {

void cumsum(Run &run) { run.out[0] = at::cumsum(wide(run.in(0)), dim_of(run), wide(run.in(0)).scalar_type()); }
void cumprod(Run &run) { run.out[0] = at::cumprod(wide(run.in(0)), dim_of(run), wide(run.in(0)).scalar_type()); }
/* Of equal elements the first stays, which shows in the sign of zeros; ATen takes the last. */
at::Tensor with_first_zero(const at::Tensor &x, const at::Tensor &running, int64_t dim) {
  if (!x.is_floating_point() || x.numel() == 0) return running;
  const at::Tensor zeros = running.eq(0);
  const at::Tensor first = at::argmax(zeros.to(at::kByte), dim, true);
  return at::where(zeros, at::gather(x, dim, first), running);
}

void cummax(Run &run) {
  run.out[0] = with_first_zero(run.in(0), std::get<0>(at::cummax(run.in(0), dim_of(run))), dim_of(run));
}
void cummin(Run &run) {
  run.out[0] = with_first_zero(run.in(0), std::get<0>(at::cummin(run.in(0), dim_of(run))), dim_of(run));
}

const Row rows[] = {
    {BURN_OP_cumsum, cumsum, Halves::widen},
    {BURN_OP_cumprod, cumprod, Halves::widen},
    {BURN_OP_cummax, cummax},
    {BURN_OP_cummin, cummin},
};

}  // namespace

Rows scan_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
