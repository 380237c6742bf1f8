/* ndarray_conv_planes.c - convolutions of groups of one channel whose planes are small: see NdConvPlanes.
 *
 * Such a plane is a few vectors. What each of them sees by each tap is worked out once, in a table; then planes, which
 * follow each other in memory, are summed up where they lie: nothing is copied, and nothing is planned for one. A
 * vector runs on over rows where those of the output are as wide as those of the input and the stride is 1; else it has
 * pixels of one row. With a stride of 2 the input's columns are split into even and odd ones first; those of a
 * transposed one's output are sums of their own, which are put together in the end. The gradient of the weights goes
 * by the table of the convolution. */
#include "ndarray_conv.h"

#include <string.h>

enum {
  PLANE_PIXELS = 1024,  /* most of a plane, */
  PLANE_RUNNING = 64,   /* of one whose vectors run on, */
  PLANE_SIGHTS = 1024,  /* and most that its vectors see: the table stays in the first-level cache */
  GRADIENT_GROUPS = 32, /* that are enough for threads */
  GRAIN = 8192,         /* products of vectors that are worth a chunk of a parallel loop */
};

/* What the bodies of the parallel loops see. */
typedef struct Planes {
  Ndarray *nd;
  const NdConvLoops *loops;
  NdConvPlanes planes; /* all of them */
  const NdConvShape *shape;
  bool transpose;
  char *out;               /* of the gradient */
  int64_t *rows, *columns; /* [kernel][out]: the input's row (or column) that a position sees by a tap, or -1 */
  NdConvSight *sights;
  NdConvSpan *spans;
  atomic_bool out_of_memory;
} Planes;

/* -- what vectors see ------------------------------------------------------------------------- */

/* The position of the input that one of the output sees by a tap, along an axis; -1 in the padding, or between
 * positions. */
static int64_t seen_position(const NdConvShape *shape, bool transpose, int axis, int64_t tap, int64_t position) {
  const int64_t stride = shape->stride[axis], offset = tap * shape->dilation[axis] - shape->padding[axis];
  int64_t seen = position * stride + offset;
  if (transpose) {
    if ((position - offset) % stride != 0) return -1;
    seen = (position - offset) / stride;
  }
  return seen >= 0 && seen < shape->x[2 + axis] ? seen : -1;
}

static void make_positions(const Planes *work, int axis, int64_t *to) {
  const int64_t out = work->shape->output[2 + axis];
  for (int64_t tap = 0; tap < work->shape->kernel[axis]; tap++)
    for (int64_t o = 0; o < out; o++) *to++ = seen_position(work->shape, work->transpose, axis, tap, o);
}

/* True if vectors run on over rows. */
static bool runs_on(const NdConvShape *shape) {
  return shape->stride[0] == 1 && shape->stride[1] == 1 && shape->x[3] == shape->output[3];
}

/* Vectors of a row of the output. */
static int64_t row_vectors(const NdConvLoops *loops, const NdConvShape *shape, bool transpose) {
  const int64_t width = shape->output[3];
  if (transpose && shape->stride[1] == 2) return 2 * nd_ceil_div(nd_ceil_div(width, 2), loops->lanes);
  return nd_ceil_div(width, loops->lanes);
}

static int64_t count_vectors(const NdConvLoops *loops, const NdConvShape *shape, bool transpose) {
  if (runs_on(shape)) return nd_ceil_div(shape->output[2] * shape->output[3], loops->lanes);
  return shape->output[2] * row_vectors(loops, shape, transpose);
}

/* Where the number of a row and column lies, from the beginning of the plane that is read. */
static int64_t place_of(const Planes *work, int64_t row, int64_t column) {
  const int64_t at = row * work->shape->x[3] + column;
  return work->planes.half > 0 ? at / 2 + at % 2 * work->planes.half : at;
}

/* What a vector of `count` pixels sees, whose first one is `first`, each `step` further. */
static void make_sights(const Planes *work, int64_t first, int64_t step, int64_t count, NdConvSight *to) {
  const int64_t height = work->shape->output[2], width = work->shape->output[3];
  for (int64_t y = 0; y < work->shape->kernel[0]; y++)
    for (int64_t x = 0; x < work->shape->kernel[1]; x++, to++) {
      *to = (NdConvSight){0, 0};
      for (int64_t lane = 0; lane < count; lane++) {
        const int64_t pixel = first + lane * step;
        const int64_t row = work->rows[y * height + pixel / width], column = work->columns[x * width + pixel % width];
        if (row < 0 || column < 0) continue;
        to->input = (int32_t)(place_of(work, row, column) - lane);
        to->bits |= 1u << lane;
      }
    }
}

/* Vectors over all pixels. */
static void make_running(Planes *work) {
  const int64_t lanes = work->loops->lanes, pixels = work->planes.out_plane;
  for (int64_t v = 0; v < work->planes.vectors; v++) {
    const int64_t count = nd_min(lanes, pixels - v * lanes);
    make_sights(work, v * lanes, 1, count, &work->sights[v * work->planes.taps]);
    work->spans[v] = (NdConvSpan){(int32_t)(v * lanes), (int32_t)count};
  }
}

/* Vectors of rows; in pairs the even columns of some, then the odd ones. */
static void make_rows(Planes *work) {
  const int64_t lanes = work->loops->lanes, width = work->shape->output[3], step = work->planes.pairs ? 2 : 1;
  int64_t v = 0;
  for (int64_t row = 0; row < work->shape->output[2]; row++)
    for (int64_t column = 0; column < width; column += step * lanes) {
      const int64_t pixels = nd_min(step * lanes, width - column), first = row * width + column;
      for (int64_t odd = 0; odd < step; odd++, v++) {
        make_sights(work, first + odd, step, (pixels - odd + step - 1) / step, &work->sights[v * work->planes.taps]);
        work->spans[v] = (NdConvSpan){(int32_t)first, (int32_t)pixels};
      }
    }
}

/* -- the op ----------------------------------------------------------------------------------- */

bool nd_conv_suits_planes(const Ndarray *nd, const NdConvShape *shape, bool transpose) {
  const NdConvLoops *loops = nd_conv_loops(nd->isa, shape->dtype);
  const int64_t in = shape->x[2] * shape->x[3], out = shape->output[2] * shape->output[3];
  if (!loops->planes || shape->x[1] != shape->groups || shape->output[1] != shape->groups) return false;
  if (nd_max(in, out) > (runs_on(shape) ? PLANE_RUNNING : PLANE_PIXELS) || shape->stride[1] > 2) return false;
  if (!transpose && (shape->output[3] > loops->lanes || shape->x[3] % shape->stride[1] != 0)) return false;
  return count_vectors(loops, shape, transpose) * shape->kernel[0] * shape->kernel[1] <= PLANE_SIGHTS;
}

bool nd_conv_suits_planes_gradient(const Ndarray *nd, const NdConvShape *shape) {
  return shape->groups >= GRADIENT_GROUPS && nd_conv_suits_planes(nd, shape, false);
}

/* Memory of one running body: the sums of so many groups, then room for a plane that is split, and for one number more,
 * so that there is something. NULL when there is none. */
static void *scratch_open(Planes *work, NdConvPlanes *planes, int64_t groups, uint64_t *bytes) {
  const uint64_t element = burn_dtype_bytes(work->shape->dtype);
  const uint64_t sums = (uint64_t)(groups * planes->taps * work->loops->lanes) * element;
  *bytes = sums + (uint64_t)(2 * planes->half + 1) * element;
  planes->sums = nd_pool_allocate(work->nd->pool, *bytes);
  planes->scratch = (char *)planes->sums + sums;
  if (planes->sums)
    memset(planes->sums, 0, (size_t)sums);
  else
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
  return planes->sums;
}

/* Loop items are planes. */
static void BURN_API_CALL planes_body(void *context, int64_t begin, int64_t end) {
  Planes *work = (Planes *)context;
  const int64_t element = burn_dtype_bytes(work->shape->dtype);
  NdConvPlanes planes = work->planes;
  uint64_t bytes;
  if (!scratch_open(work, &planes, 0, &bytes)) return;
  planes.input = (const char *)planes.input + begin * planes.in_plane * element;
  planes.output = (char *)planes.output + begin * planes.out_plane * element;
  planes.group = begin % planes.groups;
  planes.count = end - begin;
  work->loops->planes(&planes);
  nd_pool_free(work->nd->pool, planes.sums, bytes);
}

/* Loop items are groups: all images of one, so that nothing depends on who computes it. */
static void BURN_API_CALL gradient_body(void *context, int64_t begin, int64_t end) {
  Planes *work = (Planes *)context;
  const int64_t element = burn_dtype_bytes(work->shape->dtype);
  NdConvPlanes planes = work->planes;
  uint64_t bytes;
  if (!scratch_open(work, &planes, end - begin, &bytes)) return;
  planes.count = end - begin;
  for (int64_t image = 0; image < work->shape->x[0]; image++) {
    const int64_t first = image * planes.groups + begin;
    planes.input = (const char *)work->planes.input + first * planes.in_plane * element;
    planes.output = (char *)work->planes.output + first * planes.out_plane * element;
    work->loops->planes_gradient(&planes);
  }
  work->loops->fold(planes.sums, planes.count * planes.taps, work->out + begin * planes.taps * element);
  nd_pool_free(work->nd->pool, planes.sums, bytes);
}

static Planes plan(Ndarray *nd, const NdConvShape *shape, bool transpose, const NdConvData *data) {
  Planes work = {.nd = nd, .loops = nd_conv_loops(nd->isa, shape->dtype), .shape = shape, .transpose = transpose};
  NdConvPlanes *planes = &work.planes;
  *planes = (NdConvPlanes){.input = data->x, .weights = data->weights, .bias = data->bias, .output = data->out};
  planes->in_plane = shape->x[2] * shape->x[3];
  planes->out_plane = shape->output[2] * shape->output[3];
  planes->groups = shape->groups;
  planes->taps = shape->kernel[0] * shape->kernel[1];
  planes->vectors = count_vectors(work.loops, shape, transpose);
  planes->pairs = transpose && shape->stride[1] == 2;
  if (!transpose && shape->stride[1] == 2) planes->half = nd_round_up(planes->in_plane / 2, work.loops->lanes);
  return work;
}

/* Makes the tables and runs the body over `count` items, each of so many planes. */
static bool run(Planes *work, int64_t count, int64_t planes_each, BurnLoopBody body) {
  const NdConvShape *shape = work->shape;
  NdConvPlanes *planes = &work->planes;
  const uint64_t rows_bytes = (uint64_t)(shape->kernel[0] * shape->output[2]) * sizeof *work->rows;
  const uint64_t columns_bytes = (uint64_t)(shape->kernel[1] * shape->output[3]) * sizeof *work->columns;
  const uint64_t sights_bytes = (uint64_t)(planes->vectors * planes->taps) * sizeof *work->sights;
  const uint64_t bytes = rows_bytes + columns_bytes + sights_bytes + (uint64_t)planes->vectors * sizeof *work->spans;
  char *memory = (char *)nd_pool_allocate(work->nd->pool, bytes);
  if (!memory) return false;
  work->rows = (int64_t *)(void *)memory;
  work->columns = (int64_t *)(void *)(memory + rows_bytes);
  work->sights = (NdConvSight *)(void *)(memory + rows_bytes + columns_bytes);
  work->spans = (NdConvSpan *)(void *)(memory + rows_bytes + columns_bytes + sights_bytes);
  make_positions(work, 0, work->rows);
  make_positions(work, 1, work->columns);
  if (runs_on(shape))
    make_running(work);
  else
    make_rows(work);
  planes->sights = work->sights;
  planes->spans = work->spans;
  atomic_init(&work->out_of_memory, false);
  nd_parallel_for_flushed(work->nd, count, 1 + GRAIN / (planes_each * planes->vectors * planes->taps + 1), body, work);
  nd_pool_free(work->nd->pool, memory, bytes);
  return !atomic_load_explicit(&work->out_of_memory, memory_order_relaxed);
}

bool nd_conv_planes(Ndarray *nd, const NdConvShape *shape, bool transpose, const NdConvData *data) {
  Planes work = plan(nd, shape, transpose, data);
  return run(&work, shape->x[0] * shape->groups, 1, planes_body);
}

bool nd_conv_planes_gradient(Ndarray *nd, const NdConvShape *shape, const void *x, const void *grad, void *out) {
  const NdConvData data = {.x = x, .out = (void *)(uintptr_t)grad};
  Planes work = plan(nd, shape, false, &data);
  work.out = (char *)out;
  return run(&work, shape->groups, shape->x[0], gradient_body);
}
