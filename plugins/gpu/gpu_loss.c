/* gpu_loss.c - cross entropy and mean squared error, with their gradients. Each row of logits is read once. */
#include "gpu.h"

enum { ROW_LOSSES, ROW_GRADIENTS, MEAN, SQUARES, MSE_GRADIENT }; /* kinds of kernels/loss.cu */
enum { IN_REGISTERS = 32, PART = 16384, THREADS = 256, MEAN_THREADS = 1024, FEW_CLASSES = 1024 };

static GpuKernelKey key_of(BurnDType dtype) {
  return (GpuKernelKey){.text = GPU_TEXT_LOSS, .out = dtype, .in = {dtype, dtype, dtype}};
}

/* The sum of `count` numbers at `from`, in what the dtype is computed in, divided by `divisor`, to `out`. */
static BurnStatus mean(Gpu *gpu, BurnPrimitive *out, GpuAddress from, int64_t count, int64_t divisor) {
  const GpuRows p = {.out = gpu_address(out), .x = from, .outer = 1, .size = count, .count = divisor};
  return burn__gpu_rows(gpu, key_of(out->dtype), MEAN, (GpuRowShape){MEAN_THREADS, 0}, 1, &p);
}

/* Room for `count` numbers of what the dtype is computed in. */
static BurnStatus make_parts(Gpu *gpu, BurnDType dtype, int64_t count, BurnPrimitive **parts) {
  const BurnTensorDesc desc = {.dtype = burn__gpu_wide_float(dtype), .rank = 1, .shape = {count}};
  return burn__gpu_new(gpu, &desc, parts);
}

/* -- cross entropy ---------------------------------------------------------------------------- */

static GpuRows describe(const GpuRun *run, const BurnPrimitive *logits, const BurnPrimitive *targets) {
  return (GpuRows){.x = gpu_address(logits),
                   .y = gpu_address(targets),
                   .outer = logits->shape[0],
                   .size = logits->shape[1],
                   .inner = 1,
                   .complaint = run->gpu->complaint_address,
                   .op = run->call->op,
                   .whole = burn__gpu_is_whole(logits, logits->shape[1])};
}

/* Rows of few classes have ndarray's powers, which cost them nothing: losses of a training follow the CPU's then. */
static uint32_t powers_of(const GpuRows *p) { return p->size > FEW_CLASSES ? GPU_FAST_POWERS : 0; }

static BurnStatus row_losses(const GpuRun *run, BurnPrimitive *const *in) {
  const int64_t rows = in[0]->shape[0];
  const BurnDType dtype = run->out[0]->dtype;
  const GpuKernelKey key = {.text = GPU_TEXT_LOSS, .out = dtype, .in = {in[0]->dtype, in[1]->dtype, dtype}};
  BurnPrimitive *parts = NULL;
  GpuRows p = describe(run, in[0], in[1]);
  BurnStatus status = make_parts(run->gpu, dtype, rows, &parts);
  if (status == BURN_OK) {
    p.out = gpu_address(parts);
    status = burn__gpu_rows(run->gpu, key, ROW_LOSSES | powers_of(&p), burn__gpu_row_shape(dtype, p.size, 0), rows, &p);
  }
  if (status == BURN_OK) status = mean(run->gpu, run->out[0], gpu_address(parts), rows, rows);
  burn__gpu_release(run->gpu, parts);
  return status;
}

static BurnStatus cross_entropy(const GpuRun *run) {
  BurnPrimitive *in[2] = {NULL, NULL};
  BurnStatus status = burn__gpu_outputs(run);
  if (status == BURN_OK) status = burn__gpu_take_inputs(run, in);
  if (status == BURN_OK) status = row_losses(run, in);
  burn__gpu_drop_inputs(run, in);
  return status;
}

static BurnStatus cross_entropy_backward(const GpuRun *run) {
  BurnPrimitive *in[3] = {NULL, NULL, NULL};
  BurnStatus status = burn__gpu_outputs(run);
  if (status == BURN_OK) status = burn__gpu_take_inputs(run, in);
  if (status == BURN_OK && burn_primitive_count(run->out[0]) > 0) {
    const BurnDType dtype = in[0]->dtype;
    const GpuKernelKey key = {
        .text = GPU_TEXT_LOSS, .out = run->out[0]->dtype, .in = {in[1]->dtype, in[2]->dtype, dtype}};
    GpuRows p = describe(run, in[1], in[2]);
    p.grad = gpu_address(in[0]);
    p.out = gpu_address(run->out[0]);
    p.whole = p.whole && burn__gpu_is_whole(run->out[0], p.size);
    status = burn__gpu_rows(run->gpu, key, ROW_GRADIENTS | powers_of(&p),
                            burn__gpu_row_shape(dtype, p.size, IN_REGISTERS), p.outer, &p);
  }
  burn__gpu_drop_inputs(run, in);
  return status;
}

/* -- mean squared error ----------------------------------------------------------------------- */

/* All elements as one row. */
static GpuRows describe_pair(const BurnPrimitive *x, const BurnPrimitive *target) {
  return (GpuRows){
      .x = gpu_address(x),
      .y = gpu_address(target),
      .outer = 1,
      .size = burn_primitive_count(x),
      .part_size = PART,
      .whole = burn__gpu_is_whole(x, burn_primitive_count(x)) && burn__gpu_is_whole(target, burn_primitive_count(x))};
}

static BurnStatus sum_squares(const GpuRun *run, BurnPrimitive *const *in) {
  GpuRows p = describe_pair(in[0], in[1]);
  const int64_t count = (p.size + PART - 1) / PART;
  BurnPrimitive *parts = NULL;
  BurnStatus status = make_parts(run->gpu, in[0]->dtype, count, &parts);
  if (status == BURN_OK) {
    p.out = gpu_address(parts);
    status = burn__gpu_rows(run->gpu, key_of(in[0]->dtype), SQUARES, (GpuRowShape){THREADS, 0}, count, &p);
  }
  if (status == BURN_OK) status = mean(run->gpu, run->out[0], gpu_address(parts), count, p.size);
  burn__gpu_release(run->gpu, parts);
  return status;
}

static BurnStatus mse(const GpuRun *run) {
  BurnPrimitive *in[2] = {NULL, NULL};
  BurnStatus status = burn__gpu_outputs(run);
  if (status == BURN_OK) status = burn__gpu_take_inputs(run, in);
  if (status == BURN_OK) status = sum_squares(run, in);
  burn__gpu_drop_inputs(run, in);
  return status;
}

static BurnStatus mse_backward(const GpuRun *run) {
  BurnPrimitive *in[3] = {NULL, NULL, NULL};
  BurnStatus status = burn__gpu_outputs(run);
  if (status == BURN_OK) status = burn__gpu_take_inputs(run, in);
  if (status == BURN_OK) {
    GpuRows p = describe_pair(in[1], in[2]);
    const int64_t in_block = (int64_t)THREADS * 16 / burn_dtype_bytes(in[1]->dtype);
    p.grad = gpu_address(in[0]);
    p.out = gpu_address(run->out[0]);
    p.whole = p.whole && p.out % 16 == 0;
    status = burn__gpu_rows(run->gpu, key_of(in[1]->dtype), MSE_GRADIENT, (GpuRowShape){THREADS, 0},
                            (p.size + in_block - 1) / in_block, &p);
  }
  burn__gpu_drop_inputs(run, in);
  return status;
}

const GpuRow burn__gpu_loss_rows[] = {{BURN_OP_cross_entropy, cross_entropy, 0},
                                      {BURN_OP_cross_entropy_backward, cross_entropy_backward, 0},
                                      {BURN_OP_mse, mse, 0},
                                      {BURN_OP_mse_backward, mse_backward, 0},
                                      {0, NULL, 0}};
