/* emulated_dnn.c - cuDNN for machines without a GPU: convolutions of planes and volumes in f32 and bf16 by loops, through the graph interface
 * and with the strides that cudnn_graph.h describes. It has one engine for each graph; BURN_EMULATED_DNN says for which:
 * "rows" of row-major pixels, "channels" of those whose channels come last, else for both. All other graphs it refuses.
 * BURN_CUDA_DNN names it. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Values of cudnn_graph.h. */
enum {
  SUCCESS = 0,
  BAD_PARAMETER = 2000,
  NOT_SUPPORTED = 3000,
  EXECUTION_FAILED = 5000,
  CONVOLUTION = 1,
  ENGINE = 2,
  CONFIG = 3,
  FORWARD = 10,
  GRADIENT_OF_WEIGHT = 11,
  GRADIENT_OF_PIXELS = 12,
  GRAPH = 15,
  TYPE_BF16 = 9,
  DILATIONS = 102,
  STEPS = 103,
  PADDING = 105,
  HEURISTICS_GRAPH = 201,
  HEURISTICS_RESULTS = 202,
  PLAN_CONFIG = 401,
  PLAN_WORKSPACE = 402,
  OPERATIONS = 801,
  DATA_TYPE = 901,
  DIMENSIONS = 902,
  STRIDES = 903,
  ID = 906,
  PACK_IDS = 1000,
  PACK_POINTERS = 1001,
  ENGINE_NOTES = 1303
};
enum { DESCRIPTION = 2, WEIGHT, PIXELS, WINDOWS }; /* after the first attribute of a convolution */
enum { MAX_VALUES = 8, MAX_ATTRIBUTES = 12, AXES = 3, RANK = AXES + 2 };

/* Attributes in the order in which they were set; all their values have 8 bytes or fewer. */
typedef struct Descriptor {
  int type, count, numbers[MAX_ATTRIBUTES];
  int64_t sizes[MAX_ATTRIBUTES];
  int64_t values[MAX_ATTRIBUTES][MAX_VALUES];
} Descriptor;

typedef struct Handle {
  void *stream;
} Handle;

static int runs[2]; /* of row-major convolutions, of those with channels last */

/* How many convolutions were run, for tests. */
int emulated_dnn_runs(bool is_last);
int emulated_dnn_runs(bool is_last) { return runs[is_last]; }

size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void) { return 91900; }
size_t cudnnGetCudartVersion(void);
size_t cudnnGetCudartVersion(void) { return 12000; }
void cudnnGetLastErrorString(char *text, size_t bytes);
void cudnnGetLastErrorString(char *text, size_t bytes) {
  if (bytes > 0) text[0] = '\0';
}

#define EMULATED(name, parameters) \
  int name parameters;             \
  int name parameters

EMULATED(cudnnCreate, (void **handle)) {
  *handle = calloc(1, sizeof(Handle));
  return *handle ? SUCCESS : EXECUTION_FAILED;
}
EMULATED(cudnnDestroy, (void *handle)) {
  free(handle);
  return SUCCESS;
}
EMULATED(cudnnSetStream, (void *handle, void *stream)) {
  ((Handle *)handle)->stream = stream;
  return SUCCESS;
}

EMULATED(cudnnBackendCreateDescriptor, (int type, void **descriptor)) {
  Descriptor *made = calloc(1, sizeof *made);
  if (!made) return EXECUTION_FAILED;
  made->type = type;
  *descriptor = made;
  return SUCCESS;
}
EMULATED(cudnnBackendDestroyDescriptor, (void *descriptor)) {
  free(descriptor);
  return SUCCESS;
}

static size_t bytes_of(int type) {
  static const size_t bytes[] = {[0] = 8, [1] = 4, [2] = 1, [3] = 8, [4] = 4, [6] = 8, [7] = 4, [8] = 4, [15] = 8};
  return type >= 0 && (size_t)type < sizeof bytes / sizeof bytes[0] ? bytes[type] : 0;
}

EMULATED(cudnnBackendSetAttribute, (void *descriptor, int attribute, int type, int64_t count, const void *values)) {
  Descriptor *d = descriptor;
  const size_t bytes = bytes_of(type);
  if (bytes == 0 || count > MAX_VALUES || d->count == MAX_ATTRIBUTES) return NOT_SUPPORTED;
  d->numbers[d->count] = attribute;
  d->sizes[d->count] = count;
  for (int64_t i = 0; i < count; i++) memcpy(&d->values[d->count][i], (const char *)values + (size_t)i * bytes, bytes);
  d->count++;
  return SUCCESS;
}

/* The values of an attribute; NULL: it is not set. */
static const int64_t *values_of(const Descriptor *d, int attribute) {
  for (int i = 0; i < d->count; i++)
    if (d->numbers[i] == attribute) return d->values[i];
  return NULL;
}
static const Descriptor *part_of(const Descriptor *d, int attribute) {
  const int64_t *values = values_of(d, attribute);
  return values ? (const Descriptor *)(uintptr_t)values[0] : NULL;
}

/* -- convolutions ----------------------------------------------------------------------------- */

typedef struct Tensor {
  int64_t shape[RANK], strides[RANK], id;
  int type;
  char *data;
} Tensor;

typedef struct Conv {
  int kind;
  Tensor pixels, windows, weight;
  int64_t stride[AXES], padding[AXES], dilation[AXES];
} Conv;

/* Of planes as volumes of one slice: `count` numbers, of which the first `before` are not axes of places. */
static void take_axes(const int64_t *values, int64_t count, int before, int64_t missing, int64_t *out) {
  const int depth = before + AXES - (int)count;
  for (int i = 0; i < before; i++) out[i] = values[i];
  for (int i = 0; i < depth; i++) out[before + i] = missing;
  for (int i = before; i < (int)count; i++) out[depth + i] = values[i];
}

static int64_t count_of_values(const Descriptor *d, int attribute) {
  for (int i = 0; i < d->count; i++)
    if (d->numbers[i] == attribute) return d->sizes[i];
  return 0;
}

static bool take_tensor(const Descriptor *d, Tensor *t) {
  if (!d || !values_of(d, DATA_TYPE) || !values_of(d, ID) || !values_of(d, STRIDES)) return false;
  const int64_t rank = count_of_values(d, DIMENSIONS);
  if (rank < RANK - 1 || rank > RANK || count_of_values(d, STRIDES) != rank) return false;
  take_axes(values_of(d, DIMENSIONS), rank, 2, 1, t->shape);
  take_axes(values_of(d, STRIDES), rank, 2, 0, t->strides);
  t->type = (int)values_of(d, DATA_TYPE)[0];
  t->id = values_of(d, ID)[0];
  return t->type == 0 || t->type == TYPE_BF16;
}

static bool take_window(const Descriptor *how, int attribute, int64_t missing, int64_t *out) {
  const int64_t count = how ? count_of_values(how, attribute) : 0;
  if (count < AXES - 1 || count > AXES) return false;
  take_axes(values_of(how, attribute), count, 0, missing, out);
  return true;
}

/* False: it is none of planes or volumes. */
static bool take_conv(const Descriptor *operation, Conv *conv) {
  conv->kind = operation->type;
  if (conv->kind < FORWARD || conv->kind > GRADIENT_OF_PIXELS) return false;
  const int first = conv->kind == FORWARD ? 700 : conv->kind == GRADIENT_OF_PIXELS ? 706 : 712;
  const Descriptor *how = part_of(operation, first + DESCRIPTION);
  return take_window(how, STEPS, 1, conv->stride) && take_window(how, PADDING, 0, conv->padding) &&
         take_window(how, DILATIONS, 1, conv->dilation) &&
         take_tensor(part_of(operation, first + PIXELS), &conv->pixels) &&
         take_tensor(part_of(operation, first + WINDOWS), &conv->windows) &&
         take_tensor(part_of(operation, first + WEIGHT), &conv->weight);
}

static bool is_last(const Conv *conv) { return conv->pixels.strides[1] == 1 && conv->pixels.shape[1] > 1; }

static bool has_engine(const Conv *conv) {
  const char *which = getenv("BURN_EMULATED_DNN");
  return !which || strcmp(which, is_last(conv) ? "channels" : "rows") == 0;
}

static float get(const Tensor *t, int64_t at) {
  if (t->type == 0) return ((const float *)(const void *)t->data)[at];
  const uint32_t bits = (uint32_t)((const uint16_t *)(const void *)t->data)[at] << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void put(const Tensor *t, int64_t at, float x) {
  uint32_t bits;
  if (t->type == 0) {
    ((float *)(void *)t->data)[at] = x;
    return;
  }
  memcpy(&bits, &x, sizeof bits);
  ((uint16_t *)(void *)t->data)[at] = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static int64_t place(const Tensor *t, int64_t a, int64_t b, int64_t z, int64_t y) {
  return a * t->strides[0] + b * t->strides[1] + z * t->strides[2] + y * t->strides[3];
}

static int64_t count_of(const Tensor *t) {
  int64_t count = 1;
  for (int axis = 0; axis < RANK; axis++) count *= t->shape[axis];
  return count;
}

/* Elements in the order in which they lie, which has no gaps; of the result zeros. */
static float *open_tensor(const Tensor *t, bool is_result) {
  float *numbers = calloc((size_t)count_of(t), sizeof *numbers);
  for (int64_t i = 0; numbers && !is_result && i < count_of(t); i++) numbers[i] = get(t, i);
  return numbers;
}

/* What a line of windows, a tap and two channels have in common; the numbers are those of open_tensor. */
typedef struct Line {
  int64_t n, out, in, of_group, at[2], tap[AXES]; /* at: slice and row of the windows */
  float *pixels, *windows, *weight;
} Line;

/* Where a tap meets pixels along an axis. */
static int64_t pixel_of(const Conv *c, int axis, int64_t window, int64_t tap) {
  return window * c->stride[axis] + tap * c->dilation[axis] - c->padding[axis];
}

static void add_line(const Conv *c, const Line *l) {
  const int64_t z = pixel_of(c, 0, l->at[0], l->tap[0]), y = pixel_of(c, 1, l->at[1], l->tap[1]);
  if (z < 0 || z >= c->pixels.shape[2] || y < 0 || y >= c->pixels.shape[3]) return;
  float *weights = l->weight + place(&c->weight, l->out, l->of_group, l->tap[0], l->tap[1]);
  weights += l->tap[2] * c->weight.strides[4];
  float *windows = l->windows + place(&c->windows, l->n, l->out, l->at[0], l->at[1]), weight = *weights;
  float *pixels = l->pixels + place(&c->pixels, l->n, l->in, z, y);
  for (int64_t wx = 0; wx < c->windows.shape[4]; wx++, windows += c->windows.strides[4]) {
    const int64_t x = pixel_of(c, 2, wx, l->tap[2]), at = x * c->pixels.strides[4];
    if (x < 0 || x >= c->pixels.shape[4]) continue;
    if (c->kind == FORWARD) *windows += pixels[at] * weight;
    if (c->kind == GRADIENT_OF_PIXELS) pixels[at] += *windows * weight;
    if (c->kind == GRADIENT_OF_WEIGHT) weight += pixels[at] * *windows;
  }
  *weights = weight;
}

static void add_lines(const Conv *c, Line *l) {
  for (l->at[0] = 0; l->at[0] < c->windows.shape[2]; l->at[0]++)
    for (l->at[1] = 0; l->at[1] < c->windows.shape[3]; l->at[1]++) add_line(c, l);
}

static void add_taps(const Conv *c, Line l) {
  for (l.tap[0] = 0; l.tap[0] < c->weight.shape[2]; l.tap[0]++)
    for (l.tap[1] = 0; l.tap[1] < c->weight.shape[3]; l.tap[1]++)
      for (l.tap[2] = 0; l.tap[2] < c->weight.shape[4]; l.tap[2]++) add_lines(c, &l);
}

static int run_conv(const void *arguments) {
  const Conv *c = arguments;
  const Tensor *result = c->kind == FORWARD ? &c->windows : c->kind == GRADIENT_OF_PIXELS ? &c->pixels : &c->weight;
  const int64_t in_group = c->weight.shape[1], out_group = c->windows.shape[1] * in_group / c->pixels.shape[1];
  Line l = {.pixels = open_tensor(&c->pixels, result == &c->pixels),
            .windows = open_tensor(&c->windows, result == &c->windows),
            .weight = open_tensor(&c->weight, result == &c->weight)};
  const float *sums = c->kind == FORWARD ? l.windows : c->kind == GRADIENT_OF_PIXELS ? l.pixels : l.weight;
  const bool is_there = l.pixels && l.windows && l.weight;
  runs[is_last(c)]++;
  for (l.n = 0; is_there && l.n < c->windows.shape[0]; l.n++)
    for (l.out = 0; l.out < c->windows.shape[1]; l.out++)
      for (l.of_group = 0; l.of_group < in_group; l.of_group++) {
        l.in = l.out / out_group * in_group + l.of_group;
        add_taps(c, l);
      }
  for (int64_t i = 0; is_there && i < count_of(result); i++) put(result, i, sums[i]);
  free(l.pixels);
  free(l.windows);
  free(l.weight);
  return is_there ? SUCCESS : EXECUTION_FAILED;
}

/* -- graphs ----------------------------------------------------------------------------------- */

EMULATED(cudnnBackendFinalize, (void *descriptor)) {
  const Descriptor *d = descriptor;
  Conv conv;
  if (d->type != GRAPH) return SUCCESS;
  const int64_t *operations = values_of(d, OPERATIONS);
  return d->sizes[1] == 1 && operations && take_conv((const Descriptor *)(uintptr_t)operations[0], &conv)
             ? SUCCESS
             : NOT_SUPPORTED;
}

/* A configuration keeps the graph that it is for. */
EMULATED(cudnnBackendGetAttribute,
         (void *descriptor, int attribute, int type, int64_t room, int64_t *count, void *values)) {
  const Descriptor *d = descriptor;
  Conv conv;
  (void)type;
  *count = attribute == ENGINE_NOTES ? 0 : 1;
  if (attribute == PLAN_WORKSPACE) memset(values, 0, sizeof(int64_t));
  if (attribute != HEURISTICS_RESULTS) return SUCCESS;
  const Descriptor *graph = part_of(d, HEURISTICS_GRAPH);
  const int64_t operation = values_of(graph, OPERATIONS)[0];
  *count = room > 0 && take_conv((const Descriptor *)(uintptr_t)operation, &conv) && has_engine(&conv);
  Descriptor *config = *(Descriptor **)values;
  return *count == 1 ? cudnnBackendSetAttribute(config, OPERATIONS, 15, 1, &operation) : SUCCESS;
}

static bool bind(Tensor *t, const Descriptor *pack) {
  const int64_t *ids = values_of(pack, PACK_IDS), *pointers = values_of(pack, PACK_POINTERS);
  for (int i = 0; ids && pointers && i < 3; i++)
    if (ids[i] == t->id) t->data = (char *)(uintptr_t)pointers[i];
  return t->data && (uintptr_t)t->data % 16 == 0;
}

typedef int Submit(void *stream, int (*run)(const void *), const void *arguments, size_t bytes);

/* The driver's, so that what is captured waits for the launch of the graph. */
static Submit *find_submit(void) {
  const char *name = getenv("BURN_CUDA_DRIVER");
  void *driver = name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  Submit *submit = NULL;
  void *found = driver ? dlsym(driver, "fake_submit") : NULL;
  memcpy(&submit, &found, sizeof found);
  return submit;
}

EMULATED(cudnnBackendExecute, (void *handle, void *plan, void *pack)) {
  const Descriptor *config = part_of(plan, PLAN_CONFIG);
  Conv conv = {.kind = 0};
  Submit *submit = find_submit();
  if (!config || !take_conv(part_of(config, OPERATIONS), &conv)) return BAD_PARAMETER;
  if (!bind(&conv.pixels, pack) || !bind(&conv.windows, pack) || !bind(&conv.weight, pack)) return BAD_PARAMETER;
  return submit && submit(((Handle *)handle)->stream, run_conv, &conv, sizeof conv) == 0 ? SUCCESS : EXECUTION_FAILED;
}
