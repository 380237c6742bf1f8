/* gpu_create.c - tensors from nothing: full, arange, random numbers. */
#include "gpu.h"

#include <burn/common/widen.h>
#include <burn/plugin/random.h>

#include <math.h>
#include <string.h>

enum { FULL, ARANGE, UNIFORM, NORMAL, BERNOULLI }; /* the variants of kernels/create.cu, the details of rows */
enum { THREADS = 256, OF_A_THREAD = 4, GROUPS_PER_UNIT = 32 };

static BurnStatus make(const GpuRun *run, GpuCreate *p) {
  Gpu *gpu = run->gpu;
  GpuFunction *function = NULL;
  BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK) return status;
  BurnPrimitive *out = run->out[0];
  p->out = gpu_address(out);
  p->count = burn_primitive_count(out);
  if (p->count == 0) return BURN_OK;
  const GpuKernelKey key = {.text = GPU_TEXT_CREATE,
                            .out = out->dtype,
                            .in = {out->dtype, out->dtype, out->dtype},
                            .variant = (uint32_t)run->row->detail};
  status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const uint64_t groups = (uint64_t)((p->count + THREADS * OF_A_THREAD - 1) / (THREADS * OF_A_THREAD));
  const uint64_t most = (uint64_t)gpu->unit_count * GROUPS_PER_UNIT;
  return burn__gpu_launch(gpu, function, groups < most ? groups : most, THREADS, p, sizeof *p);
}

static BurnStatus full(const GpuRun *run) {
  GpuCreate p = {.out = 0};
  p.first = burn__gpu_number(run->call->output_descs[0].dtype, &BURN_ATTRS(full, run->call)->value);
  return make(run, &p);
}

static BurnStatus arange(const GpuRun *run) {
  const BurnAttrs_arange *attrs = BURN_ATTRS(arange, run->call);
  GpuCreate p = {.out = 0};
  p.first.integer = attrs->start.value.i64;
  p.second.integer = attrs->step.value.i64;
  return make(run, &p);
}

/* The third and fourth attribute of every random op. */
static GpuCreate from_seed(const BurnOpCall *call) {
  return (GpuCreate){.seed = (uint64_t)call->attrs[2].value.i64, .offset = (uint64_t)call->attrs[3].value.i64};
}

/* Words that are in order as the f32 of which they are. */
static float float_at(uint32_t place) {
  const uint32_t bits = place >> 31 ? place & INT32_MAX : ~place;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static uint32_t place_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | (UINT32_C(1) << 31);
}

/* The bits of the least f32 that rounds to `high`, a number of the dtype, or to more. So kernels need not look at
 * halves that they have made, which NVIDIA's driver (580.159) takes for the f32 they were. Rounding keeps order. */
static uint32_t end_of_uniform(BurnDType dtype, double high) {
  const float end = (float)high;
  uint32_t below = place_of(-HUGE_VALF), from = place_of(end), bits;
  while (dtype != BURN_DTYPE_F32 && below + 1 < from) {
    const uint32_t middle = below + (from - below) / 2;
    const bool is_inside = burn_common_round_number(dtype, (double)float_at(middle)) < high;
    if (is_inside)
      below = middle;
    else
      from = middle;
  }
  const float first = float_at(from);
  memcpy(&bits, &first, sizeof bits);
  return bits;
}

static BurnStatus random_uniform(const GpuRun *run) {
  const BurnAttrs_random_uniform *attrs = BURN_ATTRS(random_uniform, run->call);
  const BurnDType dtype = run->call->output_descs[0].dtype;
  GpuCreate p = from_seed(run->call);
  p.first = burn__gpu_number(dtype, &attrs->low);
  p.second = burn__gpu_number(dtype, &attrs->high);
  p.first.integer = burn_attr_to_i64(&attrs->low);
  p.second.integer = burn_attr_to_i64(&attrs->high);
  if (dtype != BURN_DTYPE_F64 && burn_dtype_kind(dtype) == BURN_KIND_FLOAT)
    p.threshold = end_of_uniform(dtype, p.second.real);
  const uint64_t range =
      p.second.integer > p.first.integer ? (uint64_t)p.second.integer - (uint64_t)p.first.integer : 0;
  if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT && range > (uint64_t)1 << 32)
    return BURN_COMMON_FAIL(run->gpu->host, INVALID_ARGUMENT, "random_uniform",
                            "the range %lld..%lld is larger than 2^32", (long long)p.first.integer,
                            (long long)p.second.integer);
  return make(run, &p);
}

static BurnStatus random_normal(const GpuRun *run) {
  const BurnAttrs_random_normal *attrs = BURN_ATTRS(random_normal, run->call);
  GpuCreate p = from_seed(run->call);
  p.first.real = attrs->mean.value.f64;
  p.second.real = attrs->std.value.f64;
  return make(run, &p);
}

static BurnStatus random_bernoulli(const GpuRun *run) {
  GpuCreate p = from_seed(run->call);
  p.threshold = burn_random_threshold(BURN_ATTRS(random_bernoulli, run->call)->prob.value.f64);
  return make(run, &p);
}

const GpuRow burn__gpu_create_rows[] = {{BURN_OP_full, full, FULL},
                                        {BURN_OP_arange, arange, ARANGE},
                                        {BURN_OP_random_uniform, random_uniform, UNIFORM},
                                        {BURN_OP_random_normal, random_normal, NORMAL},
                                        {BURN_OP_random_bernoulli, random_bernoulli, BERNOULLI},
                                        {0, NULL, 0}};
