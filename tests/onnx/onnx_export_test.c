/* onnx_export_test.c - modules written as ONNX: each model of onnx_export_cases.def, with a batch of a fixed and of any
 * size, loaded again gives what the module gives; ONNX Runtime gives that too, where Python has it. Further, what is
 * refused, and with which words. */
#include <burn/file.h>
#include <burn/nn.h>
#include <burn/numpy.h>
#include <burn/onnx_export.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forked.h"
#include "status_testing.h"

static BurnDevice *device;
static char folder[64];

/* -- parts of the cases ------------------------------------------------------------------------ */

static BurnTensor *random_f32(BurnDevice *on, BurnShape shape) {
  return burn_random_normal(on, shape, BURN_DTYPE_F32, 0, 1);
}
static BurnTensor *indices(BurnDevice *on, BurnShape shape, double limit) {
  return burn_cast(burn_random_uniform(on, shape, BURN_DTYPE_F32, 0, limit), BURN_DTYPE_I64);
}
static BurnConv2d conv2d_grouped(BurnDevice *on) {
  BurnConv2dConfig config = BurnConv2dConfig_defaults(BURN_SIZE2(4, 6), BURN_SIZE2(3, 3));
  config.groups = 2;
  config.stride = BURN_SIZE2(2, 1);
  config.dilation = BURN_SIZE2(1, 2);
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 2, 1, 2);
  return burn_conv2d_init(&config, on);
}
static BurnConvTranspose2d conv_transpose2d_strided(BurnDevice *on) {
  BurnConvTranspose2dConfig config = BurnConvTranspose2dConfig_defaults(BURN_SIZE2(3, 2), BURN_SIZE2(3, 3));
  config.stride = BURN_SIZE2(2, 2);
  config.padding = BURN_SIZE2(1, 1);
  config.padding_out = BURN_SIZE2(1, 0);
  return burn_conv_transpose2d_init(&config, on);
}
static BurnPRelu prelu_of_channels(BurnDevice *on) {
  const BurnPReluConfig config = {.num_parameters = 3, .alpha = 0.3};
  return burn_prelu_init(&config, on);
}
static BurnInterpolate2d doubled(BurnDevice *on) {
  BurnInterpolate2dConfig config = BurnInterpolate2dConfig_defaults();
  config.output_size = BURN_SIZE2(6, 8);
  config.mode = BURN_INTERPOLATE_BILINEAR;
  return burn_interpolate2d_init(&config, on);
}
static BurnTensor *attend(const BurnMultiHeadAttention *m, BurnTensor *x, bool causal) {
  const BurnMhaInput input = {.query = x, .key = burn_clone(x), .value = burn_clone(x), .is_causal = causal};
  return burn_multi_head_attention_forward(m, input).context;
}
static BurnTensor *encode(const BurnTransformerEncoder *m, BurnTensor *x) {
  return burn_transformer_encoder_forward(m, (BurnTransformerEncoderInput){.tensor = x});
}
static BurnTensor *doubled_so_often(BurnTensor *x, int times) {
  for (int i = 0; i < times; i++) x = burn_add(x, burn_clone(x));
  return x;
}

/* -- the cases --------------------------------------------------------------------------------- */

#define X burn_clone(x)
#define EXPORT_CASE(name, Type, layer, input, result)                                            \
  static void *name##_make(void) {                                                               \
    Type *m = calloc(1, sizeof *m);                                                              \
    assert_non_null(m);                                                                          \
    *m = (layer);                                                                                \
    return m;                                                                                    \
  }                                                                                              \
  static BurnTensor *name##_input(int64_t items) { return input; }                               \
  static BurnStatus name##_forward(void *context, const void *module, BurnTensor *const *inputs, \
                                   BurnTensor **outputs) {                                       \
    const Type *m = module;                                                                      \
    BurnTensor *x = inputs[0];                                                                   \
    (void)context;                                                                               \
    (void)m;                                                                                     \
    outputs[0] = result;                                                                         \
    burn_drop(x);                                                                                \
    return BURN_OK;                                                                              \
  }
#include "onnx_export_cases.def"

static const struct Case {
  const char *name;
  const BurnType *(*type)(void);
  void *(*make)(void);
  BurnTensor *(*input)(int64_t items);
  BurnOnnxForward forward;
} cases[] = {
#define EXPORT_CASE(name, Type, layer, input, result) {#name, Type##_type, name##_make, name##_input, name##_forward},
#include "onnx_export_cases.def"
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void expect_equal(const char *name, BurnTensor *found, BurnTensor *wanted) {
  enum { MOST = 4096 };
  static double a[MOST], b[MOST];
  const size_t count = (size_t)burn_element_count(wanted);
  assert_true(count <= MOST);
  if (burn_dtype(found) != burn_dtype(wanted)) fail_msg("%s: another dtype", name);
  const BurnShapeText shape = burn_shape_text(burn_shape(found)), other = burn_shape_text(burn_shape(wanted));
  if (strcmp(shape.text, other.text) != 0) fail_msg("%s: %s for %s", name, shape.text, other.text);
  check_status(burn_read_f64(burn_cast(found, BURN_DTYPE_F64), a, count));
  check_status(burn_read_f64(burn_cast(wanted, BURN_DTYPE_F64), b, count));
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(a[i] - b[i]) <= 1e-5 * (1 + fabs(b[i])))) fail_msg("%s: element %zu is %g for %g", name, i, a[i], b[i]);
  }
}

/* What the file computes, by our own loader; the same for Python as arrays beside it. */
static void compare(const char *path, const struct Case *c, const void *module, int64_t items) {
  BurnStatus status = BURN_OK;
  BurnTensor *x = c->input(items), *wanted = NULL, *found = NULL;
  BurnTensor *given = burn_clone(x);
  char arrays[600];
  check_status(c->forward(NULL, module, &given, &wanted));
  (void)snprintf(arrays, sizeof arrays, "%.*snpz", (int)(strlen(path) - 4), path);
  check_status(burn_npz_write(arrays, (const char *const[]){"input", "output"},
                              (BurnTensor *[]){burn_clone(x), burn_clone(wanted)}, 2, false));
  BurnGraph *graph = burn_onnx_load(path, device, &status);
  if (!graph) fail_msg("%s: %s", path, burn_status_message(status));
  status = burn_graph_run(graph, &x, 1, &found, 1);
  if (status != BURN_OK) fail_msg("%s: %s", path, burn_status_message(status));
  expect_equal(path, found, wanted);
  burn_graph_release(graph);
}

static void test_there_and_back(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++) {
    void *module = cases[i].make();
    for (int dynamic = 0; dynamic < 2; dynamic++) {
      char path[600];
      const BurnOnnxSave options = {.dynamic_batch = dynamic, .overwrite = true};
      BurnTensor *x = cases[i].input(dynamic ? 1 : 2);
      (void)snprintf(path, sizeof path, "%s/%s_%s.onnx", folder, cases[i].name, dynamic ? "dynamic" : "fixed");
      check_status(
          burn_onnx_save(path, (BurnModule){cases[i].type(), module}, cases[i].forward, NULL, &x, 1, 1, &options));
      compare(path, &cases[i], module, dynamic ? 3 : 2);
    }
    burn_module_release((BurnModule){cases[i].type(), module});
    free(module);
  }
}

/* After test_there_and_back, whose files it reads. */
static void test_onnx_runtime(void **state) {
  (void)state;
  const char *python = getenv("BURN_TEST_PYTHON");
  char command[1200], found[8192];
  (void)snprintf(command, sizeof command, "%s '%s/tests/onnx/onnx_export_read.py' '%s' 2>&1",
                 python && python[0] ? python : "python3", BURN_SOURCE_DIR, folder);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  const size_t got = fread(found, 1, sizeof found - 1, pipe);
  found[got] = '\0';
  const int ended = pclose(pipe);
  printf("%s", found);
  const int code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
  if (code == 77 || code == 127) skip(); /* Python lacks a package, or is not there */
  if (code != 0) fail_msg("%s", found);
}

/* -- names ------------------------------------------------------------------------------------- */

#define NET_FIELDS(Y)                 \
  Y(BurnLinear, fc, "3 -> 2")         \
  Y(BurnDropout, dropout, "after fc") \
  Y(BurnBatchNorm, norm, "of 2")
BURN_MODULE(Net, NET_FIELDS);

static BurnStatus net_forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
  const Net *net = module;
  (void)context;
  BurnTensor *y = burn_dropout_forward(&net->dropout, burn_linear_forward(&net->fc, inputs[0]));
  outputs[0] = burn_batch_norm_forward(&net->norm, burn_clone(y));
  outputs[1] = y;
  return BURN_OK;
}

/* A model for training becomes one for inference; its tensors have their paths, and inputs and outputs their names. */
static void test_names(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDevice *training = burn_device_open_training("ndarray");
  Net net = {burn_linear_new(3, 2, training), burn_dropout_new(0.5, training), burn_batch_norm_new(2, training)};
  BurnTensor *x = random_f32(training, BURN_SHAPE(4, 3));
  char path[600];
  (void)snprintf(path, sizeof path, "%s/names.onnx", folder);
  const BurnOnnxSave options = {.input_names = (const char *const[]){"features"},
                                .output_names = (const char *const[]){"scores", "raw"},
                                .dynamic_batch = true};
  check_status(burn_onnx_save(path, burn_module(Net, &net), net_forward, NULL, &x, 1, 2, &options));
  char *info = burn_onnx_info(path, false, &status);
  check_status(status);
  assert_non_null(strstr(info, "features"));
  assert_non_null(strstr(info, "batch"));
  assert_null(strstr(info, "Dropout"));
  free(info);
  BurnGraph *graph = burn_onnx_load_with(path, training, NULL, &status);
  check_status(status);
  assert_string_equal(burn_graph_output(graph, 0).name, "scores");
  assert_string_equal(burn_graph_output(graph, 1).name, "raw");
  assert_string_equal(burn_graph_input(graph, 0).axes[0], "batch");
  check_status(burn_graph_set_tensor(graph, "fc.weight", burn_zeros(training, BURN_SHAPE(3, 2), BURN_DTYPE_F32)));
  check_status(burn_graph_set_tensor(graph, "norm.running_mean", burn_zeros(training, BURN_SHAPE(2), BURN_DTYPE_F32)));
  burn_graph_release(graph);
  Net_release(&net);
  burn_device_close(training);
}

/* -- refusals ---------------------------------------------------------------------------------- */

static BurnStatus random_forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
  (void)context;
  (void)module;
  BurnDevice *on = burn_tensor_device(inputs[0]);
  BurnTensor *noise = burn_add(random_f32(on, BURN_SHAPE(1)), random_f32(on, BURN_SHAPE(1)));
  outputs[0] = burn_cumprod(burn_add(inputs[0], noise), 0);
  return BURN_OK;
}

/* As many additions as there are items. */
static BurnStatus looping_forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
  (void)context;
  (void)module;
  outputs[0] = doubled_so_often(inputs[0], (int)burn_dim(inputs[0], 0));
  return BURN_OK;
}

static BurnStatus scaling_forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
  (void)context;
  (void)module;
  outputs[0] = burn_div_scalar(inputs[0], (double)burn_dim(inputs[0], 0));
  return BURN_OK;
}

/* n x n items are not a multiple of n. */
static BurnStatus square_forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
  (void)context;
  (void)module;
  const int64_t n = burn_dim(inputs[0], 0);
  BurnTensor *zeros = burn_zeros(burn_tensor_device(inputs[0]), BURN_SHAPE(n * n), BURN_DTYPE_F32);
  BurnTensor *x = burn_expand(burn_reshape(inputs[0], BURN_SHAPE(1, n)), BURN_SHAPE(n, n));
  outputs[0] = burn_add(burn_reshape(x, BURN_SHAPE(n * n)), zeros);
  return BURN_OK;
}

static void expect_refused(BurnOnnxForward forward, bool dynamic, BurnStatus code, const char *words) {
  BurnIdentity identity = burn_identity_init();
  BurnTensor *x = random_f32(device, BURN_SHAPE(4));
  char path[600], wanted[1400];
  (void)snprintf(path, sizeof path, "%s/refused.onnx", folder);
  (void)snprintf(wanted, sizeof wanted, "export: %s: %s", path, words);
  const BurnOnnxSave options = {.dynamic_batch = dynamic};
  const BurnStatus status =
      burn_onnx_save(path, burn_module(BurnIdentity, &identity), forward, NULL, &x, 1, 1, &options);
  assert_string_equal(burn_status_message(status), wanted);
  assert_int_equal(burn_status_code(status), code);
  FILE *left = fopen(path, "rb");
  assert_null(left);
}

static void test_refusals(void **state) {
  (void)state;
  expect_refused(random_forward, false, BURN_STATUS_UNIMPLEMENTED,
                 "these ops, with the number of their calls, have no counterpart in ONNX: random_normal (2), cumprod "
                 "(1)");
  expect_refused(looping_forward, true, BURN_STATUS_INVALID_ARGUMENT,
                 "the calls depend on the size of the batch: there are 2 with 2 items and 5 with 5; export without "
                 "dynamic_batch");
  expect_refused(scaling_forward, true, BURN_STATUS_INVALID_ARGUMENT,
                 "div_scalar has attributes that depend on the size of the batch; export without dynamic_batch");
  expect_refused(square_forward, true, BURN_STATUS_INVALID_ARGUMENT,
                 "a size in full is 4 with 2 items and 25 with 5, which is not a multiple of the batch; export without "
                 "dynamic_batch");
}

static BurnStatus counting_forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
  ++*(int *)context;
  return handed_on_forward(NULL, module, inputs, outputs);
}

/* A file that is there stays unless it may be replaced. */
static void test_overwrite(void **state) {
  (void)state;
  BurnIdentity identity = burn_identity_init();
  char path[600];
  (void)snprintf(path, sizeof path, "%s/mine.onnx", folder);
  check_status(burn_file_write(path, "mine", 4));
  BurnTensor *x = random_f32(device, BURN_SHAPE(4));
  const BurnStatus status =
      burn_onnx_save(path, burn_module(BurnIdentity, &identity), handed_on_forward, NULL, &x, 1, 1, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_FAILED_PRECONDITION);
  remove(path); /* for Python it would be a model */

  /* What is there and is no file is told before anything is computed. */
  int calls = 0;
  x = random_f32(device, BURN_SHAPE(4));
  const BurnStatus taken =
      burn_onnx_save(folder, burn_module(BurnIdentity, &identity), counting_forward, &calls, &x, 1, 1, NULL);
  assert_int_equal(burn_status_code(taken), BURN_STATUS_IO);
  assert_int_equal(calls, 0);

  const BurnOnnxSave options = {.overwrite = true};
  x = random_f32(device, BURN_SHAPE(4));
  const BurnStatus nowhere =
      burn_onnx_save(NULL, burn_module(BurnIdentity, &identity), counting_forward, &calls, &x, 1, 1, &options);
  assert_string_equal(burn_status_message(nowhere), "export: no path");
  assert_int_equal(calls, 0);
}

static int open_all(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  make_folder(folder);
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

static int close_all(void **state) {
  (void)state;
  burn_device_close(device);
  return remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_onnx_runtime), cmocka_unit_test(test_names),
      cmocka_unit_test(test_refusals),       cmocka_unit_test(test_overwrite),
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
