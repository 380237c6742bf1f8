// tensor.hpp - tensors and their elements. Every tensor is row-major without gaps and never changes once its op has
// returned, so element i is simply number i.
#ifndef BACKEND_TENSOR_HPP
#define BACKEND_TENSOR_HPP

#include "boundary.hpp"

#include <array>
#include <atomic>
#include <type_traits>
#include <vector>

namespace backend {

// Makes and ends the tensors of an instance, and counts them.
class Memory {
 public:
  Memory(const BurnHost *host, uint32_t owner) : host_(host), owner_(owner) {}

  BurnPrimitive *make(const BurnTensorDesc &desc);  // zeros, with one reference
  static void retain(BurnPrimitive *x);
  void release(BurnPrimitive *x);  // NULL is allowed

  std::atomic<int64_t> live_tensors{0}, live_bytes{0}, peak_bytes{0};

 private:
  const BurnHost *host_;
  uint32_t owner_;
};

inline bool is_float(const BurnPrimitive *x) { return burn_dtype_kind(x->dtype) == BURN_KIND_FLOAT; }

// Element i of floats as f64, of integers and bools as i64; both are exact.
double get_float(const BurnPrimitive *x, int64_t i);
int64_t get_integer(const BurnPrimitive *x, int64_t i);

// Element i becomes the value. Floats round once, to nearest even. Integers take floats toward zero and saturated, and
// the low bits of integers. bool is value != 0.
void put(BurnPrimitive *x, int64_t i, double value);
void put(BurnPrimitive *x, int64_t i, int64_t value);
void put_number(BurnPrimitive *x, int64_t i, const BurnAttr &number);           // an attribute
void copy(BurnPrimitive *to, int64_t i, const BurnPrimitive *from, int64_t j);  // the same bits

double round_to(BurnDType dtype, double value);             // the value that an element of a float dtype takes
int64_t saturate(BurnDType dtype, const BurnAttr &number);  // the nearest value that an integer dtype has

// Kernels compute in f64 for floats and in i64 for integers and bools: Number is one of the two.
template <class Number>
Number get(const BurnPrimitive *x, int64_t i) {
  if constexpr (std::is_same_v<Number, double>) {
    return get_float(x, i);
  } else {
    return get_integer(x, i);
  }
}

template <class Number>
std::vector<Number> all(const BurnPrimitive *x) {
  std::vector<Number> values(static_cast<size_t>(burn_primitive_count(x)));
  for (size_t i = 0; i < values.size(); i++) values[i] = get<Number>(x, static_cast<int64_t>(i));
  return values;
}

// Sums become the elements: each is rounded once.
template <class Number>
void put_all(BurnPrimitive *x, const std::vector<Number> &values) {
  for (size_t i = 0; i < values.size(); i++) put(x, static_cast<int64_t>(i), values[i]);
}

// Calls body with a 0 of the type that x is computed in: with_number(x, [&](auto zero) { .. decltype(zero) .. }).
template <class Body>
void with_number(const BurnPrimitive *x, Body body) {
  if (is_float(x)) {
    body(0.0);
  } else {
    body(int64_t{0});
  }
}

// By how much a place moves per axis.
using Steps = std::array<int64_t, BURN_MAX_RANK>;

// Steps that broadcast x to a shape of this rank: its strides, but 0 along axes of size 1 and new leading axes.
Steps broadcast(const BurnPrimitive *x, uint32_t rank);

// The sum of coordinate * step for element i of x.
int64_t place(const BurnPrimitive *x, int64_t i, const Steps &steps);

// A tensor seen as [outer, size, inner] around an axis.
struct Axis {
  int64_t outer, size, inner;
  Axis(const BurnPrimitive *x, int64_t dim);
  // Element k of a line; lines are numbered as the elements of a result that keeps the axis with size 1.
  int64_t at(int64_t line, int64_t k) const { return (line / inner * size + k) * inner + line % inner; }
};

}  // namespace backend

#endif
