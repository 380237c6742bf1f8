// moves.cpp - ops that only bring elements to other places: views (which copy here) and parts put together.
#include "call.hpp"

namespace backend {
namespace {

// Element i of the result is the element of x at start + sum of coordinate * step.
void view(const Call &call, int64_t start, const Steps &steps) {
  for (int64_t i = 0; i < call.count(); i++)
    copy(call.output(), i, call.input(0), start + place(call.output(), i, steps));
}

void copy_all(BurnPrimitive *to, const BurnPrimitive *from) {
  for (int64_t i = 0, count = burn_primitive_count(from); i < count; i++) copy(to, i, from, i);
}

void reshape(const Call &call) { copy_all(call.output(), call.input(0)); }

void permute(const Call &call) {
  Steps steps{};
  for (uint32_t i = 0; i < call.output()->rank; i++) steps[i] = call.input(0)->strides[call.list(0)[i]];
  view(call, 0, steps);
}

void expand(const Call &call) { view(call, 0, broadcast(call.input(0), call.output()->rank)); }

// Where a slice of this shape begins in x; `out` becomes how it steps through. A step that is never taken may be of any
// size.
int64_t slice_steps(const BurnPrimitive *x, const int64_t *shape, const BurnAttr &starts, const BurnAttr &steps,
                    Steps *out) {
  int64_t start = 0;
  for (uint32_t axis = 0; axis < x->rank; axis++) {
    start += starts.value.i64s[axis] * x->strides[axis];
    (*out)[axis] = shape[axis] > 1 ? steps.value.i64s[axis] * x->strides[axis] : 0;
  }
  return start;
}

void slice(const Call &call) {
  const auto *attrs = BURN_ATTRS(slice, &call.raw);
  Steps steps{};
  const int64_t start = slice_steps(call.input(0), call.output()->shape, attrs->starts, attrs->steps, &steps);
  view(call, start, steps);
}

void slice_assign(const Call &call) {
  const auto *attrs = BURN_ATTRS(slice_assign, &call.raw);
  const BurnPrimitive *x = call.input(0), *values = call.input(1);
  Steps steps{};
  const int64_t start = slice_steps(x, values->shape, attrs->starts, attrs->steps, &steps);
  copy_all(call.output(), x);
  for (int64_t i = 0, count = burn_primitive_count(values); i < count; i++) {
    copy(call.output(), start + place(values, i, steps), values, i);
  }
}

void cat(const Call &call) {
  BurnPrimitive *out = call.output();
  const int64_t dim = call.integer(0);
  Steps steps{};
  for (uint32_t axis = 0; axis < out->rank; axis++) steps[axis] = out->strides[axis];
  int64_t start = 0;
  for (uint32_t k = 0; k < call.raw.input_count; k++) {
    const BurnPrimitive *x = call.input(k);
    for (int64_t i = 0, count = burn_primitive_count(x); i < count; i++) copy(out, start + place(x, i, steps), x, i);
    start += x->shape[dim] * out->strides[dim];
  }
}

}  // namespace

Kernel moves_kernel(uint32_t op) {
  switch (op) {
    case BURN_OP_reshape: return reshape;
    case BURN_OP_permute: return permute;
    case BURN_OP_expand: return expand;
    case BURN_OP_slice: return slice;
    case BURN_OP_slice_assign: return slice_assign;
    case BURN_OP_cat: return cat;
    default: return nullptr;
  }
}

}  // namespace backend
