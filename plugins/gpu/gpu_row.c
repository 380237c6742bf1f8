/* gpu_row.c - how threads share rows, and softmax and ops like it: the last axis by rows, others by columns. */
#include "gpu.h"

/* -- rows ------------------------------------------------------------------------------------- */

/* Threads of a row and how many of its numbers each may have, if a vector has `width` of them; the first that fits is
 * taken. Halves have four vectors a thread before rows get more threads: as many bytes under way, and fewer waits. */
static const struct {
  uint32_t threads, most, width;
} tiers[] = {{32, 32, 1}, {128, 16, 1}, {128, 32, 8}, {256, 16, 1}, {512, 32, 1}};

/* How many vectors they may have. Sums do not tell: a thread's are the same ones. */
static const uint32_t counts[] = {1, 2, 3, 4, 6, 8};

enum { TIERS = sizeof tiers / sizeof tiers[0], COUNTS = sizeof counts / sizeof counts[0] };
enum { LONG_ROW = 1024 /* threads */, EXACT = 128 /* of a variant, beside the kind */ };

/* Threads of a row that is read again. */
static uint32_t threads_of(int64_t size) { return size <= 512 ? 32 : size <= 8192 ? 256 : LONG_ROW; }

GpuRowShape burn__gpu_row_shape(BurnDType dtype, int64_t size, uint32_t most) {
  const uint32_t width = 16 / burn_dtype_bytes(dtype), limit = dtype == BURN_DTYPE_F64 ? most / 2 : most;
  for (uint32_t i = 0; i < TIERS; i++)
    for (uint32_t k = 0; k < COUNTS && width >= tiers[i].width; k++)
      if (counts[k] * width <= limit && counts[k] * width <= tiers[i].most &&
          (int64_t)(tiers[i].threads * counts[k] * width) >= size)
        return (GpuRowShape){tiers[i].threads, counts[k]};
  return (GpuRowShape){threads_of(size), 0};
}

static uint32_t logarithm(uint32_t threads) {
  uint32_t bits = 0;
  while (1u << bits < threads) bits++;
  return bits;
}

/* Rows fill the registers of their threads. */
static bool is_exact(const GpuKernelKey *key, GpuRowShape shape, const GpuRows *p) {
  const int64_t width = 16 / (int64_t)burn_dtype_bytes(key->in[2]);
  return shape.vectors > 0 && p->whole && p->size == shape.threads * shape.vectors * width;
}

BurnStatus burn__gpu_rows(Gpu *gpu, GpuKernelKey key, uint32_t kind, GpuRowShape shape, int64_t lines,
                          const GpuRows *p) {
  if (shape.threads > gpu->most_threads) shape = (GpuRowShape){gpu->most_threads, 0};
  const uint32_t block = shape.threads <= 32 ? 256 : shape.threads; /* columns have one thread */
  const int64_t in_block = shape.threads == 32 ? 8 : 1;
  GpuFunction *function = NULL;
  key.variant = kind | (is_exact(&key, shape, p) ? EXACT : 0) | shape.vectors << 8 | logarithm(shape.threads) << 16;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)((lines + in_block - 1) / in_block), block, p, sizeof *p);
}

bool burn__gpu_is_whole(const BurnPrimitive *x, int64_t size) {
  return (uint64_t)size * burn_dtype_bytes(x->dtype) % 16 == 0 && gpu_address(x) % 16 == 0;
}

BurnDType burn__gpu_wide_float(BurnDType dtype) {
  return dtype == BURN_DTYPE_F64 ? (BurnDType)BURN_DTYPE_F64 : (BurnDType)BURN_DTYPE_F32;
}

BurnStatus burn__gpu_take_inputs(const GpuRun *run, BurnPrimitive **rows) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < run->call->input_count; i++) rows[i] = NULL;
  for (uint32_t i = 0; i < run->call->input_count && status == BURN_OK; i++)
    if (run->call->inputs[i]) status = burn__gpu_row_major(run->gpu, run->call->inputs[i], &rows[i]);
  return status;
}

void burn__gpu_drop_inputs(const GpuRun *run, BurnPrimitive *const *rows) {
  for (uint32_t i = 0; i < run->call->input_count; i++) burn__gpu_release(run->gpu, rows[i]);
}

BurnStatus burn__gpu_outputs(const GpuRun *run) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < run->call->output_count && status == BURN_OK; i++) status = burn__gpu_output(run, i);
  return status;
}

/* -- softmax ---------------------------------------------------------------------------------- */

enum { SOFTMAX, LOG_SOFTMAX, QUIET_SOFTMAX, SOFTMIN, BACKWARD, LOG_BACKWARD }; /* kinds of kernels/softmax.cu */
enum { IN_REGISTERS = 32, OF_TWO_IN_REGISTERS = 16 };
enum { COLUMNS_OF_A_BLOCK = 32, ROWS_OF_A_BLOCK = 8, LOOPS_OF_A_COLUMN = 3 };

static BurnStatus start(const GpuRun *run, BurnPrimitive *x, BurnPrimitive *y) {
  const BurnDType dtype = x->dtype;
  const GpuAxis axis = burn__gpu_axis(x, run->call->attrs[0].value.i64);
  const GpuKernelKey key = {.text = GPU_TEXT_SOFTMAX, .out = dtype, .in = {dtype, dtype, dtype}};
  const bool is_half = burn_dtype_bytes(dtype) == 2;
  const uint32_t kind = (uint32_t)run->row->detail | (is_half ? GPU_FAST_POWERS : 0);
  const GpuRows p = {.out = gpu_address(run->out[0]),
                     .x = gpu_address(x),
                     .y = y ? gpu_address(y) : 0,
                     .outer = axis.outer,
                     .size = axis.size,
                     .inner = axis.inner,
                     .whole = burn__gpu_is_whole(x, axis.size) && burn__gpu_is_whole(run->out[0], axis.size) &&
                              (!y || burn__gpu_is_whole(y, axis.size))};
  const GpuRowShape columns = {1, 0};
  if (burn_primitive_count(x) == 0) return BURN_OK;
  if (axis.inner > 1) {
    const BurnStatus status = burn__gpu_check_rounds(run, LOOPS_OF_A_COLUMN * axis.size / ROWS_OF_A_BLOCK);
    if (status != BURN_OK) return status;
    return burn__gpu_rows(run->gpu, key, kind, columns,
                          axis.outer * ((axis.inner + COLUMNS_OF_A_BLOCK - 1) / COLUMNS_OF_A_BLOCK), &p);
  }
  const GpuRowShape rows = burn__gpu_row_shape(dtype, axis.size, y ? OF_TWO_IN_REGISTERS : IN_REGISTERS);
  return burn__gpu_rows(run->gpu, key, kind, rows, axis.outer, &p);
}

static BurnStatus softmax(const GpuRun *run) {
  BurnPrimitive *in[2] = {NULL, NULL};
  BurnStatus status = burn__gpu_outputs(run);
  if (status == BURN_OK) status = burn__gpu_take_inputs(run, in);
  if (status == BURN_OK) status = start(run, in[0], in[1]);
  burn__gpu_drop_inputs(run, in);
  return status;
}

const GpuRow burn__gpu_row_rows[] = {{BURN_OP_softmax, softmax, SOFTMAX},
                                     {BURN_OP_log_softmax, softmax, LOG_SOFTMAX},
                                     {BURN_OP_quiet_softmax, softmax, QUIET_SOFTMAX},
                                     {BURN_OP_softmin, softmax, SOFTMIN},
                                     {BURN_OP_softmax_backward, softmax, BACKWARD},
                                     {BURN_OP_log_softmax_backward, softmax, LOG_BACKWARD},
                                     {0, NULL, 0}};
