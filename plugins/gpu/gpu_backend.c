/* gpu_backend.c - the life of a Gpu, and the slots of a backend's table: what runs ops, what answers the host. */
#include "gpu_backend.h"
#include "gpu_memory.h"
#include "gpu_replay.h"

#include <stdio.h>

/* -- calls ------------------------------------------------------------------------------------- */

static bool is_attention(uint32_t op) {
  return op == BURN_OP_attention || op == BURN_OP_attention_backward || op == BURN_OP_attention_with_logsumexp ||
         op == BURN_OP_attention_with_logsumexp_backward;
}

static uint32_t BURN_API_CALL op_support(void *self, uint32_t op) {
  const Gpu *gpu = self;
  if (op >= BURN_OP_LIMIT || !gpu->rows[op]) return BURN_SUPPORT_NO;
  if (burn__gpu_is_of_volumes(op))
    return gpu->libraries && gpu->libraries->takes_volumes ? BURN_SUPPORT_ASK : BURN_SUPPORT_NO;
  const bool is_asked = op == BURN_OP_quantized_matmul || (gpu->composes_f64_attention && is_attention(op));
  return is_asked ? BURN_SUPPORT_ASK : BURN_SUPPORT_YES;
}

/* For the ops that some calls of are decomposed. */
static int32_t BURN_API_CALL supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  const bool is_product = call->op == BURN_OP_quantized_matmul, is_of_volumes = burn__gpu_is_of_volumes(call->op);
  const bool suits = is_product               ? burn__gpu_takes_quantized(call)
                     : is_of_volumes          ? burn__gpu_takes_volumes(self, call)
                     : is_attention(call->op) ? call->inputs[0]->dtype != BURN_DTYPE_F64
                                              : true;
  if (suits || why_bytes == 0) return suits;
  (void)snprintf(why, why_bytes, "%s",
                 is_product      ? "only i8 with one scale along the axis that is summed over is multiplied as it is"
                 : is_of_volumes ? "the device's library has no algorithm for it"
                                 : "drivers compile its kernel of f64 for many seconds");
  return 0;
}

static BurnStatus run_call(Gpu *gpu, const BurnOpCall *call) {
  BurnPrimitive *out[BURN_MAX_OUTPUTS] = {NULL};
  const GpuRun run = {gpu, gpu->rows[call->op], call, out};
  BurnStatus status = run.row->function(&run);
  if (status == BURN_OK && !gpu->is_recorded) status = burn__gpu_complaint(gpu); /* of a kernel before this call */
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (status == BURN_OK) call->outputs[i] = out[i];
    if (status != BURN_OK) burn__gpu_release(gpu, out[i]);
  }
  return status;
}

static BurnStatus BURN_API_CALL submit(void *self, const BurnOpCall *call) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  burn__gpu_note_op(gpu, call->op);
  burn__gpu_touch_begin(gpu, call->inputs, call->input_count);
  status = run_call(gpu, call);
  burn__gpu_touch_end(gpu);
  burn__gpu_leave(gpu);
  return status;
}

static void BURN_API_CALL retain(void *self, BurnPrimitive *x) {
  (void)self;
  burn__gpu_retain(x);
}

static void BURN_API_CALL release(void *self, BurnPrimitive *x) { burn__gpu_release(self, x); }

static BurnStatus BURN_API_CALL synchronise(void *self) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = burn__gpu_wait(gpu);
  burn__gpu_leave(gpu);
  return status;
}

/* -- questions --------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL dtype_usage(void *self, BurnDType dtype) {
  const Gpu *gpu = self;
  if (dtype == BURN_DTYPE_F64 && !gpu->has_f64) return 0;
  return burn_dtype_bytes(dtype) ? BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC : 0;
}

static BurnStatus BURN_API_CALL query(void *self, uint32_t key, int64_t *out) {
  Gpu *gpu = self;
  const GpuMemoryFigures figures = burn__gpu_memory_figures(gpu);
  switch (key) {
    case BURN_QUERY_BYTES_IN_USE:
      *out = (int64_t)figures.in_use;
      return BURN_OK;
    case BURN_QUERY_BYTES_RESERVED:
      *out = (int64_t)figures.reserved;
      return BURN_OK;
    case BURN_QUERY_BYTES_PEAK:
      *out = (int64_t)figures.peak;
      return BURN_OK;
    case BURN_QUERY_LIVE_TENSORS:
      *out = atomic_load(&gpu->live_tensors);
      return BURN_OK;
    case BURN_QUERY_HOST_WAITS:
      *out = atomic_load(&gpu->host_waits);
      return BURN_OK;
    default:
      return GPU_FAIL(gpu, NOT_FOUND, "unknown query %u", key);
  }
}

static BurnStatus BURN_API_CALL trim(void *self) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = burn__gpu_wait(gpu);
  if (status == BURN_OK) status = burn__gpu_memory_trim(gpu);
  burn__gpu_leave(gpu);
  return status;
}

/* -- begin and end ----------------------------------------------------------------------------- */

static void fill_rows(Gpu *gpu, bool primitives_only) {
  static const GpuRow *const lists[] = {
#define GPU_FAMILY(name) burn__gpu_##name##_rows,
#include "families.def"
#undef GPU_FAMILY
  };
  for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
    for (const GpuRow *row = lists[list]; row->op; row++)
      if (!primitives_only || !gpu->host->op_info(row->op)->is_composite) gpu->rows[row->op] = row;
}

BurnStatus burn__gpu_begin(Gpu *gpu, bool primitives_only) {
  fill_rows(gpu, primitives_only);
  if (burn__gpu_replays_begin(&gpu->replays)) {
    gpu->kernels = burn__gpu_kernels_create();
    if (gpu->kernels && pthread_mutex_init(&gpu->fused.mutex, NULL) == 0) return BURN_OK;
    burn__gpu_kernels_destroy(gpu, gpu->kernels);
    gpu->kernels = NULL;
    burn__gpu_replays_end(&gpu->replays);
  }
  return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for the list of kernels");
}

void burn__gpu_end(Gpu *gpu) {
  if (!gpu->kernels) return;
  burn__gpu_kernels_destroy(gpu, gpu->kernels);
  burn__gpu_fused_destroy(gpu);
  (void)pthread_mutex_destroy(&gpu->fused.mutex);
  burn__gpu_replays_end(&gpu->replays);
  gpu->kernels = NULL;
}

void burn__gpu_fill_table(Gpu *gpu, BurnBackend *out) {
  out->self = gpu;
  out->name = gpu->name;
  out->op_support = op_support;
  out->supports = supports;
  out->submit = submit;
  out->create = burn__gpu_create;
  out->read = burn__gpu_read;
  out->retain = retain;
  out->release = release;
  out->sync = synchronise;
  out->dtype_usage = dtype_usage;
  out->query = query;
  out->trim = trim;
}
