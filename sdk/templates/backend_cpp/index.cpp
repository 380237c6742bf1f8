// index.cpp - masks, and access through indices.
#include "call.hpp"

namespace backend {
namespace {

// mask_where and, without a third input, mask_fill.
void mask(const Call &call) {
  const BurnPrimitive *x = call.input(0), *condition = call.input(1), *value = call.input(2);
  BurnPrimitive *out = call.output();
  const Steps x_steps = broadcast(x, out->rank), condition_steps = broadcast(condition, out->rank);
  const Steps value_steps = value ? broadcast(value, out->rank) : Steps{};
  for (int64_t i = 0; i < call.count(); i++) {
    if (!get_integer(condition, place(out, i, condition_steps))) {
      copy(out, i, x, place(out, i, x_steps));
    } else if (value) {
      copy(out, i, value, place(out, i, value_steps));
    } else {
      put_number(out, i, call.raw.attrs[0]);
    }
  }
}

// Calls visit(i, place) for every element i of the picked side, which lies at `place` in x. Fails at the first index
// that is outside.
template <class Visit>
void for_each_place(const Call &call, const BurnPrimitive *picked, Visit visit) {
  const int64_t dim = call.integer(0);  // the first attribute of all these ops
  const Axis x(call.input(0), dim);
  const bool is_list = call.raw.op == BURN_OP_select || call.raw.op == BURN_OP_select_assign;  // not one per element
  const int64_t picks = picked->shape[dim];
  for (int64_t i = 0, count = burn_primitive_count(picked); i < count; i++) {
    const int64_t position = is_list ? i / x.inner % picks : i, index = get_integer(call.input(1), position);
    if (x.size == 0)
      fail(BURN_STATUS_OUT_OF_RANGE, "index ", index, " at position ", position, ", but axis ", dim, " is empty");
    if (index < 0 || index >= x.size) {
      fail(BURN_STATUS_OUT_OF_RANGE, "index ", index, " at position ", position, " is outside 0..", x.size - 1,
           " (axis ", dim, ")");
    }
    visit(i, (i / x.inner / picks * x.size + index) * x.inner + i % x.inner);
  }
}

void pick(const Call &call) {
  for_each_place(call, call.output(), [&](int64_t i, int64_t at) { copy(call.output(), i, call.input(0), at); });
}

// What becomes of an element where a value is put.
template <class Number>
Number joined(int64_t update, Number a, Number b) {
  switch (update) {
    case BURN_UPDATE_ADD: return sum(a, b);
    case BURN_UPDATE_MUL: return product(a, b);
    case BURN_UPDATE_MIN: return is_smaller(a, b) ? b : a;
    case BURN_UPDATE_MAX: return is_larger(a, b) ? b : a;
    default: return b;
  }
}

// Values that meet are joined unrounded.
void put_values(const Call &call) {
  const BurnPrimitive *x = call.input(0), *values = call.input(2);
  with_number(x, [&](auto zero) {
    using Number = decltype(zero);
    std::vector<Number> wide = all<Number>(x);
    for_each_place(call, values, [&](int64_t i, int64_t at) {
      Number &element = wide[static_cast<size_t>(at)];
      element = joined(call.integer(1), element, get<Number>(values, i));
    });
    put_all(call.output(), wide);
  });
}

}  // namespace

Kernel index_kernel(uint32_t op) {
  switch (op) {
    case BURN_OP_mask_where:
    case BURN_OP_mask_fill: return mask;
    case BURN_OP_select:
    case BURN_OP_gather: return pick;
    case BURN_OP_select_assign:
    case BURN_OP_scatter: return put_values;
    default: return nullptr;
  }
}

}  // namespace backend
