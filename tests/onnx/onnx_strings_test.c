/* onnx_strings_test.c - graphs with strings by the public functions, on the stack in BURN_BACKEND (default ndarray), and
 * gradients by the operator. The models are those of tests/fuzz/corpus/onnx (make_corpus.py, onnx_strings and
 * onnx_gradients); what they must give comes from ONNX Runtime 1.32 and ONNX's reference, gradients from calculus. */
#include <burn/burn.h>
#include <burn/onnx.h>
#include <burn/onnx_generate.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampled.h"

static BurnDevice *device;

static BurnGraph *load_on(BurnDevice *on, const char *name, bool no_passes, BurnStatus *status) {
  char path[1024];
  const BurnGraphOptions options = {.no_passes = no_passes};
  snprintf(path, sizeof path, "%s/%s", ONNX_CORPUS, name);
  return burn_onnx_load_with(path, on, &options, status);
}

static BurnGraph *load(const char *name, bool no_passes) {
  BurnStatus status = BURN_OK;
  BurnGraph *graph = load_on(device, name, no_passes, &status);
  if (!graph) fail_msg("%s: %s", name, burn_status_message(status));
  return graph;
}

static void expect_strings(const BurnGraph *graph, const char *output, BurnShape shape, const char *const *expected) {
  BurnShape got = {0};
  size_t count = 1;
  const char *const *strings = burn_graph_strings(graph, output, &got);
  if (!strings) fail_msg("output '%s' has no strings", output);
  assert_int_equal(got.rank, shape.rank);
  for (uint32_t i = 0; i < shape.rank; i++) {
    assert_int_equal(got.dims[i], shape.dims[i]);
    count *= (size_t)shape.dims[i];
  }
  for (size_t i = 0; i < count; i++) assert_string_equal(strings[i], expected[i]);
}

static void expect_numbers(BurnTensor *x, const double *expected, size_t count) {
  double values[8];
  assert_non_null(x);
  assert_int_equal(burn_element_count(x), count);
  assert_int_equal(burn_read_f64(x, values, count), BURN_OK);
  for (size_t i = 0; i < count; i++) {
    const double distance = values[i] - expected[i];
    if (distance > 1e-4 || distance < -1e-4) fail_msg("[%zu] is %g, expected %g", i, values[i], expected[i]);
  }
}

/* Runs the graph on strings of its input x, and gives its outputs. */
static void run(BurnGraph *graph, const char *const *strings, int64_t count, BurnTensor **outputs,
                size_t output_count) {
  BurnTensor *none = NULL;
  BurnStatus status = burn_graph_set_strings(graph, "x", strings, BURN_SHAPE(count));
  if (status == BURN_OK) status = burn_graph_run(graph, &none, 1, outputs, output_count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__})

/* -- what runs --------------------------------------------------------------------------------- */

static void strings_go_in_and_out(void **state) {
  (void)state;
  for (int plain = 0; plain < 2; plain++) {
    BurnTensor *outputs[4];
    BurnGraph *graph = load("strings", plain);
    assert_true(burn_graph_input(graph, 0).strings);
    assert_int_equal(burn_graph_input(graph, 0).dtype, BURN_DTYPE_DEFAULT);
    assert_true(burn_graph_output(graph, 0).strings);
    assert_false(burn_graph_output(graph, 1).strings);
    run(graph, WORDS("a", "b", "c"), 3, outputs, 4);
    assert_null(outputs[0]);
    assert_null(outputs[3]);
    expect_strings(graph, "y", BURN_SHAPE(3), WORDS("a!", "b!", "c!"));
    expect_strings(graph, "c", BURN_SHAPE(3), WORDS("10", "20", "0"));
    expect_numbers(outputs[1], (const double[]){0, 1, 0}, 3);
    expect_numbers(outputs[2], (const double[]){10, 20, 0}, 3);
    assert_null(burn_graph_strings(graph, "B", NULL));
    assert_null(burn_graph_strings(graph, "nobody", NULL));
    /* They stay until others are set; the next run has its own. */
    BurnTensor *none = NULL, *hits = NULL;
    assert_int_equal(burn_graph_run_named(graph, (const char *[]){"x"}, &none, 1, (const char *[]){"B"}, &hits, 1),
                     BURN_OK);
    expect_numbers(hits, (const double[]){0, 1, 0}, 3);
    expect_strings(graph, "y", BURN_SHAPE(3), WORDS("a!", "b!", "c!"));
    run(graph, NULL, 0, outputs, 4);
    expect_strings(graph, "y", BURN_SHAPE(0), NULL);
    burn_drop(outputs[1]);
    burn_drop(outputs[2]);
    burn_graph_release(graph);
  }
}

static void numbers_become_strings_and_back(void **state) {
  BurnTensor *outputs[3];
  (void)state;
  BurnGraph *graph = load("strings_cast", false);
  run(graph, WORDS("3.14", " -7", "100000000", "0.1"), 4, outputs, 3);
  expect_numbers(outputs[0], (const double[]){3.14, -7, 1e8, 0.1}, 4);
  expect_numbers(outputs[1], (const double[]){3, -7, 1e8, 0}, 4);
  expect_strings(graph, "y", BURN_SHAPE(4), WORDS("3.1400001", "-7", "1e+08", "0.1"));
  for (size_t i = 0; i < 5; i++) {
    static const char *const no_numbers[] = {"", "abc", "1 2", "0x10", "9223372036854775808"};
    BurnTensor *none = NULL;
    assert_int_equal(burn_graph_set_strings(graph, "x", &no_numbers[i], BURN_SHAPE(1)), BURN_OK);
    const BurnStatus status = burn_graph_run(graph, &none, 1, outputs, 3);
    assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(burn_status_message(status), "string 0, '"));
    assert_null(burn_graph_strings(graph, "y", NULL)); /* that of the run before is gone */
  }
  burn_graph_release(graph);
}

/* A sequence, a shape, another order, rows, a branch; and the different ones, sorted. */
static void strings_are_moved(void **state) {
  (void)state;
  for (int plain = 0; plain < 2; plain++) {
    BurnTensor *outputs[3];
    BurnGraph *graph = load("strings_moved", plain);
    run(graph, WORDS("b", "a", "\xc3\xa9", "b"), 4, outputs, 3);
    expect_strings(graph, "o", BURN_SHAPE(2, 2), WORDS("a", "b", "z", "\xc3\xa4"));
    expect_strings(graph, "y", BURN_SHAPE(3), WORDS("a", "b", "\xc3\xa9"));
    expect_numbers(outputs[2], (const double[]){1, 2, 1}, 3);
    burn_graph_release(graph);
  }
}

static void words_are_cut_and_matched(void **state) {
  BurnTensor *outputs[4];
  (void)state;
  BurnGraph *graph = load("strings_words", false);
  run(graph, WORDS("quick fox", "THE", "b"), 3, outputs, 4);
  expect_strings(graph, "y", BURN_SHAPE(2), WORDS("QUICK FOX", "B"));
  expect_strings(graph, "p", BURN_SHAPE(3, 2), WORDS("quick", "fox", "THE", "", "b", ""));
  expect_numbers(outputs[2], (const double[]){2, 1, 1}, 3);
  expect_numbers(outputs[3], (const double[]){1, 0, 1}, 3);
  burn_graph_release(graph);
}

/* A clone has what a graph has from its file, and no strings of a caller. */
static void clones_begin_without_strings(void **state) {
  BurnTensor *outputs[4], *none = NULL;
  (void)state;
  BurnGraph *graph = load("strings", false);
  assert_int_equal(burn_graph_set_strings(graph, "x", WORDS("a"), BURN_SHAPE(1)), BURN_OK);
  BurnGraph *clone = burn_graph_clone(graph);
  const BurnStatus status = burn_graph_run(clone, &none, 1, outputs, 4);
  assert_non_null(
      strstr(burn_status_message(status), "input 'x' has strings: none are set; see burn_graph_set_strings"));
  burn_graph_release(graph);
  run(clone, WORDS("b"), 1, outputs, 4);
  expect_strings(clone, "y", BURN_SHAPE(1), WORDS("b!"));
  burn_drop(outputs[1]);
  burn_drop(outputs[2]);
  burn_graph_release(clone);
}

/* -- what is refused --------------------------------------------------------------------------- */

static void expect_refusal(BurnStatus status, BurnStatus code, const char *words) {
  if (burn_status_code(status) != (uint32_t)code || !strstr(burn_status_message(status), words))
    fail_msg("'%s' is not in: %s", words, burn_status_message(status));
}

static void wrong_strings_are_refused(void **state) {
  BurnTensor *outputs[4];
  (void)state;
  BurnGraph *graph = load("strings", false);
  expect_refusal(burn_graph_set_strings(graph, "z", WORDS("a"), BURN_SHAPE(1)), BURN_STATUS_NOT_FOUND,
                 "there is no input 'z'");
  expect_refusal(burn_graph_set_strings(graph, "x", WORDS("a", "b\xff"), BURN_SHAPE(2)), BURN_STATUS_INVALID_ARGUMENT,
                 "input 'x': string 1 is not UTF-8 at byte 1");
  expect_refusal(burn_graph_set_strings(graph, "x", WORDS("\xe2\x82"), BURN_SHAPE(1)), BURN_STATUS_INVALID_ARGUMENT,
                 "input 'x': string 0 is not UTF-8 at byte 0");
  expect_refusal(burn_graph_set_strings(graph, "x", WORDS("a", NULL), BURN_SHAPE(2)), BURN_STATUS_INVALID_ARGUMENT,
                 "string 1 is NULL");
  expect_refusal(burn_graph_set_strings(graph, "x", NULL, BURN_SHAPE(1)), BURN_STATUS_INVALID_ARGUMENT,
                 "string 0 is NULL");
  expect_refusal(burn_graph_set_strings(graph, "x", WORDS("a"), BURN_SHAPE(1, 1)), BURN_STATUS_INVALID_ARGUMENT,
                 "input 'x': strings [1,1], expected [-1] (-1: any size)");
  expect_refusal(burn_graph_set_strings(graph, "x", WORDS("a"), BURN_SHAPE(-1)), BURN_STATUS_INVALID_ARGUMENT,
                 "strings of 1 axes, negative or too large");
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(1), BURN_DTYPE_F32);
  expect_refusal(burn_graph_run(graph, &x, 1, outputs, 4), BURN_STATUS_INVALID_ARGUMENT,
                 "input 'x' has strings: NULL is expected in its place");
  burn_graph_release(graph);
  graph = load("gemm", false);
  expect_refusal(burn_graph_set_strings(graph, "x", WORDS("a"), BURN_SHAPE(1)), BURN_STATUS_INVALID_ARGUMENT,
                 "input 'x' has no strings");
  burn_graph_release(graph);
}

/* 1025 times 1 MiB: what a graph with a long string in it makes by StringConcat or Tile, as well. */
static void strings_have_an_end(void **state) {
  enum { COUNT = 1025, BYTES = 1 << 20 };
  static const char *strings[COUNT];
  (void)state;
  if (!runs_all()) skip(); /* it takes 1 GiB */
  char *text = malloc(BYTES);
  assert_non_null(text);
  memset(text, 'a', BYTES - 1);
  text[BYTES - 1] = '\0';
  for (size_t i = 0; i < COUNT; i++) strings[i] = text;
  BurnGraph *graph = load("strings", false);
  expect_refusal(burn_graph_set_strings(graph, "x", strings, BURN_SHAPE(COUNT)), BURN_STATUS_OUT_OF_MEMORY,
                 "no memory for 1025 strings, or they have more than 1 GiB");
  assert_int_equal(burn_graph_set_strings(graph, "x", strings, BURN_SHAPE(COUNT - 1)), BURN_OK);
  burn_graph_release(graph);
  free(text);
}

static void wrong_files_are_refused(void **state) {
  static const struct {
    const char *name, *words;
  } files[] = {{"strings_zero", "tensor 's': string 0 has a zero byte at byte 1"},
               {"strings_bytes", "tensor 's': string 1 is not UTF-8 at byte 1"},
               {"strings_few", "tensor 's' has 2 listed strings, expected 3"},
               {"strings_raw", "tensor 's' has 0 listed strings, expected 1"},
               {"strings_huge", "too large for memory"}};
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    BurnStatus status = BURN_OK;
    assert_null(load_on(device, files[i].name, false, &status));
    if (!strstr(burn_status_message(status), files[i].words))
      fail_msg("%s: %s", files[i].name, burn_status_message(status));
  }
}

static void operators_say_what_they_cannot_take(void **state) {
  static const struct {
    const char *name, *words;
  } graphs[] = {{"strings_relu", "(Relu): Relu does not take strings here"}, {"strings_pattern", "pattern \"(a\""}};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    BurnTensor *none = NULL, *y = NULL;
    BurnGraph *graph = load(graphs[i].name, false);
    assert_int_equal(burn_graph_set_strings(graph, "x", WORDS("a"), BURN_SHAPE(1)), BURN_OK);
    const BurnStatus status = burn_graph_run(graph, &none, 1, &y, 1);
    assert_null(y);
    if (!strstr(burn_status_message(status), graphs[i].words)) fail_msg("%s", burn_status_message(status));
    burn_graph_release(graph);
  }
}

static void strings_are_not_written_as_c(void **state) {
  char path[1024];
  const BurnGenerateOptions options = {.name = "net"};
  (void)state;
  snprintf(path, sizeof path, "%s/strings", ONNX_CORPUS);
  const BurnStatus status = burn_onnx_generate(path, ".", device, &options, NULL);
  expect_refusal(status, BURN_STATUS_UNIMPLEMENTED, "'s': strings are not written as C");
}

/* -- gradients --------------------------------------------------------------------------------- */

/* x^3 of x = [1, 2; -3, 4], once and twice; and of e^x w by w, where e^x is a value of the graph: sums of its columns. */
static void gradients_are_computed(void **state) {
  static const struct {
    const char *name;
    double expected[4];
  } graphs[] = {{"gradient", {3, 12, 27, 48}},
                {"gradient_twice", {6, 12, -18, 24}},
                {"gradient_weight", {2.768068896, 2.768068896, 61.98720613, 61.98720613}}};
  BurnDevice *training = burn_device_open_training(burn_device_name(device));
  (void)state;
  for (size_t i = 0; i < 2 * sizeof graphs / sizeof graphs[0]; i++) {
    BurnStatus status = BURN_OK;
    BurnTensor *x = burn_tensor_f32(training, (const float[]){1, 2, -3, 4}, BURN_SHAPE(2, 2)), *y = NULL;
    BurnGraph *graph = load_on(training, graphs[i / 2].name, i % 2, &status);
    if (!graph) fail_msg("%s: %s", graphs[i / 2].name, burn_status_message(status));
    status = burn_graph_run(graph, &x, 1, &y, 1);
    if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
    assert_false(burn_is_tracked(y));
    expect_numbers(y, graphs[i / 2].expected, 4);
    burn_graph_release(graph);
  }
  burn_device_close(training);
}

static void gradients_without_autodiff_are_refused(void **state) {
  BurnStatus status = BURN_OK;
  (void)state;
  if (burn_device_is_autodiff(device)) return;
  assert_null(load_on(device, "gradient", false, &status));
  expect_refusal(status, BURN_STATUS_UNIMPLEMENTED, "open it with burn_device_open_training");
}

static void gradients_of_nothing_are_refused(void **state) {
  BurnDevice *training = burn_device_open_training(burn_device_name(device));
  (void)state;
  for (int few = 0; few < 2; few++) {
    BurnStatus status = BURN_OK;
    assert_null(load_on(training, few ? "gradient_few" : "gradient_nobody", false, &status));
    expect_refusal(status, BURN_STATUS_INVALID_ARGUMENT, "(Gradient): its inputs are not as many as xs and zs");
  }
  burn_device_close(training);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(strings_go_in_and_out),
                                     cmocka_unit_test(numbers_become_strings_and_back),
                                     cmocka_unit_test(strings_are_moved),
                                     cmocka_unit_test(words_are_cut_and_matched),
                                     cmocka_unit_test(clones_begin_without_strings),
                                     cmocka_unit_test(wrong_strings_are_refused),
                                     cmocka_unit_test(strings_have_an_end),
                                     cmocka_unit_test(wrong_files_are_refused),
                                     cmocka_unit_test(operators_say_what_they_cannot_take),
                                     cmocka_unit_test(strings_are_not_written_as_c),
                                     cmocka_unit_test(gradients_are_computed),
                                     cmocka_unit_test(gradients_without_autodiff_are_refused),
                                     cmocka_unit_test(gradients_of_nothing_are_refused)};
  const char *stack = getenv("BURN_BACKEND");
  device = burn_device_open(stack && stack[0] ? stack : "ndarray");
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  burn_device_close(device);
  return failed;
}
