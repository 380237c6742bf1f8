/* ndarray_pool.c - max, average and adaptive average pooling of [n, c, h, w], and their gradients.
 *
 * Planes are independent and are shared out among the threads; the loops over one are in ndarray_pool_type.inc. A
 * window that lies in the padding entirely (ceil_mode can make one) gives -infinity at position 0 for max, and 0 for
 * avg. Windows of avg count what lies inside the padded input, or inside the input without count_include_pad. */
#include "ndarray_pool.h"

#include <string.h>

/* What the bodies of the parallel loops see. */
typedef struct Pool {
  NdPooling shape;
  Ndarray *nd;
  const NdPoolingPlane *loops;
  BurnDType dtype, index_dtype;
  int64_t from_bytes, to_bytes; /* of a plane */
  const char *from;             /* x or grad */
  char *to;                     /* result, or gradient */
  void *positions;              /* of max, as index_dtype; NULL when not wanted */
  uint64_t scratch_bytes;
  atomic_bool no_memory;
  atomic_llong bad_position; /* 1 + a pixel of the indices that is out of range; 0: none */
} Pool;

static int64_t outputs_of(const Pool *pool) { return pool->shape.y.out * pool->shape.x.out; }
static int64_t inputs_of(const Pool *pool) { return pool->shape.y.in * pool->shape.x.in; }

/* Integer dtypes that positions can have: INDEX(NAME, type). */
#define INDEX_TYPES(INDEX_TYPE) \
  INDEX_TYPE(U8, uint8_t)       \
  INDEX_TYPE(I32, int32_t)

static inline int64_t get_index(BurnDType dtype, const void *from, int64_t i) {
  switch (dtype) {
#define INDEX_TYPE(NAME, type) \
  case BURN_DTYPE_##NAME:      \
    return ((const type *)from)[i];
    INDEX_TYPES(INDEX_TYPE)
#undef INDEX_TYPE
    default:
      return ((const int64_t *)from)[i];
  }
}

/* Room to work in, or NULL, which the op finds out by no_memory. */
static void *begin_scratch(Pool *pool) {
  void *scratch = nd_pool_allocate(pool->nd->pool, pool->scratch_bytes);
  if (!scratch) atomic_store_explicit(&pool->no_memory, true, memory_order_relaxed);
  return scratch;
}

static void BURN_API_CALL avg_body(void *context, int64_t begin, int64_t end) {
  Pool *pool = (Pool *)context;
  void *scratch = begin_scratch(pool);
  if (!scratch) return;
  pool->loops->avg(&pool->shape, end - begin, pool->from + begin * pool->from_bytes, pool->to + begin * pool->to_bytes,
                   scratch);
  nd_pool_free(pool->nd->pool, scratch, pool->scratch_bytes);
}

static void BURN_API_CALL avg_backward_body(void *context, int64_t begin, int64_t end) {
  Pool *pool = (Pool *)context;
  void *scratch = begin_scratch(pool);
  if (!scratch) return;
  pool->loops->avg_backward(&pool->shape, end - begin, pool->from + begin * pool->from_bytes,
                            pool->to + begin * pool->to_bytes, scratch);
  nd_pool_free(pool->nd->pool, scratch, pool->scratch_bytes);
}

/* to[i] = from[i], which has as many bytes as the elements of the pooling. */
static void put_positions(const Pool *pool, const void *from, void *to, int64_t count) {
  const int32_t *narrow = (const int32_t *)from;
  const int64_t *wide = (const int64_t *)from;
  const bool is_wide = pool->dtype == BURN_DTYPE_F64;
  switch (pool->index_dtype) {
#define INDEX_TYPE(NAME, type)                                                         \
  case BURN_DTYPE_##NAME:                                                              \
    for (int64_t i = 0; is_wide && i < count; i++) ((type *)to)[i] = (type)wide[i];    \
    for (int64_t i = 0; !is_wide && i < count; i++) ((type *)to)[i] = (type)narrow[i]; \
    break;
    INDEX_TYPES(INDEX_TYPE)
#undef INDEX_TYPE
    default:
      for (int64_t i = 0; is_wide && i < count; i++) ((int64_t *)to)[i] = wide[i];
      for (int64_t i = 0; !is_wide && i < count; i++) ((int64_t *)to)[i] = narrow[i];
      break;
  }
}

/* Planes whose positions are found before they are put into their place. */
static int64_t planes_at_once(const Pool *pool) {
  const int64_t outputs = outputs_of(pool);
  return outputs >= 4096 || outputs < 1 ? 1 : 4096 / outputs;
}

static void BURN_API_CALL max_body(void *context, int64_t begin, int64_t end) {
  Pool *pool = (Pool *)context;
  const int64_t bytes = burn_dtype_bytes(pool->dtype),
                index_bytes = outputs_of(pool) * burn_dtype_bytes(pool->index_dtype);
  char *scratch = begin_scratch(pool);
  if (!scratch) return;
  char *start = scratch + nd_pooling_scratch(&pool->shape),
       *at = pool->positions ? start + outputs_of(pool) * bytes : NULL;
  const int64_t step = at ? planes_at_once(pool) : end - begin;
  for (int64_t plane = begin; plane < end; plane += step) {
    const int64_t planes = step < end - plane ? step : end - plane;
    const char *from = pool->from + plane * pool->from_bytes;
    pool->loops->max(&pool->shape, planes, from, pool->to + plane * pool->to_bytes, at, start, scratch);
    if (at) put_positions(pool, at, (char *)pool->positions + plane * index_bytes, planes * outputs_of(pool));
  }
  nd_pool_free(pool->nd->pool, scratch, pool->scratch_bytes);
}

/* dx[position] += grad, over a plane; false, with the number of the output pixel, if a position lies outside. */
#define SCATTER(name, ELEMENT, INDEX)                                                                                  \
  static bool name(int64_t outputs, int64_t inputs, const void *grad, const void *positions, void *dx, int64_t *bad) { \
    const INDEX *at = (const INDEX *)positions;                                                                        \
    const ELEMENT *from = (const ELEMENT *)grad;                                                                       \
    ELEMENT *to = (ELEMENT *)dx;                                                                                       \
    int64_t i = 0;                                                                                                     \
    for (; i < outputs && (uint64_t)(int64_t)at[i] < (uint64_t)inputs; i++) to[at[i]] += from[i];                      \
    *bad = i;                                                                                                          \
    return i == outputs;                                                                                               \
  }
SCATTER(scatter_f32_u8, float, uint8_t)
SCATTER(scatter_f32_i32, float, int32_t)
SCATTER(scatter_f32_i64, float, int64_t)
SCATTER(scatter_f64_u8, double, uint8_t)
SCATTER(scatter_f64_i32, double, int32_t)
SCATTER(scatter_f64_i64, double, int64_t)

static bool scatter(const Pool *pool, const void *grad, const void *positions, void *dx, int64_t *bad) {
  bool (*const loops[2][3])(int64_t, int64_t, const void *, const void *, void *, int64_t *) = {
      {scatter_f32_i64, scatter_f32_i32, scatter_f32_u8}, {scatter_f64_i64, scatter_f64_i32, scatter_f64_u8}};
  const int width = pool->index_dtype == BURN_DTYPE_U8 ? 2 : pool->index_dtype == BURN_DTYPE_I32 ? 1 : 0;
  return loops[pool->dtype == BURN_DTYPE_F64][width](outputs_of(pool), inputs_of(pool), grad, positions, dx, bad);
}

/* The fast way for windows of 2x2 side by side, if the positions are theirs. */
static bool give_tiles(const Pool *pool, const void *grad, const void *positions, void *dx) {
  const NdPoolingAxis *y = &pool->shape.y, *x = &pool->shape.x;
  if (!pool->loops->max_backward_tiles || pool->index_dtype != BURN_DTYPE_I64) return false;
  if (y->in != 2 * y->out || x->in != 2 * x->out) return false;
  return pool->loops->max_backward_tiles(&pool->shape, grad, (const int64_t *)positions, dx);
}

static void BURN_API_CALL max_backward_body(void *context, int64_t begin, int64_t end) {
  Pool *pool = (Pool *)context;
  const int64_t outputs = outputs_of(pool), index_bytes = outputs * burn_dtype_bytes(pool->index_dtype);
  for (int64_t plane = begin; plane < end; plane++) {
    const char *from = pool->from + plane * pool->from_bytes;
    const char *positions = (const char *)pool->positions + plane * index_bytes;
    char *to = pool->to + plane * pool->to_bytes;
    int64_t bad = 0;
    if (give_tiles(pool, from, positions, to)) continue;
    memset(to, 0, (size_t)pool->to_bytes);
    if (scatter(pool, from, positions, to, &bad)) continue;
    atomic_store_explicit(&pool->bad_position, 1 + plane * outputs + bad, memory_order_relaxed);
  }
}

/* Sizes from a [n, c, h, w] input and output; the rest of the axes is set by the caller. */
static Pool pool_begin(Ndarray *nd, const int64_t *in, const int64_t *out, BurnDType dtype) {
  Pool pool = {.shape = {.y = {.in = in[2], .out = out[2]}, .x = {.in = in[3], .out = out[3]}},
               .nd = nd,
               .loops = nd_pooling(nd, dtype),
               .dtype = dtype};
  atomic_init(&pool.bad_position, 0);
  atomic_init(&pool.no_memory, false);
  return pool;
}

static bool covers_all(const NdPoolingAxis *axis) {
  return axis->out == 1 && axis->kernel == axis->in && axis->padding == 0 && axis->dilation == 1;
}

/* Loops are fast along rows: a column becomes one, and so does a plane that is a window itself. */
static void pool_flatten(NdPoolingAxis *y, NdPoolingAxis *x) {
  if (covers_all(y) && covers_all(x)) {
    x->in *= y->in;
    x->kernel = x->stride = x->in;
    *y = (NdPoolingAxis){1, 1, 1, 1, 0, 1};
  } else if (x->in == 1 && x->out == 1) {
    const NdPoolingAxis column = *y;
    *y = *x;
    *x = column;
  }
}

static void pool_window(Pool *pool, const BurnAttr *kernel, const BurnAttr *stride, const BurnAttr *padding,
                        const int64_t *dilation) {
  NdPoolingAxis *axes[2] = {&pool->shape.y, &pool->shape.x};
  for (int i = 0; i < 2; i++) {
    axes[i]->kernel = kernel->value.i64s[i];
    axes[i]->stride = stride->value.i64s[i];
    axes[i]->padding = padding->value.i64s[i];
    axes[i]->dilation = dilation ? dilation[i] : 1;
  }
  pool_flatten(&pool->shape.y, &pool->shape.x);
}

/* Windows of one size next to each other are those of an average. */
static void pool_adaptive(Pool *pool) {
  NdPoolingAxis *axes[2] = {&pool->shape.y, &pool->shape.x};
  for (int i = 0; i < 2; i++) {
    if (axes[i]->in < axes[i]->out || axes[i]->in % axes[i]->out != 0) pool->shape.adaptive = true;
  }
  for (int i = 0; i < 2; i++) {
    axes[i]->kernel = axes[i]->stride = pool->shape.adaptive ? 0 : axes[i]->in / axes[i]->out;
    axes[i]->dilation = 1;
  }
  if (!pool->shape.adaptive) pool_flatten(axes[0], axes[1]);
}

/* Runs a body over all planes of inputs[0], with a new tensor as result, which is returned; NULL when out of memory. */
static NdTensor *pool_run(Ndarray *nd, const BurnOpCall *call, Pool *pool, BurnLoopBody body) {
  const int64_t planes = call->output_descs->shape[0] * call->output_descs->shape[1];
  const int64_t work = outputs_of(pool) * 4 + inputs_of(pool);
  NdTensor *from = nd_contiguous(nd, nd_tensor(call->inputs[0])), *to = nd_new(nd, call->output_descs);
  if (from && to) {
    const int64_t grain = 1 + 20000 / (work + 1), bytes = burn_dtype_bytes(pool->dtype);
    const bool backward = body == avg_backward_body || body == max_backward_body;
    pool->from = (const char *)nd_data(from);
    pool->to = (char *)nd_data(to);
    pool->from_bytes = (backward ? outputs_of(pool) : inputs_of(pool)) * bytes;
    pool->to_bytes = (backward ? inputs_of(pool) : outputs_of(pool)) * bytes;
    pool->scratch_bytes = nd_pooling_scratch(&pool->shape);
    if (pool->positions) pool->scratch_bytes += (uint64_t)(outputs_of(pool) * bytes * (1 + planes_at_once(pool)));
    if (body != max_backward_body)
      nd_pool_reserve(nd->pool, pool->scratch_bytes, planes > grain ? nd->host->thread_count() : 1);
    nd_parallel_for(nd, planes, grain, body, pool);
  }
  if (!from || atomic_load_explicit(&pool->no_memory, memory_order_relaxed)) {
    nd_release(nd, to);
    to = NULL;
  }
  nd_release(nd, from);
  return to;
}

static BurnStatus max_pool2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_max_pool2d *attrs = BURN_ATTRS(max_pool2d, call);
  Pool pool = pool_begin(nd, call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
  pool_window(&pool, &attrs->kernel_size, &attrs->stride, &attrs->padding, attrs->dilation.value.i64s);
  return nd_finish(nd, call, pool_run(nd, call, &pool, max_body));
}

static BurnStatus max_pool2d_with_indices(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_max_pool2d_with_indices *attrs = BURN_ATTRS(max_pool2d_with_indices, call);
  Pool pool = pool_begin(nd, call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
  NdTensor *indices = nd_new(nd, &call->output_descs[1]), *values = NULL;
  pool_window(&pool, &attrs->kernel_size, &attrs->stride, &attrs->padding, attrs->dilation.value.i64s);
  pool.index_dtype = call->output_descs[1].dtype;
  if (indices) {
    pool.positions = nd_data(indices);
    values = pool_run(nd, call, &pool, max_body);
  }
  if (!values) {
    nd_release(nd, indices);
    return nd_out_of_memory(nd, call);
  }
  call->outputs[0] = &values->header;
  call->outputs[1] = &indices->header;
  return BURN_OK;
}

/* grad and indices [n, c, oh, ow] -> [n, c, h, w]. */
static BurnStatus max_pool2d_backward(Ndarray *nd, const BurnOpCall *call) {
  Pool pool = pool_begin(nd, call->output_descs->shape, call->inputs[0]->shape, call->output_descs->dtype);
  NdTensor *indices = nd_contiguous(nd, nd_tensor(call->inputs[1])), *dx = NULL;
  pool.index_dtype = call->inputs[1]->dtype;
  if (indices) {
    pool.positions = nd_data(indices);
    dx = pool_run(nd, call, &pool, max_backward_body);
  }
  if (dx && pool.bad_position > 0) {
    const int64_t at = pool.bad_position - 1, bad = get_index(pool.index_dtype, pool.positions, at);
    nd_release(nd, dx);
    nd_release(nd, indices);
    return nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "max_pool2d_backward: index %lld at position %lld is outside 0..%lld",
                   (long long)bad, (long long)at, (long long)(inputs_of(&pool) - 1));
  }
  nd_release(nd, indices);
  return nd_finish(nd, call, dx);
}

static BurnStatus avg_pool2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_avg_pool2d *attrs = BURN_ATTRS(avg_pool2d, call);
  Pool pool = pool_begin(nd, call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
  pool_window(&pool, &attrs->kernel_size, &attrs->stride, &attrs->padding, NULL);
  pool.shape.count_include_pad = attrs->count_include_pad.value.i64 != 0;
  return nd_finish(nd, call, pool_run(nd, call, &pool, avg_body));
}

static BurnStatus avg_pool2d_backward(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_avg_pool2d_backward *attrs = BURN_ATTRS(avg_pool2d_backward, call);
  Pool pool = pool_begin(nd, call->output_descs->shape, call->inputs[0]->shape, call->output_descs->dtype);
  pool_window(&pool, &attrs->kernel_size, &attrs->stride, &attrs->padding, NULL);
  pool.shape.count_include_pad = attrs->count_include_pad.value.i64 != 0;
  return nd_finish(nd, call, pool_run(nd, call, &pool, avg_backward_body));
}

static BurnStatus adaptive_avg_pool2d(Ndarray *nd, const BurnOpCall *call) {
  Pool pool = pool_begin(nd, call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
  pool_adaptive(&pool);
  return nd_finish(nd, call, pool_run(nd, call, &pool, avg_body));
}

static BurnStatus adaptive_avg_pool2d_backward(Ndarray *nd, const BurnOpCall *call) {
  Pool pool = pool_begin(nd, call->output_descs->shape, call->inputs[0]->shape, call->output_descs->dtype);
  pool_adaptive(&pool);
  return nd_finish(nd, call, pool_run(nd, call, &pool, avg_backward_body));
}

const NdKernelRow nd_pooling_kernels[] = {
    {BURN_OP_max_pool2d, max_pool2d},
    {BURN_OP_max_pool2d_with_indices, max_pool2d_with_indices},
    {BURN_OP_max_pool2d_backward, max_pool2d_backward},
    {BURN_OP_avg_pool2d, avg_pool2d},
    {BURN_OP_avg_pool2d_backward, avg_pool2d_backward},
    {BURN_OP_adaptive_avg_pool2d, adaptive_avg_pool2d},
    {BURN_OP_adaptive_avg_pool2d_backward, adaptive_avg_pool2d_backward},
    {0, NULL},
};
