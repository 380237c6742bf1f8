/* gpu_norm.c - layer_norm, batch_norm, batch_norm_train and their gradients. Sums over rows or samples are cut into
 * parts by the shape alone, and the parts joined in their order. */
#include "gpu.h"

#include <stdio.h>

/* -- layer norm ------------------------------------------------------------------------------- */

enum { FORWARD, GRADIENTS }; /* kinds of kernels/layer_norm.cu */
enum {
  IN_REGISTERS = 32,
  FEW_IN_REGISTERS = 8,
  GRADIENTS_IN_REGISTERS = 16,
  WARP_BYTES = 96 /* of registers */,
  COLUMNS_OF_A_BLOCK = 32
};
/* Parts at most, of rows that a warp or a block does: as many as an H200 has at work at once. */
enum { WARPS_OF_A_BLOCK = 8, WARP_PARTS = 2048, THREADS_OF_PARTS = 128 * 1024 };

/* Its rows are cut up by gamma's dtype. */
static GpuKernelKey layer_norm_key(const BurnPrimitive *out, const BurnPrimitive *x, const BurnPrimitive *grad,
                                   const BurnPrimitive *gamma) {
  return (GpuKernelKey){.text = GPU_TEXT_LAYER_NORM, .out = out->dtype, .in = {x->dtype, grad->dtype, gamma->dtype}};
}

static int64_t rows_of(const BurnPrimitive *x) {
  int64_t rows = 1;
  for (uint32_t i = 0; i + 1 < x->rank; i++) rows *= x->shape[i];
  return rows;
}

static bool are_whole(BurnPrimitive *const *tensors, uint32_t count, int64_t size) {
  bool whole = true;
  for (uint32_t i = 0; i < count; i++) whole = whole && (!tensors[i] || burn__gpu_is_whole(tensors[i], size));
  return whole;
}

static BurnStatus layer_norm(const GpuRun *run) {
  BurnPrimitive *in[3] = {NULL, NULL, NULL};
  BurnStatus status = burn__gpu_outputs(run);
  if (status == BURN_OK) status = burn__gpu_take_inputs(run, in);
  if (status == BURN_OK && burn_primitive_count(in[0]) > 0) {
    const int64_t size = in[0]->shape[in[0]->rank - 1];
    const GpuRows p = {.out = gpu_address(run->out[0]),
                       .x = gpu_address(in[0]),
                       .gamma = gpu_address(in[1]),
                       .beta = in[2] ? gpu_address(in[2]) : 0,
                       .outer = rows_of(in[0]),
                       .size = size,
                       .epsilon = BURN_ATTRS(layer_norm, run->call)->epsilon.value.f64,
                       .whole = are_whole(in, 3, size) && are_whole(run->out, 1, size)};
    status = burn__gpu_rows(run->gpu, layer_norm_key(run->out[0], in[0], in[0], in[1]), FORWARD,
                            burn__gpu_row_shape(in[1]->dtype, size, IN_REGISTERS), p.outer, &p);
  }
  burn__gpu_drop_inputs(run, in);
  return status;
}

/* Each block leaves its share of the gradients of gamma and beta, in which warps of a block have joined theirs. */
static BurnStatus run_gradients(const GpuRun *run, BurnPrimitive *const *in, GpuRows *p, GpuRowShape shape) {
  const GpuKernelKey key = layer_norm_key(run->out[0], in[1], in[0], in[2]);
  const int64_t blocks = shape.threads == 32 ? (p->parts + WARPS_OF_A_BLOCK - 1) / WARPS_OF_A_BLOCK : p->parts;
  const BurnTensorDesc desc = {.dtype = burn__gpu_wide_float(in[2]->dtype), .rank = 3, .shape = {2, blocks, p->size}};
  BurnPrimitive *parts = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &parts);
  if (status == BURN_OK) {
    p->partial = gpu_address(parts);
    status = burn__gpu_rows(run->gpu, key, GRADIENTS, shape, p->parts, p);
  }
  if (status == BURN_OK) status = burn__gpu_sum_two(run->gpu, parts, run->out[1], run->out[2]);
  burn__gpu_release(run->gpu, parts);
  return status;
}

/* With few numbers a thread, more of them are at work; where a row is too long for that, with more. A warp keeps up to
 * 24 numbers a thread where they are the whole row (GPT-2's 768): it never waits for others, and has more bytes under
 * way than a block whose warps do. */
static GpuRowShape gradient_shape(BurnDType dtype, int64_t size) {
  const GpuRowShape few = burn__gpu_row_shape(dtype, size, FEW_IN_REGISTERS);
  const int64_t of_a_warp = 32 * 16 / (int64_t)burn_dtype_bytes(dtype);
  const int64_t register_bytes = size / 32 * (int64_t)burn_dtype_bytes(burn__gpu_wide_float(dtype));
  if (few.threads > 32 && size % of_a_warp == 0 && register_bytes <= WARP_BYTES)
    return (GpuRowShape){32, (uint32_t)(size / of_a_warp)};
  return few.vectors > 0 ? few : burn__gpu_row_shape(dtype, size, GRADIENTS_IN_REGISTERS);
}

static BurnStatus layer_norm_gradients(const GpuRun *run, BurnPrimitive *const *in) {
  const int64_t size = in[1]->shape[in[1]->rank - 1], rows = rows_of(in[1]);
  const GpuRowShape shape = gradient_shape(in[2]->dtype, size);
  const int64_t most = shape.threads == 32 ? WARP_PARTS : THREADS_OF_PARTS / shape.threads;
  GpuRows p = {.out = gpu_address(run->out[0]),
               .x = gpu_address(in[1]),
               .y = gpu_address(in[0]),
               .gamma = gpu_address(in[2]),
               .outer = rows,
               .size = size,
               .part_size = rows > most ? (rows + most - 1) / most : 1,
               .epsilon = BURN_ATTRS(layer_norm_backward, run->call)->epsilon.value.f64,
               .whole = are_whole(in, 3, size) && are_whole(run->out, 1, size)};
  p.parts = (rows + p.part_size - 1) / p.part_size;
  return size > 0 ? run_gradients(run, in, &p, shape) : BURN_OK;
}

static BurnStatus layer_norm_backward(const GpuRun *run) {
  BurnPrimitive *in[3] = {NULL, NULL, NULL};
  BurnStatus status = burn__gpu_outputs(run);
  if (status == BURN_OK) status = burn__gpu_take_inputs(run, in);
  if (status == BURN_OK) status = layer_norm_gradients(run, in);
  burn__gpu_drop_inputs(run, in);
  return status;
}

/* -- batch norm ------------------------------------------------------------------------------- */

enum { GIVEN, SUMS, BY_SUMS, AT_ONCE, BACKWARD = 3, COLUMNS = 128 }; /* kinds of kernels/batch_norm.cu */
enum {
  CHANNEL_THREADS = 512,
  COLUMN_THREADS = 256,
  SHORT_REST = 8,        /* below, channels lie beside each other */
  SMALL_CHANNEL = 32768, /* elements that a block does at once */
  MIN_PART = 4096,
  SMALL_COLUMN = 1024, /* the same for a block of columns, which has 8 threads for each of them */
  MIN_PART_OF_COLUMN = 256,
  BLOCKS = 1024 /* about as many, where there are elements for them */
};

/* Blocks that have all channels, for one part of each. */
static int64_t groups_of(const GpuBatchNorm *p) {
  const int64_t size = p->rest < SHORT_REST ? COLUMNS_OF_A_BLOCK : 1;
  return p->channels > 0 ? (p->channels + size - 1) / size : 1;
}

/* Shapes and parts of x [n, c, ..], row-major, or with its channels last: then places are samples. A part is a multiple
 * of what all threads take at once. */
static GpuBatchNorm describe(const BurnPrimitive *x) {
  GpuBatchNorm p = {.x = gpu_address(x), .samples = x->shape[0], .channels = x->shape[1], .rest = 1};
  int64_t *places = burn__gpu_is_channels_last(x) ? &p.samples : &p.rest;
  for (uint32_t i = 2; i < x->rank; i++) *places *= x->shape[i];
  const int64_t count = p.samples * p.rest, groups = groups_of(&p), most = groups < BLOCKS ? BLOCKS / groups : 1;
  const bool columns = p.rest < SHORT_REST;
  const int64_t small = columns ? SMALL_COLUMN : SMALL_CHANNEL, least = columns ? MIN_PART_OF_COLUMN : MIN_PART;
  const int64_t wanted = (count + least - 1) / least, parts = wanted < most ? wanted : most;
  p.is_small = count < UINT32_MAX;
  p.is_wide = (uint64_t)p.rest * burn_dtype_bytes(x->dtype) % 16 == 0;
  p.part_size = count > small ? ((count + parts - 1) / parts + least - 1) / least * least : count;
  p.parts = count > small ? (count + p.part_size - 1) / p.part_size : 1;
  return p;
}

static BurnStatus start(Gpu *gpu, BurnDType dtype, uint32_t kind, const GpuBatchNorm *p) {
  GpuKernelKey key = {.text = GPU_TEXT_BATCH_NORM, .out = dtype, .in = {dtype, dtype, dtype}};
  const bool columns = p->rest < SHORT_REST;
  const uint32_t threads = gpu->most_threads < CHANNEL_THREADS ? gpu->most_threads : CHANNEL_THREADS;
  char definition[48];
  GpuFunction *function = NULL;
  (void)snprintf(definition, sizeof definition, "#define BURN_CHANNEL_THREADS %u\n", threads);
  key.variant = kind + (columns ? COLUMNS : 0);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, definition, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)(p->channels > 0 ? groups_of(p) * p->parts : 0),
                          columns ? COLUMN_THREADS : threads, p, sizeof *p);
}

/* By sums over each channel: in one kernel where channels are small, else in two. */
static BurnStatus by_sums(Gpu *gpu, BurnDType dtype, uint32_t first, GpuBatchNorm *p) {
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F64, .rank = 3, .shape = {p->channels, p->parts, 2}};
  BurnPrimitive *parts = NULL;
  if (p->parts == 1) return start(gpu, dtype, first + AT_ONCE, p);
  BurnStatus status = burn__gpu_new(gpu, &desc, &parts);
  if (status != BURN_OK) return status;
  p->partial = gpu_address(parts);
  status = start(gpu, dtype, first + SUMS, p);
  if (status == BURN_OK) status = start(gpu, dtype, first + BY_SUMS, p);
  burn__gpu_release(gpu, parts);
  return status;
}

/* Outputs and inputs of a call about x, input `at`: its result, and what else lies as x does, keep the order of x. */
static BurnStatus open_batch_norm(const GpuRun *run, uint32_t at, BurnPrimitive **in) {
  const BurnOpCall *call = run->call;
  if (!burn__gpu_is_channels_last(call->inputs[at])) {
    const BurnStatus status = burn__gpu_outputs(run);
    return status == BURN_OK ? burn__gpu_take_inputs(run, in) : status;
  }
  BurnStatus status = burn__gpu_new_channels_last(run->gpu, &call->output_descs[0], &run->out[0]);
  for (uint32_t i = 1; i < call->output_count && status == BURN_OK; i++) status = burn__gpu_output(run, i);
  for (uint32_t i = 0; i < call->input_count && status == BURN_OK; i++)
    status = i <= at ? burn__gpu_channels_last(run->gpu, call->inputs[i], &in[i])
                     : burn__gpu_row_major(run->gpu, call->inputs[i], &in[i]);
  return status;
}

static BurnStatus batch_norm(const GpuRun *run) {
  BurnPrimitive *in[5] = {NULL, NULL, NULL, NULL, NULL};
  BurnStatus status = open_batch_norm(run, 0, in);
  if (status == BURN_OK && burn_primitive_count(in[0]) > 0) {
    GpuBatchNorm p = describe(in[0]);
    p.out = gpu_address(run->out[0]);
    p.gamma = gpu_address(in[1]);
    p.beta = gpu_address(in[2]);
    p.mean = gpu_address(in[3]);
    p.var = gpu_address(in[4]);
    p.epsilon = BURN_ATTRS(batch_norm, run->call)->epsilon.value.f64;
    p.whole = (p.x | p.out) % 16 == 0;
    status = start(run->gpu, in[0]->dtype, GIVEN, &p);
  }
  burn__gpu_drop_inputs(run, in);
  return status;
}

static BurnStatus batch_norm_train(const GpuRun *run) {
  BurnPrimitive *in[3] = {NULL, NULL, NULL};
  BurnStatus status = open_batch_norm(run, 0, in);
  if (status == BURN_OK) {
    GpuBatchNorm p = describe(in[0]);
    p.out = gpu_address(run->out[0]);
    p.gamma = gpu_address(in[1]);
    p.beta = gpu_address(in[2]);
    p.mean_out = gpu_address(run->out[1]);
    p.var_out = gpu_address(run->out[2]);
    p.epsilon = BURN_ATTRS(batch_norm_train, run->call)->epsilon.value.f64;
    p.whole = (p.x | p.out) % 16 == 0;
    status = by_sums(run->gpu, in[0]->dtype, 0, &p);
  }
  burn__gpu_drop_inputs(run, in);
  return status;
}

static BurnStatus batch_norm_train_backward(const GpuRun *run) {
  BurnPrimitive *in[5] = {NULL, NULL, NULL, NULL, NULL};
  BurnStatus status = open_batch_norm(run, 1, in);
  if (status == BURN_OK) {
    GpuBatchNorm p = describe(in[1]);
    p.out = gpu_address(run->out[0]);
    p.grad = gpu_address(in[0]);
    p.gamma = gpu_address(in[2]);
    p.mean = gpu_address(in[3]);
    p.var = gpu_address(in[4]);
    p.gamma_out = gpu_address(run->out[1]);
    p.beta_out = gpu_address(run->out[2]);
    p.epsilon = BURN_ATTRS(batch_norm_train_backward, run->call)->epsilon.value.f64;
    p.whole = (p.x | p.out | p.grad) % 16 == 0;
    status = by_sums(run->gpu, in[1]->dtype, BACKWARD, &p);
  }
  burn__gpu_drop_inputs(run, in);
  return status;
}

const GpuRow burn__gpu_norm_rows[] = {{BURN_OP_layer_norm, layer_norm, 0},
                                      {BURN_OP_layer_norm_backward, layer_norm_backward, 0},
                                      {BURN_OP_batch_norm, batch_norm, 0},
                                      {BURN_OP_batch_norm_train, batch_norm_train, 0},
                                      {BURN_OP_batch_norm_train_backward, batch_norm_train_backward, 0},
                                      {0, NULL, 0}};
