/* cuda_loss.c - cross entropy and mean squared error, with their gradients. Each row of logits is read once. */
#include "cuda_internal.h"

enum { ROW_LOSSES, ROW_GRADIENTS, MEAN, SQUARES, MSE_GRADIENT }; /* kinds of kernels/loss.cu */
enum { IN_REGISTERS = 32, PART = 16384, THREADS = 256 };

static CudaKernelKey key_of(BurnDType dtype, BurnDType targets) {
  return (CudaKernelKey){.text = CUDA_TEXT_LOSS, .out = dtype, .in = {dtype, targets, dtype}};
}

/* The sum of `count` numbers at `from`, in what the dtype is computed in, divided by `divisor`, to `out`. */
static BurnStatus mean(Cuda *cuda, BurnPrimitive *out, CudaAddress from, int64_t count, int64_t divisor) {
  const CudaRows p = {.out = cuda_address(out), .x = from, .outer = 1, .size = count, .count = divisor};
  return burn__cuda_rows(cuda, key_of(out->dtype, out->dtype), MEAN, (CudaRowShape){1024, 0}, 1, &p);
}

/* Room for `count` numbers of what the dtype is computed in. */
static BurnStatus make_parts(Cuda *cuda, BurnDType dtype, int64_t count, BurnPrimitive **parts) {
  const BurnTensorDesc desc = {.dtype = burn__cuda_wide_float(dtype), .rank = 1, .shape = {count}};
  return burn__cuda_new(cuda, &desc, parts);
}

/* -- cross entropy ---------------------------------------------------------------------------- */

static CudaRows describe(const CudaRun *run, const BurnPrimitive *logits, const BurnPrimitive *targets) {
  return (CudaRows){.x = cuda_address(logits),
                    .y = cuda_address(targets),
                    .outer = logits->shape[0],
                    .size = logits->shape[1],
                    .inner = 1,
                    .complaint = run->cuda->complaint_address,
                    .op = run->call->op,
                    .whole = burn__cuda_is_whole(logits, logits->shape[1])};
}

static BurnStatus row_losses(const CudaRun *run, BurnPrimitive *const *in) {
  const int64_t rows = in[0]->shape[0];
  BurnPrimitive *parts = NULL;
  CudaRows p = describe(run, in[0], in[1]);
  BurnStatus status = make_parts(run->cuda, in[0]->dtype, rows, &parts);
  if (status == BURN_OK) {
    p.out = cuda_address(parts);
    status = burn__cuda_rows(run->cuda, key_of(in[0]->dtype, in[1]->dtype), ROW_LOSSES,
                             burn__cuda_row_shape(in[0]->dtype, p.size, 0), rows, &p);
  }
  if (status == BURN_OK) status = mean(run->cuda, run->out[0], cuda_address(parts), rows, rows);
  burn__cuda_release(run->cuda, parts);
  return status;
}

static BurnStatus cross_entropy(const CudaRun *run) {
  BurnPrimitive *in[2] = {NULL, NULL};
  BurnStatus status = burn__cuda_outputs(run);
  if (status == BURN_OK) status = burn__cuda_take_inputs(run, in);
  if (status == BURN_OK) status = row_losses(run, in);
  burn__cuda_drop_inputs(run, in);
  return status;
}

static BurnStatus cross_entropy_backward(const CudaRun *run) {
  BurnPrimitive *in[3] = {NULL, NULL, NULL};
  BurnStatus status = burn__cuda_outputs(run);
  if (status == BURN_OK) status = burn__cuda_take_inputs(run, in);
  if (status == BURN_OK && burn_primitive_count(run->out[0]) > 0) {
    CudaRows p = describe(run, in[1], in[2]);
    p.grad = cuda_address(in[0]);
    p.out = cuda_address(run->out[0]);
    p.whole = p.whole && burn__cuda_is_whole(run->out[0], p.size);
    status = burn__cuda_rows(run->cuda, key_of(in[1]->dtype, in[2]->dtype), ROW_GRADIENTS,
                             burn__cuda_row_shape(in[1]->dtype, p.size, IN_REGISTERS), p.outer, &p);
  }
  burn__cuda_drop_inputs(run, in);
  return status;
}

/* -- mean squared error ----------------------------------------------------------------------- */

/* All elements as one row. */
static CudaRows describe_pair(const BurnPrimitive *x, const BurnPrimitive *target) {
  return (CudaRows){
      .x = cuda_address(x),
      .y = cuda_address(target),
      .outer = 1,
      .size = burn_primitive_count(x),
      .part_size = PART,
      .whole = burn__cuda_is_whole(x, burn_primitive_count(x)) && burn__cuda_is_whole(target, burn_primitive_count(x))};
}

static BurnStatus sum_squares(const CudaRun *run, BurnPrimitive *const *in) {
  CudaRows p = describe_pair(in[0], in[1]);
  const int64_t count = (p.size + PART - 1) / PART;
  BurnPrimitive *parts = NULL;
  BurnStatus status = make_parts(run->cuda, in[0]->dtype, count, &parts);
  if (status == BURN_OK) {
    p.out = cuda_address(parts);
    status =
        burn__cuda_rows(run->cuda, key_of(in[0]->dtype, in[0]->dtype), SQUARES, (CudaRowShape){THREADS, 0}, count, &p);
  }
  if (status == BURN_OK) status = mean(run->cuda, run->out[0], cuda_address(parts), count, p.size);
  burn__cuda_release(run->cuda, parts);
  return status;
}

static BurnStatus mse(const CudaRun *run) {
  BurnPrimitive *in[2] = {NULL, NULL};
  BurnStatus status = burn__cuda_outputs(run);
  if (status == BURN_OK) status = burn__cuda_take_inputs(run, in);
  if (status == BURN_OK) status = sum_squares(run, in);
  burn__cuda_drop_inputs(run, in);
  return status;
}

static BurnStatus mse_backward(const CudaRun *run) {
  BurnPrimitive *in[3] = {NULL, NULL, NULL};
  BurnStatus status = burn__cuda_outputs(run);
  if (status == BURN_OK) status = burn__cuda_take_inputs(run, in);
  if (status == BURN_OK) {
    CudaRows p = describe_pair(in[1], in[2]);
    const int64_t in_block = (int64_t)THREADS * 16 / burn_dtype_bytes(in[1]->dtype);
    p.grad = cuda_address(in[0]);
    p.out = cuda_address(run->out[0]);
    p.whole = p.whole && p.out % 16 == 0;
    status = burn__cuda_rows(run->cuda, key_of(in[1]->dtype, in[1]->dtype), MSE_GRADIENT, (CudaRowShape){THREADS, 0},
                             (p.size + in_block - 1) / in_block, &p);
  }
  burn__cuda_drop_inputs(run, in);
  return status;
}

const CudaRow burn__cuda_loss_rows[] = {{BURN_OP_cross_entropy, cross_entropy, 0},
                                        {BURN_OP_cross_entropy_backward, cross_entropy_backward, 0},
                                        {BURN_OP_mse, mse, 0},
                                        {BURN_OP_mse_backward, mse_backward, 0},
                                        {0, NULL, 0}};
