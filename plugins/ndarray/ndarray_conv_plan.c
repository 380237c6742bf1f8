/* ndarray_conv_plan.c - where the taps of a convolution lie, and the padded copy of its input: see ndarray_conv.h. */
#include "ndarray_conv.h"

#include <string.h>

#define COPY_BYTES (256 * 1024) /* a band's copy should fit into the second-level cache */

/* One tap of one axis of an output phase: kernel index and row (or column) of the input relative to the grid's. */
typedef struct AxisTap {
  int64_t kernel, position;
} AxisTap;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static void plan_begin(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape) {
  const NdCompute *compute;
  memset(plan, 0, sizeof *plan);
  plan->nd = nd;
  plan->element_bytes = burn_dtype_bytes(shape->dtype);
  plan->batch = shape->x[0];
  plan->groups = shape->groups;
  plan->channels_in = shape->x[1] / shape->groups;
  plan->channels_out = shape->output[1] / shape->groups;
  plan->height = shape->x[2];
  plan->width = shape->x[3];
  plan->out_height = shape->output[2];
  plan->out_width = shape->output[3];
  /* Rows of up to 8 pixels would leave half of a wide vector empty. */
  compute = nd_compute(nd->isa > NDARRAY_ISA_AVX2 && plan->out_width <= 8 ? NDARRAY_ISA_AVX2 : nd->isa);
  plan->loops = shape->dtype == BURN_DTYPE_F32 ? &compute->conv_f32 : &compute->conv_f64;
}

/* Memory for phases and `offsets` offsets, in one block. */
static bool plan_allocate(NdConvPlan *plan, int64_t phases, int64_t offsets) {
  const uint64_t phase_bytes = (uint64_t)phases * sizeof(NdConvPhase);
  plan->offsets_bytes = phase_bytes + (uint64_t)(offsets + 1) * sizeof(int64_t);
  plan->phases = (NdConvPhase *)nd_pool_allocate(plan->nd->pool, plan->offsets_bytes);
  if (!plan->phases) return false;
  plan->offsets = (int64_t *)(void *)((char *)plan->phases + phase_bytes);
  return true;
}

/* Rows of the copy for so many grid rows. */
static int64_t copy_rows(const NdConvPlan *plan, int64_t grid_rows) {
  return (grid_rows - 1) * plan->row_step + plan->span;
}

/* The largest band whose copy is still small, and from it the size of a plane. */
static void plan_band(NdConvPlan *plan) {
  const int64_t row_bytes = plan->channels_in * plan->row_width * plan->element_bytes + 1;
  const int64_t rows = (COPY_BYTES / row_bytes - plan->span) / plan->row_step + 1;
  plan->band = rows < 4 ? 4 : rows;
  if (plan->band > plan->grid_rows) plan->band = plan->grid_rows;
  plan->copy_plane = copy_rows(plan, plan->band) * plan->row_width;
}

bool nd_conv_plan_forward(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape, const void *weights) {
  const int64_t kh = shape->kernel[0], kw = shape->kernel[1], step = shape->stride[1];
  const bool plain = shape->padding[0] == 0 && shape->padding[1] == 0 && step == 1;
  int64_t next = 0;
  NdConvPhase *phase;
  plan_begin(plan, nd, shape);
  if (plain && kh == 1 && kw == 1 && shape->stride[0] == 1) { /* a matrix product: rows may run on */
    plan->width *= plan->height;
    plan->out_width *= plan->out_height;
    plan->height = plan->out_height = 1;
  }
  if (!plan_allocate(plan, 1, plan->channels_in * kh * kw)) return false;
  plan->pad_top = shape->padding[0];
  plan->pad_left = shape->padding[1];
  plan->row_step = shape->stride[0];
  plan->span = (kh - 1) * shape->dilation[0] + 1;
  plan->out_step_y = plan->out_step_x = 1;
  plan->grid_rows = plan->out_height;
  plan->column_phases = step;
  plan->phase_width = plan->out_width + (kw - 1) * shape->dilation[1] / step;
  plan->row_width = step * plan->phase_width;
  /* The forward loops read no pixel beyond a row that is at least a vector wide; those of the gradient read whole
   * vectors. */
  plan->direct =
      plain && (plan->out_width % plan->loops->lanes == 0 || (weights && plan->out_width >= plan->loops->lanes));
  if (plan->direct) plan->row_width = plan->width;
  plan_band(plan);
  if (plan->direct) plan->copy_plane = plan->height * plan->width;
  plan->phase_count = 1;
  phase = plan->phases;
  *phase = (NdConvPhase){.taps = plan->channels_in * kh * kw,
                         .offsets = plan->offsets,
                         .weights = weights,
                         .rows = plan->out_height,
                         .columns = plan->out_width};
  phase->weights_group = plan->channels_out * phase->taps;
  for (int64_t c = 0; c < plan->channels_in; c++)
    for (int64_t y = 0; y < kh; y++)
      for (int64_t x = 0; x < kw; x++) {
        const int64_t column = x * shape->dilation[1];
        phase->offsets[next++] = c * plan->copy_plane + y * shape->dilation[0] * plan->row_width +
                                 column % step * plan->phase_width + column / step;
      }
  return true;
}

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

/* Lowest and highest input position of an axis over all phases, relative to the grid. */
static void axis_range(const NdConvShape *shape, int axis, AxisTap *taps, int64_t *low, int64_t *high) {
  *low = INT64_MAX;
  *high = INT64_MIN;
  for (int64_t phase = 0; phase < shape->stride[axis]; phase++) {
    const int64_t count = axis_taps(shape, axis, phase, taps);
    for (int64_t i = 0; i < count; i++) {
      if (taps[i].position < *low) *low = taps[i].position;
      if (taps[i].position > *high) *high = taps[i].position;
    }
  }
}

/* Fills a phase: its offsets, and its weights [groups, out, in, ky, kx] from the op's [in, out, kh, kw]. */
static void transpose_phase(const NdConvPlan *plan, const NdConvShape *shape, const NdConvPhase *phase,
                            const AxisTap *ys, int64_t y_count, const AxisTap *xs, int64_t x_count,
                            const char *weights) {
  const int64_t kernel = shape->kernel[0] * shape->kernel[1];
  const uint32_t bytes = plan->element_bytes;
  char *to = (char *)plan->packed + ((const char *)phase->weights - (const char *)plan->packed);
  int64_t next = 0;
  for (int64_t c = 0; c < plan->channels_in; c++)
    for (int64_t y = 0; y < y_count; y++)
      for (int64_t x = 0; x < x_count; x++)
        phase->offsets[next++] =
            c * plan->copy_plane + (ys[y].position + plan->pad_top) * plan->row_width + xs[x].position + plan->pad_left;
  for (int64_t group = 0; group < plan->groups; group++)
    for (int64_t out = 0; out < plan->channels_out; out++)
      for (int64_t c = 0; c < plan->channels_in; c++) {
        const char *from = weights + ((group * plan->channels_in + c) * plan->channels_out + out) * kernel * bytes;
        for (int64_t y = 0; y < y_count; y++)
          for (int64_t x = 0; x < x_count; x++, to += bytes) {
            const char *weight = from + (ys[y].kernel * shape->kernel[1] + xs[x].kernel) * bytes;
            if (bytes == 4)
              memcpy(to, weight, 4);
            else
              memcpy(to, weight, 8);
          }
      }
}

/* The grid, the copy and the band; `low` and `high` are the ranges of both axes. */
static void transpose_layout(NdConvPlan *plan, const NdConvShape *shape, const int64_t *low, const int64_t *high) {
  plan->pad_top = -low[0];
  plan->pad_left = -low[1];
  plan->row_step = 1;
  plan->span = high[0] - low[0] + 1;
  plan->out_step_y = shape->stride[0];
  plan->out_step_x = shape->stride[1];
  plan->grid_rows = ceil_div(plan->out_height, plan->out_step_y);
  plan->column_phases = 1;
  plan->phase_width = plan->row_width = ceil_div(plan->out_width, plan->out_step_x) + high[1] - low[1];
  plan_band(plan);
}

bool nd_conv_plan_transpose(NdConvPlan *plan, Ndarray *nd, const NdConvShape *shape, const void *weights) {
  const int64_t kernel = shape->kernel[0] * shape->kernel[1];
  const int64_t axis_bytes = (shape->kernel[0] + shape->kernel[1]) * (int64_t)sizeof(AxisTap);
  int64_t low[2], high[2], offset = 0;
  AxisTap *ys = (AxisTap *)nd_pool_allocate(nd->pool, (uint64_t)axis_bytes), *xs;
  bool allocated;
  plan_begin(plan, nd, shape);
  plan->packed_bytes = (uint64_t)(plan->groups * plan->channels_out * plan->channels_in * kernel * plan->element_bytes);
  plan->packed = nd_pool_allocate(nd->pool, plan->packed_bytes + 1);
  allocated =
      plan_allocate(plan, shape->stride[0] * shape->stride[1], plan->channels_in * kernel) && plan->packed && ys;
  if (allocated) {
    xs = ys + shape->kernel[0];
    for (int axis = 0; axis < 2; axis++) axis_range(shape, axis, axis ? xs : ys, &low[axis], &high[axis]);
    transpose_layout(plan, shape, low, high);
    for (int64_t y = 0; y < shape->stride[0] && y < plan->out_height; y++)
      for (int64_t x = 0; x < shape->stride[1] && x < plan->out_width; x++) {
        NdConvPhase *phase = &plan->phases[plan->phase_count++];
        const int64_t y_count = axis_taps(shape, 0, y, ys), x_count = axis_taps(shape, 1, x, xs);
        const int64_t all = plan->groups * plan->channels_out;
        *phase = (NdConvPhase){.taps = plan->channels_in * y_count * x_count, .first_row = y, .first_column = x};
        phase->offsets = plan->offsets + offset;
        phase->weights = (char *)plan->packed + offset * all * plan->element_bytes;
        phase->weights_group = plan->channels_out * phase->taps;
        phase->rows = ceil_div(plan->out_height - y, shape->stride[0]);
        phase->columns = ceil_div(plan->out_width - x, shape->stride[1]);
        transpose_phase(plan, shape, phase, ys, y_count, xs, x_count, (const char *)weights);
        offset += phase->taps;
      }
  }
  nd_pool_free(nd->pool, ys, (uint64_t)axis_bytes);
  return allocated;
}

void nd_conv_plan_close(NdConvPlan *plan) {
  if (plan->packed) nd_pool_free(plan->nd->pool, plan->packed, plan->packed_bytes + 1);
  if (plan->phases) nd_pool_free(plan->nd->pool, plan->phases, plan->offsets_bytes);
}

int64_t nd_conv_copy_elements(const NdConvPlan *plan, int64_t channels) {
  return channels * plan->copy_plane + plan->loops->lanes;
}

/* One row of the copy from one row of the input. */
static void copy_row(const NdConvPlan *plan, const char *from, char *to) {
  const int64_t step = plan->column_phases;
  const size_t bytes = plan->element_bytes;
  for (int64_t phase = 0; phase < step; phase++, to += (size_t)plan->phase_width * bytes) {
    const int64_t first = phase - plan->pad_left; /* input column of element 0 */
    int64_t begin = first < 0 ? ceil_div(-first, step) : 0;
    int64_t end = plan->width > first ? ceil_div(plan->width - first, step) : 0;
    if (end > plan->phase_width) end = plan->phase_width;
    if (begin > end) begin = end;
    memset(to, 0, (size_t)begin * bytes);
    memset(to + (size_t)end * bytes, 0, (size_t)(plan->phase_width - end) * bytes);
    if (step == 1) {
      memcpy(to + (size_t)begin * bytes, from + (first + begin) * (int64_t)bytes, (size_t)(end - begin) * bytes);
    } else if (bytes == 4) {
      for (int64_t j = begin; j < end; j++) memcpy(to + j * 4, from + (first + j * step) * 4, 4);
    } else {
      for (int64_t j = begin; j < end; j++) memcpy(to + j * 8, from + (first + j * step) * 8, 8);
    }
  }
}

const void *nd_conv_input(const NdConvPlan *plan, const void *planes, int64_t channels, int64_t first_row, int64_t rows,
                          void *copy) {
  const int64_t bytes = plan->element_bytes, first = first_row * plan->row_step - plan->pad_top;
  const int64_t needed = copy_rows(plan, rows);
  if (plan->direct) return (const char *)planes + first * plan->width * bytes;
  for (int64_t c = 0; c < channels; c++) {
    const char *plane = (const char *)planes + c * plan->height * plan->width * bytes;
    char *to = (char *)copy + c * plan->copy_plane * bytes;
    for (int64_t r = 0; r < needed; r++, to += plan->row_width * bytes) {
      const int64_t row = first + r;
      if (row < 0 || row >= plan->height)
        memset(to, 0, (size_t)(plan->row_width * bytes));
      else
        copy_row(plan, plane + row * plan->width * bytes, to);
    }
  }
  return copy;
}
