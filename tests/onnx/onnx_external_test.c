/* onnx_external_test.c - data that a model keeps in files beside it: y = x * w + b, with w and b in other files, in all
 * the ways of saying where; and what is refused, with which words. */
#include <burn/burn.h>
#include <burn/onnx.h>

#include "onnx.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "file_testing.h"
#include "forked.h"

enum { ENTRIES = 3, FLOAT32 = 1, UINT16 = 4, INT4 = 22 };

static BurnDevice *device;
static char folder[64];

/* Where a tensor of two elements lies; NULL: the file does not say. */
typedef struct Place {
  const char *location, *offset, *length;
  int32_t type; /* of ONNX */
} Place;

/* -- the model ---------------------------------------------------------------------------------- */

typedef struct External {
  Onnx__TensorProto tensor;
  Onnx__StringStringEntryProto entries[ENTRIES];
  Onnx__StringStringEntryProto *list[ENTRIES];
  int64_t dims[1];
} External;

static void add_entry(External *x, const char *key, const char *value) {
  if (!value) return;
  const size_t i = x->tensor.n_external_data++;
  onnx__string_string_entry_proto__init(&x->entries[i]);
  x->entries[i].key = (char *)key;
  x->entries[i].value = (char *)value;
  x->list[i] = &x->entries[i];
}

static void set_external(External *x, const char *name, const Place *place) {
  onnx__tensor_proto__init(&x->tensor);
  x->dims[0] = 2;
  x->tensor.name = (char *)name;
  x->tensor.n_dims = 1;
  x->tensor.dims = x->dims;
  x->tensor.has_data_type = true;
  x->tensor.data_type = place->type;
  x->tensor.has_data_location = true;
  x->tensor.data_location = 1;
  x->tensor.external_data = x->list;
  add_entry(x, "location", place->location);
  add_entry(x, "offset", place->offset);
  add_entry(x, "length", place->length);
}

static Onnx__NodeProto node_of(const char *op, char **inputs, size_t count, char **output) {
  Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
  node.op_type = (char *)op;
  node.n_input = count;
  node.input = inputs;
  node.n_output = 1;
  node.output = output;
  return node;
}

/* model.onnx: both initializers become float32 by the dtype of x before they are used. */
static void write_model(const Place *w, const Place *b) {
  char text[][2] = {"x", "w", "b", "v", "a", "h", "y"};
  char *names[] = {text[0], text[1], text[2], text[3], text[4], text[5], text[6]};
  char *cast_w[] = {names[1], names[0]}, *cast_b[] = {names[2], names[0]};
  char *product[] = {names[0], names[3]}, *sum[] = {names[5], names[4]};
  Onnx__NodeProto nodes[] = {node_of("CastLike", cast_w, 2, &names[3]), node_of("CastLike", cast_b, 2, &names[4]),
                             node_of("Mul", product, 2, &names[5]), node_of("Add", sum, 2, &names[6])};
  Onnx__NodeProto *node_list[] = {&nodes[0], &nodes[1], &nodes[2], &nodes[3]};
  External both[2] = {0};
  set_external(&both[0], "w", w);
  set_external(&both[1], "b", b);
  Onnx__TensorProto *tensors[] = {&both[0].tensor, &both[1].tensor};
  Onnx__ValueInfoProto values[] = {ONNX__VALUE_INFO_PROTO__INIT, ONNX__VALUE_INFO_PROTO__INIT};
  Onnx__ValueInfoProto *inputs[] = {&values[0]}, *outputs[] = {&values[1]};
  values[0].name = names[0];
  values[1].name = names[6];
  Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
  graph.n_node = 4;
  graph.node = node_list;
  graph.n_initializer = 2;
  graph.initializer = tensors;
  graph.n_input = graph.n_output = 1;
  graph.input = inputs;
  graph.output = outputs;
  Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[] = {&opset};
  opset.has_version = true;
  opset.version = 21;
  Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
  model.has_ir_version = true;
  model.ir_version = 10;
  model.n_opset_import = 1;
  model.opset_import = opsets;
  model.graph = &graph;
  uint8_t bytes[2048];
  char path[128];
  assert_true(onnx__model_proto__get_packed_size(&model) <= sizeof bytes);
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  file_write(path, bytes, onnx__model_proto__pack(&model, bytes));
}

static BurnGraph *load(const Place *w, const Place *b, BurnStatus *status) {
  char path[128];
  write_model(w, b);
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  return burn_onnx_load(path, device, status);
}

static void write_beside(const char *name, const void *bytes, size_t count) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file_write(path, bytes, count);
}

/* x = [10, 100]. */
static void expect(const Place *w, const Place *b, float first, float second) {
  BurnStatus status = BURN_OK;
  float values[2];
  BurnGraph *graph = load(w, b, &status);
  if (!graph) fail_msg("%s", burn_status_message(status));
  BurnTensor *x = burn_tensor_f32(device, (const float[]){10, 100}, BURN_SHAPE(2)), *y = NULL;
  status = burn_graph_run(graph, &x, 1, &y, 1);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  assert_int_equal(burn_read_f32(y, values, 2), BURN_OK);
  assert_true(values[0] == first && values[1] == second);
  burn_graph_release(graph);
}

/* -- what is read ------------------------------------------------------------------------------- */

/* w = [1, 2] and b = [3, 4], with a hole between them as writers leave for whole pages. */
static void several_tensors_share_a_file(void **state) {
  static float file[1024 + 2] = {1, 2};
  (void)state;
  file[1024] = 3;
  file[1025] = 4;
  write_beside("weights.bin", file, sizeof file);
  const Place w = {"weights.bin", "0", "8", FLOAT32}, b = {"weights.bin", "4096", "8", FLOAT32};
  expect(&w, &b, 13, 204);
  expect(&b, &w, 31, 402);
}

/* What is not said: an offset of 0, and as many bytes as the tensor has; what follows them is another's. */
static void offset_and_length_may_be_absent(void **state) {
  const float file[] = {1, 2, 3, 4, 5};
  (void)state;
  write_beside("weights.bin", file, sizeof file);
  const Place w = {"weights.bin", NULL, NULL, FLOAT32}, b = {"./weights.bin", "8", NULL, FLOAT32};
  expect(&w, &b, 13, 204);
}

static void files_in_a_subfolder_are_read(void **state) {
  char path[128], file[160];
  const float values[] = {1, 2, 3, 4};
  (void)state;
  snprintf(path, sizeof path, "%s/data", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  write_beside("data/weights.bin", values, sizeof values);
  const Place w = {"data/weights.bin", "8", "8", FLOAT32}, b = {"data//./weights.bin", "0", "8", FLOAT32};
  expect(&w, &b, 31, 402);
  snprintf(file, sizeof file, "%s/weights.bin", path);
  assert_int_equal(remove(file), 0);
  assert_int_equal(rmdir(path), 0);
}

/* u16 [40000, 65535]; i4 of -8 and 7, packed low half first, at an odd place. */
static void dtypes_of_few_bits_are_read(void **state) {
  const uint8_t file[] = {0x40, 0x9c, 0xff, 0xff, 0x78};
  (void)state;
  write_beside("weights.bin", file, sizeof file);
  const Place w = {"weights.bin", "0", "4", UINT16}, b = {"weights.bin", "4", "1", INT4};
  expect(&w, &b, 400000 - 8, 6553500 + 7);
}

/* -- what is refused ---------------------------------------------------------------------------- */

static const struct {
  Place w;
  const char *words;
} refused[] = {
    {{"short.bin", "4", "8", FLOAT32}, "external data 'short.bin' has 11 bytes, but 8 are wanted from 4 on"},
    {{"short.bin", "12", NULL, FLOAT32}, "external data 'short.bin' has 11 bytes, but 8 are wanted from 12 on"},
    {{"short.bin", "18446744073709551600", NULL, FLOAT32}, "but 8 are wanted from 18446744073709551600 on"},
    {{"short.bin", "99999999999999999999", NULL, FLOAT32}, "external data at '99999999999999999999'"},
    {{"short.bin", "0", "7", FLOAT32}, "with length '7', expected 8 bytes"},
    {{"short.bin", "0", "4", INT4}, "with length '4', expected 1 bytes"},
    {{"short.bin", "-1", NULL, FLOAT32}, "external data at '-1'"},
    {{"short.bin", "0x0", NULL, FLOAT32}, "external data at '0x0'"},
    {{NULL, "0", "8", FLOAT32}, "external data '' is refused"},
    {{"/etc/hostname", NULL, NULL, FLOAT32}, "external data '/etc/hostname' is refused"},
    {{"data/../../secret", NULL, NULL, FLOAT32}, "external data 'data/../../secret' is refused"},
    {{"absent.bin", NULL, NULL, FLOAT32}, "external data 'absent.bin' cannot be opened"},
    {{"short.bin/x", NULL, NULL, FLOAT32}, "external data 'short.bin/x' cannot be opened"},
    {{"link.bin", NULL, NULL, FLOAT32}, "external data 'link.bin' cannot be opened"},
    {{".", NULL, NULL, FLOAT32}, "external data '.' is not a regular file"},
};

static void refuses_with_a_reason(void **state) {
  char link[128];
  (void)state;
  const Place b = {"short.bin", NULL, NULL, FLOAT32};
  write_beside("short.bin", "elevenbytes", 11);
  snprintf(link, sizeof link, "%s/link.bin", folder);
  assert_int_equal(symlink("short.bin", link), 0);
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    BurnStatus status = BURN_OK;
    assert_null(load(&refused[i].w, &b, &status));
    const char *message = burn_status_message(status);
    if (!strstr(message, refused[i].words)) fail_msg("'%s' is not in: %s", refused[i].words, message);
    assert_non_null(strstr(message, "tensor 'w'"));
  }
}

/* -- all ------------------------------------------------------------------------------------------ */

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
      cmocka_unit_test(several_tensors_share_a_file), cmocka_unit_test(offset_and_length_may_be_absent),
      cmocka_unit_test(files_in_a_subfolder_are_read), cmocka_unit_test(dtypes_of_few_bits_are_read),
      cmocka_unit_test(refuses_with_a_reason)};
  return cmocka_run_group_tests(tests, open_all, close_all);
}
