/* torch_reduce.cpp - elements combined along an axis, or all of them. Halves arrive as f32 and are rounded once. */
#include "torch_write.h"

#include <ATen/ops/all.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/any.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/min.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/signbit.h>
#include <ATen/ops/sum.h>

namespace burn_torch {
namespace {

bool is_float(const BurnOpCall *call, std::string &why) {
  why = "means of integers truncate, which ATen's do not";
  return burn_dtype_kind(call->inputs[0]->dtype) == BURN_KIND_FLOAT;
}

/* ATen adds integers in i64 unless told to stay in their dtype. */
void sum(Run &run) { run.out[0] = at::sum(run.in(0), run.in(0).scalar_type()); }
void sum_dim(Run &run) { run.out[0] = at::sum(run.in(0), {dim_of(run)}, true, run.in(0).scalar_type()); }
void prod(Run &run) { run.out[0] = at::prod(wide(run.in(0)), wide(run.in(0)).scalar_type()); }
void prod_dim(Run &run) { run.out[0] = at::prod(wide(run.in(0)), dim_of(run), true, wide(run.in(0)).scalar_type()); }
void mean(Run &run) { run.out[0] = at::mean(run.in(0)); }
void mean_dim(Run &run) { run.out[0] = at::mean(run.in(0), {dim_of(run)}, true); }
/* Of equal elements amax and amin take any, which shows in the sign of zeros: in the vector loops on the CPU, and on
 * GPUs. */
bool picks_any_zero(const at::Tensor &x, const at::Tensor &extreme) {
  if (!x.is_floating_point() || !extreme.eq(0).any().item<bool>()) return false;
  return at::signbit(x).logical_and(x.eq(0)).any().item<bool>();
}
/* The largest or smallest of each line along dim, the first of equal ones. max and min with positions do that, but
 * take ten times as long and more on the CPU; on GPUs asking would wait for the device. */
at::Tensor max_along(const at::Tensor &x, int64_t dim) {
  const at::Tensor found = x.is_cpu() ? at::amax(x, {dim}, true) : at::Tensor();
  return !found.defined() || picks_any_zero(x, found) ? std::get<0>(at::max(x, dim, true)) : found;
}
at::Tensor min_along(const at::Tensor &x, int64_t dim) {
  const at::Tensor found = x.is_cpu() ? at::amin(x, {dim}, true) : at::Tensor();
  return !found.defined() || picks_any_zero(x, found) ? std::get<0>(at::min(x, dim, true)) : found;
}
void max(Run &run) { run.out[0] = at::amax(run.in(0)); }
void min(Run &run) { run.out[0] = at::amin(run.in(0)); }
void max_dim(Run &run) { run.out[0] = max_along(run.in(0), dim_of(run)); }
void min_dim(Run &run) { run.out[0] = min_along(run.in(0), dim_of(run)); }
void argmax(Run &run) { run.out[0] = at::argmax(run.in(0), dim_of(run), true); }
void argmin(Run &run) { run.out[0] = at::argmin(run.in(0), dim_of(run), true); }
void any(Run &run) { run.out[0] = at::any(run.in(0).ne(0)); }
void all(Run &run) { run.out[0] = at::all(run.in(0).ne(0)); }
void any_dim(Run &run) { run.out[0] = at::any(run.in(0).ne(0), dim_of(run), true); }
void all_dim(Run &run) { run.out[0] = at::all(run.in(0).ne(0), dim_of(run), true); }

const Row rows[] = {
    {BURN_OP_sum, sum, Halves::widen},
    {BURN_OP_sum_dim, sum_dim, Halves::widen},
    {BURN_OP_prod, prod, Halves::widen},
    {BURN_OP_prod_dim, prod_dim, Halves::widen},
    {BURN_OP_mean, mean, Halves::widen, is_float},
    {BURN_OP_mean_dim, mean_dim, Halves::widen, is_float},
    {BURN_OP_max, max},
    {BURN_OP_min, min},
    {BURN_OP_max_dim, max_dim},
    {BURN_OP_min_dim, min_dim},
    {BURN_OP_argmax, argmax},
    {BURN_OP_argmin, argmin},
    {BURN_OP_any, any},
    {BURN_OP_all, all},
    {BURN_OP_any_dim, any_dim},
    {BURN_OP_all_dim, all_dim},
};

}  // namespace

Rows reduce_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
