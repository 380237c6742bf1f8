/* torch_jit.cpp - kernels of our own on CUDA, compiled at first use by ATen's jiterator (NVRTC): what would take many
 * launches otherwise, or random numbers made on the host. Only f32, and only where libtorch has CUDA.
 *
 * The jiterator runs element by element over tensors of one dtype, so positions, which are i32, and words go as the
 * bits of floats. Sums and products are written out: contracted ones would differ from the CPU's in the last bit. */
#include "torch_transfer.h"

#if defined(BURN_TORCH_CUDA) && __has_include(<ATen/cuda/jiterator.h>)

#include <ATen/cuda/jiterator.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <burn/plugin/random.h>

namespace burn_torch {
namespace {

/* -- random numbers: burn_philox for one element ---------------------------------------------- */

/* The beginning of a kernel's body: `word` of the element at `place`. */
#define WORD                                                                                                   \
  "  const unsigned int at = (unsigned int)__float_as_int(place);\n"                                           \
  "  const unsigned long long block = (unsigned long long)offset + (at >> 2);\n"                               \
  "  unsigned int c0 = (unsigned int)block, c1 = (unsigned int)(block >> 32), c2 = 0, c3 = 0;\n"               \
  "  unsigned int k0 = (unsigned int)seed, k1 = (unsigned int)((unsigned long long)seed >> 32);\n"             \
  "  for (int round = 0; round < 10; round++) {\n"                                                             \
  "    const unsigned long long p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;\n"                           \
  "    const unsigned int n0 = (unsigned int)(p1 >> 32) ^ c1 ^ k0, n2 = (unsigned int)(p0 >> 32) ^ c3 ^ k1;\n" \
  "    c1 = (unsigned int)p1; c3 = (unsigned int)p0; c0 = n0; c2 = n2;\n"                                      \
  "    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;\n"                                                                \
  "  }\n"                                                                                                      \
  "  const unsigned int lane = at & 3u, word = lane == 0 ? c0 : lane == 1 ? c1 : lane == 2 ? c2 : c3;\n"

const char uniform_source[] =
    "template <typename T> T burn_uniform(T place, int64_t seed, int64_t offset, double low, double high) {\n" WORD
    "  const float l = (float)low, h = (float)high;\n"
    "  const float unit = __fmul_rn((float)(word >> 8), 1.0f / 16777216.0f);\n"
    "  const float sum = __fadd_rn(l, __fmul_rn(unit, __fsub_rn(h, l)));\n"
    "  return sum < h ? sum : l;\n"
    "}\n";
const char bernoulli_source[] =
    "template <typename T> T burn_bernoulli(T place, int64_t seed, int64_t offset, int64_t threshold) {\n" WORD
    "  return (unsigned long long)word < (unsigned long long)threshold ? 1.0f : 0.0f;\n"
    "}\n";
const char dropout_source[] =
    "template <typename T> T burn_dropout(T x, T place, int64_t seed, int64_t offset, int64_t threshold, double scale) "
    "{\n" WORD
    "  const float bit = (unsigned long long)word < (unsigned long long)threshold ? 1.0f : 0.0f;\n"
    "  return __fmul_rn(__fmul_rn(x, bit), (float)scale);\n"
    "}\n";

/* Positions 0 .. count-1, as the bits of floats. */
at::Tensor positions(Torch &torch, int64_t count) {
  const std::lock_guard<std::mutex> lock(torch.positions_mutex);
  if (!torch.positions.defined() || torch.positions.numel() < count) {
    int64_t room = 1 << 16;
    while (room < count) room *= 2;
    torch.positions = at::arange(room, at::TensorOptions().dtype(at::kInt).device(torch.device)).view(at::kFloat);
  }
  return torch.positions.narrow(0, 0, count);
}

using Tensors = c10::SmallVector<at::Tensor>;
using Scalars = c10::SmallVector<at::Scalar>;

/* Positions are i32. */
bool has_positions(const BurnOpCall *call, std::string &why) {
  why = "only f32 of less than 2^30 elements is made on the device";
  const BurnTensorDesc &desc = call->output_descs[0];
  const int64_t count = burn_desc_count(&desc);
  return desc.dtype == BURN_DTYPE_F32 && count > 0 && count < (int64_t{1} << 30);
}

/* The integer scalars go as they are: i64. */
at::Scalar integer(int64_t value) { return at::Scalar(value); }

at::Tensor made(const Run &run, const std::string &source, const char *name, const Scalars &scalars) {
  const Tensors inputs{positions(run.torch, burn_desc_count(&run.desc()))};
  return at::cuda::CompileAndLaunchKernel(source, name, 1, inputs, scalars, false)[0];
}

bool makes_on_device(const Run &run) {
  std::string why;
  return !run.torch.aten_random && has_positions(run.call, why);
}

/* -- optimizers ------------------------------------------------------------------------------- */

const char adam_source[] =
    "template <typename T> void burn_adam(T p, T grad, T m, T v, double beta_1, double rest_1, double beta_2,\n"
    "    double rest_2, double step, double epsilon, double decay, double penalty, T& p1, T& m1, T& v1) {\n"
    "  const T g = penalty == 0.0 ? grad : grad + p * (T)penalty;\n"
    "  m1 = m * (T)beta_1 + g * (T)rest_1;\n"
    "  v1 = v * (T)beta_2 + g * g * (T)rest_2;\n"
    "  p1 = p * (T)decay - (T)step * m1 / (sqrtf(v1) + (T)epsilon);\n"
    "}\n";

bool is_f32(const BurnOpCall *call, std::string &why) {
  why = "only f32 tensors with elements take one launch";
  return call->inputs[0]->dtype == BURN_DTYPE_F32 && burn_primitive_count(call->inputs[0]) > 0;
}

}  // namespace

bool random_on_device(Run &run) {
  static const std::string uniform(uniform_source), bernoulli(bernoulli_source);
  if (!makes_on_device(run)) return false;
  if (run.call->op == BURN_OP_random_uniform) {
    const BurnAttrs_random_uniform *a = TORCH_ATTRS(random_uniform, run);
    run.out[0] = made(run, uniform, "burn_uniform",
                      {integer(a->seed.value.i64), integer(a->offset.value.i64), burn_attr_to_f64(&a->low),
                       burn_attr_to_f64(&a->high)});
  } else {
    const BurnAttrs_random_bernoulli *a = TORCH_ATTRS(random_bernoulli, run);
    const int64_t threshold = static_cast<int64_t>(burn_random_threshold(a->prob.value.f64));
    run.out[0] = made(run, bernoulli, "burn_bernoulli",
                      {integer(a->seed.value.i64), integer(a->offset.value.i64), integer(threshold)});
  }
  return true;
}

bool adam_on_device(Run &run) {
  static const std::string source(adam_source);
  std::string why;
  const BurnAttrs_adam_step *a = TORCH_ATTRS(adam_step, run);
  if (!run.torch.device.is_cuda() || !is_f32(run.call, why)) return false;
  const double beta_1 = a->beta_1.value.f64, beta_2 = a->beta_2.value.f64;
  const Tensors inputs{run.in(0), run.in(1), run.in(2), run.in(3)};
  const Scalars scalars{beta_1,
                        1 - beta_1,
                        beta_2,
                        1 - beta_2,
                        a->step_size.value.f64,
                        a->epsilon.value.f64,
                        a->decay.value.f64,
                        a->penalty.value.f64};
  const auto results = at::cuda::CompileAndLaunchKernel(source, "burn_adam", 3, inputs, scalars, true);
  for (size_t i = 0; i < 3; i++) run.out[i] = results[i];
  return true;
}

static void dropout(Run &run) {
  static const std::string source(dropout_source);
  const BurnAttrs_dropout *a = TORCH_ATTRS(dropout, run);
  const double kept = 1 - a->prob.value.f64;
  const at::Tensor x = run.in(0).reshape({-1});
  const Tensors inputs{x, positions(run.torch, x.numel())};
  const Scalars scalars{integer(a->seed.value.i64), integer(a->offset.value.i64),
                        integer(static_cast<int64_t>(burn_random_threshold(kept))), 1 / kept};
  run.out[0] = at::cuda::CompileAndLaunchKernel(source, "burn_dropout", 1, inputs, scalars, false)[0];
}

static const Row rows[] = {{BURN_OP_dropout, dropout, Halves::keep, has_positions, true}};

Rows jit_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch

#else

namespace burn_torch {

bool random_on_device(Run &) { return false; }
bool adam_on_device(Run &) { return false; }
Rows jit_rows() { return {nullptr, 0}; }

}  // namespace burn_torch

#endif
