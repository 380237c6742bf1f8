/* fuzz_onnx.c - ONNX models: loaded with all passes and without, and run with zeros and written as C where their inputs
 * are small.
 *
 * Input: the file. */
#include "fuzz_target.h"

#include <burn/onnx.h>
#include <burn/onnx_generate.h>

enum { MOST_VALUES = 8, MOST_ELEMENTS = 4096 };

/* Zeros for an input: axes of any size have 2. NULL: too large, or no tensor. */
static BurnTensor *zeros_for(const BurnGraphValue *value) {
  BurnShape shape = {value->rank ? value->rank : 1, {1}};
  int64_t count = 1;
  for (uint32_t i = 0; i < value->rank; i++) {
    shape.dims[i] = value->dims[i] < 0 ? 2 : value->dims[i];
    if (shape.dims[i] > MOST_ELEMENTS) return NULL;
    count *= shape.dims[i];
    if (count > MOST_ELEMENTS) return NULL;
  }
  return value->dtype == BURN_DTYPE_DEFAULT ? NULL : burn_zeros(fuzz_device("ndarray"), shape, value->dtype);
}

/* The same of strings. False: too large. */
static bool set_words(BurnGraph *graph, const BurnGraphValue *value) {
  static const char *const words[] = {"a", "b c", "", "1.5", "\xc3\xa4", "THE", "2", "a"};
  const char *strings[MOST_ELEMENTS];
  BurnShape shape = {value->rank ? value->rank : 1, {1}};
  size_t count = 1;
  for (uint32_t i = 0; i < value->rank; i++) {
    shape.dims[i] = value->dims[i] < 0 ? 2 : value->dims[i];
    if (shape.dims[i] > MOST_ELEMENTS) return false;
    count *= (size_t)shape.dims[i];
    if (count > MOST_ELEMENTS) return false;
  }
  for (size_t i = 0; i < count; i++) strings[i] = words[i % (sizeof words / sizeof words[0])];
  return fuzz_ok(burn_graph_set_strings(graph, value->name, strings, shape));
}

/* False where inputs are too large to run. */
static bool run(BurnGraph *graph) {
  BurnTensor *inputs[MOST_VALUES] = {NULL}, *outputs[MOST_VALUES] = {NULL};
  const size_t wanted = burn_graph_input_count(graph), given = burn_graph_output_count(graph);
  if (wanted > MOST_VALUES || given > MOST_VALUES) return false;
  bool all = true;
  for (size_t i = 0; i < wanted; i++) {
    const BurnGraphValue value = burn_graph_input(graph, i);
    inputs[i] = zeros_for(&value);
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  fuzz_scratch_clear();
  fuzz_file_write("in.onnx", (FuzzInput){bytes, count});
  for (int plain = 0; plain < 2; plain++) {
    BurnStatus status = BURN_OK;
    const BurnGraphOptions options = {.no_passes = plain};
    BurnGraph *graph = burn_onnx_load_with("in.onnx", fuzz_device("ndarray"), &options, &status);
    FUZZ_REQUIRE(fuzz_ok(status) == (graph != NULL), "a graph and a failure, or neither");
    const bool small = graph && run(graph);
    burn_graph_release(graph);
    if (small && !plain) generate();
  }
  BurnStatus status = BURN_OK;
  char *info = burn_onnx_info("in.onnx", true, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (info != NULL), "a text and a failure, or neither");
  free(info);
  fuzz_device_end(fuzz_device("ndarray"));
  return 0;
}
