/* gpu_fused_layout.c - how the inputs of a body lie: axes that go together in all of them become one, and of each
 * input is known along which of these it moves. */
#include "gpu_fused.h"

#include <string.h>

enum { MANY = 1 << 20 };                 /* elements from which on a thread takes several vectors */
enum { SHORT_COLUMN = 512, FEW = 8192 }; /* that are reduced in one pass */

/* What is asked of all functions here. */
typedef struct Seen {
  const BurnFusedKernel *kernel;
  BurnPrimitive *const *inputs; /* NULL: row-major */
  GpuFusedLayout *layout;
} Seen;

static int64_t stride_of(const Seen *seen, uint32_t k, uint32_t axis) {
  const BurnTensorDesc *desc = &seen->kernel->body.values[k];
  const uint32_t missing = seen->kernel->plan.space.rank - desc->rank;
  int64_t stride = 1;
  if (axis < missing || desc->shape[axis - missing] == 1) return 0;
  if (seen->inputs) return seen->inputs[k]->strides[axis - missing];
  for (uint32_t i = axis - missing + 1; i < desc->rank; i++) stride *= desc->shape[i];
  return stride;
}

static bool merges(const Seen *seen, int64_t size, const int64_t *strides) {
  const GpuFusedLayout *layout = seen->layout;
  const uint32_t outer = layout->shape.rank - 1u;
  for (uint32_t k = 0; k < seen->kernel->body.input_count; k++)
    if (layout->strides[k][outer] != strides[k] * size) return false;
  return true;
}

/* One more axis, or, where it need not be apart, a longer last one. */
static void add_axis(Seen *seen, int64_t size, const int64_t *strides, bool is_apart) {
  GpuFusedLayout *layout = seen->layout;
  const uint32_t inputs = seen->kernel->body.input_count;
  if (size == 1) return;
  if (!is_apart && layout->shape.rank > 0 && merges(seen, size, strides)) {
    layout->sizes[layout->shape.rank - 1u] *= size;
  } else {
    layout->sizes[layout->shape.rank++] = size;
  }
  for (uint32_t k = 0; k < inputs; k++) layout->strides[k][layout->shape.rank - 1u] = strides[k];
}

/* What the places of a window along this axis are; 1: no input has windows. */
static int64_t window_of(const Seen *seen, uint32_t axis) {
  int64_t window = 1;
  for (uint32_t k = 0; k < seen->kernel->body.input_count; k++) {
    const int64_t own = seen->kernel->is_live[k] ? burn__gpu_fused_spread(seen->kernel, k, axis) : 1;
    if (own > window) window = own;
  }
  return window;
}

/* An axis of the space: one, or windows and the places in them. That of the lanes stays whole, as vectors lie along it,
 * and with what a window has there as its stride (GPU_FUSED_SPREAD). */
static void add_axis_of_space(Seen *seen, uint32_t axis) {
  const BurnFusedKernel *kernel = seen->kernel;
  const bool is_last = axis + 1 == kernel->plan.space.rank;
  const int64_t size = kernel->plan.space.shape[axis], there = window_of(seen, axis), window = is_last ? 1 : there;
  int64_t outer[GPU_FUSED_INPUTS] = {0}, inner[GPU_FUSED_INPUTS] = {0};
  for (uint32_t k = 0; k < kernel->body.input_count; k++) {
    const bool is_spread = window > 1 && burn__gpu_fused_spread(kernel, k, axis) > 1;
    const int64_t stride = kernel->is_live[k] ? stride_of(seen, k, axis) : 0;
    outer[k] = is_spread ? stride : stride * window;
    inner[k] = is_spread ? 0 : stride;
  }
  if (window > 1) add_axis(seen, size / window, outer, false);
  add_axis(seen, window > 1 ? window : size, inner, is_last && there > 1);
}

static bool has_rows(const BurnFusedKernel *kernel) {
  return kernel->plan.region == BURN_COMMON_REGION_LAST || kernel->plan.region == BURN_COMMON_REGION_FIRST_AXIS;
}

/* Random numbers belong to places of the row-major order. */
static bool has_random(const BurnFusedKernel *kernel) {
  bool found = false;
  for (uint32_t v = kernel->body.input_count; v < kernel->plan.value_count; v++)
    found |= kernel->plan.values[v].form == BURN_COMMON_FORM_BERNOULLI ||
             kernel->plan.values[v].form == BURN_COMMON_FORM_UNIFORM;
  return found;
}

static bool has_windows(const Seen *seen) {
  bool found = false;
  for (uint32_t axis = 0; axis < seen->kernel->plan.space.rank; axis++) found = found || window_of(seen, axis) > 1;
  return found;
}

static bool comes_last(const Seen *seen) {
  const BurnFusedKernel *kernel = seen->kernel;
  return seen->inputs && kernel->plan.region == BURN_COMMON_REGION_ELEMENTS && !has_random(kernel) &&
         !has_windows(seen) &&
         burn__gpu_keeps_channels_last(seen->inputs, kernel->body.input_count, &kernel->plan.space);
}

static void find_axes(Seen *seen) {
  const BurnFusedKernel *kernel = seen->kernel;
  const bool rows = has_rows(kernel), is_last = seen->layout->is_last = comes_last(seen);
  for (uint32_t i = 0; i < kernel->plan.space.rank; i++) {
    const uint32_t axis = is_last ? burn__gpu_axis_of_channels_last(kernel->plan.space.rank, i) : i;
    if (!rows || axis != kernel->plan.axis) add_axis_of_space(seen, axis);
  }
  if (seen->layout->shape.rank == 0 && !rows) seen->layout->sizes[seen->layout->shape.rank++] = 1;
}

static GpuFusedWay way_of(const Seen *seen, uint32_t k) {
  const GpuFusedLayout *layout = seen->layout;
  const int64_t *strides = layout->strides[k];
  int64_t dense = 1;
  const bool is_spread = burn__gpu_fused_spread(seen->kernel, k, seen->kernel->plan.space.rank - 1) > 1;
  bool is_one = strides[layout->shape.rank] == 0, is_dense = !has_rows(seen->kernel) && !is_spread;
  for (uint32_t axis = layout->shape.rank; axis-- > 0; dense *= layout->sizes[axis]) {
    is_one = is_one && strides[axis] == 0;
    is_dense = is_dense && (strides[axis] == dense || layout->sizes[axis] == 1);
  }
  return is_one ? GPU_FUSED_ONE : is_dense ? GPU_FUSED_DENSE : GPU_FUSED_STRIDED;
}

/* True if every vector begins at an address of whole vectors. */
static bool is_aligned(const Seen *seen, uint32_t k) {
  const GpuFusedLayout *layout = seen->layout;
  const uint64_t width = layout->shape.width;
  const uint64_t bytes = width * burn_dtype_bytes(seen->kernel->body.values[k].dtype);
  const uint32_t last = layout->shape.rank - (has_rows(seen->kernel) ? 0u : 1u);
  if (seen->inputs && gpu_address(seen->inputs[k]) % bytes != 0) return false;
  for (uint32_t axis = 0; axis < last && layout->shape.inputs[k].way == GPU_FUSED_STRIDED; axis++)
    if (layout->strides[k][axis] % (int64_t)width != 0) return false;
  return true;
}

static void find_input(Seen *seen, uint32_t k) {
  GpuFusedLayout *layout = seen->layout;
  GpuFusedInput *input = &layout->shape.inputs[k];
  const BurnFusedKernel *kernel = seen->kernel;
  const uint32_t rank = layout->shape.rank;
  const bool in_lines = has_rows(kernel) && !kernel->plan.values[k].is_reduced;
  layout->strides[k][rank] = !has_rows(kernel) ? layout->strides[k][rank - 1u]
                             : in_lines        ? stride_of(seen, k, kernel->plan.axis)
                                               : 0;
  const int64_t inner = layout->strides[k][rank];
  const int64_t spread = burn__gpu_fused_spread(kernel, k, kernel->plan.space.rank - 1);
  input->way = (uint8_t)way_of(seen, k);
  input->inner = inner == 0                              ? GPU_FUSED_REPEATS
                 : spread > 1                            ? GPU_FUSED_SPREAD
                 : inner == 1 && layout->shape.width > 1 ? GPU_FUSED_IN_ORDER
                                                         : GPU_FUSED_BY_STRIDE;
  if (input->inner == GPU_FUSED_SPREAD) input->spread = (uint8_t)spread;
  const uint32_t axes = input->inner == GPU_FUSED_SPREAD ? rank - 1u : rank; /* the last is that of the lanes */
  for (uint32_t axis = 0; axis < axes && input->way == GPU_FUSED_STRIDED; axis++)
    if (layout->strides[k][axis] != 0) input->axes |= (uint8_t)(1u << axis);
  input->is_vector = input->inner == GPU_FUSED_IN_ORDER && is_aligned(seen, k);
}

/* What one thread has under way: enough to hide the memory's delay, few enough for the registers. */
static uint8_t vectors_of(const Seen *seen) {
  uint32_t streams = 0;
  if (seen->kernel->plan.region != BURN_COMMON_REGION_ELEMENTS || burn_desc_count(&seen->kernel->plan.space) < MANY)
    return 1;
  for (uint32_t k = 0; k < seen->kernel->body.input_count; k++)
    streams += seen->layout->shape.inputs[k].way > GPU_FUSED_ONE;
  for (uint32_t v = seen->kernel->body.input_count; v < seen->kernel->plan.value_count; v++) /* words are registers */
    streams += seen->kernel->plan.values[v].form == BURN_COMMON_FORM_BERNOULLI ||
               seen->kernel->plan.values[v].form == BURN_COMMON_FORM_UNIFORM;
  return streams <= 3 ? 2 : 1;
}

void burn__gpu_fused_lay_out(const BurnFusedKernel *kernel, BurnPrimitive *const *inputs, GpuFusedLayout *layout) {
  Seen seen = {kernel, inputs, layout};
  GpuFusedShape *shape = &layout->shape;
  const int64_t count = burn_desc_count(&kernel->plan.space);
  memset(layout, 0, sizeof *layout);
  find_axes(&seen);
  shape->width = (uint8_t)kernel->width;
  while (!has_rows(kernel) && shape->rank > 1 && layout->sizes[shape->rank - 1] % shape->width != 0) shape->width /= 2;
  for (uint32_t k = 0; k < kernel->body.input_count; k++)
    if (kernel->is_live[k]) find_input(&seen, k);
  shape->vectors = vectors_of(&seen);
  shape->is_wide = count >= INT32_MAX - (1 << 16);
  shape->is_single = kernel->plan.region == BURN_COMMON_REGION_ALL
                         ? count <= FEW
                         : kernel->plan.space.shape[kernel->plan.axis] <= SHORT_COLUMN;
}
