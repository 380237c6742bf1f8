/* fuzz_onnx.c - ONNX models: loaded with all passes and without, and run with a few numbers and written as C where their
 * inputs are small. Then the same with single integers of the model replaced by extreme ones, which changes of bytes
 * rarely come to.
 *
 * Input: the file. */
#include "fuzz_target.h"

#include <burn/onnx.h>
#include <burn/onnx_generate.h>

#include <math.h>

#include "onnx.pb-c.h"

enum { MAX_VALUES = 8, MAX_ELEMENTS = 4096, EXTREMES_EACH = 3 };

static uint64_t seed; /* of the input's bytes */

/* The size of axes of any size. */
static int64_t open_size(uint32_t axis) {
  static const int64_t sizes[] = {2, 2, 2, 1, 3, 0};
  return sizes[(seed + axis) % (sizeof sizes / sizeof sizes[0])];
}

/* Zeros, and for floats also others. */
static BurnTensor *filled(BurnShape shape, int64_t count, BurnDType dtype) {
  static const float numbers[] = {0, 1, -1, 0.5f, NAN, INFINITY, 1e30f, 3};
  static float values[MAX_ELEMENTS];
  if (dtype != BURN_DTYPE_F32 || seed % 2 == 0) return burn_zeros(fuzz_device("ndarray"), shape, dtype);
  for (int64_t i = 0; i < count; i++)
    values[i] = numbers[(seed >> (1 + i % 13)) % (sizeof numbers / sizeof numbers[0])];
  return burn_tensor_f32(fuzz_device("ndarray"), values, shape);
}

/* NULL: too large, or no tensor. */
static BurnTensor *tensor_for(const BurnGraphValue *value) {
  BurnShape shape = {value->rank ? value->rank : 1, {1}};
  int64_t count = 1;
  for (uint32_t i = 0; i < value->rank; i++) {
    shape.dims[i] = value->dims[i] < 0 ? open_size(i) : value->dims[i];
    if (shape.dims[i] > MAX_ELEMENTS) return NULL;
    count *= shape.dims[i];
    if (count > MAX_ELEMENTS) return NULL;
  }
  return value->dtype == BURN_DTYPE_DEFAULT ? NULL : filled(shape, count, value->dtype);
}

/* The same of strings. False: too large. */
static bool set_words(BurnGraph *graph, const BurnGraphValue *value) {
  static const char *const words[] = {"a", "b c", "", "1.5", "\xc3\xa4", "THE", "2", "a"};
  const char *strings[MAX_ELEMENTS];
  BurnShape shape = {value->rank ? value->rank : 1, {1}};
  size_t count = 1;
  for (uint32_t i = 0; i < value->rank; i++) {
    shape.dims[i] = value->dims[i] < 0 ? open_size(i) : value->dims[i];
    if (shape.dims[i] > MAX_ELEMENTS) return false;
    count *= (size_t)shape.dims[i];
    if (count > MAX_ELEMENTS) return false;
  }
  for (size_t i = 0; i < count; i++) strings[i] = words[i % (sizeof words / sizeof words[0])];
  return fuzz_ok(burn_graph_set_strings(graph, value->name, strings, shape));
}

/* False where inputs are too large to run. */
static bool run(BurnGraph *graph) {
  BurnTensor *inputs[MAX_VALUES] = {NULL}, *outputs[MAX_VALUES] = {NULL};
  const size_t wanted = burn_graph_input_count(graph), given = burn_graph_output_count(graph);
  if (wanted > MAX_VALUES || given > MAX_VALUES) return false;
  bool all = true;
  for (size_t i = 0; i < wanted; i++) {
    const BurnGraphValue value = burn_graph_input(graph, i);
    inputs[i] = tensor_for(&value);
    all = all && (value.strings ? set_words(graph, &value) : inputs[i] != NULL);
  }
  if (!all) {
    for (size_t i = 0; i < wanted; i++) burn_drop(inputs[i]);
    return false;
  }
  const bool ran = fuzz_ok(burn_graph_run(graph, inputs, wanted, outputs, given));
  for (size_t i = 0; i < given; i++) {
    const bool strings = burn_graph_strings(graph, burn_graph_output(graph, i).name, NULL) != NULL;
    FUZZ_REQUIRE((outputs[i] != NULL || strings) == ran, "outputs and a failure, or neither");
    burn_drop(outputs[i]);
  }
  return true;
}

static void generate(void) {
  const BurnGenerateOptions options = {.name = "net", .overwrite = true};
  (void)fuzz_ok(burn_onnx_generate("in.onnx", ".", fuzz_device("ndarray"), &options, NULL));
}

static void load_and_run(void) {
  for (int plain = 0; plain < 2; plain++) {
    BurnStatus status = BURN_OK;
    const BurnGraphOptions options = {.no_passes = plain};
    BurnGraph *graph = burn_onnx_load_with("in.onnx", fuzz_device("ndarray"), &options, &status);
    FUZZ_REQUIRE(fuzz_ok(status) == (graph != NULL), "a graph and a failure, or neither");
    const bool small = graph && run(graph);
    burn_graph_release(graph);
    if (small && !plain) generate();
  }
}

/* -- integers of the model ---------------------------------------------------------------------- */

/* Counts the integers of a model, and puts a value in place of number `at`. */
typedef struct Replacing {
  uint64_t at, count;
  int64_t value;
} Replacing;

static void meet(Replacing *r, int64_t *integers, size_t count) {
  if (r->at >= r->count && r->at - r->count < count) integers[r->at - r->count] = r->value;
  r->count += count;
}

static void meet_attribute(Replacing *r, Onnx__AttributeProto *attribute) {
  if (attribute->has_i) meet(r, &attribute->i, 1);
  meet(r, attribute->ints, attribute->n_ints);
}

static void meet_all(Replacing *r, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_node; i++) {
    const Onnx__NodeProto *node = graph->node[i];
    for (size_t k = 0; k < node->n_attribute; k++) meet_attribute(r, node->attribute[k]);
  }
  for (size_t i = 0; i < graph->n_initializer; i++) {
    Onnx__TensorProto *tensor = graph->initializer[i];
    meet(r, tensor->int64_data, tensor->n_int64_data);
    meet(r, tensor->dims, tensor->n_dims);
  }
}

static void write_model(const Onnx__ModelProto *model) {
  const size_t count = onnx__model_proto__get_packed_size(model);
  uint8_t *bytes = malloc(count + 1);
  if (!bytes) abort();
  onnx__model_proto__pack(model, bytes);
  fuzz_file_write("in.onnx", (FuzzInput){bytes, count});
  free(bytes);
}

/* The model with one integer that is extreme. */
static void replace_one(Onnx__ModelProto *model, uint64_t draw) {
  static const int64_t extremes[] = {-1,        0,         1,         2,         -2,        7,
                                     255,       1 << 16,   INT32_MAX, INT32_MIN, 1LL << 31, 1LL << 32,
                                     1LL << 40, 1LL << 62, INT64_MAX, INT64_MIN};
  Replacing all = {.at = UINT64_MAX};
  meet_all(&all, model->graph);
  if (all.count == 0) return;
  Replacing one = {.at = draw % all.count,
                   .value = extremes[draw / all.count % (sizeof extremes / sizeof extremes[0])]};
  meet_all(&one, model->graph);
  write_model(model);
  load_and_run();
}

static void run_extremes(const uint8_t *bytes, size_t count) {
  for (uint64_t i = 0; i < EXTREMES_EACH; i++) {
    Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, count, bytes);
    if (model && model->graph) replace_one(model, (seed ^ i) * 0x9e3779b97f4a7c15u >> 8);
    if (model) onnx__model_proto__free_unpacked(model, NULL);
  }
}

static uint64_t hash(const uint8_t *bytes, size_t count) { /* FNV-1a */
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * 0x100000001b3u;
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  seed = hash(bytes, count);
  fuzz_scratch_clear();
  fuzz_file_write("in.onnx", (FuzzInput){bytes, count});
  load_and_run();
  BurnStatus status = BURN_OK;
  char *info = burn_onnx_info("in.onnx", true, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (info != NULL), "a text and a failure, or neither");
  free(info);
  run_extremes(bytes, count);
  fuzz_device_end(fuzz_device("ndarray"));
  return 0;
}
