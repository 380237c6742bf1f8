/* cuda_row.c - how threads share rows, and softmax with its kin: the last axis by rows, others by columns. */
#include "cuda_internal.h"

/* -- rows ------------------------------------------------------------------------------------- */

/* Threads of a row and how many of its numbers each may have; the first that fits is taken. */
static const struct { uint32_t threads, most; } tiers[] = {{32, 32}, {128, 16}, {256, 16}, {512, 32}};

enum { TIERS = sizeof tiers / sizeof tiers[0], LONG_ROW = 1024 /* threads */ };

/* Threads of a row that is read again. */
static uint32_t threads_of(int64_t size) { return size <= 512 ? 32 : size <= 8192 ? 256 : LONG_ROW; }

CudaRowShape burn__cuda_row_shape(BurnDType dtype, int64_t size, uint32_t most) {
  const uint32_t width = 16 / burn_dtype_bytes(dtype), limit = dtype == BURN_DTYPE_F64 ? most / 2 : most;
  for (uint32_t i = 0; i < TIERS; i++)
    for (uint32_t vectors = 1; vectors * width <= limit && vectors * width <= tiers[i].most; vectors *= 2)
      if ((int64_t)(tiers[i].threads * vectors * width) >= size) return (CudaRowShape){tiers[i].threads, vectors};
  return (CudaRowShape){threads_of(size), 0};
}

static uint32_t logarithm(uint32_t threads) {
  uint32_t bits = 0;
  while (1u << bits < threads) bits++;
  return bits;
}

BurnStatus burn__cuda_rows(Cuda *cuda, CudaKernelKey key, uint32_t kind, CudaRowShape shape, int64_t lines,
                           const CudaRows *p) {
  const uint32_t block = shape.threads <= 32 ? 256 : shape.threads; /* columns have one thread */
  const int64_t in_block = shape.threads == 32 ? 8 : 1;
  void *function = NULL;
  key.variant = kind | shape.vectors << 8 | logarithm(shape.threads) << 16;
  const BurnStatus status = burn__cuda_kernel(cuda, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__cuda_launch(cuda, function, (uint64_t)((lines + in_block - 1) / in_block), block, p, sizeof *p);
}

bool burn__cuda_is_whole(const BurnPrimitive *x, int64_t size) {
  return (uint64_t)size * burn_dtype_bytes(x->dtype) % 16 == 0 && cuda_address(x) % 16 == 0;
}

BurnDType burn__cuda_wide_float(BurnDType dtype) {
  return dtype == BURN_DTYPE_F64 ? (BurnDType)BURN_DTYPE_F64 : (BurnDType)BURN_DTYPE_F32;
}

BurnStatus burn__cuda_take_inputs(const CudaRun *run, BurnPrimitive **rows) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < run->call->input_count; i++) rows[i] = NULL;
  for (uint32_t i = 0; i < run->call->input_count && status == BURN_OK; i++)
    if (run->call->inputs[i]) status = burn__cuda_row_major(run->cuda, run->call->inputs[i], &rows[i]);
  return status;
}

void burn__cuda_drop_inputs(const CudaRun *run, BurnPrimitive *const *rows) {
  for (uint32_t i = 0; i < run->call->input_count; i++) burn__cuda_release(run->cuda, rows[i]);
}

BurnStatus burn__cuda_outputs(const CudaRun *run) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < run->call->output_count && status == BURN_OK; i++) status = burn__cuda_output(run, i);
  return status;
}

/* -- softmax ---------------------------------------------------------------------------------- */

enum { SOFTMAX, LOG_SOFTMAX, QUIET_SOFTMAX, SOFTMIN, BACKWARD, LOG_BACKWARD }; /* kinds of kernels/softmax.cu */
enum { IN_REGISTERS = 32, OF_TWO_IN_REGISTERS = 16, COLUMNS_OF_A_BLOCK = 32 };

static BurnStatus start(const CudaRun *run, BurnPrimitive *x, BurnPrimitive *y) {
  const BurnDType dtype = x->dtype;
  const CudaAxis axis = burn__cuda_axis(x, run->call->attrs[0].value.i64);
  const CudaKernelKey key = {.text = CUDA_TEXT_SOFTMAX, .out = dtype, .in = {dtype, dtype, dtype}};
  const uint32_t kind = (uint32_t)run->row->detail;
  const CudaRows p = {.out = cuda_address(run->out[0]),
                      .x = cuda_address(x),
                      .y = y ? cuda_address(y) : 0,
                      .outer = axis.outer,
                      .size = axis.size,
                      .inner = axis.inner,
                      .whole = burn__cuda_is_whole(x, axis.size) && burn__cuda_is_whole(run->out[0], axis.size) &&
                               (!y || burn__cuda_is_whole(y, axis.size))};
  const CudaRowShape columns = {1, 0};
  if (burn_primitive_count(x) == 0) return BURN_OK;
  if (axis.inner > 1)
    return burn__cuda_rows(run->cuda, key, kind, columns,
                           axis.outer * ((axis.inner + COLUMNS_OF_A_BLOCK - 1) / COLUMNS_OF_A_BLOCK), &p);
  const CudaRowShape rows = burn__cuda_row_shape(dtype, axis.size, y ? OF_TWO_IN_REGISTERS : IN_REGISTERS);
  return burn__cuda_rows(run->cuda, key, kind, rows, axis.outer, &p);
}

static BurnStatus softmax(const CudaRun *run) {
  BurnPrimitive *in[2] = {NULL, NULL};
  BurnStatus status = burn__cuda_outputs(run);
  if (status == BURN_OK) status = burn__cuda_take_inputs(run, in);
  if (status == BURN_OK) status = start(run, in[0], in[1]);
  burn__cuda_drop_inputs(run, in);
  return status;
}

const CudaRow burn__cuda_row_rows[] = {{BURN_OP_softmax, softmax, SOFTMAX},
                                       {BURN_OP_log_softmax, softmax, LOG_SOFTMAX},
                                       {BURN_OP_quiet_softmax, softmax, QUIET_SOFTMAX},
                                       {BURN_OP_softmin, softmax, SOFTMIN},
                                       {BURN_OP_softmax_backward, softmax, BACKWARD},
                                       {BURN_OP_log_softmax_backward, softmax, LOG_BACKWARD},
                                       {0, NULL, 0}};
