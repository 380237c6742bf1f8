/* ndarray_pooling.c - max, average and adaptive average pooling of [n, c, h, w], and their gradients.
 *
 * Planes are independent and are shared out among the threads. A window that lies in the padding entirely (ceil_mode
 * can make one) gives -infinity at position 0 for max, and 0 for avg. Windows of avg count what lies inside the padded
 * input, or inside the input without count_include_pad. */
#include "ndarray_internal.h"

#include <math.h>
#include <string.h>

enum { RUN = 64 }; /* pixels done together */

/* One axis of a pooling. */
typedef struct Axis {
  int64_t in, out, kernel, stride, padding, dilation;
} Axis;

/* What the bodies of the parallel loops see. */
typedef struct Pool {
  Axis y, x;
  bool count_include_pad;
  BurnDType dtype, index_dtype;
  const char *from;          /* x or grad */
  char *to;                  /* result [planes, y.out, x.out], or [planes, y.in, x.in] of a gradient */
  void *positions;           /* of max; NULL when not wanted */
  atomic_llong bad_position; /* 1 + a pixel of the indices that is out of range; 0: none */
} Pool;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The outputs first + begin .. first + end - 1, out of `count`, whose tap at `shift` lies inside the input. */
static void axis_range(const Axis *axis, int64_t shift, int64_t first, int64_t count, int64_t *begin, int64_t *end) {
  const int64_t stride = axis->stride, room = axis->in - shift;
  const int64_t low = shift < 0 ? (-shift + stride - 1) / stride - first : -first;
  const int64_t high = room > 0 ? (room + stride - 1) / stride - first : 0;
  *begin = low > 0 ? low : 0;
  *end = least(count, high);
}

/* How many taps of window i the average counts along an axis. */
static int64_t axis_extent(const Axis *axis, int64_t i, bool count_include_pad) {
  int64_t begin = i * axis->stride - axis->padding, end = least(begin + axis->kernel, axis->in + axis->padding);
  if (!count_include_pad) {
    if (begin < 0) begin = 0;
    end = least(end, axis->in);
  }
  return end > begin ? end - begin : 0;
}

/* Window i of adaptive pooling: floor(i * in / out) up to ceil((i + 1) * in / out), stepped without divisions. */
typedef struct Span {
  int64_t begin, end;
  int64_t next, next_rest;      /* (i + 1) * in divided by out */
  int64_t step, step_rest, out; /* in divided by out */
} Span;

static void span_next(Span *span) {
  span->begin = span->next;
  span->next += span->step;
  span->next_rest += span->step_rest;
  if (span->next_rest >= span->out) {
    span->next_rest -= span->out;
    span->next++;
  }
  span->end = span->next + (span->next_rest != 0);
}

static Span span_first(const Axis *axis) {
  Span span = {.step = axis->in / axis->out, .step_rest = axis->in % axis->out, .out = axis->out};
  span_next(&span);
  return span;
}

/* Integer dtypes that positions can have: INDEX(NAME, type). */
#define INDEX_TYPES(INDEX_TYPE) \
  INDEX_TYPE(U8, uint8_t)       \
  INDEX_TYPE(I32, int32_t)

static inline void put_index(BurnDType dtype, void *to, int64_t i, int64_t value) {
  switch (dtype) {
#define INDEX_TYPE(NAME, type)     \
  case BURN_DTYPE_##NAME:          \
    ((type *)to)[i] = (type)value; \
    break;
    INDEX_TYPES(INDEX_TYPE)
#undef INDEX_TYPE
    default:
      ((int64_t *)to)[i] = value;
      break;
  }
}

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

#define REAL float
#define INDEX int32_t
#define NAME(name) name##_f32
#include "ndarray_pooling_template.h"
#undef REAL
#undef INDEX
#undef NAME

#define REAL double
#define INDEX int64_t
#define NAME(name) name##_f64
#include "ndarray_pooling_template.h"
#undef REAL
#undef INDEX
#undef NAME

/* Loop bodies over planes: FUNCTION runs for f32 or f64 with typed plane pointers `from` and `to`. */
#define PLANE_BODY(body, function)                                                      \
  static void BURN_CALL body(void *context, int64_t begin, int64_t end) {               \
    const Pool *pool = (const Pool *)context;                                           \
    const int64_t bytes = burn_dtype_bytes(pool->dtype);                                \
    const int64_t outputs = pool->y.out * pool->x.out * bytes;                          \
    for (int64_t plane = begin; plane < end; plane++) {                                 \
      const char *from = pool->from + plane * pool->y.in * pool->x.in * bytes;          \
      char *to = pool->to + plane * outputs;                                            \
      if (bytes == 4)                                                                   \
        function##_f32(pool, (const float *)(const void *)from, (float *)(void *)to);   \
      else                                                                              \
        function##_f64(pool, (const double *)(const void *)from, (double *)(void *)to); \
    }                                                                                   \
  }
#define PLANE_BODY_BACKWARD(body, function)                                             \
  static void BURN_CALL body(void *context, int64_t begin, int64_t end) {               \
    const Pool *pool = (const Pool *)context;                                           \
    const int64_t bytes = burn_dtype_bytes(pool->dtype);                                \
    const int64_t inputs = pool->y.in * pool->x.in * bytes;                             \
    for (int64_t plane = begin; plane < end; plane++) {                                 \
      const char *grad = pool->from + plane * pool->y.out * pool->x.out * bytes;        \
      char *to = pool->to + plane * inputs;                                             \
      memset(to, 0, (size_t)inputs);                                                    \
      if (bytes == 4)                                                                   \
        function##_f32(pool, (const float *)(const void *)grad, (float *)(void *)to);   \
      else                                                                              \
        function##_f64(pool, (const double *)(const void *)grad, (double *)(void *)to); \
    }                                                                                   \
  }
PLANE_BODY(avg_body, avg_plane)
PLANE_BODY(adaptive_body, adaptive_plane)
PLANE_BODY_BACKWARD(avg_backward_body, avg_plane_backward)
PLANE_BODY_BACKWARD(adaptive_backward_body, adaptive_plane_backward)

static void BURN_CALL max_body(void *context, int64_t begin, int64_t end) {
  const Pool *pool = (const Pool *)context;
  const int64_t bytes = burn_dtype_bytes(pool->dtype), index_bytes = burn_dtype_bytes(pool->index_dtype);
  const int64_t inputs = pool->y.in * pool->x.in, outputs = pool->y.out * pool->x.out;
  for (int64_t plane = begin; plane < end; plane++) {
    const void *from = pool->from + plane * inputs * bytes;
    void *to = pool->to + plane * outputs * bytes;
    void *positions = pool->positions ? (char *)pool->positions + plane * outputs * index_bytes : NULL;
    if (bytes == 4)
      max_plane_f32(pool, (const float *)from, (float *)to, positions);
    else
      max_plane_f64(pool, (const double *)from, (double *)to, positions);
  }
}

static void BURN_CALL max_backward_body(void *context, int64_t begin, int64_t end) {
  Pool *pool = (Pool *)context;
  const int64_t bytes = burn_dtype_bytes(pool->dtype), index_bytes = burn_dtype_bytes(pool->index_dtype);
  const int64_t inputs = pool->y.in * pool->x.in, outputs = pool->y.out * pool->x.out;
  for (int64_t plane = begin; plane < end; plane++) {
    const void *grad = pool->from + plane * outputs * bytes;
    const void *positions = (const char *)pool->positions + plane * outputs * index_bytes;
    void *to = pool->to + plane * inputs * bytes;
    int64_t bad = 0;
    bool good;
    memset(to, 0, (size_t)(inputs * bytes));
    good = bytes == 4 ? max_plane_backward_f32(pool, (const float *)grad, positions, (float *)to, &bad)
                      : max_plane_backward_f64(pool, (const double *)grad, positions, (double *)to, &bad);
    if (!good) atomic_store_explicit(&pool->bad_position, 1 + plane * outputs + bad, memory_order_relaxed);
  }
}

/* Sizes from a [n, c, h, w] input and output; the rest of the axes is set by the caller. */
static Pool pool_begin(const int64_t *in, const int64_t *out, BurnDType dtype) {
  Pool pool = {.y = {.in = in[2], .out = out[2]}, .x = {.in = in[3], .out = out[3]}, .dtype = dtype};
  atomic_init(&pool.bad_position, 0);
  return pool;
}

static void pool_window(Pool *pool, const BurnAttr *kernel, const BurnAttr *stride, const BurnAttr *padding,
                        const int64_t *dilation) {
  Axis *axes[2] = {&pool->y, &pool->x};
  for (int i = 0; i < 2; i++) {
    axes[i]->kernel = kernel->value.i64s[i];
    axes[i]->stride = stride->value.i64s[i];
    axes[i]->padding = padding->value.i64s[i];
    axes[i]->dilation = dilation ? dilation[i] : 1;
  }
}

/* Runs a body over all planes of inputs[0], with a new tensor as result, which is returned; NULL when out of memory. */
static NdTensor *pool_run(Ndarray *nd, const BurnOpCall *call, Pool *pool, BurnLoopBody body) {
  const int64_t planes = call->output_descs->shape[0] * call->output_descs->shape[1];
  const int64_t work = pool->y.out * pool->x.out * (1 + pool->y.kernel * pool->x.kernel) + pool->y.in * pool->x.in;
  NdTensor *from = nd_contiguous(nd, nd_tensor(call->inputs[0])), *to = nd_new(nd, call->output_descs);
  if (from && to) {
    pool->from = (const char *)nd_data(from);
    pool->to = (char *)nd_data(to);
    nd_parallel_for(nd, planes, 1 + 20000 / (work + 1), body, pool);
  } else {
    nd_release(nd, to);
    to = NULL;
  }
  nd_release(nd, from);
  return to;
}

static BurnStatus max_pool2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_max_pool2d *attrs = BURN_ATTRS(max_pool2d, call);
  Pool pool = pool_begin(call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
  pool_window(&pool, &attrs->kernel_size, &attrs->stride, &attrs->padding, attrs->dilation.value.i64s);
  return nd_finish(nd, call, pool_run(nd, call, &pool, max_body));
}

static BurnStatus max_pool2d_with_indices(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_max_pool2d_with_indices *attrs = BURN_ATTRS(max_pool2d_with_indices, call);
  Pool pool = pool_begin(call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
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
  Pool pool = pool_begin(call->output_descs->shape, call->inputs[0]->shape, call->output_descs->dtype);
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
                   (long long)bad, (long long)at, (long long)(pool.y.in * pool.x.in - 1));
  }
  nd_release(nd, indices);
  return nd_finish(nd, call, dx);
}

static BurnStatus avg_pool2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_avg_pool2d *attrs = BURN_ATTRS(avg_pool2d, call);
  Pool pool = pool_begin(call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
  pool_window(&pool, &attrs->kernel_size, &attrs->stride, &attrs->padding, NULL);
  pool.count_include_pad = attrs->count_include_pad.value.i64 != 0;
  return nd_finish(nd, call, pool_run(nd, call, &pool, avg_body));
}

static BurnStatus avg_pool2d_backward(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_avg_pool2d_backward *attrs = BURN_ATTRS(avg_pool2d_backward, call);
  Pool pool = pool_begin(call->output_descs->shape, call->inputs[0]->shape, call->output_descs->dtype);
  pool_window(&pool, &attrs->kernel_size, &attrs->stride, &attrs->padding, NULL);
  pool.count_include_pad = attrs->count_include_pad.value.i64 != 0;
  return nd_finish(nd, call, pool_run(nd, call, &pool, avg_backward_body));
}

static BurnStatus adaptive_avg_pool2d(Ndarray *nd, const BurnOpCall *call) {
  Pool pool = pool_begin(call->inputs[0]->shape, call->output_descs->shape, call->output_descs->dtype);
  return nd_finish(nd, call, pool_run(nd, call, &pool, adaptive_body));
}

static BurnStatus adaptive_avg_pool2d_backward(Ndarray *nd, const BurnOpCall *call) {
  Pool pool = pool_begin(call->output_descs->shape, call->inputs[0]->shape, call->output_descs->dtype);
  return nd_finish(nd, call, pool_run(nd, call, &pool, adaptive_backward_body));
}

const NdKernelRow nd_pool_kernels[] = {
    {BURN_OP_max_pool2d, max_pool2d},
    {BURN_OP_max_pool2d_with_indices, max_pool2d_with_indices},
    {BURN_OP_max_pool2d_backward, max_pool2d_backward},
    {BURN_OP_avg_pool2d, avg_pool2d},
    {BURN_OP_avg_pool2d_backward, avg_pool2d_backward},
    {BURN_OP_adaptive_avg_pool2d, adaptive_avg_pool2d},
    {BURN_OP_adaptive_avg_pool2d_backward, adaptive_avg_pool2d_backward},
    {0, NULL},
};
