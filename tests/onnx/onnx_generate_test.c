/* onnx_generate_test.c - small graphs written as C: the statements by hand, hostile names, what is refused with which
 * words, and a graph of 4,000 nodes. Whole models: onnx_generate_models_test.c. */
#include <burn/burn.h>
#include <burn/file.h>
#include <burn/onnx_generate.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

static BurnDevice *device;

/* -- models: messages of protobuf, written field by field -------------------------------------- */

typedef struct Bytes {
  uint8_t *data;
  size_t count, room;
} Bytes;

static void put(Bytes *to, const void *data, size_t count) {
  if (to->count + count > to->room) {
    to->room = 2 * (to->room + count);
    to->data = realloc(to->data, to->room);
    assert_non_null(to->data);
  }
  memcpy(to->data + to->count, data, count);
  to->count += count;
}

static void put_varint(Bytes *to, uint64_t value) {
  for (; value > 127; value >>= 7) put(to, &(uint8_t){(uint8_t)(value | 128)}, 1);
  put(to, &(uint8_t){(uint8_t)value}, 1);
}

static void put_int(Bytes *to, unsigned field, uint64_t value) {
  put_varint(to, field << 3);
  put_varint(to, value);
}

static void put_text(Bytes *to, unsigned field, const char *text) {
  put_varint(to, field << 3 | 2);
  put_varint(to, strlen(text));
  put(to, text, strlen(text));
}

/* A message in a message; what it holds is freed. */
static void put_message(Bytes *to, unsigned field, Bytes part) {
  put_varint(to, field << 3 | 2);
  put_varint(to, part.count);
  if (part.count) put(to, part.data, part.count);
  free(part.data);
}

static Bytes node(const char *op, const char *name, const char *a, const char *b, const char *output) {
  Bytes bytes = {NULL, 0, 0};
  put_text(&bytes, 1, a);
  if (b) put_text(&bytes, 1, b);
  put_text(&bytes, 2, output);
  put_text(&bytes, 3, name);
  put_text(&bytes, 4, op);
  return bytes;
}

/* f32 of that size, with these elements or their first one again and again. */
static Bytes floats(const char *name, int64_t rows, int64_t columns, float value) {
  Bytes bytes = {NULL, 0, 0}, data = {NULL, 0, 0};
  if (rows) put_int(&bytes, 1, (uint64_t)rows);
  put_int(&bytes, 1, (uint64_t)columns);
  put_int(&bytes, 2, 1);
  put_text(&bytes, 8, name);
  for (int64_t i = 0; i < (rows ? rows : 1) * columns; i++) put(&data, &value, sizeof value);
  put_message(&bytes, 9, data);
  return bytes;
}

/* [axis, 2] f32; the axis has a name, and any size. */
static Bytes value_info(const char *name, const char *axis) {
  Bytes bytes = {NULL, 0, 0}, type = {NULL, 0, 0}, tensor = {NULL, 0, 0}, shape = {NULL, 0, 0},
        dims[2] = {{NULL, 0, 0}};
  put_text(&dims[0], 2, axis);
  put_int(&dims[1], 1, 2);
  put_message(&shape, 1, dims[0]);
  put_message(&shape, 1, dims[1]);
  put_int(&tensor, 1, 1);
  put_message(&tensor, 2, shape);
  put_message(&type, 1, tensor);
  put_text(&bytes, 1, name);
  put_message(&bytes, 2, type);
  return bytes;
}

/* A model of a graph (taken) with one input and output, in a file of the folder. */
static void write_model(const char *path, Bytes graph, const char *input, const char *axis, const char *output) {
  Bytes model = {NULL, 0, 0}, opset = {NULL, 0, 0};
  put_message(&graph, 11, value_info(input, axis));
  put_message(&graph, 12, value_info(output, axis));
  put_int(&opset, 2, 17);
  put_int(&model, 1, 8);
  put_message(&model, 7, graph);
  put_message(&model, 8, opset);
  assert_int_equal(burn_file_write(path, model.data, model.count), BURN_OK);
  free(model.data);
}

/* -- what is written ---------------------------------------------------------------------------- */

static const char folder[] = ONNX_GENERATED;

static BurnStatus generate(const char *path, const char *sizes, BurnGenerateReport *report) {
  const BurnGenerateOptions options = {.name = "net", .sizes = sizes, .overwrite = true};
  return burn_onnx_generate(path, folder, device, &options, report);
}

/* A file of the folder, for free(). */
static char *written(const char *name) {
  char path[1024];
  uint8_t *bytes = NULL;
  size_t count;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(burn_file_read(path, (size_t)1 << 26, &bytes, &count), BURN_OK);
  return (char *)bytes;
}

static void expect_text(const char *name, const char *words) {
  char *text = written(name);
  if (!strstr(text, words)) fail_msg("'%s' is not in %s:\n%s", words, name, text);
  free(text);
}

static void compiles(void) {
  char command[4096];
  snprintf(command, sizeof command, "%s '%s/net.c' -o '%s/net.o'", ONNX_COMPILE, folder, folder);
  assert_int_equal(system(command), 0);
}

static void from_corpus(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", ONNX_CORPUS, name);
  const BurnStatus status = generate(path, "n=2", NULL);
  if (status != BURN_OK) fail_msg("%s: %s", name, burn_status_message(status));
  compiles();
}

/* The models of tests/fuzz/corpus/onnx, whose nodes stand in make_corpus.py; the statements are by hand. */
static const struct {
  const char *name, *header, *source;
} golden[] = {
    {"gemm", "X(BurnLinear, w, \"2 -> 2\")",
     "  BurnTensor *x_2 = burn_linear_forward(&m->w, x); /* [2, 2] */\n  x_2 = burn_relu(x_2); /* [2, 2] */\n"},
    {"common", "BurnTensor *net_forward(const Net *m, BurnTensor *x);",
     "  BurnTensor *x_2 = burn_exp(x); /* [2, 2] */\n  BurnTensor *x_3 = burn_add(burn_clone(x_2), burn_clone(x_2)); "
     "/* [2, 2] */\n  burn_drop(x_2);\n  return x_3;\n"},
    {"if", "BURN_MODULE(Net, NET_FIELDS);", "  BurnTensor *x_2 = burn_neg(x); /* [2, 2] */\n  return x_2;\n"},
    {"fold", "X(BurnSize, inputs,",
     "burn_add(x, burn_tensor_f32(device, (const float[]){-1, -2, -3, -4}, BURN_SHAPE(2, 2)))"},
    {"batch_norm", "X(BurnBatchNorm, s, \"2\")", "burn_batch_norm_forward(&m->s, "}};

static void statements_are_those_by_hand(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
    from_corpus(golden[i].name);
    expect_text("net.h", golden[i].header);
    expect_text("net.c", golden[i].source);
  }
}

/* i64 of rank 1, or 0 without elements. */
static Bytes integers(const char *name, const int64_t *values, size_t count) {
  Bytes bytes = {NULL, 0, 0};
  if (count != 1) put_int(&bytes, 1, count);
  put_int(&bytes, 2, 7);
  for (size_t i = 0; i < count; i++) put_int(&bytes, 7, (uint64_t)values[i]);
  put_text(&bytes, 8, name);
  return bytes;
}

static void add_integer(Bytes *graph, const char *name, int64_t value) {
  put_message(graph, 5, integers(name, &value, 1));
}

static void add_cast(Bytes *graph, const char *from, const char *to, uint64_t dtype) {
  Bytes cast = node("Cast", to, from, NULL, to), attribute = {NULL, 0, 0};
  put_text(&attribute, 1, "to");
  put_int(&attribute, 3, dtype);
  put_int(&attribute, 20, 2);
  put_message(&cast, 5, attribute);
  put_message(graph, 1, cast);
}

/* A tensor of `value` with the shape of `like`. */
static void add_filled(Bytes *graph, const char *like, int64_t value, const char *output) {
  Bytes filled = node("ConstantOfShape", output, "shape", NULL, output), attribute = {NULL, 0, 0},
        tensor = {NULL, 0, 0};
  put_message(graph, 1, node("Shape", "shape", like, NULL, "shape"));
  put_int(&tensor, 1, 1);
  put_int(&tensor, 2, 7);
  put_int(&tensor, 7, (uint64_t)value);
  put_text(&attribute, 1, "value");
  put_message(&attribute, 5, tensor);
  put_int(&attribute, 20, 4);
  put_message(&filled, 5, attribute);
  put_message(graph, 1, filled);
}

/* Integers are written as they are: no double is 2^53 + 1, and 3000000000.0 is no bound of integers to a reader. */
static void integers_are_no_doubles(void **state) {
  (void)state;
  char path[1024];
  const int64_t margins[] = {0, 1, 0, 0};
  Bytes graph = {NULL, 0, 0};
  add_integer(&graph, "least", INT64_MIN);
  add_integer(&graph, "low", INT64_C(-3000000000));
  add_integer(&graph, "high", (INT64_C(1) << 53) + 1);
  add_integer(&graph, "fill", (INT64_C(1) << 62) + 1);
  put_message(&graph, 5, integers("margins", margins, 4));
  add_cast(&graph, "x", "i", 7);
  Bytes clip = node("Clip", "clip", "i", "low", "c"), pad = node("Pad", "pad", "a", "margins", "p");
  put_text(&clip, 1, "high");
  put_text(&pad, 1, "fill");
  put_message(&graph, 1, clip);
  put_message(&graph, 1, node("Clip", "above", "c", "least", "a"));
  put_message(&graph, 1, pad);
  add_filled(&graph, "p", -(INT64_C(1) << 53) - 1, "f");
  put_message(&graph, 1, node("Add", "sum", "p", "f", "s"));
  add_cast(&graph, "s", "y", 1);
  snprintf(path, sizeof path, "%s/integers.onnx", folder);
  write_model(path, graph, "x", "n", "y");
  const BurnStatus status = generate(path, NULL, NULL);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  compiles();
  expect_text("net.c", "burn_clamp_max_i64(burn_clamp_min_i64(x_2, -3000000000), 9007199254740993)");
  expect_text("net.c", "burn_clamp_min_i64(x_2, INT64_MIN)");
  expect_text("net.c", "burn_pad_i64(x_2, (const int64_t[]){1, 0}, 1, BURN_PAD_CONSTANT, 4611686018427387905)");
  expect_text("net.c", "burn_full_i64(device, BURN_SHAPE(n, 3), BURN_DTYPE_I64, -9007199254740993)");
}

/* -- names --------------------------------------------------------------------------------------- */

static const char *const evil[] = {"*/ int injected; /*",
                                   "a\"; system(\"x\"); \"",
                                   "int",
                                   "int ",
                                   "\\\n#define X",
                                   "\?\?/",
                                   "9\xc3\xbc",
                                   "a.weight",
                                   "a/weight",
                                   "burn_add"};
enum { EVIL = sizeof evil / sizeof evil[0] };

/* y = ((x + c0) + c1) + .. with every name an attack; constants of 17 elements stand in the weights file. */
static void hostile_names_become_identifiers(void **state) {
  (void)state;
  char path[1024];
  Bytes graph = {NULL, 0, 0};
  const char *x = "\"in*/put\"";
  for (size_t i = 0; i < EVIL; i++) {
    char *output = malloc(64);
    assert_non_null(output);
    snprintf(output, 64, "*/%zu\"", i);
    put_message(&graph, 5, floats(evil[i], 9, 2, 1));
    put_message(&graph, 1, node("MatMul", evil[i], x, "w\"*/", output));
    free(i ? (char *)(uintptr_t)x : NULL);
    x = output;
  }
  put_message(&graph, 5, floats("w\"*/", 2, 2, 1));
  for (size_t i = 0; i < EVIL; i++) {
    char *output = malloc(64);
    assert_non_null(output);
    snprintf(output, 64, "sum*/%zu\"", i);
    put_message(&graph, 1, node("Add", "", x, evil[i], output));
    free((char *)(uintptr_t)x);
    x = output;
  }
  snprintf(path, sizeof path, "%s/evil.onnx", folder);
  write_model(path, graph, "\"in*/put\"", "ba\"*/tch", x);
  free((char *)(uintptr_t)x);
  const BurnStatus status = generate(path, "ba\"*/tch=9", NULL);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  compiles();
  static const char *const files[] = {"net.c", "net.h", "main.c", "CMakeLists.txt"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char *text = written(files[i]);
    assert_null(strstr(text, "int injected"));
    assert_null(strstr(text, "system("));
    for (const char *c = text; *c; c++) assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    free(text);
  }
}

static void a_name_for_the_module_is_made_one(void **state) {
  (void)state;
  char path[1024];
  BurnGenerateReport report;
  snprintf(path, sizeof path, "%s/gemm", ONNX_CORPUS);
  const BurnGenerateOptions options = {.name = "../9 silero*/vad", .sizes = "n=2", .overwrite = true};
  assert_int_equal(burn_onnx_generate(path, folder, device, &options, &report), BURN_OK);
  assert_string_equal(report.name, "N9SileroVad");
  assert_int_equal(report.layers, 1);
  assert_int_equal(report.tensors, 1);
  expect_text("n9_silero_vad.h", "BURN_MODULE(N9SileroVad, N9_SILERO_VAD_FIELDS);");
}

/* -- axes ------------------------------------------------------------------------------------------ */

static void axes_stay_open_or_get_a_size(void **state) {
  (void)state;
  char path[1024];
  Bytes graph = {NULL, 0, 0};
  put_message(&graph, 1, node("Flatten", "f", "in", NULL, "flat"));
  put_message(&graph, 1, node("Shape", "s", "in", NULL, "shape"));
  put_message(&graph, 1, node("Reshape", "r", "flat", "shape", "out"));
  snprintf(path, sizeof path, "%s/open.onnx", folder);
  write_model(path, graph, "in", "batch", "out");
  assert_int_equal(generate(path, NULL, NULL), BURN_OK);
  compiles();
  expect_text("net.c", "const int64_t batch = burn_dim(in, 0);");
  expect_text("net.c", "BURN_SHAPE(batch, 2)");
  assert_int_equal(generate(path, "batch=4", NULL), BURN_OK);
  expect_text("net.c", "BURN_SHAPE(4, 2)");
  expect_text("net.h", "in ([4, 2], f32)");
}

static void sizes_are_of_axes_that_are_there(void **state) {
  (void)state;
  static const struct {
    const char *sizes, *message;
  } rows[] = {
      {"bach=1", "sizes: no open axis and no input of one number is 'bach'. Did you mean 'batch'? There are 'batch'"},
      {"out=3", "sizes: no open axis and no input of one number is 'out'. There are 'batch'"},
      {"in=3", "sizes: no open axis and no input of one number is 'in'. There are 'batch'"},
      {"batch=4, batch=4",
       "sizes: no open axis and no input of one number is ' batch'. Did you mean 'batch'? There are "
       "'batch'"},
      {"batch=4,batch=2", "sizes: 'batch' is given twice"},
      {"batch", "sizes: 'batch' where a name, '=' and an integer are expected"},
      {"batch=", "sizes: 'batch=' where a name, '=' and an integer are expected"},
      {"=3", "sizes: '=3' where a name, '=' and an integer are expected"},
      {"batch=abc", "sizes: 'batch=abc' where a name, '=' and an integer are expected"},
      {"batch=1x", "sizes: 'batch=1x' where a name, '=' and an integer are expected"},
      {"batch= 1", "sizes: 'batch= 1' where a name, '=' and an integer are expected"},
      {"batch=-", "sizes: 'batch=-' where a name, '=' and an integer are expected"},
      {"batch=99999999999999999999",
       "sizes: 'batch=99999999999999999999' where a name, '=' and an integer are expected"},
      {"batch=4,", "sizes: '' where a name, '=' and an integer are expected"},
      {"batch=0", "sizes: size 0 of axis 'batch', 1 to 2147483647 expected"},
      {"batch=2147483648", "sizes: size 2147483648 of axis 'batch', 1 to 2147483647 expected"}};
  char path[1024];
  Bytes graph = {NULL, 0, 0};
  put_message(&graph, 1, node("Tanh", "t", "in", NULL, "out"));
  snprintf(path, sizeof path, "%s/sizes.onnx", folder);
  write_model(path, graph, "in", "batch", "out");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const BurnStatus status = generate(path, rows[i].sizes, NULL);
    assert_string_equal(burn_status_message(status), rows[i].message);
    assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  }
}

/* -- refused ----------------------------------------------------------------------------------------- */

static void all_that_cannot_be_written_stands_in_one_message(void **state) {
  (void)state;
  char path[1024];
  Bytes graph = {NULL, 0, 0};
  put_message(&graph, 1, node("Hardmax", "first", "in", NULL, "a"));
  put_message(&graph, 1, node("Hardmax", "second", "a", NULL, "b"));
  put_message(&graph, 1, node("CumSum", "third", "b", "axis", "out"));
  put_message(&graph, 5, floats("axis", 0, 1, 0));
  snprintf(path, sizeof path, "%s/refused.onnx", folder);
  write_model(path, graph, "in", "batch", "out");
  const BurnStatus status = generate(path, NULL, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_UNIMPLEMENTED);
  const char *message = burn_status_message(status);
  assert_non_null(strstr(message, "2 kinds of nodes cannot be written as C:"));
  assert_non_null(strstr(message, "Hardmax (2 nodes: first, ..)"));
  assert_non_null(strstr(message, "CumSum (1 node: third)"));
}

/* A shape that follows from the data: whatever was made to find that out is dropped. */
static void what_is_refused_keeps_no_tensor(void **state) {
  (void)state;
  char path[1024];
  Bytes graph = {NULL, 0, 0};
  put_message(&graph, 1, node("ArgMax", "", "in", NULL, "places"));
  put_message(&graph, 1, node("Squeeze", "", "places", NULL, "flat"));
  put_message(&graph, 1, node("Shape", "", "in", NULL, "shape"));
  put_message(&graph, 1, node("Add", "", "flat", "shape", "sum"));
  put_message(&graph, 1, node("ConstantOfShape", "unknown", "sum", NULL, "out"));
  snprintf(path, sizeof path, "%s/unknown.onnx", folder);
  write_model(path, graph, "in", "batch", "out");
  const int64_t before = burn_device_memory(device).live_tensors;
  const BurnStatus status = generate(path, NULL, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_UNIMPLEMENTED);
  assert_non_null(strstr(burn_status_message(status), "ConstantOfShape (1 node: unknown)"));
  assert_int_equal(burn_device_memory(device).live_tensors, before);
}

static void files_that_are_there_stay(void **state) {
  (void)state;
  char path[1024];
  from_corpus("gemm");
  snprintf(path, sizeof path, "%s/common", ONNX_CORPUS);
  const BurnGenerateOptions options = {.name = "net", .sizes = "n=2"};
  const BurnStatus status = burn_onnx_generate(path, folder, device, &options, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_FAILED_PRECONDITION);
  expect_text("net.c", "burn_linear_forward");
}

/* -- size --------------------------------------------------------------------------------------------- */

static void four_thousand_nodes_take_seconds(void **state) {
  (void)state;
  char path[1024], x[32] = "in", y[32], w[32];
  Bytes graph = {NULL, 0, 0};
  for (int i = 0; i < 2000; i++) {
    snprintf(y, sizeof y, "h%d", i);
    snprintf(w, sizeof w, "layer.%d.weight", i);
    put_message(&graph, 5, floats(w, 2, 2, 0.5f));
    put_message(&graph, 1, node("MatMul", "", x, w, y));
    snprintf(x, sizeof x, "t%d", i);
    put_message(&graph, 1, node("Tanh", "", y, NULL, x));
  }
  snprintf(path, sizeof path, "%s/large.onnx", folder);
  write_model(path, graph, "in", "batch", x);
  BurnGenerateReport report;
  const clock_t before = clock();
  assert_int_equal(generate(path, NULL, &report), BURN_OK);
  assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 20); /* 0.3 s here; sanitizers take more */
  assert_int_equal(report.steps, 4000);
  assert_int_equal(report.layers, 2000);
}

static int start(void **state) {
  (void)state;
  (void)mkdir(folder, 0777);
  device = burn_device_open("ndarray");
  return burn_device_status(device) != BURN_OK;
}
static int end(void **state) {
  (void)state;
  burn_device_close(device);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(statements_are_those_by_hand),
      cmocka_unit_test(integers_are_no_doubles),
      cmocka_unit_test(hostile_names_become_identifiers),
      cmocka_unit_test(a_name_for_the_module_is_made_one),
      cmocka_unit_test(axes_stay_open_or_get_a_size),
      cmocka_unit_test(sizes_are_of_axes_that_are_there),
      cmocka_unit_test(all_that_cannot_be_written_stands_in_one_message),
      cmocka_unit_test(what_is_refused_keeps_no_tensor),
      cmocka_unit_test(files_that_are_there_stay),
      cmocka_unit_test(four_thousand_nodes_take_seconds),
  };
  return cmocka_run_group_tests(tests, start, end);
}
