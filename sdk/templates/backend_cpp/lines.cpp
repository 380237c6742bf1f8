// lines.cpp - ops along an axis: reductions, running sums, sorting. A line is what remains when all other coordinates
// are fixed.
#include "call.hpp"

#include <algorithm>

namespace backend {
namespace {

// The axis of an op whose first attribute is `dim`.
Axis axis_of(const Call &call) { return Axis(call.input(0), call.integer(0)); }

// -- one number per line --------------------------------------------------------------------------------------------

// Joins the elements of each line from the first on.
template <class Join>
void fold(const Call &call, int empty, Join join) {
  with_number(call.input(0), [&](auto zero) {
    using Number = decltype(zero);
    const Axis axis = axis_of(call);
    for (int64_t line = 0; line < call.count(); line++) {
      Number total = axis.size > 0 ? get<Number>(call.input(0), axis.at(line, 0)) : static_cast<Number>(empty);
      for (int64_t k = 1; k < axis.size; k++) total = join(total, get<Number>(call.input(0), axis.at(line, k)));
      put(call.output(), line, total);
    }
  });
}

void sum_dim(const Call &call) {
  fold(call, 0, [](auto a, auto b) { return sum(a, b); });
}
void prod_dim(const Call &call) {
  fold(call, 1, [](auto a, auto b) { return product(a, b); });
}
void max_dim(const Call &call) {
  fold(call, 0, [](auto a, auto b) { return is_larger(a, b) ? b : a; });
}
void min_dim(const Call &call) {
  fold(call, 0, [](auto a, auto b) { return is_smaller(a, b) ? b : a; });
}

// NaN is not 0.
void any_dim(const Call &call) {
  const Axis axis = axis_of(call);
  for (int64_t line = 0; line < call.count(); line++) {
    int64_t found = 0;
    for (int64_t k = 0; k < axis.size; k++) found |= get_float(call.input(0), axis.at(line, k)) != 0;
    put(call.output(), line, found);
  }
}

template <class Better>
void best(const Call &call, Better is_better) {
  with_number(call.input(0), [&](auto zero) {
    using Number = decltype(zero);
    const Axis axis = axis_of(call);
    for (int64_t line = 0; line < call.count(); line++) {
      const auto element = [&](int64_t k) { return get<Number>(call.input(0), axis.at(line, k)); };
      int64_t found = 0;
      for (int64_t k = 1; k < axis.size; k++) {
        if (is_better(element(found), element(k))) found = k;
      }
      put(call.output(), line, found);
    }
  });
}

void argmax(const Call &call) {
  best(call, [](auto a, auto b) { return is_larger(a, b); });
}
void argmin(const Call &call) {
  best(call, [](auto a, auto b) { return is_smaller(a, b); });
}

// -- running --------------------------------------------------------------------------------------------------------

// What is put is rounded, what goes on is not.
template <class Join>
void scan(const Call &call, bool from_zero, Join join) {
  with_number(call.input(0), [&](auto zero) {
    using Number = decltype(zero);
    const Axis axis = axis_of(call);
    for (int64_t line = 0; line < axis.outer * axis.inner; line++) {
      Number total = zero;
      for (int64_t k = 0; k < axis.size; k++) {
        const int64_t i = axis.at(line, k);
        const Number element = get<Number>(call.input(0), i);
        total = k == 0 && !from_zero ? element : join(total, element);
        put(call.output(), i, total);
      }
    }
  });
}

void cumsum(const Call &call) {
  scan(call, true, [](auto a, auto b) { return sum(a, b); });  // 0 + -0 is 0
}
void cumprod(const Call &call) {
  scan(call, false, [](auto a, auto b) { return product(a, b); });
}
void cummin(const Call &call) {
  scan(call, false, [](auto a, auto b) { return is_smaller(a, b) ? b : a; });
}
void cummax(const Call &call) {
  scan(call, false, [](auto a, auto b) { return is_larger(a, b) ? b : a; });
}

// -- sorting --------------------------------------------------------------------------------------------------------

// A number that orders elements: -NaN < -inf < .. < -0 < +0 < .. < inf < NaN, as the bits of floats do.
int64_t rank_of(const BurnPrimitive *x, int64_t i) {
  if (!is_float(x)) return get_integer(x, i);
  const double value = get_float(x, i);
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

// Equal ranks keep their order, in both directions.
void argsort(const Call &call) {
  const Axis axis = axis_of(call);
  const bool is_descending = BURN_ATTRS(argsort, &call.raw)->descending.value.i64 != 0;
  std::vector<std::pair<int64_t, int64_t>> ranked(static_cast<size_t>(axis.size));
  for (int64_t line = 0; line < axis.outer * axis.inner; line++) {
    for (int64_t k = 0; k < axis.size; k++) {
      const int64_t rank = rank_of(call.input(0), axis.at(line, k));
      ranked[static_cast<size_t>(k)] = {is_descending ? ~rank : rank, k};
    }
    std::sort(ranked.begin(), ranked.end());
    for (int64_t k = 0; k < axis.size; k++) put(call.output(), axis.at(line, k), ranked[static_cast<size_t>(k)].second);
  }
}

}  // namespace

Kernel lines_kernel(uint32_t op) {
  switch (op) {
    case BURN_OP_sum_dim: return sum_dim;
    case BURN_OP_prod_dim: return prod_dim;
    case BURN_OP_max_dim: return max_dim;
    case BURN_OP_min_dim: return min_dim;
    case BURN_OP_any_dim: return any_dim;
    case BURN_OP_argmax: return argmax;
    case BURN_OP_argmin: return argmin;
    case BURN_OP_cumsum: return cumsum;
    case BURN_OP_cumprod: return cumprod;
    case BURN_OP_cummin: return cummin;
    case BURN_OP_cummax: return cummax;
    case BURN_OP_argsort: return argsort;
    default: return nullptr;
  }
}

}  // namespace backend
