/* onnx_graph_test.c - small graphs: what runs, what is refused with which words, what passes leave, and training. The
 * models are those of tests/fuzz/corpus/onnx, which make_corpus.py writes. All have one input x [2, n]. */
#include <burn/burn.h>
#include <burn/file.h>
#include <burn/onnx.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static BurnDevice *device;

static BurnGraph *load(const char *name, const BurnGraphOptions *options, BurnStatus *status) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", ONNX_CORPUS, name);
  return burn_onnx_load_with(path, device, options, status);
}

/* y of x = [1, 2; -3, 4]. */
static void expect_values(BurnGraph *graph, const float *expected, size_t count) {
  float values[8];
  BurnTensor *x = burn_tensor_f32(burn_device_inner(device), (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2));
  BurnTensor *y = NULL;
  assert_int_equal(burn_graph_run(graph, (BurnTensor *[]){burn_to_device(x, device)}, 1, &y, 1), BURN_OK);
  assert_int_equal(burn_element_count(y), count);
  assert_int_equal(burn_read_f32(y, values, count), BURN_OK);
  for (size_t i = 0; i < count; i++) assert_true(values[i] - expected[i] < 1e-5f && expected[i] - values[i] < 1e-5f);
}

/* -- what runs --------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  float expected[4];
  size_t nodes_in_file, nodes; /* that are left by all passes */
} models[] = {{"gemm", {5, 11, 5, 7}, 2, 2},
              {"if", {-1, -2, 3, -4}, 1, 1},
              {"function", {1, 4, 9, 16}, 1, 1},
              {"noop", {1, 2, 0, 4}, 4, 1},
              {"common", {5.4365637f, 14.778112f, 0.0995741f, 109.1963f}, 3, 2},
              {"dead", {1, 2, 0, 4}, 3, 1},
              {"fold", {0, 0, -6, 0}, 2, 1},
              {"backwards", {-2.7182818f, -7.3890561f, -1, -54.598150f}, 3, 3},
              {"gelu", {0.8413447f, 1.9544997f, -0.0040497f, 3.9998733f}, 5, 1},
              {"gelu_other", {0.8413447f, 1.9544997f, -0.0040497f, 3.9998733f}, 5, 1},
              {"norm", {-0.99996f, 3.99994f, -0.9999992f, 3.9999988f}, 9, 1},
              {"linear", {8, 9, 10, 9}, 2, 1},
              {"gemm_bias", {6, 10, 6, 6}, 1, 1},
              {"attention", {-1, 3, -2.5231883f, 3.7615942f}, 8, 5},
              {"attention_mask", {0.5231884f, 2.2384058f, -1, 3}, 9, 5},
              {"square", {1, 4, 9, 16}, 1, 1},
              {"gather_one", {2, 4, -2, 6}, 2, 2},
              {"gather_some", {2, 1, 4, -3}, 1, 1},
              {"conv_few", {4, 9, -8, 7}, 3, 3},
              {"conv_bias", {15, 31, 15, 27}, 4, 3},
              {"pad_conv", {5, 11, 5, 7}, 4, 3},
              {"wide_split", {99, 101, 95, 103}, 2, 1},
              {"pad_pool", {1, 1, 0.3333333f, 0.3333333f}, 4, 3},
              {"lstm", {0.1097177f, -0.1302258f, 0.6974615f, -0.0031279f}, 2, 2},
              {"gru", {-0.0168213f, -0.2619226f, 0.0308156f, -0.1321044f}, 2, 2},
              {"rnn", {0, 0.2487408f, 0.9413755f, 0.9918598f}, 2, 2},
              {"rnn_layout", {-0.3927482f, 0.2228467f, 0.8798267f, 0.9866143f}, 2, 2},
              {"lstm_peepholes", {0.0950081f, -0.1609754f, -0.6112592f, -0.6541645f}, 2, 2}};

/* Values by hand, those of recurrent layers from ONNX Runtime 1.32 (it has no layout: by the definition in NumPy); the numbers of nodes are those of the graphs in
 * make_corpus.py. Weights that are kept give the same. */
static void runs_with_and_without_passes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    static const BurnGraphOptions ways[] = {{.no_passes = true}, {0}, {.weights = BURN_GRAPH_WEIGHTS_KEPT}};
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
      BurnStatus status = BURN_OK;
      BurnGraph *graph = load(models[i].name, &ways[way], &status);
      if (!graph) fail_msg("%s: %s", models[i].name, burn_status_message(status));
      expect_values(graph, models[i].expected, 4);
      const BurnGraphStats stats = burn_graph_stats(graph);
      assert_int_equal(stats.nodes_in_file, models[i].nodes_in_file);
      if (way == 0) assert_int_equal(stats.nodes, models[i].nodes_in_file);
      if (way == 1) assert_int_equal(stats.nodes, models[i].nodes);
      assert_true(stats.peak_bytes >= 16);
      burn_graph_release(graph);
    }
  }
}

/* y = MaxPool(Relu(x)) GlobalMaxPool(x): the Relu has half as many numbers where it comes after the MaxPool, which a
 * MaxPool whose last window may have nothing of the input (ceil_mode) does not let it do. */
static void relu_follows_max_pool(void **state) {
  static const struct {
    const char *name;
    bool moved;
  } cases[] = {{"relu_pool", true}, {"relu_pool_ceil", false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t peaks[2] = {0};
    for (int plain = 0; plain < 2; plain++) {
      BurnStatus status = BURN_OK;
      const BurnGraphOptions options = {.no_passes = plain};
      BurnGraph *graph = load(cases[i].name, &options, &status);
      if (!graph) fail_msg("%s", burn_status_message(status));
      expect_values(graph, (const float[]){4, 16}, 2);
      peaks[plain] = (size_t)burn_graph_stats(graph).peak_bytes;
      burn_graph_release(graph);
    }
    assert_int_equal(peaks[0] < peaks[1], cases[i].moved);
  }
}

/* h = k x, y = (h - m) / sqrt(v + 1e-5) * s + t by hand: x [2, 2, 1] is two items of two channels. */
static void batch_norm_goes_into_conv(void **state) {
  (void)state;
  for (int plain = 0; plain < 2; plain++) {
    BurnStatus status = BURN_OK;
    const BurnGraphOptions options = {.no_passes = plain};
    BurnGraph *graph = load("batch_norm", &options, &status);
    if (!graph) fail_msg("%s", burn_status_message(status));
    BurnTensor *x = burn_tensor_f32(device, (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2)), *y = NULL;
    float values[4];
    assert_int_equal(burn_graph_run(graph, &x, 1, &y, 1), BURN_OK);
    assert_int_equal(burn_read_f32(y, values, 4), BURN_OK);
    const float expected[] = {10, 16, 10, 10}; /* h = 5, 11; 5, 7 */
    for (size_t i = 0; i < 4; i++) assert_true(values[i] - expected[i] < 1e-3f && expected[i] - values[i] < 1e-3f);
    assert_int_equal(burn_graph_stats(graph).nodes, plain ? 4 : 3);
    burn_graph_release(graph);
  }
}

/* -- what is refused --------------------------------------------------------------------------- */

static const struct {
  const char *name, *words;
} refused[] = {{"circle", "it needs its own result: the graph has a circle"},
               {"deep", "more than 32 graphs in each other"},
               {"deeper", "too deep in each other"},
               {"dims", "too large for memory"},
               {"outside", "'../secret' is refused"}};

static void refuses_with_a_reason(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    BurnStatus status = BURN_OK;
    assert_null(load(refused[i].name, NULL, &status));
    if (!strstr(burn_status_message(status), refused[i].words)) {
      fail_msg("%s: '%s' is not in: %s", refused[i].name, refused[i].words, burn_status_message(status));
    }
    assert_non_null(strstr(burn_status_message(status), refused[i].name)); /* the file */
  }
}

/* Steps that patterns look for and that lack an input, or have numbers near the largest; divisors of 0; lists longer than
 * there are axes. */
static const struct {
  const char *name, *words;
} hostile[] = {{"absent_gelu_0", "'a' (Div): input 1 of at least 2 is absent"},
               {"absent_gelu_1", "'b' (Erf): input 0 of at least 1 is absent"},
               {"absent_gelu_2", "'c' (Add): input 1 of at least 2 is absent"},
               {"absent_gelu_3", "'d' (Mul): input 1 of at least 2 is absent"},
               {"absent_gelu_4", "'y' (Mul): input 1 of at least 2 is absent"},
               {"absent_pow", "(Pow): input 1 of at least 2 is absent"},
               {"absent_gather", "(Gather): input 1 of at least 2 is absent"},
               {"absent_matmul", "(MatMul): input 1 of at least 2 is absent"},
               {"absent_gemm", "(Gemm): input 1 of at least 2 is absent"},
               {"absent_conv", "(Conv): input 1 of at least 2 is absent"},
               {"absent_layernormalization", "(LayerNormalization): input 1 of at least 2 is absent"},
               {"absent_lstm", "(LSTM): input 1 of at least 3 is absent"},
               {"absent_transpose", "(Transpose): input 0 of at least 1 is absent"},
               {"absent_softmax", "(Softmax): input 0 of at least 1 is absent"},
               {"far_gather", "index 9223372036854775807 at position 0 is outside"},
               {"far_pads", "pads: 9223372036854775807 on axis 0; -2147483648 to 2^31 - 1 expected"},
               {"far_strides", "strides: 9223372036854775807 on axis 0; 1 to 2^31 - 1 expected"},
               {"far_dilations", "dilations: 9223372036854775807 on axis 0; 1 to 2^31 - 1 expected"},
               {"no_heads", "attention: query [1,1,2,2], key [1,0,1,2]"},
               {"nought_averagepool", "(AveragePool): strides: 0 on axis 0; 1 to 2^31 - 1 expected"},
               {"nought_lppool", "(LpPool): strides: 0"},
               {"nought_maxpool", "(MaxPool): strides: 0"},
               {"nought_conv", "(Conv): strides: 0"},
               {"nought_convtranspose", "(ConvTranspose): strides: 0"},
               {"nought_depthtospace", "blocks of 0 in an input of rank 4"},
               {"nought_spacetodepth", "blocks of 0 in an input of rank 4"},
               {"many_affinegrid", "a volume of 4194304 x 4194304 x 4194304"},
               {"many_centercroppad", "shape: 64 numbers; at most 2 expected"},
               {"many_expand", "shape: 64 numbers; at most 8 expected"},
               {"many_maxunpool", "kernel_shape and two axes: 66 numbers; 2 expected"},
               {"many_meanvariancenormalization", "axes: 64 numbers; at most 8 expected"},
               {"many_reducesum", "axes: 64 numbers; at most 8 expected"},
               {"many_split", "split: 64 numbers; 1 expected"},
               {"many_squeeze", "axes: 64 numbers; at most 8 expected"},
               {"many_tile", "repeats: 64 numbers; 2 expected"},
               {"few_globalaveragepool", "a pool of [4]"},
               {"far_gathernd", "batch_dims is 2: 0 to 0 expected"},
               {"far_splittosequence", "axis 2 of a tensor of 2 axes"},
               {"resize_far_linear", "axis 1: 2 pixels cannot become 4611686018427387904 by a scale of"},
               {"resize_far_nearest", "axis 1: 2 pixels cannot become 1099511627776 by a scale of"},
               {"resize_none_linear", "axis 1: 0 pixels cannot become 300 by a scale of inf"},
               {"resize_none_narrow", "axis 1: 0 pixels cannot become 3 by a scale of inf"},
               {"resize_none_nearest", "axis 1: 0 pixels cannot become 3 by a scale of inf"},
               {"resize_axis", "(Resize): axis 100 of a tensor of 2 axes"},
               {"resize_axis_below", "(Resize): axis -100 of a tensor of 2 axes"},
               {"resize_axes", "(Resize): axis 1 is named twice"},
               {"resize_aspect", "axis 0: 2 pixels cannot become 9223372036854775807 by a scale of"},
               {"resize_nan", "axis 1: 2 pixels cannot become -1 by a scale of"},
               {"resize_scale", "(Upsample): axis 1: 2 pixels cannot become 9223372036854775807 by a scale of 1e+18"},
               {"resize_region", "axis 1: 2 pixels cannot become 3 by a scale of 1.5 from"},
               {"blocks_quantizelinear", "blocks of 2 on axis 7 of [1,1,1,1,1,1,1,4], for numbers [1,1,1,1,1,1,1,2]"},
               {"blocks_dequantizelinear", "blocks of 2 on axis 7 of [1,1,1,1,1,1,1,4]"},
               {"blocks_axis_quantizelinear", "(QuantizeLinear): axis 1000000 of a tensor of 2 axes"},
               {"blocks_axis_dequantizelinear", "(DequantizeLinear): axis 1000000 of a tensor of 2 axes"},
               {"blocks_none", "blocks of -2 on axis 1 of [2,2], for numbers [2,1]"},
               {"blocks_most", "blocks of 9223372036854775807 on axis 1 of [2,2]"},
               {"far_unsqueeze", "axis 9223372036854775807 of a tensor of 5 axes"},
               {"far_squeeze", "(Squeeze): axis 4294967296 of a tensor of 2 axes"},
               {"many_transpose", "perm: 9 numbers; 2 expected"},
               {"far_transpose", "axis 1099511627776 of a tensor of 2 axes"},
               {"twice_transpose", "axis 0 is named twice"},
               {"axis_softmax", "(Softmax): axis 4294967296 of a tensor of 2 axes"},
               {"axis_concat", "(Concat): axis 4294967296 of a tensor of 2 axes"},
               {"axis_argmax", "(ArgMax): axis 4294967296 of a tensor of 2 axes"},
               {"axis_lpnormalization", "(LpNormalization): axis 4294967296 of a tensor of 2 axes"},
               {"axis_cumsum", "(CumSum): axis 4294967296 of a tensor of 2 axes"},
               {"axis_topk", "(TopK): axis 4294967296 of a tensor of 2 axes"},
               {"nought_groupnormalization", "num_groups: 0 for [2,2]"},
               {"far_lstm", "sequence_lens: -5 of row 0; 0 to 2 expected"},
               {"far_split", "num_outputs: 1099511627776, and 3 outputs"},
               {"wider_split", "'y' (Split): attribute 'split' has 300 integers, at most 256 are read"},
               {"wider_pads", "'c' (Conv): attribute 'pads' has 300 integers, at most 256 are read"},
               {"range_most", "no range goes from -9.22337e+18 to 9.22337e+18 by 1"},
               {"range_endless", "no range goes from 0 to 5 by 0"},
               {"range_floats", "no range goes from 0 to 1e+30 by 1"},
               {"mel_nan", "bins from nan to 8000 Hertz of 16000 a second"},
               {"mel_far", "bins from -1e+30 to 1e+30 Hertz of 16000 a second"},
               {"equation", "(Einsum): "}};

/* Passes leave such steps alone, so that loading or the run says what is wrong, and the same as without passes. */
static void hostile_steps_are_told(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * sizeof hostile / sizeof hostile[0]; i++) {
    const BurnGraphOptions options = {.no_passes = i % 2};
    BurnStatus status = BURN_OK;
    BurnTensor *x = burn_tensor_f32(device, (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2)), *y = NULL;
    BurnGraph *graph = load(hostile[i / 2].name, &options, &status);
    if (graph) {
      status = burn_graph_run(graph, &x, 1, &y, 1);
    } else {
      burn_drop(x);
    }
    assert_null(y);
    if (!strstr(burn_status_message(status), hostile[i / 2].words)) {
      fail_msg("%s: '%s' is not in: %s", hostile[i / 2].name, hostile[i / 2].words, burn_status_message(status));
    }
    burn_graph_release(graph);
  }
}

/* What a graph of that name makes of x = [1, 2; -3, 4]; more than `room` elements fail the test. */
static size_t values_of(const char *name, float *values, size_t room) {
  BurnStatus status = BURN_OK;
  BurnTensor *x = burn_tensor_f32(device, (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2)), *y = NULL;
  BurnGraph *graph = load(name, NULL, &status);
  if (graph) status = burn_graph_run(graph, &x, 1, &y, 1);
  if (status != BURN_OK) fail_msg("%s: %s", name, burn_status_message(status));
  const size_t count = (size_t)burn_element_count(y);
  assert_true(count <= room);
  assert_int_equal(burn_read_f32(y, values, count), BURN_OK);
  burn_graph_release(graph);
  return count;
}

/* What is more than 2^53, which the graphs subtract: 2^53 + 1 is not a double. */
static void integers_stay_exact(void **state) {
  static const struct {
    const char *name;
    size_t count;
    float expected[3];
  } cases[] = {{"exact_range", 3, {1, 2, 3}},
               {"exact_clip", 2, {1, 3}},
               {"exact_pad", 2, {1, 0}},
               {"exact_constantofshape", 2, {1, 1}},
               {"exact_onehot", 2, {1, 3}}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    float values[4] = {0};
    const size_t count = values_of(cases[i].name, values, 4);
    if (count != cases[i].count) fail_msg("%s: %zu values", cases[i].name, count);
    for (size_t k = 0; k < count; k++) {
      if (values[k] != cases[i].expected[k]) fail_msg("%s: %g at %zu", cases[i].name, (double)values[k], k);
    }
  }
}

/* Of no boxes there may be any number of classes: they are not counted through. */
static void no_boxes_take_no_time(void **state) {
  float values[4];
  (void)state;
  assert_int_equal(values_of("classes", values, 4), 4);
  assert_float_equal(values[2], -3, 0);
}

/* 10,000 pixels as two: each is the mean of its half, weighted by a triangle that the border mirrors. Ones stay ones. */
static void many_pixels_become_few(void **state) {
  enum { PIXELS = 10000 };
  float values[2] = {0}, *ones = malloc(PIXELS * sizeof *ones);
  BurnStatus status = BURN_OK;
  (void)state;
  assert_non_null(ones);
  for (size_t i = 0; i < PIXELS; i++) ones[i] = 1;
  BurnTensor *x = burn_tensor_f32(device, ones, BURN_SHAPE(2, PIXELS / 2)), *y = NULL;
  free(ones);
  BurnGraph *graph = load("resize_few", NULL, &status);
  if (!graph) fail_msg("%s", burn_status_message(status));
  assert_int_equal(burn_graph_run(graph, &x, 1, &y, 1), BURN_OK);
  assert_int_equal(burn_read_f32(y, values, 2), BURN_OK);
  for (size_t i = 0; i < 2; i++) assert_float_equal(values[i], 1, 1e-4);
  burn_graph_release(graph);
}

/* Every beginning of a file is a message or a graph, never more. */
static void any_beginning_is_survived(void **state) {
  char path[1024];
  uint8_t *bytes;
  size_t count;
  (void)state;
  snprintf(path, sizeof path, "%s/gemm", ONNX_CORPUS);
  assert_int_equal(burn_file_read(path, 1 << 20, &bytes, &count), BURN_OK);
  for (size_t i = 0; i < count; i++) {
    BurnStatus status = BURN_OK;
    BurnGraph *graph = burn_onnx_read(bytes, i, device, NULL, &status);
    assert_true((graph != NULL) == (status == BURN_OK));
    if (!graph) assert_non_null(strstr(burn_status_message(status), "model"));
    burn_graph_release(graph);
  }
  free(bytes);
}

static void expect_null(BurnStatus status, const char *said) {
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_string_equal(burn_status_message(status), said);
}

/* Of a graph with an input x: what is NULL beside it. */
static void nulls_are_told(BurnGraph *graph) {
  const char *const in[] = {"x"}, *const none[] = {NULL};
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32), *y = NULL;
  expect_null(burn_graph_run(graph, NULL, 1, &y, 1), "graph_run: inputs is NULL: a list of BurnTensor * expected");
  expect_null(burn_graph_run(graph, &x, 1, NULL, 1), "graph_run: outputs is NULL: room for BurnTensor * expected");
  expect_null(burn_graph_run_named(graph, in, NULL, 1, in, &y, 1),
              "graph_run_named: inputs is NULL: a list of BurnTensor * expected");
  x = burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32);
  expect_null(burn_graph_run_named(graph, NULL, &x, 1, in, &y, 1),
              "graph_run_named: input_names is NULL: a list of names expected");
  x = burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32);
  const BurnStatus status = burn_graph_run_named(graph, none, &x, 1, none, &y, 1);
  assert_non_null(strstr(burn_status_message(status), "there is no output 'NULL'."));
  x = burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32);
  expect_null(burn_graph_set_tensor(graph, NULL, x), "graph_set_tensor: name is NULL: that of a tensor expected");
  assert_null(burn_graph_strings(graph, NULL, NULL));
}

static void inputs_are_checked(void **state) {
  BurnStatus status = BURN_OK;
  BurnTensor *y = NULL;
  (void)state;
  BurnGraph *graph = load("gemm", NULL, &status);
  BurnTensor *three = burn_zeros(device, BURN_SHAPE(3, 2), BURN_DTYPE_F32);
  status = burn_graph_run(graph, &three, 1, &y, 1);
  assert_null(y);
  assert_non_null(strstr(burn_status_message(status),
                         "input 'x' is f32 [3,2], expected f32 [2,-1] (-1: any size); with free_batch "
                         "of BurnGraphOptions axis 0 has any size"));
  BurnTensor *flat = burn_zeros(device, BURN_SHAPE(4), BURN_DTYPE_F32);
  status = burn_graph_run(graph, &flat, 1, &y, 1);
  assert_null(strstr(burn_status_message(status), "free_batch"));
  status = burn_graph_run(graph, NULL, 0, &y, 1);
  assert_non_null(strstr(burn_status_message(status), ": it has 1 input ('x'), not 0"));
  BurnTensor *given = burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32);
  status = burn_graph_run(graph, &given, 1, NULL, 0);
  assert_non_null(strstr(burn_status_message(status), ": it has 1 output ('y'), not 0"));
  status = burn_graph_run_named(graph, NULL, NULL, 0, (const char *[]){"y"}, &y, 1);
  assert_non_null(strstr(burn_status_message(status), ": it has 1 input ('x'), not 0"));
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32);
  status = burn_graph_run_named(graph, (const char *[]){"X"}, &x, 1, (const char *[]){"y"}, &y, 1);
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_non_null(strstr(burn_status_message(status), "there is no input 'X'. There are: 'x'"));
  nulls_are_told(graph);
  const BurnGraphValue value = burn_graph_input(graph, 0);
  assert_string_equal(value.axes[1], "n");
  assert_int_equal(value.dims[0], 2);
  burn_graph_release(graph);
}

/* The graph of "gemm" with an output called ESC ]: what a terminal would obey. */
static void names_are_shown_without_controls(void **state) {
  static const char escaped[] = "onnx_graph_test.onnx";
  char path[1024];
  uint8_t *bytes = NULL;
  size_t count = 0, found = 0;
  BurnStatus status = BURN_OK;
  (void)state;
  snprintf(path, sizeof path, "%s/gemm", ONNX_CORPUS);
  assert_int_equal(burn_file_read(path, 1 << 16, &bytes, &count), BURN_OK);
  for (size_t i = 1; i < count; i++) { /* a string of one byte: its length, and y */
    if (bytes[i - 1] != 1 || bytes[i] != 'y') continue;
    bytes[i] = 0x1b;
    found++;
  }
  assert_int_equal(found, 2); /* of the node, of the graph */
  assert_int_equal(burn_file_write(escaped, bytes, count), BURN_OK);
  char *text = burn_onnx_info(escaped, false, &status);
  if (!text) fail_msg("%s", burn_status_message(status));
  assert_null(strchr(text, 0x1b));
  assert_non_null(strstr(text, "outputs     ?  float32"));
  free(text);
  free(bytes);
  remove(escaped);
}

/* -- the module -------------------------------------------------------------------------------- */

/* d sum(relu(x w')) / d w of rows [1, 2] and [-3, 4], where all four results are positive: the sum of the rows. */
static void gradients_reach_initializers(void **state) {
  BurnStatus status = BURN_OK;
  BurnGradients *gradients = NULL;
  BurnDevice *training = burn_device_open("autodiff<ndarray>");
  BurnTensor *y = NULL, *x = burn_tensor_f32(training, (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2));
  char path[1024];
  (void)state;
  snprintf(path, sizeof path, "%s/gemm", ONNX_CORPUS);
  BurnGraph *graph = burn_onnx_load(path, training, &status);
  assert_non_null(graph);
  const BurnModule module = burn_graph_module(graph);
  assert_int_equal(burn_module_num_params(module), 4);
  assert_int_equal(burn_graph_run(graph, &x, 1, &y, 1), BURN_OK);
  assert_int_equal(burn_backward(burn_sum(y), &gradients), BURN_OK);
  const BurnParam *w = (const BurnParam *)((const char *)module.data + module.type->fields[0].offset);
  assert_string_equal(module.type->fields[0].name, "w");
  float values[4];
  assert_int_equal(burn_read_f32(burn_grad(w->value, gradients), values, 4), BURN_OK);
  const float expected[] = {-2, 6, -2, 6};
  for (size_t i = 0; i < 4; i++) assert_true(values[i] - expected[i] < 1e-5f && expected[i] - values[i] < 1e-5f);
  burn_gradients_drop(gradients);
  /* Another weight in one instance is none in its clone. */
  BurnGraph *other = burn_graph_clone(graph);
  BurnTensor *zeros = burn_zeros(training, BURN_SHAPE(2, 2), BURN_DTYPE_F32);
  assert_int_equal(burn_graph_set_tensor(graph, "w", zeros), BURN_OK);
  BurnDevice *before = device;
  device = training;
  expect_values(other, models[0].expected, 4);
  expect_values(graph, (const float[]){0, 0, 0, 0}, 4);
  device = before;
  status = burn_graph_set_tensor(graph, "ww", burn_zeros(training, BURN_SHAPE(1), BURN_DTYPE_F32));
  assert_non_null(strstr(burn_status_message(status), "there is no tensor 'ww'."));
  burn_graph_release(graph);
  burn_graph_release(other);
  burn_device_close(training);
}

/* x w + b as one step: d sum / d w is the sum of the rows of x for each column, d sum / d b the number of rows. */
static void gradients_reach_a_linear_layer(void **state) {
  BurnStatus status = BURN_OK;
  BurnGradients *gradients = NULL;
  BurnDevice *training = burn_device_open("autodiff<ndarray>");
  BurnTensor *y = NULL, *x = burn_tensor_f32(training, (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2));
  char path[1024];
  (void)state;
  snprintf(path, sizeof path, "%s/linear", ONNX_CORPUS);
  BurnGraph *graph = burn_onnx_load(path, training, &status);
  assert_non_null(graph);
  assert_int_equal(burn_graph_stats(graph).nodes, 1);
  const BurnModule module = burn_graph_module(graph);
  assert_int_equal(burn_module_num_params(module), 6);
  assert_int_equal(burn_graph_run(graph, &x, 1, &y, 1), BURN_OK);
  assert_int_equal(burn_backward(burn_sum(y), &gradients), BURN_OK);
  static const float expected[2][4] = {{-2, -2, 6, 6}, {2, 2}};
  for (uint32_t i = 0; i < 2; i++) {
    const BurnParam *parameter = (const BurnParam *)((const char *)module.data + module.type->fields[i].offset);
    const size_t count = i == 0 ? 4 : 2;
    float values[4];
    assert_string_equal(module.type->fields[i].name, i == 0 ? "w" : "b");
    assert_int_equal(burn_read_f32(burn_grad(parameter->value, gradients), values, count), BURN_OK);
    for (size_t k = 0; k < count; k++) assert_true(values[k] == expected[i][k]);
  }
  burn_gradients_drop(gradients);
  burn_graph_release(graph);
  burn_device_close(training);
}

/* The batch [1, 2; -3, 4] gives h = 5, 11 and 5, 7: mean 5, 9 and variance 0, 4 (biased). y = (h - mean) / sqrt(variance
 * + 1e-5) * s + t; the running mean is 0.9 m + 0.1 mean. */
static void batch_norm_follows_in_training(void **state) {
  BurnStatus status = BURN_OK;
  float values[4];
  (void)state;
  const BurnGraphOptions options = {.weights = BURN_GRAPH_WEIGHTS_KEPT};
  BurnGraph *graph = load("batch_norm", &options, &status);
  assert_non_null(graph);
  burn_graph_set_training(graph, true);
  BurnTensor *x = burn_tensor_f32(device, (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2)), *y = NULL;
  assert_int_equal(burn_graph_run(graph, &x, 1, &y, 1), BURN_OK);
  assert_int_equal(burn_read_f32(y, values, 4), BURN_OK);
  const float expected[] = {1, 4, 1, -2};
  for (size_t i = 0; i < 4; i++) assert_true(values[i] - expected[i] < 1e-3f && expected[i] - values[i] < 1e-3f);
  const BurnModule module = burn_graph_module(graph);
  for (uint32_t i = 0; i < module.type->field_count; i++) {
    const BurnField *field = &module.type->fields[i];
    if (strcmp(field->name, "m") != 0) continue;
    const BurnBuffer *buffer = (const BurnBuffer *)((const char *)module.data + field->offset);
    assert_int_equal(burn_read_f32(burn_buffer_value(buffer), values, 2), BURN_OK);
    assert_true(values[0] > 0.949f && values[0] < 0.951f && values[1] > 1.799f && values[1] < 1.801f);
  }
  burn_graph_release(graph);
}

/* Weights and biases of com.microsoft's Attention are learned, its cache is not. */
static void weights_of_attention_are_parameters(void **state) {
  BurnStatus status = BURN_OK;
  (void)state;
  BurnGraph *graph = load("microsoft_attention", NULL, &status);
  if (!graph) fail_msg("%s", burn_status_message(status));
  const BurnType *type = burn_graph_module(graph).type;
  uint32_t parameters = 0, buffers = 0;
  for (uint32_t i = 0; i < type->field_count; i++) {
    const bool cache = strcmp(type->fields[i].name, "p") == 0;
    parameters += type->fields[i].type == BurnParam_type && !cache;
    buffers += type->fields[i].type == BurnBuffer_type && cache;
  }
  assert_int_equal(parameters, 2);
  assert_int_equal(buffers, 1);
  burn_graph_release(graph);
}

/* Who looks at the status of a load only at the end goes on with NULL: told, and inputs are taken as ever. */
static void no_graph_is_told(void **state) {
  static const char said[] = "onnx: there is no graph; the status of the call that should have loaded it says why";
  BurnStatus status = BURN_OK;
  (void)state;
  BurnGraph *graph = burn_onnx_load("/nonexistent.onnx", device, &status);
  assert_null(graph);
  const int64_t live = burn_device_memory(device).live_tensors;
  BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32), *y = x;
  assert_string_equal(burn_status_message(burn_graph_run(graph, &x, 1, &y, 1)), said);
  assert_null(y);
  x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32);
  y = x;
  const char *const in[] = {"x"}, *const out[] = {"y"};
  assert_string_equal(burn_status_message(burn_graph_run_named(graph, in, &x, 1, out, &y, 1)), said);
  assert_null(y);
  x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32);
  assert_string_equal(burn_status_message(burn_graph_set_tensor(graph, "w", x)), said);
  assert_string_equal(burn_status_message(burn_graph_set_strings(graph, "x", in, BURN_SHAPE(1))), said);
  assert_true(burn_device_memory(device).live_tensors == live);
  assert_int_equal(burn_graph_input_count(graph) + burn_graph_output_count(graph), 0);
  assert_null(burn_graph_input(graph, 0).name);
  assert_null(burn_graph_output(graph, 0).name);
  assert_null(burn_graph_strings(graph, "y", NULL));
  assert_null(burn_graph_clone(graph));
  assert_null(burn_graph_fork(graph, device));
  assert_int_equal(burn_graph_stats(graph).nodes, 0);
  burn_graph_set_training(graph, true);
  burn_module_freeze(burn_graph_module(graph));
  assert_int_equal(burn_module_num_params(burn_graph_module(graph)), 0);
  burn_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs_with_and_without_passes),
                                     cmocka_unit_test(batch_norm_goes_into_conv),
                                     cmocka_unit_test(refuses_with_a_reason),
                                     cmocka_unit_test(hostile_steps_are_told),
                                     cmocka_unit_test(integers_stay_exact),
                                     cmocka_unit_test(no_boxes_take_no_time),
                                     cmocka_unit_test(many_pixels_become_few),
                                     cmocka_unit_test(any_beginning_is_survived),
                                     cmocka_unit_test(inputs_are_checked),
                                     cmocka_unit_test(names_are_shown_without_controls),
                                     cmocka_unit_test(gradients_reach_initializers),
                                     cmocka_unit_test(gradients_reach_a_linear_layer),
                                     cmocka_unit_test(batch_norm_follows_in_training),
                                     cmocka_unit_test(weights_of_attention_are_parameters),
                                     cmocka_unit_test(no_graph_is_told),
                                     cmocka_unit_test(relu_follows_max_pool)};
  device = burn_device_open("ndarray");
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  burn_device_close(device);
  return failed;
}
