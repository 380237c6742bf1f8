/* torch_create.cpp - tensors from nothing. Random numbers are those of random.h, to the bit, made on the host's threads
 * and then moved to the device; with the option random=aten they come from ATen's generator, seeded per call. */
#include "torch_transfer.h"
#include "torch_write.h"

#include <burn/plugin/random.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>

namespace burn_torch {
namespace {

void full(Run &run) {
  const BurnAttr &number = TORCH_ATTRS(full, run)->value;
  const double value = burn_attr_to_f64(&number);
  const BurnDType dtype = run.desc().dtype;
  const bool is_half = dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
  const at::TensorOptions options = options_of(run.torch, dtype);
  if (is_half) {
    run.out[0] = half_of_f64(at::full(sizes_of(run.desc()), value, options.dtype(at::kDouble)), scalar_type(dtype));
  } else if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT) {
    run.out[0] = at::full(sizes_of(run.desc()), value, options);
  } else if (dtype == BURN_DTYPE_BOOL) {
    run.out[0] = at::full(sizes_of(run.desc()), value != 0, options);
  } else {
    run.out[0] = at::full(sizes_of(run.desc()), saturated(number, dtype), options);
  }
}

/* Wraps around as integers do. */
void arange(Run &run) {
  const BurnAttrs_arange *attrs = TORCH_ATTRS(arange, run);
  const BurnDType dtype = run.desc().dtype;
  const at::Tensor whole = at::arange(run.desc().shape[0], options_of(run.torch, BURN_DTYPE_I64))
                               .mul_(attrs->step.value.i64)
                               .add_(attrs->start.value.i64);
  const bool is_half = dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
  run.out[0] = is_half ? half_of_whole(whole, scalar_type(dtype)) : whole.to(scalar_type(dtype));
}

/* In f32: there is no kernel for bf16. */
void eye(Run &run) {
  run.out[0] = at::eye(run.desc().shape[0], run.desc().shape[1], options_of(run.torch, BURN_DTYPE_F32));
}

/* -- random.h --------------------------------------------------------------------------------- */

/* What every element needs; seed and offset are the third and fourth attribute of every random op. */
struct Numbers {
  BurnDType dtype;
  double a = 0, b = 0;           /* low and high, or mean and standard deviation */
  uint64_t first = 0, range = 0; /* of integers: low, and high - low */
  uint64_t threshold = 0;        /* of bernoulli */
  void *data = nullptr;          /* fill_random sets these */
  uint64_t seed = 0, offset = 0;
};

float rounded_to(BurnDType dtype, float value) {
  if (dtype == BURN_DTYPE_F16) return static_cast<float>(at::Half(value));
  return dtype == BURN_DTYPE_BF16 ? static_cast<float>(at::BFloat16(value)) : value;
}

void put_float(const Numbers &numbers, int64_t i, float value) {
  switch (numbers.dtype) {
    case BURN_DTYPE_F16:
      static_cast<at::Half *>(numbers.data)[i] = at::Half(value);
      break;
    case BURN_DTYPE_BF16:
      static_cast<at::BFloat16 *>(numbers.data)[i] = at::BFloat16(value);
      break;
    default:
      static_cast<float *>(numbers.data)[i] = value;
      break;
  }
}

void put_integer(const Numbers &numbers, int64_t i, uint64_t value) {
  switch (burn_dtype_bytes(numbers.dtype)) {
    case 1:
      static_cast<uint8_t *>(numbers.data)[i] = static_cast<uint8_t>(value);
      break;
    case 2:
      static_cast<uint16_t *>(numbers.data)[i] = static_cast<uint16_t>(value);
      break;
    case 4:
      static_cast<uint32_t *>(numbers.data)[i] = static_cast<uint32_t>(value);
      break;
    default:
      static_cast<uint64_t *>(numbers.data)[i] = value;
      break;
  }
}

void uniform_element(const Numbers &numbers, int64_t i, uint32_t word) {
  if (numbers.dtype == BURN_DTYPE_F64) {
    const double scaled = burn_random_unit_f64(word) * (numbers.b - numbers.a);
    const double sum = numbers.a + scaled;
    static_cast<double *>(numbers.data)[i] = sum < numbers.b ? sum : numbers.a;
  } else if (burn_dtype_kind(numbers.dtype) == BURN_KIND_FLOAT) {
    const float low = static_cast<float>(numbers.a), high = static_cast<float>(numbers.b);
    const float scaled = burn_random_unit_f32(word) * (high - low);
    const float sum = low + scaled, within = rounded_to(numbers.dtype, sum < high ? sum : low);
    put_float(numbers, i, within < high ? within : low);
  } else {
    put_integer(numbers, i, numbers.first + (numbers.range >> 32 ? word : word * numbers.range >> 32));
  }
}

void normal_element(const Numbers &numbers, int64_t i, uint32_t a, uint32_t b) {
  const double unit = 1.0 / 4294967296.0, turn = 6.28318530717958647692;
  const double radius = std::sqrt(-2.0 * std::log((static_cast<double>(a) + 1.0) * unit)),
               angle = turn * static_cast<double>(b) * unit;
  const double number = radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  const double value = numbers.a + numbers.b * number;
  if (numbers.dtype == BURN_DTYPE_F64) {
    static_cast<double *>(numbers.data)[i] = value;
  } else {
    put_float(numbers, i, static_cast<float>(value));
  }
}

/* The words of LANES blocks from `first` on, lane by lane in the innermost loops, which compilers turn into vectors.
 * The same numbers as burn_philox. */
constexpr int LANES = 16;
void philox_lanes(uint64_t seed, uint64_t first, uint32_t words[LANES][4]) {
  uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int i = 0; i < LANES; i++) {
    const uint64_t block = first + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(block);
    c1[i] = static_cast<uint32_t>(block >> 32);
    c2[i] = c3[i] = 0;
  }
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
    for (int i = 0; i < LANES; i++) {
      const uint64_t p0 = static_cast<uint64_t>(0xD2511F53U) * c0[i], p1 = static_cast<uint64_t>(0xCD9E8D57U) * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
    }
  }
  for (int i = 0; i < LANES; i++) {
    words[i][0] = c0[i];
    words[i][1] = c1[i];
    words[i][2] = c2[i];
    words[i][3] = c3[i];
  }
}

/* Fills elements by groups of LANES blocks: one block of the generator gives four words. */
template <class Element>
struct Filling {
  Numbers numbers;
  int64_t count;
  static void BURN_API_CALL groups(void *context, int64_t begin, int64_t end) {
    const Filling &filling = *static_cast<const Filling *>(context);
    for (int64_t group = begin; group < end; group++) {
      uint32_t words[LANES][4];
      const int64_t first = group * LANES * 4, past = std::min(filling.count, first + LANES * 4);
      philox_lanes(filling.numbers.seed, filling.numbers.offset + static_cast<uint64_t>(group) * LANES, words);
      for (int64_t i = first; i < past; i++) Element::put(filling.numbers, i, words[(i - first) / 4], i % 4);
    }
  }
};

struct UniformElement {
  static void put(const Numbers &n, int64_t i, const uint32_t *words, int64_t k) { uniform_element(n, i, words[k]); }
};
struct NormalElement { /* by pairs: the even and the odd element share their words */
  static void put(const Numbers &n, int64_t i, const uint32_t *words, int64_t k) {
    normal_element(n, i, words[k & ~1], words[k | 1]);
  }
};
struct BernoulliElement { /* bytes of 0 and 1, which ATen makes elements of */
  static void put(const Numbers &n, int64_t i, const uint32_t *words, int64_t k) {
    static_cast<uint8_t *>(n.data)[i] = words[k] < n.threshold;
  }
};

template <class Element>
void fill_random(Run &run, Numbers numbers) {
  const BurnAttr *attrs = run.call->attrs;
  const at::TensorOptions host_options = at::TensorOptions().dtype(scalar_type(numbers.dtype));
  at::Tensor host = at::empty(sizes_of(run.desc()), host_options.pinned_memory(is_asynchronous(run.torch)));
  numbers.data = host.data_ptr();
  numbers.seed = static_cast<uint64_t>(attrs[2].value.i64);
  numbers.offset = static_cast<uint64_t>(attrs[3].value.i64);
  Filling<Element> filling{numbers, host.numel()};
  run.torch.host->parallel_for((filling.count + 4 * LANES - 1) / (4 * LANES), 256, Filling<Element>::groups, &filling);
  run.out[0] = host.to(run.torch.device, host.scalar_type(), /*non_blocking=*/is_asynchronous(run.torch));
}

/* -- ATen's generator ------------------------------------------------------------------------- */

at::Tensor empty_result(const Run &run) {
  return at::empty(sizes_of(run.desc()), options_of(run.torch, run.desc().dtype));
}

/* A generator of its own for the call, so that the same seed and offset give the same numbers. On GPUs the default one
 * of the device. */
c10::optional<at::Generator> generator_of(const Run &run) {
  const uint64_t seed = static_cast<uint64_t>(run.call->attrs[2].value.i64) * 0x9E3779B97F4A7C15U +
                        static_cast<uint64_t>(run.call->attrs[3].value.i64);
  if (run.torch.device.is_cpu()) return at::detail::createCPUGenerator(seed);
  at::Generator generator = at::globalContext().defaultGenerator(run.torch.device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
  return generator;
}

/* -- the ops ---------------------------------------------------------------------------------- */

void random_uniform(Run &run) {
  const BurnAttrs_random_uniform *attrs = TORCH_ATTRS(random_uniform, run);
  const double low = burn_attr_to_f64(&attrs->low), high = burn_attr_to_f64(&attrs->high);
  const BurnDType dtype = run.desc().dtype;
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
  const int64_t first = burn_attr_to_i64(&attrs->low), last = burn_attr_to_i64(&attrs->high);
  const uint64_t range = last > first ? static_cast<uint64_t>(last) - static_cast<uint64_t>(first) : 0;
  if (!is_float && range > static_cast<uint64_t>(1) << 32) {
    fail(BURN_STATUS_INVALID_ARGUMENT, "the range %lld..%lld is larger than 2^32", static_cast<long long>(first),
         static_cast<long long>(last));
  }
  if (run.torch.device.is_cuda() && random_on_device(run)) return;
  if (run.torch.aten_random && is_float) {
    run.out[0] = empty_result(run).uniform_(low, high, generator_of(run));
  } else if (run.torch.aten_random) {
    run.out[0] =
        range == 0 ? empty_result(run).fill_(first) : empty_result(run).random_(first, last, generator_of(run));
  } else if (dtype == BURN_DTYPE_F64 || !is_float) {
    fill_random<UniformElement>(run, {dtype, low, high, static_cast<uint64_t>(first), range});
  } else {
    const auto rounded = [dtype](double x) {
      return half_of_f64(at::full({1}, x, at::kDouble), scalar_type(dtype)).to(at::kDouble).item().toDouble();
    };
    const bool is_f32 = dtype == BURN_DTYPE_F32;
    fill_random<UniformElement>(run, {dtype, is_f32 ? low : rounded(low), is_f32 ? high : rounded(high)});
  }
}

void random_normal(Run &run) {
  const BurnAttrs_random_normal *attrs = TORCH_ATTRS(random_normal, run);
  const double mean = attrs->mean.value.f64, std = attrs->std.value.f64;
  if (run.torch.aten_random) {
    run.out[0] = empty_result(run).normal_(mean, std, generator_of(run));
  } else {
    fill_random<NormalElement>(run, {run.desc().dtype, mean, std});
  }
}

void random_bernoulli(Run &run) {
  const double prob = TORCH_ATTRS(random_bernoulli, run)->prob.value.f64;
  if (run.torch.device.is_cuda() && random_on_device(run)) return;
  if (run.torch.aten_random) {
    run.out[0] = empty_result(run).bernoulli_(prob > 0 ? (prob < 1 ? prob : 1) : 0, generator_of(run));
  } else {
    fill_random<BernoulliElement>(run, {BURN_DTYPE_U8, 0, 0, 0, 0, burn_random_threshold(prob)});
  }
}

const Row rows[] = {
    {BURN_OP_full, full},
    {BURN_OP_arange, arange},
    {BURN_OP_eye, eye},
    {BURN_OP_random_uniform, random_uniform},
    {BURN_OP_random_normal, random_normal},
    {BURN_OP_random_bernoulli, random_bernoulli},
};

}  // namespace

Rows create_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
