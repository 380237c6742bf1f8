/* torch_loss.cpp - cross entropy and its gradient. */
#include "torch_internal.h"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>

namespace burn_torch {
namespace {

at::Tensor target_column(const Run &run, uint32_t targets, int64_t classes) {
  return checked_indices(run, targets, run.in(targets), classes).reshape({-1, 1});
}

void cross_entropy(Run &run) {
  const at::Tensor &logits = run.in(0);
  run.out[0] = at::gather(at::_log_softmax(logits, 1, false), 1, target_column(run, 1, logits.size(1))).mean().neg();
}

void cross_entropy_backward(Run &run) {
  const at::Tensor &grad = run.in(0), &logits = run.in(1);
  at::Tensor share = at::_softmax(logits, 1, false);
  const at::Tensor column = target_column(run, 2, logits.size(1));
  if (share.is_cpu()) {
    share.scatter_add_(1, column, at::full(column.sizes(), -1, share.options()));
  } else { /* deterministic scatters sort */
    share.sub_(at::arange(share.size(1), column.options()).eq(column).to(share.scalar_type()));
  }
  run.out[0] = share.mul_(grad / static_cast<double>(logits.size(0)));
}

const Row rows[] = {
    {BURN_OP_cross_entropy, cross_entropy, Halves::widen},
    {BURN_OP_cross_entropy_backward, cross_entropy_backward, Halves::widen, first_has_elements},
};

}  // namespace

Rows loss_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
