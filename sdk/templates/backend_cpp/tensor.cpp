// tensor.cpp - memory, every dtype read as f64 or i64 and written back, places.
#include "tensor.hpp"

#include <algorithm>
#include <cmath>

namespace backend {

// -- memory ---------------------------------------------------------------------------------------------------------

namespace {

// What stands before the elements, in the same allocation. The header comes first: a pointer to it is one to all.
struct alignas(64) Storage {
  BurnPrimitive header;
  std::atomic<uint32_t> references;
  uint64_t bytes;  // of this allocation
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
};

Storage *storage(BurnPrimitive *x) { return reinterpret_cast<Storage *>(x); }

}  // namespace

BurnPrimitive *Memory::make(const BurnTensorDesc &desc) {
  const uint64_t data = static_cast<uint64_t>(burn_desc_count(&desc)) * burn_dtype_bytes(desc.dtype);
  const uint64_t bytes = data + sizeof(Storage);
  void *room = bytes < data ? nullptr : host_->allocate(bytes);
  if (!room) fail(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tensor of ", data, " bytes");
  memset(room, 0, bytes);
  Storage *x = new (room) Storage{};
  x->references = 1;
  x->bytes = bytes;
  int64_t stride = 1;
  for (uint32_t axis = desc.rank; axis-- > 0;) {
    x->shape[axis] = desc.shape[axis];
    x->strides[axis] = stride;
    stride *= std::max<int64_t>(desc.shape[axis], 1);
  }
  x->header.struct_size = sizeof(BurnPrimitive);
  x->header.flags = BURN_PRIMITIVE_HOST_MEMORY;
  x->header.owner = owner_;
  x->header.dtype = desc.dtype;
  x->header.rank = desc.rank;
  x->header.shape = x->shape;
  x->header.strides = x->strides;
  x->header.buffer = x + 1;
  live_tensors++;
  const int64_t now = live_bytes += static_cast<int64_t>(bytes);
  int64_t peak = peak_bytes;
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return &x->header;
}

void Memory::retain(BurnPrimitive *x) { storage(x)->references++; }

void Memory::release(BurnPrimitive *x) {
  if (!x || --storage(x)->references != 0) return;
  const uint64_t bytes = storage(x)->bytes;
  live_tensors--;
  live_bytes -= static_cast<int64_t>(bytes);
  host_->free(x, bytes);
}

// -- 16-bit floats: a sign, an exponent, a fraction -----------------------------------------------------------------

namespace {

struct Half {
  int fraction_bits, bias;

  double decode(uint16_t bits) const {
    const int highest = 2 * bias + 1, unit = 1 - bias - fraction_bits;
    const int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    double size =
        exponent == 0 ? std::ldexp(fraction, unit) : std::ldexp(fraction + (1 << fraction_bits), exponent - 1 + unit);
    if (exponent == highest) size = fraction ? static_cast<double>(NAN) : HUGE_VAL;
    return bits & 0x8000 ? -size : size;
  }

  // Counts in units of the last place: a count that reaches the next exponent carries into it.
  uint16_t encode(double value) const {
    const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    const uint32_t infinity = static_cast<uint32_t>(2 * bias + 1) << fraction_bits;
    if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | 1u << (fraction_bits - 1));
    int exponent = 0;
    std::frexp(value, &exponent);
    if (std::isinf(value) || exponent > bias + 2) return static_cast<uint16_t>(sign | infinity);
    exponent = value == 0 ? 1 - bias : std::max(exponent - 1, 1 - bias);
    const auto units = static_cast<uint32_t>(std::rint(std::ldexp(std::fabs(value), fraction_bits - exponent)));
    const uint32_t bits = (static_cast<uint32_t>(exponent + bias - 1) << fraction_bits) + units;
    return static_cast<uint16_t>(sign | std::min(bits, infinity));
  }
};
constexpr Half f16{10, 15}, bf16{7, 127};

// An integer as f64 that still rounds right to fewer than 40 bits: bits that do not fit leave a trace in the last.
double sticky(int64_t value) {
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const double rounded =
      size >> 53 ? std::ldexp(static_cast<double>(size >> 11 | ((size & 2047) != 0)), 11) : static_cast<double>(size);
  return value < 0 ? -rounded : rounded;
}

template <class Type>
Type &element(const BurnPrimitive *x, int64_t i) {
  return static_cast<Type *>(x->buffer)[i];
}

}  // namespace

// -- elements -------------------------------------------------------------------------------------------------------

int64_t get_integer(const BurnPrimitive *x, int64_t i) {
  switch (x->dtype) {
    case BURN_DTYPE_I8: return element<int8_t>(x, i);
    case BURN_DTYPE_I16: return element<int16_t>(x, i);
    case BURN_DTYPE_I32: return element<int32_t>(x, i);
    case BURN_DTYPE_I64: return element<int64_t>(x, i);
    default: return element<uint8_t>(x, i);
  }
}

double get_float(const BurnPrimitive *x, int64_t i) {
  switch (x->dtype) {
    case BURN_DTYPE_F16: return f16.decode(element<uint16_t>(x, i));
    case BURN_DTYPE_BF16: return bf16.decode(element<uint16_t>(x, i));
    case BURN_DTYPE_F32: return static_cast<double>(element<float>(x, i));
    case BURN_DTYPE_F64: return element<double>(x, i);
    default: return static_cast<double>(get_integer(x, i));
  }
}

void put(BurnPrimitive *x, int64_t i, int64_t value) {
  switch (x->dtype) {
    case BURN_DTYPE_BOOL: element<uint8_t>(x, i) = value != 0; break;
    case BURN_DTYPE_U8: element<uint8_t>(x, i) = static_cast<uint8_t>(value); break;
    case BURN_DTYPE_I8: element<int8_t>(x, i) = static_cast<int8_t>(value); break;
    case BURN_DTYPE_I16: element<int16_t>(x, i) = static_cast<int16_t>(value); break;
    case BURN_DTYPE_I32: element<int32_t>(x, i) = static_cast<int32_t>(value); break;
    case BURN_DTYPE_I64: element<int64_t>(x, i) = value; break;
    case BURN_DTYPE_F16: element<uint16_t>(x, i) = f16.encode(sticky(value)); break;
    case BURN_DTYPE_BF16: element<uint16_t>(x, i) = bf16.encode(sticky(value)); break;
    case BURN_DTYPE_F32: element<float>(x, i) = static_cast<float>(value); break;
    default: element<double>(x, i) = static_cast<double>(value); break;
  }
}

void put(BurnPrimitive *x, int64_t i, double value) {
  switch (x->dtype) {
    case BURN_DTYPE_F16: element<uint16_t>(x, i) = f16.encode(value); break;
    case BURN_DTYPE_BF16: element<uint16_t>(x, i) = bf16.encode(value); break;
    case BURN_DTYPE_F32: element<float>(x, i) = static_cast<float>(value); break;
    case BURN_DTYPE_F64: element<double>(x, i) = value; break;
    case BURN_DTYPE_BOOL: element<uint8_t>(x, i) = value != 0; break;  // NaN is not 0
    default: put(x, i, saturate(x->dtype, burn_attr_f64(value)));
  }
}

void put_number(BurnPrimitive *x, int64_t i, const BurnAttr &number) {
  if (burn_dtype_kind(x->dtype) == BURN_KIND_INT) {
    put(x, i, saturate(x->dtype, number));
  } else {
    put(x, i, burn_attr_to_f64(&number));
  }
}

void copy(BurnPrimitive *to, int64_t i, const BurnPrimitive *from, int64_t j) {
  const int64_t bytes = burn_dtype_bytes(to->dtype);
  memcpy(static_cast<char *>(to->buffer) + i * bytes, static_cast<const char *>(from->buffer) + j * bytes,
         static_cast<size_t>(bytes));
}

double round_to(BurnDType dtype, double value) {
  switch (dtype) {
    case BURN_DTYPE_F16: return f16.decode(f16.encode(value));
    case BURN_DTYPE_BF16: return bf16.decode(bf16.encode(value));
    case BURN_DTYPE_F32: return static_cast<double>(static_cast<float>(value));
    default: return value;
  }
}

int64_t saturate(BurnDType dtype, const BurnAttr &number) {
  const int64_t value = burn_attr_to_i64(&number);
  switch (dtype) {
    case BURN_DTYPE_BOOL:
    case BURN_DTYPE_U8: return std::clamp<int64_t>(value, 0, 255);
    case BURN_DTYPE_I8: return std::clamp<int64_t>(value, INT8_MIN, INT8_MAX);
    case BURN_DTYPE_I16: return std::clamp<int64_t>(value, INT16_MIN, INT16_MAX);
    case BURN_DTYPE_I32: return std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
    default: return value;
  }
}

// -- places ---------------------------------------------------------------------------------------------------------

Steps broadcast(const BurnPrimitive *x, uint32_t rank) {
  Steps steps{};
  for (uint32_t axis = 0; axis < x->rank; axis++) {
    steps[rank - x->rank + axis] = x->shape[axis] == 1 ? 0 : x->strides[axis];
  }
  return steps;
}

int64_t place(const BurnPrimitive *x, int64_t i, const Steps &steps) {
  int64_t sum = 0;
  for (uint32_t axis = x->rank; axis-- > 0;) {
    sum += i % x->shape[axis] * steps[axis];
    i /= x->shape[axis];
  }
  return sum;
}

Axis::Axis(const BurnPrimitive *x, int64_t dim) : outer(1), size(x->shape[dim]), inner(1) {
  for (int64_t axis = 0; axis < dim; axis++) outer *= x->shape[axis];
  for (int64_t axis = dim + 1; axis < static_cast<int64_t>(x->rank); axis++) inner *= x->shape[axis];
}

}  // namespace backend
