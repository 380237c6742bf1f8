/* torch_sequence.cpp - attention, where libtorch has it (from 2.0). Masks, biases and soft caps are left to the
 * decomposition: rows that are hidden as a whole give 0 there and NaN in ATen. */
#include "torch_internal.h"

#include <cmath>

#if __has_include(<ATen/ops/scaled_dot_product_attention.h>)
#include <ATen/ops/scaled_dot_product_attention.h>
#define BURN_TORCH_HAS_ATTENTION
#endif

namespace burn_torch {

#if defined(BURN_TORCH_HAS_ATTENTION)
namespace {

bool is_plain(const BurnOpCall *call, std::string &why) {
  const BurnAttrs_attention *attrs = BURN_ATTRS(attention, call);
  const int64_t *query = call->inputs[0]->shape, *key = call->inputs[1]->shape;
  const bool has_elements = burn_desc_count(&call->output_descs[0]) > 0 && query[3] > 0 && key[2] > 0;
  why = "only attention without mask, bias and soft cap has a kernel, causal for as many keys as queries";
  return !call->inputs[3] && !call->inputs[4] && attrs->softcap.value.f64 == 0 && has_elements &&
         (attrs->is_causal.value.i64 == 0 || query[2] == key[2]);
}

void attention(Run &run) {
  const BurnAttrs_attention *attrs = TORCH_ATTRS(attention, run);
  const double width = static_cast<double>(run.in(0).size(3));
  const double scale = attrs->scale.value.f64 == 0 ? 1 / std::sqrt(width) : attrs->scale.value.f64;
  run.out[0] = at::scaled_dot_product_attention(run.in(0), run.in(1), run.in(2), {}, 0.0,
                                                attrs->is_causal.value.i64 != 0, scale);
}

const Row rows[] = {{BURN_OP_attention, attention, Halves::widen_on_cpu, is_plain}};

}  // namespace

Rows sequence_rows() { return {rows, sizeof rows / sizeof rows[0]}; }
#else
Rows sequence_rows() { return {nullptr, 0}; }
#endif

}  // namespace burn_torch
