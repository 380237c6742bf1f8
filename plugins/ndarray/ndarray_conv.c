/* ndarray_conv.c - conv2d and conv_transpose2d, as direct convolutions with a tile of sums in registers.
 *
 * The work is cut into items of one image, one group, a band of output rows and a share of the output channels; the
 * cuts depend on shapes alone, and no sum is cut. The layout stands in ndarray_conv.h, the loops in
 * ndarray_compute_template.h. */
#include "ndarray_conv.h"

#include <string.h>

/* What the bodies of the parallel loops see. */
typedef struct Conv {
  NdConvPlan plan;
  const char *x;
  const char *bias; /* or NULL */
  char *out;
  int64_t bands, shares; /* per image and group */
  int64_t share;         /* output channels of an item */
  atomic_bool out_of_memory;
} Conv;

/* Memory of one running body. */
typedef struct Scratch {
  NdConvVector *vectors; /* [phases][capacity] */
  int64_t *counts;       /* [phases] */
  void *copy;
  int64_t capacity;
  int64_t rows; /* of the band that vectors are for; 0 at first */
  uint64_t bytes;
} Scratch;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Rows of a phase in a band of `rows` grid rows from `first` on. */
static int64_t phase_rows(const NdConvPhase *phase, int64_t first, int64_t rows) {
  const int64_t left = phase->rows - first;
  return left < 0 ? 0 : least(left, rows);
}

/* Vectors of a band if every row begins a new one, and if they run on over the unused columns of the copy. */
static int64_t count_by_row(const NdConvPlan *plan, int64_t rows, int64_t columns) {
  return rows * ceil_div(columns, plan->loops->lanes);
}
static int64_t count_running(const NdConvPlan *plan, int64_t rows, int64_t columns) {
  return rows == 0 ? 0 : ceil_div((rows - 1) * plan->row_width + columns, plan->loops->lanes);
}

/* Cuts the pixels of a phase into vectors, offsets relative to the first row of the band; returns how many. */
static int64_t make_vectors(const NdConvPlan *plan, const NdConvPhase *phase, int64_t rows, NdConvVector *out) {
  const int64_t lanes = plan->loops->lanes, width = plan->row_width, columns = phase->columns;
  const int64_t out_row = plan->out_step_y * plan->out_width;
  /* Running vectors cost stores in two pieces, and read beyond the last row. */
  const bool running = !plan->direct && plan->row_step == 1 && plan->column_phases == 1 && width >= lanes &&
                       count_running(plan, rows, columns) * 5 < count_by_row(plan, rows, columns) * 4;
  int64_t count = 0, row = 0, column = 0;
  while (row < rows) {
    NdConvVector *v = &out[count];
    memset(v, 0, sizeof *v);
    /* The last vector of a row overlaps the one before: the same pixels come out twice, but all stores are whole. */
    if (!running && columns >= lanes) column = least(column, columns - lanes);
    v->input = row * plan->row_step * width + column;
    v->output = row * out_row + column * plan->out_step_x;
    v->lanes = column < columns ? (int32_t)least(lanes, columns - column) : 0;
    column += lanes;
    if (!running && column >= columns) {
      row++;
      column = 0;
    } else if (running && column >= width) {
      row++;
      column -= width;
      if (row < rows && column > 0) {
        v->next_first = (int32_t)(lanes - column);
        v->next_lanes = (int32_t)least(column, columns);
        v->next_output = row * out_row;
      }
    }
    if (v->lanes + v->next_lanes > 0) count++;
  }
  return count;
}

/* Fills in capacity and bytes. */
static void scratch_measure(const NdConvPlan *plan, Scratch *scratch, uint64_t *copy_bytes, uint64_t *vector_bytes) {
  const int64_t per_row = ceil_div(plan->phases[0].columns, plan->loops->lanes) + 1;
  const int64_t copy = plan->direct ? 0 : nd_conv_copy_elements(plan, plan->channels_in) * plan->element_bytes;
  *copy_bytes = ((uint64_t)copy + 63u) / 64u * 64u;
  scratch->capacity = plan->band * per_row + 1;
  *vector_bytes = (uint64_t)(plan->phase_count * scratch->capacity) * sizeof(NdConvVector);
  scratch->bytes = *copy_bytes + *vector_bytes + (uint64_t)plan->phase_count * sizeof(int64_t);
}

static void scratch_reserve(const NdConvPlan *plan) {
  Scratch scratch;
  uint64_t copy_bytes, vector_bytes;
  scratch_measure(plan, &scratch, &copy_bytes, &vector_bytes);
  nd_pool_reserve(plan->nd->pool, scratch.bytes, plan->nd->host->thread_count());
}

static bool scratch_open(const NdConvPlan *plan, Scratch *scratch) {
  uint64_t copy_bytes, vector_bytes;
  scratch_measure(plan, scratch, &copy_bytes, &vector_bytes);
  scratch->copy = nd_pool_allocate(plan->nd->pool, scratch->bytes);
  if (!scratch->copy) return false;
  scratch->vectors = (NdConvVector *)(void *)((char *)scratch->copy + copy_bytes);
  scratch->counts = (int64_t *)(void *)((char *)scratch->vectors + vector_bytes);
  scratch->rows = 0;
  return true;
}

/* Makes the vector tables for the band at `first` unless they are there. Only the last band differs from the others. */
static void scratch_prepare(const NdConvPlan *plan, Scratch *scratch, int64_t first, int64_t rows, bool last) {
  const int64_t key = last ? -rows : rows;
  if (scratch->rows == key) return;
  scratch->rows = key;
  for (int64_t p = 0; p < plan->phase_count; p++)
    scratch->counts[p] = make_vectors(plan, &plan->phases[p], phase_rows(&plan->phases[p], first, rows),
                                      scratch->vectors + p * scratch->capacity);
}

/* All phases of one item. `image_group` counts groups through all images. */
static void run_item(const Conv *work, const Scratch *scratch, const void *input, int64_t image_group,
                     int64_t first_row, int64_t first_channel) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, group = image_group % plan->groups;
  const int64_t plane = plan->out_height * plan->out_width;
  const int64_t out_channel = image_group * plan->channels_out + first_channel;
  NdConvTile tile = {.input = input, .plane = plane, .step = plan->out_step_x};
  tile.channels = least(work->share, plan->channels_out - first_channel);
  if (work->bias) tile.bias = work->bias + (group * plan->channels_out + first_channel) * bytes;
  for (int64_t p = 0; p < plan->phase_count; p++) {
    const NdConvPhase *phase = &plan->phases[p];
    const int64_t row = phase->first_row + first_row * plan->out_step_y;
    tile.taps = phase->taps;
    tile.offsets = phase->offsets;
    tile.weights = (const char *)phase->weights + (group * phase->weights_group + first_channel * phase->taps) * bytes;
    tile.vectors = scratch->vectors + p * scratch->capacity;
    tile.vector_count = scratch->counts[p];
    if (tile.vector_count == 0) continue;
    tile.output = work->out + (out_channel * plane + row * plan->out_width + phase->first_column) * bytes;
    plan->loops->convolve(&tile);
  }
}

static void BURN_CALL conv_body(void *context, int64_t begin, int64_t end) {
  Conv *work = (Conv *)context;
  const NdConvPlan *plan = &work->plan;
  const int64_t plane_bytes = plan->channels_in * plan->height * plan->width * plan->element_bytes;
  const void *input = NULL;
  int64_t copied = -1;
  Scratch scratch;
  if (!scratch_open(plan, &scratch)) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t item = begin; item < end; item++) {
    const int64_t band_number = item / work->shares, image_group = band_number / work->bands;
    const int64_t first_row = band_number % work->bands * plan->band;
    const int64_t rows = least(plan->band, plan->grid_rows - first_row);
    scratch_prepare(plan, &scratch, first_row, rows, first_row + rows == plan->grid_rows);
    if (band_number != copied)
      input =
          nd_conv_input(plan, work->x + image_group * plane_bytes, plan->channels_in, first_row, rows, scratch.copy);
    copied = band_number;
    run_item(work, &scratch, input, image_group, first_row, item % work->shares * work->share);
  }
  nd_pool_free(plan->nd->pool, scratch.copy, scratch.bytes);
}

/* Cuts the work and runs it; false when out of memory. */
static bool conv_run(Conv *work) {
  const NdConvPlan *plan = &work->plan;
  double flops = 0; /* of one band */
  int64_t items;
  for (int64_t p = 0; p < plan->phase_count; p++)
    flops += 2 * (double)plan->phases[p].taps * (double)plan->phases[p].columns * (double)plan->band;
  flops *= (double)plan->channels_out;
  work->bands = ceil_div(plan->grid_rows, plan->band);
  items = plan->batch * plan->groups * work->bands;
  work->shares = items < 16 ? least(ceil_div(16, items), (int64_t)(flops / 1e6)) : 1;
  if (work->shares < 1) work->shares = 1;
  work->share = ceil_div(ceil_div(plan->channels_out, work->shares), 8) * 8;
  work->shares = ceil_div(plan->channels_out, work->share);
  atomic_init(&work->out_of_memory, false);
  flops /= (double)work->shares;
  scratch_reserve(plan);
  nd_parallel_for_flushed(plan->nd, items * work->shares, 1 + (int64_t)(5e5 / (flops + 1)), conv_body, work);
  return !atomic_load_explicit(&work->out_of_memory, memory_order_relaxed);
}

/* Both ops: x, weight, bias -> output. */
static BurnStatus conv_any(Ndarray *nd, const BurnOpCall *call, const NdConvShape *shape, bool transpose) {
  NdTensor *out = nd_new(nd, call->output_descs), *x, *weight, *bias = NULL;
  bool done = false;
  Conv work;
  if (!out) return nd_out_of_memory(nd, call);
  if (burn_desc_count(call->output_descs) == 0) return nd_finish(nd, call, out);
  x = nd_contiguous(nd, nd_tensor(call->inputs[0]));
  weight = nd_contiguous(nd, nd_tensor(call->inputs[1]));
  if (call->inputs[2]) bias = nd_contiguous(nd, nd_tensor(call->inputs[2]));
  if (x && weight && (bias || !call->inputs[2])) {
    done = transpose ? nd_conv_plan_transpose(&work.plan, nd, shape, nd_data(weight))
                     : nd_conv_plan_forward(&work.plan, nd, shape, nd_data(weight));
    work.x = (const char *)nd_data(x);
    work.bias = bias ? (const char *)nd_data(bias) : NULL;
    work.out = (char *)nd_data(out);
    done = done && conv_run(&work);
    nd_conv_plan_close(&work.plan);
  }
  nd_release(nd, x);
  nd_release(nd, weight);
  nd_release(nd, bias);
  if (done) return nd_finish(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}

static BurnStatus conv2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_conv2d *attrs = BURN_ATTRS(conv2d, call);
  const NdConvShape shape = {call->inputs[0]->shape,   call->output_descs->shape, call->inputs[1]->shape + 2,
                             attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s,
                             attrs->groups.value.i64,  call->output_descs->dtype};
  return conv_any(nd, call, &shape, false);
}

static BurnStatus conv_transpose2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_conv_transpose2d *attrs = BURN_ATTRS(conv_transpose2d, call);
  const NdConvShape shape = {call->inputs[0]->shape,   call->output_descs->shape, call->inputs[1]->shape + 2,
                             attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s,
                             attrs->groups.value.i64,  call->output_descs->dtype};
  return conv_any(nd, call, &shape, true);
}

const NdKernelRow nd_conv_kernels[] = {
    {BURN_OP_conv2d, conv2d},
    {BURN_OP_conv2d_weight_backward, nd_conv2d_weight_backward},
    {BURN_OP_conv_transpose2d, conv_transpose2d},
    {0, NULL},
};
