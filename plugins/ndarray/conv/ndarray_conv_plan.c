/* ndarray_conv_plan.c - where the taps of a convolution lie in its input and in its weights: see ndarray_conv.h. */
#include "ndarray_conv.h"

#include <string.h>

/* One tap of one axis of an output phase: kernel index and row (or column) of the input relative to the grid's. */
typedef struct AxisTap {
  int64_t kernel, position;
} AxisTap;

static int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

const NdConvLoops *nd_conv_loops(uint32_t isa, BurnDType dtype) {
  const NdConvTable *table = &nd_conv_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (isa >= NDARRAY_ISA_AVX2) table = &nd_conv_avx2;
  if (isa == NDARRAY_ISA_AVX512) table = dtype == BURN_DTYPE_F32 ? &nd_conv_avx512 : &nd_conv_f64_avx512;
#endif
  (void)isa;
  return dtype == BURN_DTYPE_F32 ? &table->f32 : &table->f64;
}

static void plan_begin(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape) {
  memset(plan, 0, sizeof *plan);
  plan->nd = nd;
  plan->loops = nd_conv_loops(nd->isa, shape->dtype);
  plan->element_bytes = burn_dtype_bytes(shape->dtype);
  plan->batch = shape->x[0];
  plan->groups = shape->groups;
  plan->channels_in = shape->x[1] / shape->groups;
  plan->channels_out = shape->output[1] / shape->groups;
  plan->y = (NdConvAxis){.in = shape->x[2], .out = shape->output[2]};
  plan->x = (NdConvAxis){.in = shape->x[3], .out = shape->output[3]};
}

/* Memory for phases, with `kernel` taps of a channel in all. */
static bool plan_allocate(NdConvPlan *plan, int64_t phases, int64_t kernel) {
  const uint64_t head = (uint64_t)phases * sizeof(NdConvPhase);
  plan->phases_bytes = head + (uint64_t)(kernel * (plan->channels_in + 1)) * sizeof(NdConvTap);
  plan->phases = (NdConvPhase *)nd_pool_allocate(plan->nd->pool, plan->phases_bytes);
  if (!plan->phases) return false;
  plan->phases->taps = (NdConvTap *)(void *)((char *)plan->phases + head);
  return true;
}

void nd_conv_plan_close(NdConvPlan *plan) {
  if (plan->tables) nd_pool_free(plan->nd->pool, plan->tables, plan->tables_bytes);
  if (plan->phases) nd_pool_free(plan->nd->pool, plan->phases, plan->phases_bytes);
}

/* -- conv2d ----------------------------------------------------------------------------------- */

static void forward_axis(NdConvAxis *axis, const NdConvShape *shape, int i) {
  axis->step = shape->stride[i];
  axis->pad = shape->padding[i];
  axis->dilation = shape->dilation[i];
  axis->phases = nd_min(axis->step / greatest_divisor(axis->dilation, axis->step), shape->kernel[i]);
  axis->span = (shape->kernel[i] - 1) * axis->dilation / axis->step + 1;
  axis->grid = axis->out;
  axis->out_step = 1;
}

/* The taps of the other channels are the first `count`, moved. Where lanes are images the loops know that. */
static void repeat_taps(const NdConvPlan *plan, const NdConvPhase *phase, int64_t count) {
  if (plan->way == ND_CONV_IMAGES) return;
  for (int64_t k = count; k < phase->tap_count; k++) {
    phase->taps[k].input = phase->taps[k - count].input + plan->channel;
    phase->taps[k].weight = phase->taps[k - count].weight + plan->weights_channel;
  }
}

/* Taps of the only phase. */
static void forward_taps(NdConvPlan *plan, const NdConvShape *shape) {
  const int64_t kh = shape->kernel[0], kw = shape->kernel[1];
  NdConvTap *next = plan->phases->taps;
  for (int64_t y = 0; y < kh; y++)
    for (int64_t x = 0; x < kw; x++) {
      const int64_t plane = y % plan->y.phases * plan->x.phases + x % plan->x.phases;
      const int64_t row = y * plan->y.dilation / plan->y.step, column = x * plan->x.dilation / plan->x.step;
      *next++ = (NdConvTap){plane * plan->plane + row * plan->row_width + column * plan->pixel, y * kw + x};
    }
  plan->weights_channel = kh * kw;
  plan->weights_row = plan->channels_in * kh * kw;
  plan->weights_group = plan->channels_out * plan->weights_row;
  repeat_taps(plan, plan->phases, kh * kw);
}

static bool forward_geometry(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape) {
  const int64_t kernel = shape->kernel[0] * shape->kernel[1];
  plan_begin(plan, nd, shape);
  if (!plan_allocate(plan, 1, kernel)) return false;
  forward_axis(&plan->y, shape, 0);
  forward_axis(&plan->x, shape, 1);
  const bool dense = plan->y.step == 1 && plan->x.step == 1 && plan->y.dilation == 1 && plan->x.dilation == 1;
  if (dense && shape->kernel[0] == shape->kernel[1]) plan->square = shape->kernel[0];
  plan->phase_count = 1;
  plan->phases[0] = (NdConvPhase){
      .tap_count = plan->channels_in * kernel, .taps = plan->phases->taps, .rows = plan->y.out, .columns = plan->x.out};
  return true;
}

bool nd_conv_plan_forward(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape) {
  if (!forward_geometry(plan, nd, shape)) return false;
  const bool is_point = shape->kernel[0] == 1 && shape->kernel[1] == 1;
  if (!is_point || !nd_conv_cut_points(plan)) nd_conv_cut(plan, nd->host->thread_count());
  forward_taps(plan, shape);
  return nd_conv_make_grids(plan);
}

bool nd_conv_plan_gradient(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape) {
  if (!forward_geometry(plan, nd, shape)) return false;
  plan->kernel_columns = shape->kernel[1];
  nd_conv_cut_gradient(plan);
  forward_taps(plan, shape);
  return nd_conv_make_grids(plan);
}

/* -- conv_transpose2d ------------------------------------------------------------------------- */

/* The taps of output phase `phase` along an axis; returns how many. Output position o = stride * i + phase gets input
 * position (o + padding - dilation * k) / stride where that is whole. */
static int64_t axis_taps(const NdConvShape *shape, int axis, int64_t phase, AxisTap *taps) {
  const int64_t stride = shape->stride[axis];
  int64_t count = 0;
  for (int64_t k = 0; k < shape->kernel[axis]; k++) {
    const int64_t position = phase + shape->padding[axis] - shape->dilation[axis] * k;
    if (position % stride != 0) continue;
    taps[count].kernel = k;
    taps[count++].position = position / stride;
  }
  return count;
}

/* From the lowest and highest input position over all phases, relative to the grid. */
static void transpose_axis(NdConvAxis *axis, const NdConvShape *shape, int i, AxisTap *taps) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int64_t phase = 0; phase < shape->stride[i]; phase++) {
    const int64_t count = axis_taps(shape, i, phase, taps);
    for (int64_t tap = 0; tap < count; tap++) {
      if (taps[tap].position < low) low = taps[tap].position;
      if (taps[tap].position > high) high = taps[tap].position;
    }
  }
  axis->pad = -low;
  axis->step = axis->dilation = axis->phases = 1;
  axis->span = high - low + 1;
  axis->out_step = shape->stride[i];
  axis->grid = nd_ceil_div(axis->out, axis->out_step);
}

/* Taps of a phase. */
static void transpose_phase(const NdConvPlan *plan, const NdConvShape *shape, const NdConvPhase *phase,
                            const AxisTap *ys, int64_t y_count, const AxisTap *xs, int64_t x_count) {
  NdConvTap *next = phase->taps;
  for (int64_t y = 0; y < y_count; y++)
    for (int64_t x = 0; x < x_count; x++) {
      next->input = (ys[y].position + plan->y.pad) * plan->row_width + (xs[x].position + plan->x.pad) * plan->pixel;
      next++->weight = ys[y].kernel * shape->kernel[1] + xs[x].kernel;
    }
  repeat_taps(plan, phase, y_count * x_count);
}

/* The phases of the output; those that begin beyond its end are left out. */
static void transpose_phases(NdConvPlan *plan, const NdConvShape *shape, AxisTap *ys, AxisTap *xs) {
  NdConvTap *taps = plan->phases->taps;
  for (int64_t y = 0; y < shape->stride[0] && y < plan->y.out; y++)
    for (int64_t x = 0; x < shape->stride[1] && x < plan->x.out; x++) {
      NdConvPhase *phase = &plan->phases[plan->phase_count++];
      const int64_t y_count = axis_taps(shape, 0, y, ys), x_count = axis_taps(shape, 1, x, xs);
      *phase = (NdConvPhase){.tap_count = plan->channels_in * y_count * x_count,
                             .taps = taps,
                             .first_row = y,
                             .first_column = x,
                             .rows = nd_ceil_div(plan->y.out - y, shape->stride[0]),
                             .columns = nd_ceil_div(plan->x.out - x, shape->stride[1])};
      transpose_phase(plan, shape, phase, ys, y_count, xs, x_count);
      taps += phase->tap_count;
    }
}

bool nd_conv_plan_transpose(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape) {
  const int64_t kernel = shape->kernel[0] * shape->kernel[1];
  const int64_t axis_bytes = (shape->kernel[0] + shape->kernel[1]) * (int64_t)sizeof(AxisTap);
  AxisTap *ys = (AxisTap *)nd_pool_allocate(nd->pool, (uint64_t)axis_bytes), *xs = ys + shape->kernel[0];
  plan_begin(plan, nd, shape);
  plan->weights_row = kernel;
  plan->weights_channel = plan->channels_out * kernel;
  plan->weights_group = plan->channels_in * plan->channels_out * kernel;
  const int64_t phases = nd_min(shape->stride[0], plan->y.out) * nd_min(shape->stride[1], plan->x.out);
  const bool allocated = ys && plan_allocate(plan, phases, kernel);
  if (allocated) {
    transpose_axis(&plan->y, shape, 0, ys);
    transpose_axis(&plan->x, shape, 1, xs);
    nd_conv_cut(plan, nd->host->thread_count());
    transpose_phases(plan, shape, ys, xs);
  }
  nd_pool_free(nd->pool, ys, (uint64_t)axis_bytes);
  return allocated && nd_conv_make_grids(plan);
}
