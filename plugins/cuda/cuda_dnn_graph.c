/* cuda_dnn_graph.c - descriptors of cuDNN's graph interface, and the graphs of convolutions and of attention. Numbers
 * are those of cudnn_graph.h, under its names without the prefix. Nothing here needs a device. */
#include "cuda_dnn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* X(name, value): the enums of cudnn_graph.h. */
#define DNN_VALUES(X)                          \
  X(CONVOLUTION, 1)                            \
  X(OPERATION_CONVOLUTION_FORWARD, 10)         \
  X(OPERATION_CONVOLUTION_BACKWARD_FILTER, 11) \
  X(OPERATION_CONVOLUTION_BACKWARD_DATA, 12)   \
  X(POINTWISE, 0)                              \
  X(OPERATION_POINTWISE, 13)                   \
  X(TENSOR, 17)                                \
  X(MATMUL, 18)                                \
  X(OPERATION_MATMUL, 19)                      \
  X(REDUCTION, 21)                             \
  X(OPERATION_REDUCTION, 22)                   \
  X(OPERATION_RESHAPE, 31)                     \
  X(TYPE_DATA_TYPE, 1)                         \
  X(TYPE_BOOLEAN, 2)                           \
  X(TYPE_INT64, 3)                             \
  X(TYPE_FLOAT, 4)                             \
  X(TYPE_CONVOLUTION_MODE, 7)                  \
  X(TYPE_POINTWISE_MODE, 14)                   \
  X(TYPE_DESCRIPTOR, 15)                       \
  X(TYPE_REDUCTION_OPERATOR, 18)               \
  X(POINTWISE_MODE, 0)                         \
  X(POINTWISE_MATH_PREC, 1)                    \
  X(POINTWISE_AXIS, 9)                         \
  X(CONVOLUTION_COMP_TYPE, 100)                \
  X(CONVOLUTION_CONV_MODE, 101)                \
  X(CONVOLUTION_DILATIONS, 102)                \
  X(CONVOLUTION_FILTER_STRIDES, 103)           \
  X(CONVOLUTION_POST_PADDINGS, 104)            \
  X(CONVOLUTION_PRE_PADDINGS, 105)             \
  X(CONVOLUTION_SPATIAL_DIMS, 106)             \
  X(OPERATION_POINTWISE_PW_DESCRIPTOR, 750)    \
  X(OPERATION_POINTWISE_XDESC, 751)            \
  X(OPERATION_POINTWISE_BDESC, 752)            \
  X(OPERATION_POINTWISE_YDESC, 753)            \
  X(OPERATION_POINTWISE_TDESC, 758)            \
  X(TENSOR_BYTE_ALIGNMENT, 900)                \
  X(TENSOR_DATA_TYPE, 901)                     \
  X(TENSOR_DIMENSIONS, 902)                    \
  X(TENSOR_STRIDES, 903)                       \
  X(TENSOR_UNIQUE_ID, 906)                     \
  X(TENSOR_IS_VIRTUAL, 907)                    \
  X(TENSOR_IS_BY_VALUE, 908)                   \
  X(MATMUL_COMP_TYPE, 1500)                    \
  X(OPERATION_MATMUL_ADESC, 1520)              \
  X(OPERATION_MATMUL_BDESC, 1521)              \
  X(OPERATION_MATMUL_CDESC, 1522)              \
  X(OPERATION_MATMUL_DESC, 1523)               \
  X(REDUCTION_OPERATOR, 1600)                  \
  X(REDUCTION_COMP_TYPE, 1601)                 \
  X(OPERATION_REDUCTION_XDESC, 1610)           \
  X(OPERATION_REDUCTION_YDESC, 1611)           \
  X(OPERATION_REDUCTION_DESC, 1612)            \
  X(OPERATION_RESHAPE_XDESC, 2200)             \
  X(OPERATION_RESHAPE_YDESC, 2201)             \
  X(CROSS_CORRELATION, 1)                      \
  X(REDUCE_ADD, 0)                             \
  X(REDUCE_MAX, 3)                             \
  X(MODE_ADD, 0)                               \
  X(MODE_MUL, 1)                               \
  X(MODE_DIV, 6)                               \
  X(MODE_SUB, 9)                               \
  X(MODE_EXP, 13)                              \
  X(MODE_LOG, 15)                              \
  X(MODE_CMP_GE, 303)                          \
  X(MODE_GEN_INDEX, 501)                       \
  X(MODE_BINARY_SELECT, 601)
#define DNN_ENTRY(name, value) DNN_##name = value,
enum { DNN_VALUES(DNN_ENTRY) };

enum { FIRST_VIRTUAL = 1000, ALIGNMENT = 16 };

/* -- descriptors ------------------------------------------------------------------------------ */

void burn__dnn_graph_begin(DnnGraph *graph, const CudaDnnLibrary *library) {
  memset(graph, 0, sizeof *graph);
  graph->library = library;
  graph->last_virtual = FIRST_VIRTUAL;
}

void burn__dnn_graph_end(DnnGraph *graph) {
  while (graph->made_count > 0) (void)graph->library->cudnnBackendDestroyDescriptor(graph->made[--graph->made_count]);
  graph->operation_count = 0;
}

static void fail(DnnGraph *graph, int error, const char *what, int detail) {
  char words[160] = "";
  graph->error = error;
  graph->library->cudnnGetLastErrorString(words, sizeof words);
  (void)snprintf(graph->problem, sizeof graph->problem, "%s %d: error %d, %s", what, detail, error, words);
}

void *burn__dnn_make(DnnGraph *graph, int type) {
  void *descriptor = NULL;
  if (graph->error) return NULL;
  int error = graph->made_count < DNN_MAX_DESCRIPTORS ? 0 : -1;
  if (error == 0) error = graph->library->cudnnBackendCreateDescriptor(type, &descriptor);
  if (error != 0) {
    fail(graph, error, "a descriptor of type", type);
    return NULL;
  }
  graph->made[graph->made_count++] = descriptor;
  return descriptor;
}

void burn__dnn_set(DnnGraph *graph, void *descriptor, int attribute, int type, int64_t count, const void *value) {
  if (graph->error) return;
  const int error = graph->library->cudnnBackendSetAttribute(descriptor, attribute, type, count, value);
  if (error != 0) fail(graph, error, "attribute", attribute);
}

void burn__dnn_finalize(DnnGraph *graph, void *descriptor, const char *what) {
  if (graph->error) return;
  const int error = graph->library->cudnnBackendFinalize(descriptor);
  if (error != 0) fail(graph, error, what, (int)graph->operation_count);
}

static void set_descriptor(DnnGraph *graph, void *descriptor, int attribute, void *value) {
  burn__dnn_set(graph, descriptor, attribute, DNN_TYPE_DESCRIPTOR, 1, &value);
}
static void set_int(DnnGraph *graph, void *descriptor, int attribute, int type, int value) {
  burn__dnn_set(graph, descriptor, attribute, type, 1, &value);
}
static void set_longs(DnnGraph *graph, void *descriptor, int attribute, int64_t count, const int64_t *values) {
  burn__dnn_set(graph, descriptor, attribute, DNN_TYPE_INT64, count, values);
}

static void add_operation(DnnGraph *graph, void *operation, const char *what) {
  burn__dnn_finalize(graph, operation, what);
  if (graph->error) return;
  if (graph->operation_count == DNN_MAX_OPERATIONS) {
    fail(graph, -1, "too many operations", DNN_MAX_OPERATIONS);
    return;
  }
  graph->operations[graph->operation_count++] = operation;
}

/* -- tensors ---------------------------------------------------------------------------------- */

typedef enum Home { IN_MEMORY, NOWHERE, ON_HOST } Home; /* ON_HOST: a number, given with each run */

static void *tensor(DnnGraph *graph, int64_t id, int type, int rank, const int64_t *shape, const int64_t *strides,
                    Home home) {
  void *t = burn__dnn_make(graph, DNN_TENSOR);
  const int64_t alignment = home == ON_HOST ? (int64_t)sizeof(float) : ALIGNMENT;
  const bool yes = true;
  set_int(graph, t, DNN_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, type);
  set_longs(graph, t, DNN_TENSOR_DIMENSIONS, rank, shape);
  set_longs(graph, t, DNN_TENSOR_STRIDES, rank, strides);
  set_longs(graph, t, DNN_TENSOR_UNIQUE_ID, 1, &id);
  set_longs(graph, t, DNN_TENSOR_BYTE_ALIGNMENT, 1, &alignment);
  if (home == NOWHERE) burn__dnn_set(graph, t, DNN_TENSOR_IS_VIRTUAL, DNN_TYPE_BOOLEAN, 1, &yes);
  if (home == ON_HOST) burn__dnn_set(graph, t, DNN_TENSOR_IS_BY_VALUE, DNN_TYPE_BOOLEAN, 1, &yes);
  burn__dnn_finalize(graph, t, "tensor");
  return t;
}

/* What one operation hands to the next. */
static void *between(DnnGraph *graph, int type, const int64_t shape[4], const int64_t *strides) {
  const int64_t rows[] = {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
  return tensor(graph, ++graph->last_virtual, type, 4, shape, strides ? strides : rows, NOWHERE);
}

static void *number(DnnGraph *graph, int64_t id) {
  static const int64_t single[] = {1, 1, 1, 1};
  return tensor(graph, id, DNN_F32, 4, single, single, ON_HOST);
}

/* -- operations ------------------------------------------------------------------------------- */

/* y = mode(x, b), or by a mask. b and mask may be NULL, axis -1 for none; the arithmetic is that of `type`. */
typedef struct Pointwise {
  void *x, *b, *mask, *y;
  int mode, type, axis;
} Pointwise;

static void *pointwise(DnnGraph *graph, const Pointwise *p) {
  void *how = burn__dnn_make(graph, DNN_POINTWISE);
  const int64_t axis = p->axis;
  set_int(graph, how, DNN_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, p->mode);
  set_int(graph, how, DNN_POINTWISE_MATH_PREC, DNN_TYPE_DATA_TYPE, p->type);
  if (axis >= 0) set_longs(graph, how, DNN_POINTWISE_AXIS, 1, &axis);
  burn__dnn_finalize(graph, how, "pointwise");
  void *operation = burn__dnn_make(graph, DNN_OPERATION_POINTWISE);
  set_descriptor(graph, operation, DNN_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  set_descriptor(graph, operation, DNN_OPERATION_POINTWISE_XDESC, p->x);
  if (p->b) set_descriptor(graph, operation, DNN_OPERATION_POINTWISE_BDESC, p->b);
  if (p->mask) set_descriptor(graph, operation, DNN_OPERATION_POINTWISE_TDESC, p->mask);
  set_descriptor(graph, operation, DNN_OPERATION_POINTWISE_YDESC, p->y);
  add_operation(graph, operation, "pointwise operation");
  return p->y;
}

static void *one(DnnGraph *graph, int mode, void *x, void *y) {
  return pointwise(graph, &(Pointwise){x, NULL, NULL, y, mode, DNN_F32, -1});
}
static void *two(DnnGraph *graph, int mode, void *x, void *b, void *y) {
  return pointwise(graph, &(Pointwise){x, b, NULL, y, mode, DNN_F32, -1});
}

static void *product(DnnGraph *graph, void *a, void *b, void *c) {
  void *how = burn__dnn_make(graph, DNN_MATMUL);
  set_int(graph, how, DNN_MATMUL_COMP_TYPE, DNN_TYPE_DATA_TYPE, DNN_F32);
  burn__dnn_finalize(graph, how, "product");
  void *operation = burn__dnn_make(graph, DNN_OPERATION_MATMUL);
  set_descriptor(graph, operation, DNN_OPERATION_MATMUL_ADESC, a);
  set_descriptor(graph, operation, DNN_OPERATION_MATMUL_BDESC, b);
  set_descriptor(graph, operation, DNN_OPERATION_MATMUL_CDESC, c);
  set_descriptor(graph, operation, DNN_OPERATION_MATMUL_DESC, how);
  add_operation(graph, operation, "product operation");
  return c;
}

static void *reduction(DnnGraph *graph, int operator, void * x, void *y) {
  void *how = burn__dnn_make(graph, DNN_REDUCTION);
  set_int(graph, how, DNN_REDUCTION_OPERATOR, DNN_TYPE_REDUCTION_OPERATOR, operator);
  set_int(graph, how, DNN_REDUCTION_COMP_TYPE, DNN_TYPE_DATA_TYPE, DNN_F32);
  burn__dnn_finalize(graph, how, "reduction");
  void *operation = burn__dnn_make(graph, DNN_OPERATION_REDUCTION);
  set_descriptor(graph, operation, DNN_OPERATION_REDUCTION_XDESC, x);
  set_descriptor(graph, operation, DNN_OPERATION_REDUCTION_YDESC, y);
  set_descriptor(graph, operation, DNN_OPERATION_REDUCTION_DESC, how);
  add_operation(graph, operation, "reduction operation");
  return y;
}

/* The same elements under other strides. */
static void *reshaped(DnnGraph *graph, void *x, void *y) {
  void *operation = burn__dnn_make(graph, DNN_OPERATION_RESHAPE);
  set_descriptor(graph, operation, DNN_OPERATION_RESHAPE_XDESC, x);
  set_descriptor(graph, operation, DNN_OPERATION_RESHAPE_YDESC, y);
  add_operation(graph, operation, "reshape operation");
  return y;
}

/* -- convolutions ----------------------------------------------------------------------------- */

static void put_last(int rank, const int64_t *shape, int64_t *strides) {
  int64_t stride = shape[1];
  strides[1] = 1;
  for (int axis = rank - 1; axis > 1; axis--) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  strides[0] = stride;
}

void burn__dnn_put_channels_last(DnnConv *conv) {
  put_last(conv->rank, conv->pixels, conv->pixel_strides);
  put_last(conv->rank, conv->windows, conv->window_strides);
  put_last(conv->rank, conv->weight, conv->weight_strides);
}

/* Of each kind: the operation, and the first of its attributes, which lie in the same order. */
enum { ALPHA, BETA, DESCRIPTION, WEIGHT, PIXELS, WINDOWS };
static const struct {
  int operation, first;
} conv_kinds[] = {{DNN_OPERATION_CONVOLUTION_FORWARD, 700},
                  {DNN_OPERATION_CONVOLUTION_BACKWARD_DATA, 706},
                  {DNN_OPERATION_CONVOLUTION_BACKWARD_FILTER, 712}};

static void *conv_description(DnnGraph *graph, const DnnConv *conv) {
  void *c = burn__dnn_make(graph, DNN_CONVOLUTION);
  const int64_t axes = conv->rank - 2;
  set_longs(graph, c, DNN_CONVOLUTION_SPATIAL_DIMS, 1, &axes);
  set_int(graph, c, DNN_CONVOLUTION_COMP_TYPE, DNN_TYPE_DATA_TYPE, DNN_F32);
  set_int(graph, c, DNN_CONVOLUTION_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE, DNN_CROSS_CORRELATION);
  set_longs(graph, c, DNN_CONVOLUTION_PRE_PADDINGS, axes, conv->padding);
  set_longs(graph, c, DNN_CONVOLUTION_POST_PADDINGS, axes, conv->padding);
  set_longs(graph, c, DNN_CONVOLUTION_DILATIONS, axes, conv->dilation);
  set_longs(graph, c, DNN_CONVOLUTION_FILTER_STRIDES, axes, conv->stride);
  burn__dnn_finalize(graph, c, "convolution");
  return c;
}

void burn__dnn_conv(DnnGraph *graph, const DnnConv *conv) {
  const float alpha = 1, beta = 0;
  const int first = conv_kinds[conv->kind].first;
  void *pixels = tensor(graph, DNN_ID_PIXELS, conv->type, conv->rank, conv->pixels, conv->pixel_strides, IN_MEMORY);
  void *windows = tensor(graph, DNN_ID_WINDOWS, conv->type, conv->rank, conv->windows, conv->window_strides, IN_MEMORY);
  void *weight = tensor(graph, DNN_ID_WEIGHT, conv->type, conv->rank, conv->weight, conv->weight_strides, IN_MEMORY);
  void *description = conv_description(graph, conv);
  void *operation = burn__dnn_make(graph, conv_kinds[conv->kind].operation);
  set_descriptor(graph, operation, first + DESCRIPTION, description);
  set_descriptor(graph, operation, first + WEIGHT, weight);
  set_descriptor(graph, operation, first + PIXELS, pixels);
  set_descriptor(graph, operation, first + WINDOWS, windows);
  burn__dnn_set(graph, operation, first + ALPHA, DNN_TYPE_FLOAT, 1, &alpha);
  burn__dnn_set(graph, operation, first + BETA, DNN_TYPE_FLOAT, 1, &beta);
  add_operation(graph, operation, "convolution operation");
}

/* -- attention -------------------------------------------------------------------------------- */

/* Shapes of a graph: rows of queries, the same turned, scores, a number for each row. */
typedef struct Shapes {
  int64_t rows[4], turned[4], scores[4], single[4], single_strides[4];
} Shapes;

static Shapes shapes_of(const DnnAttention *a) {
  const Shapes shapes = {{a->n, a->heads, a->length, a->width},
                         {a->n, a->heads, a->width, a->length},
                         {a->n, a->heads, a->length, a->length},
                         {a->n, a->heads, a->length, 1},
                         {a->heads * a->length, a->length, 1, 1}};
  return shapes;
}

static void *rows(DnnGraph *graph, int64_t id, const DnnAttention *a, const int64_t strides[4]) {
  const Shapes s = shapes_of(a);
  return tensor(graph, id, a->type, 4, s.rows, strides, IN_MEMORY);
}

/* Keys or values as the right side of a product. */
static void *turned_rows(DnnGraph *graph, int64_t id, const DnnAttention *a, const int64_t strides[4]) {
  const Shapes s = shapes_of(a);
  const int64_t turned[] = {strides[0], strides[1], strides[3], strides[2]};
  return tensor(graph, id, a->type, 4, s.turned, turned, IN_MEMORY);
}

static void *row_numbers(DnnGraph *graph, int64_t id, const DnnAttention *a) {
  const Shapes s = shapes_of(a);
  return tensor(graph, id, DNN_F32, 4, s.single, s.single_strides, IN_MEMORY);
}

/* Scores with those of keys after the query hidden. */
static void *hide_future(DnnGraph *graph, const DnnAttention *a, void *scores) {
  const Shapes s = shapes_of(a);
  if (!a->is_causal) return scores;
  void *query = between(graph, DNN_I32, s.scores, NULL), *key = between(graph, DNN_I32, s.scores, NULL);
  void *sees = between(graph, DNN_BOOL, s.scores, NULL), *hidden = number(graph, DNN_HIDDEN);
  void *out = between(graph, DNN_F32, s.scores, NULL);
  (void)pointwise(graph, &(Pointwise){scores, NULL, NULL, query, DNN_MODE_GEN_INDEX, DNN_F32, 2});
  (void)pointwise(graph, &(Pointwise){scores, NULL, NULL, key, DNN_MODE_GEN_INDEX, DNN_F32, 3});
  (void)pointwise(graph, &(Pointwise){query, key, NULL, sees, DNN_MODE_CMP_GE, DNN_BOOL, -1});
  return pointwise(graph, &(Pointwise){scores, hidden, sees, out, DNN_MODE_BINARY_SELECT, DNN_F32, -1});
}

void burn__dnn_attention(DnnGraph *graph, const DnnAttention *a) {
  const Shapes s = shapes_of(a);
  void *query = rows(graph, DNN_QUERY, a, a->query), *key = turned_rows(graph, DNN_KEY, a, a->key);
  void *value = rows(graph, DNN_VALUE, a, a->value), *out = rows(graph, DNN_OUT, a, a->out);
  void *statistics = row_numbers(graph, DNN_STATISTICS, a), *scale = number(graph, DNN_SCALE);
  void *scores = product(graph, query, key, between(graph, DNN_F32, s.scores, NULL));
  scores = two(graph, DNN_MODE_MUL, scores, scale, between(graph, DNN_F32, s.scores, NULL));
  scores = hide_future(graph, a, scores);
  void *high = reduction(graph, DNN_REDUCE_MAX, scores, between(graph, DNN_F32, s.single, NULL));
  void *below = two(graph, DNN_MODE_SUB, scores, high, between(graph, DNN_F32, s.scores, NULL));
  void *powers = one(graph, DNN_MODE_EXP, below, between(graph, DNN_F32, s.scores, NULL));
  void *sum = reduction(graph, DNN_REDUCE_ADD, powers, between(graph, DNN_F32, s.single, NULL));
  void *size = one(graph, DNN_MODE_LOG, sum, between(graph, DNN_F32, s.single, NULL));
  (void)two(graph, DNN_MODE_ADD, high, size, statistics);
  void *weights = two(graph, DNN_MODE_DIV, powers, sum, between(graph, a->type, s.scores, NULL));
  (void)product(graph, weights, value, out);
}

/* Weights or their gradients as the left side of a product that sums over the queries. */
static void *by_key(DnnGraph *graph, const DnnAttention *a, void *x) {
  const Shapes s = shapes_of(a);
  const int64_t strides[] = {a->heads * a->length * a->length, a->length * a->length, 1, a->length};
  return reshaped(graph, x, between(graph, a->type, s.scores, strides));
}

/* How much the gradient hits the result of each row. */
static void *hits_of(DnnGraph *graph, const DnnAttention *a, void *grad) {
  const Shapes s = shapes_of(a);
  const int64_t strides[] = {a->heads * a->length * a->width, a->length * a->width, a->heads * a->width, 1};
  void *out = rows(graph, DNN_OUT, a, a->out), *hits = row_numbers(graph, DNN_HITS, a);
  void *unit = number(graph, DNN_ONE);
  void *both = two(graph, DNN_MODE_MUL, grad, out, between(graph, DNN_F32, s.rows, strides));
  void *sum = reduction(graph, DNN_REDUCE_ADD, both, between(graph, DNN_F32, s.single, s.single_strides));
  return two(graph, DNN_MODE_MUL, sum, unit, hits);
}

void burn__dnn_attention_backward(DnnGraph *graph, const DnnAttention *a) {
  const Shapes s = shapes_of(a);
  void *query = rows(graph, DNN_QUERY, a, a->query), *key = turned_rows(graph, DNN_KEY, a, a->key);
  void *value = turned_rows(graph, DNN_VALUE, a, a->value), *grad = rows(graph, DNN_GRAD, a, a->grad);
  void *scale = number(graph, DNN_SCALE), *statistics = row_numbers(graph, DNN_STATISTICS, a);
  void *hits = hits_of(graph, a, grad);
  void *scores = product(graph, query, key, between(graph, DNN_F32, s.scores, NULL));
  scores = two(graph, DNN_MODE_MUL, scores, scale, between(graph, DNN_F32, s.scores, NULL));
  scores = two(graph, DNN_MODE_SUB, scores, statistics, between(graph, DNN_F32, s.scores, NULL));
  scores = hide_future(graph, a, scores);
  void *weights = one(graph, DNN_MODE_EXP, scores, between(graph, DNN_F32, s.scores, NULL));
  (void)product(graph, by_key(graph, a, weights), grad, rows(graph, DNN_VALUE_GRAD, a, a->value_grad));
  void *slope = product(graph, grad, value, between(graph, DNN_F32, s.scores, NULL));
  slope = two(graph, DNN_MODE_SUB, slope, hits, between(graph, DNN_F32, s.scores, NULL));
  slope = two(graph, DNN_MODE_MUL, slope, weights, between(graph, DNN_F32, s.scores, NULL));
  slope = two(graph, DNN_MODE_MUL, slope, scale, between(graph, a->type, s.scores, NULL));
  (void)product(graph, by_key(graph, a, slope), query, rows(graph, DNN_KEY_GRAD, a, a->key_grad));
  void *keys = reshaped(graph, key, between(graph, a->type, s.rows, a->key));
  (void)product(graph, slope, keys, rows(graph, DNN_QUERY_GRAD, a, a->query_grad));
}
