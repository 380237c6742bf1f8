/* gpu_sequence.c - lstm and its gradients: a kernel per step, which makes the product that the step begins with. Large
 * products are made before it, as others are. Halves are computed in f32 as a whole. */
#include "gpu.h"

#include <stdio.h>

enum { FORWARD, BACKWARD, FIRST_STATE, IS_GIVEN = 8 }; /* kinds of kernels/lstm.cu */
enum { UNITS = 4, SAMPLES = 32, MAX_WARPS = 16, MAX_WARPS_F64 = 8, GATES = 4, MAX_INPUTS = 8, MAX_OUTPUTS = 4 };
enum { SMALL_SAMPLES = 64, SMALL_UNITS = 1024 }; /* up to these a step makes its own product */

/* A call under way: inputs row-major and outputs, in what is computed in. */
typedef struct Lstm {
  const GpuRun *run;
  BurnDType dtype;
  BurnPrimitive *in[MAX_INPUTS], *out[MAX_OUTPUTS], *product, *states;
} Lstm;

static BurnStatus take_input(Lstm *lstm, uint32_t i) {
  BurnPrimitive *x = lstm->run->call->inputs[i];
  if (!x) return BURN_OK;
  if (x->dtype == lstm->dtype) return burn__gpu_row_major(lstm->run->gpu, x, &lstm->in[i]);
  return burn__gpu_cast(lstm->run->gpu, x, lstm->dtype, &lstm->in[i]);
}

static BurnStatus make_output(Lstm *lstm, uint32_t i) {
  BurnTensorDesc desc = lstm->run->call->output_descs[i];
  desc.dtype = lstm->dtype;
  return burn__gpu_new(lstm->run->gpu, &desc, &lstm->out[i]);
}

static BurnStatus begin(Lstm *lstm, const GpuRun *run) {
  BurnStatus status = BURN_OK;
  *lstm = (Lstm){.run = run, .dtype = burn__gpu_wide_float(run->call->output_descs[0].dtype)};
  for (uint32_t i = 0; i < run->call->input_count && status == BURN_OK; i++) status = take_input(lstm, i);
  for (uint32_t i = 0; i < run->call->output_count && status == BURN_OK; i++) status = make_output(lstm, i);
  return status;
}

/* Hands the outputs over, rounded where the op is of halves; releases the rest. */
static BurnStatus end(Lstm *lstm, BurnStatus status) {
  Gpu *gpu = lstm->run->gpu;
  for (uint32_t i = 0; i < lstm->run->call->output_count && status == BURN_OK; i++) {
    const BurnDType dtype = lstm->run->call->output_descs[i].dtype;
    if (dtype != lstm->dtype) {
      status = burn__gpu_cast(gpu, lstm->out[i], dtype, &lstm->run->out[i]);
      continue;
    }
    lstm->run->out[i] = lstm->out[i];
    lstm->out[i] = NULL;
  }
  for (uint32_t i = 0; i < MAX_INPUTS; i++) burn__gpu_release(gpu, lstm->in[i]);
  for (uint32_t i = 0; i < MAX_OUTPUTS; i++) burn__gpu_release(gpu, lstm->out[i]);
  burn__gpu_release(gpu, lstm->product);
  burn__gpu_release(gpu, lstm->states);
  return status;
}

static uint64_t address_or_0(const BurnPrimitive *x) { return x ? gpu_address(x) : 0; }

static bool makes_own_product(const GpuLstm *p) { return p->samples <= SMALL_SAMPLES && p->units <= SMALL_UNITS; }

/* Whether all that is read by fours lies so. */
static bool is_whole(const GpuLstm *p) {
  return p->units % 4 == 0 && (p->weight | p->hidden | p->outputs | p->gates_out) % 16 == 0;
}

/* Room for the product [samples, width], where a step does not make it. */
static BurnStatus make_product(Lstm *lstm, GpuLstm *p, int64_t width) {
  const BurnTensorDesc desc = {.dtype = lstm->dtype, .rank = 2, .shape = {p->samples, width}};
  if (makes_own_product(p)) return BURN_OK;
  const BurnStatus status = burn__gpu_new(lstm->run->gpu, &desc, &lstm->product);
  if (status == BURN_OK) p->product = gpu_address(lstm->product);
  return status;
}

/* p->left [samples, depth] times the weight by these strides, to p->product [samples, width]. */
static BurnStatus multiply(const Lstm *lstm, const GpuLstm *p, int64_t depth, int64_t width, int64_t row,
                           int64_t column) {
  const GpuMatmul product = {.out = p->product,
                             .lhs = p->left,
                             .rhs = p->weight,
                             .m = p->samples,
                             .n = width,
                             .k = depth,
                             .lhs_row = p->left_row,
                             .lhs_column = 1,
                             .rhs_row = row,
                             .rhs_column = column,
                             .batches = 1};
  return burn__gpu_product(lstm->run->gpu, lstm->dtype, &product);
}

/* Warps of a group: each has sums of its own in shared memory, one row of it longer than a warp. */
static uint32_t warps_of(const Lstm *lstm) {
  const bool is_wide = lstm->dtype == BURN_DTYPE_F64;
  const uint32_t bytes = UNITS * GATES * (SAMPLES + 1) * (is_wide ? 8 : 4);
  uint32_t warps = is_wide ? MAX_WARPS_F64 : MAX_WARPS;
  while (warps > UNITS && warps * bytes > lstm->run->gpu->shared_bytes) warps /= 2;
  return warps;
}

static BurnStatus start(const Lstm *lstm, uint32_t kind, const GpuLstm *p) {
  const GpuKernelKey key = {.text = GPU_TEXT_LSTM,
                            .out = lstm->dtype,
                            .in = {lstm->dtype, lstm->dtype, lstm->dtype},
                            .variant = kind | (makes_own_product(p) ? 0 : IS_GIVEN)};
  const int64_t groups = (p->units + UNITS - 1) / UNITS * ((p->samples + SAMPLES - 1) / SAMPLES);
  const uint32_t warps = warps_of(lstm);
  char definition[40];
  GpuFunction *function = NULL;
  (void)snprintf(definition, sizeof definition, "#define BURN_WARPS %u\n", warps);
  const BurnStatus status = burn__gpu_kernel(lstm->run->gpu, &key, definition, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(lstm->run->gpu, function, (uint64_t)groups, 32 * warps, p, sizeof *p);
}

/* -- forward ---------------------------------------------------------------------------------- */

static BurnStatus step(const Lstm *lstm, GpuLstm *p, int64_t t) {
  const uint64_t bytes = burn_dtype_bytes(lstm->dtype);
  BurnStatus status = BURN_OK;
  p->step = t;
  p->left = t == 0 ? p->hidden : p->outputs + (uint64_t)((t - 1) * p->units) * bytes;
  p->left_row = t == 0 ? p->units : p->steps * p->units;
  if (!makes_own_product(p)) status = multiply(lstm, p, p->units, GATES * p->units, GATES * p->units, 1);
  return status == BURN_OK ? start(lstm, FORWARD, p) : status;
}

static BurnStatus lstm_forward(const GpuRun *run) {
  Lstm lstm;
  BurnStatus status = begin(&lstm, run);
  if (status != BURN_OK) return end(&lstm, status);
  GpuLstm p = {.weight = gpu_address(lstm.in[3]),
               .outputs = gpu_address(lstm.out[0]),
               .cells = gpu_address(lstm.out[1]),
               .activations = gpu_address(lstm.out[2]),
               .gates = gpu_address(lstm.in[0]),
               .hidden = gpu_address(lstm.in[1]),
               .cell = gpu_address(lstm.in[2]),
               .samples = lstm.out[0]->shape[0],
               .steps = lstm.out[0]->shape[1],
               .units = lstm.out[0]->shape[2]};
  p.whole = is_whole(&p);
  status = make_product(&lstm, &p, GATES * p.units);
  for (int64_t t = 0; t < p.steps && status == BURN_OK; t++) status = step(&lstm, &p, t);
  return end(&lstm, status);
}

/* -- the way back ----------------------------------------------------------------------------- */

/* The product is that of the gradient of the gates of step t + 1; before the first step (t = -1) there is no more. */
static BurnStatus step_back(const Lstm *lstm, GpuLstm *p, int64_t t) {
  const uint64_t bytes = burn_dtype_bytes(lstm->dtype);
  BurnStatus status = BURN_OK;
  p->step = t;
  p->is_first = t + 1 == p->steps;
  p->left = p->gates_out + (uint64_t)((t + 1) * GATES * p->units) * bytes;
  p->left_row = p->steps * GATES * p->units;
  if (!makes_own_product(p) && !p->is_first)
    status = multiply(lstm, p, GATES * p->units, p->units, 1, GATES * p->units);
  return status == BURN_OK ? start(lstm, t < 0 ? FIRST_STATE : BACKWARD, p) : status;
}

/* Hidden states that steps began with, transposed, times the gradients of gates. */
static BurnStatus weight_gradient(const Lstm *lstm, const GpuLstm *p) {
  const GpuMatmul product = {.out = gpu_address(lstm->out[3]),
                             .lhs = p->states,
                             .rhs = p->gates_out,
                             .m = p->units,
                             .n = GATES * p->units,
                             .k = p->samples * p->steps,
                             .lhs_row = 1,
                             .lhs_column = p->units,
                             .rhs_row = GATES * p->units,
                             .rhs_column = 1,
                             .batches = 1};
  return burn__gpu_product(lstm->run->gpu, lstm->dtype, &product);
}

static BurnStatus lstm_backward(const GpuRun *run) {
  Lstm lstm;
  BurnStatus status = begin(&lstm, run);
  if (status != BURN_OK) return end(&lstm, status);
  BurnTensorDesc desc = burn_primitive_desc(lstm.in[0]);
  status = burn__gpu_new(run->gpu, &desc, &lstm.states);
  if (status != BURN_OK) return end(&lstm, status);
  GpuLstm p = {.weight = gpu_address(lstm.in[5]),
               .cells = gpu_address(lstm.in[1]),
               .activations = gpu_address(lstm.in[2]),
               .hidden = gpu_address(lstm.in[3]),
               .cell = gpu_address(lstm.in[4]),
               .grad = gpu_address(lstm.in[0]),
               .grad_cells = address_or_0(lstm.in[6]),
               .grad_activations = address_or_0(lstm.in[7]),
               .gates_out = gpu_address(lstm.out[0]),
               .hidden_out = gpu_address(lstm.out[1]),
               .cell_out = gpu_address(lstm.out[2]),
               .states = gpu_address(lstm.states),
               .samples = desc.shape[0],
               .steps = desc.shape[1],
               .units = desc.shape[2]};
  p.whole = is_whole(&p);
  status = make_product(&lstm, &p, p.units);
  for (int64_t t = p.steps; t-- >= 0 && status == BURN_OK;) status = step_back(&lstm, &p, t);
  if (status == BURN_OK) status = weight_gradient(&lstm, &p);
  return end(&lstm, status);
}

const GpuRow burn__gpu_sequence_rows[] = {
    {BURN_OP_lstm, lstm_forward, 0}, {BURN_OP_lstm_backward, lstm_backward, 0}, {0, NULL, 0}};
