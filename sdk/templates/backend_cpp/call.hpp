// call.hpp - one op that is being run: its inputs, its attributes, the outputs that are made for it; and kernels.
#ifndef BACKEND_CALL_HPP
#define BACKEND_CALL_HPP

#include "tensor.hpp"

#include <utility>

namespace backend {

// Shapes, dtypes and attributes have been checked by the host. Outputs exist from the start, every element 0; what
// is not given out is released.
class Call {
 public:
  Call(Memory &memory, const BurnOpCall &call) : raw(call), memory_(memory) {
    try {
      for (uint32_t i = 0; i < call.output_count; i++) outputs_[i] = memory.make(call.output_descs[i]);
    } catch (...) {
      release();
      throw;
    }
  }
  ~Call() { release(); }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  // NULL for an optional input that is absent.
  const BurnPrimitive *input(uint32_t i) const { return i < raw.input_count ? raw.inputs[i] : nullptr; }
  BurnPrimitive *output(uint32_t i = 0) const { return outputs_[i]; }
  int64_t count() const { return burn_primitive_count(outputs_[0]); }  // elements of the first output

  int64_t integer(uint32_t i) const { return raw.attrs[i].value.i64; }
  const int64_t *list(uint32_t i) const { return raw.attrs[i].value.i64s; }

  // The op has succeeded: its outputs, one reference each, go to the caller.
  void give_out() {
    for (uint32_t i = 0; i < raw.output_count; i++) raw.outputs[i] = std::exchange(outputs_[i], nullptr);
  }

  const BurnOpCall &raw;

 private:
  void release() {
    for (BurnPrimitive *output : outputs_) memory_.release(output);
  }

  Memory &memory_;
  std::array<BurnPrimitive *, BURN_MAX_OUTPUTS> outputs_{};
};

using Kernel = void (*)(const Call &);

// The kernel of an op, by family; nullptr: the op is not one of its own, or the host decomposes it.
Kernel create_kernel(uint32_t op);
Kernel elementwise_kernel(uint32_t op);
Kernel lines_kernel(uint32_t op);
Kernel moves_kernel(uint32_t op);
Kernel index_kernel(uint32_t op);
Kernel compute_kernel(uint32_t op);

// What becomes of two values, NaN winning; for reductions and for updates.
template <class Number>
bool is_larger(Number a, Number b) {
  return b > a || (b != b && a == a);
}
template <class Number>
bool is_smaller(Number a, Number b) {
  return b < a || (b != b && a == a);
}
inline double sum(double a, double b) { return a + b; }
inline double product(double a, double b) { return a * b; }
inline int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
inline int64_t sum(int64_t a, int64_t b) { return wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
inline int64_t product(int64_t a, int64_t b) { return wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

}  // namespace backend

#endif
