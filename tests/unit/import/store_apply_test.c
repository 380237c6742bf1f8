/* store_apply_test.c - stores into modules: names, PyTorch's habits, filters, reports; a real file and its outputs. */
#include "store_testing.h"

#include <burn/nn.h>
#include <burn/numpy.h>
#include <burn/train/dataset.h>

/* clang-format off */
#define HEAD_CASES(X, Head)                   \
  X(Head, BurnIdentity, Off,   "as it is")    \
  X(Head, BurnLinear,   Dense, "to classes")
BURN_MODULE_VARIANT(Head, HEAD_CASES);

#define NET_FIELDS(X)                         \
  X(BurnModuleList, layers, "of BurnLinear")  \
  X(BurnBatchNorm, norm, "of 2 channels")     \
  X(Head, head, "a variant")
BURN_MODULE(Net, NET_FIELDS);

#define MNIST_FIELDS(X)                                                                       \
  X(BurnConv2d, conv1, "1 > 8") X(BurnConv2d, conv2, "8 > 16") X(BurnConv2d, conv3, "16 > 24") \
  X(BurnBatchNorm, norm1, "24") X(BurnLinear, fc1, "11616 > 32") X(BurnLinear, fc2, "32 > 10") \
  X(BurnBatchNorm, norm2, "10")
BURN_MODULE(Mnist, MNIST_FIELDS);
/* clang-format on */

/* -- PyTorch's habits ------------------------------------------------------------------------- */

static Net net_make(BurnDevice *device) {
  Net net = {burn_module_list(BurnLinear_type(), 2), burn_batch_norm_new(2, device),
             Head_Dense(burn_linear_new(2, 3, device))};
  *(BurnLinear *)burn_module_list_at(&net.layers, 0) = burn_linear_new(3, 2, device);
  *(BurnLinear *)burn_module_list_at(&net.layers, 1) = burn_linear_new(2, 2, device);
  return net;
}

/* As torch.nn.Sequential and BatchNorm1d name them. */
static const Made torch_net[] = {
    {"model.layers.0.weight", 2, {2, 3}, 1},
    {"model.layers.0.bias", 1, {2}, 10},
    {"model.layers.10.weight", 2, {2, 2}, 20},
    {"model.layers.10.bias", 1, {2}, 30},
    {"model.norm.weight", 1, {2}, 40},
    {"model.norm.bias", 1, {2}, 50},
    {"model.norm.running_mean", 1, {2}, 60},
    {"model.norm.running_var", 1, {2}, 70},
    {"model.norm.num_batches_tracked", 0, {0}, 80},
    {"model.head.weight", 2, {3, 2}, 90},
    {"model.head.bias", 1, {3}, 100},
};
enum { TORCH_NET = sizeof torch_net / sizeof torch_net[0] };

static BurnStore *made_store(MadeFile *file, const Made *tensors, size_t count) {
  BurnStatus status = BURN_OK;
  make_safetensors(file, tensors, count);
  BurnStore *store = burn_store_open_bytes(file->bytes, file->count, &status);
  check_status(status);
  return store;
}

static void assert_param(const BurnParam *param, const double *wanted, size_t count) {
  double values[16];
  check_status(burn_read_f64(burn_clone(param->value), values, count));
  for (size_t i = 0; i < count; i++)
    if (values[i] != wanted[i]) fail_msg("element %zu is %g, expected %g", i, values[i], wanted[i]);
}

static void assert_report(BurnRecordReport *report, const char *wanted) {
  char *text = burn_record_report_text(report);
  assert_string_equal(text, wanted);
  free(text);
  burn_record_report_release(report);
}

static void test_torch(void **state) {
  const Fixture *fixture = *state;
  static MadeFile file;
  BurnStore *store = made_store(&file, torch_net, TORCH_NET);
  Net net = net_make(fixture->device);
  BurnRecordReport report = {.count = 0};
  const BurnStoreApply options = {.names.top_level = "model", .adapter = BURN_STORE_PYTORCH};
  check_status(burn_store_apply(store, burn_module(Net, &net), &options, &report));
  assert_report(&report,
                "loaded      layers.0.weight: [3,2] f32\n"
                "loaded      layers.0.bias: [2] f32\n"
                "loaded      layers.1.weight: [2,2] f32\n"
                "loaded      layers.1.bias: [2] f32\n"
                "loaded      norm.gamma: [2] f32\n"
                "loaded      norm.beta: [2] f32\n"
                "loaded      norm.running_mean: [2] f32\n"
                "loaded      norm.running_var: [2] f32\n"
                "loaded      head.Dense.weight: [2,3] f32\n"
                "loaded      head.Dense.bias: [3] f32\n"
                "skipped     norm.num_batches_tracked: [1] f32\n"
                "10 loaded, 0 missing, 0 unused, 0 mismatched, 1 skipped");
  const BurnLinear *first = burn_module_list_at(&net.layers, 0), *second = burn_module_list_at(&net.layers, 1);
  assert_param(&first->weight, (const double[]){1, 4, 2, 5, 3, 6}, 6);
  assert_param(&second->weight, (const double[]){20, 22, 21, 23}, 4);
  assert_param(&net.norm.gamma, (const double[]){40, 41}, 2);
  assert_param(&net.head.as.Dense.weight, (const double[]){90, 92, 94, 91, 93, 95}, 6);
  Net_release(&net);
  burn_store_close(store);
}

/* Without the adapter names are what they are, and places of lists too. */
static void test_as_it_is(void **state) {
  const Fixture *fixture = *state;
  static MadeFile file;
  BurnStore *store = made_store(&file, torch_net, TORCH_NET);
  Net net = net_make(fixture->device);
  const BurnModule module = burn_module(Net, &net);
  const BurnStoreApply torch = {.names.top_level = "model", .adapter = BURN_STORE_PYTORCH, .keep_indices = true};
  const BurnStoreApply as_it_is = {.names.top_level = "model", .load = {.allow_partial = true, .no_validate = true}};
  assert_string_equal(burn_status_message(burn_store_apply(store, module, &torch, NULL)),
                      "store: bytes: load: layers.1.weight: in the module, not in the file: [2,2] f32; nearest in the "
                      "file is layers.10.weight (2 missing, 2 unused, 0 mismatched)");
  assert_string_equal(burn_status_message(burn_store_apply(store, module, &as_it_is, NULL)),
                      "store: bytes: load: head.bias: in the file, not in the module: [3] f32 (6 missing, 7 unused, 1 "
                      "mismatched)");
  assert_string_equal(burn_status_message(burn_store_apply(store, module, &(BurnStoreApply){.adapter = 7}, NULL)),
                      "store: 7 is not an adapter");
  Net_release(&net);
  burn_store_close(store);
}

/* -- names ------------------------------------------------------------------------------------ */

static const Made two_layers[] = {
    {"encoder.fc_a.w", 2, {3, 2}, 1},
    {"encoder.fc_a.b", 1, {2}, 10},
    {"decoder.fc_b.w", 2, {3, 2}, 20},
};

/* In this order, every match, with groups. */
static void test_renames(void **state) {
  const Fixture *fixture = *state;
  need_patterns();
  static MadeFile file;
  BurnStore *store = made_store(&file, two_layers, 3);
  BurnLinear linear = burn_linear_new(3, 2, fixture->device);
  const BurnModule module = burn_module(BurnLinear, &linear);
  const BurnStoreRename renames[] = {
      {"(\\w+)\\.fc_(\\w)\\.", "$2.${1}."}, {"^a\\.encoder\\.", ""}, {"^w$", "weight"}, {"^b$", "bias"}};
  BurnRecordReport report = {.count = 0};
  BurnStoreApply options = {.names = {.renames = renames, .rename_count = 4}};
  BurnStatus status = burn_store_apply(store, module, &options, &report);
  assert_string_equal(burn_status_message(status),
                      "store: bytes: load: b.decoder.w: in the file, not in the module: "
                      "[3,2] f32 (0 missing, 1 unused, 0 mismatched)");
  burn_record_report_release(&report);
  options.load.allow_unused = true;
  check_status(burn_store_apply(store, module, &options, &report));
  assert_report(&report,
                "loaded      weight: [3,2] f32\n"
                "loaded      bias: [2] f32\n"
                "unused      b.decoder.w: [3,2] f32\n"
                "2 loaded, 0 missing, 1 unused, 0 mismatched");
  assert_param(&linear.weight, (const double[]){1, 2, 3, 4, 5, 6}, 6);
  BurnLinear_release(&linear);
  burn_store_close(store);
}

/* include and exclude see the module's paths; what they leave out is skipped on both sides. */
static void test_filters(void **state) {
  const Fixture *fixture = *state;
  need_patterns();
  static MadeFile file;
  BurnStore *store = made_store(&file, two_layers, 3);
  BurnLinear linear = burn_linear_new(3, 2, fixture->device);
  const BurnStoreRename renames[] = {{"^encoder\\.fc_a\\.w$", "weight"}};
  const char *const include[] = {"weight", "fc"}, *const exclude[] = {"^decoder"};
  BurnRecordReport report = {.count = 0};
  BurnStoreApply options = {.names = {.renames = renames,
                                      .rename_count = 1,
                                      .include = include,
                                      .include_count = 2,
                                      .exclude = exclude,
                                      .exclude_count = 1},
                            .load = {.allow_unused = true}};
  check_status(burn_store_apply(store, burn_module(BurnLinear, &linear), &options, &report));
  assert_report(&report,
                "loaded      weight: [3,2] f32\n"
                "skipped     bias: [2] f32\n"
                "skipped     decoder.fc_b.w: [3,2] f32\n"
                "unused      encoder.fc_a.b: [2] f32\n"
                "1 loaded, 0 missing, 1 unused, 0 mismatched, 2 skipped");
  BurnLinear_release(&linear);
  burn_store_close(store);
}

static void assert_pattern(const BurnStore *store, BurnModule module, BurnStoreRename rename, const char *message) {
  const BurnStoreApply options = {.names = {.renames = &rename, .rename_count = 1}};
  assert_string_equal(burn_status_message(burn_store_apply(store, module, &options, NULL)), message);
}

/* Patterns that are wrong, too slow, or make one name of two. */
static void test_bad_patterns(void **state) {
  const Fixture *fixture = *state;
  need_patterns();
  static MadeFile file;
  const Made slow[] = {{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", 1, {2}, 1}, {"b", 1, {2}, 1}};
  BurnStore *store = made_store(&file, slow, 2);
  BurnLinear linear = burn_linear_new(3, 2, fixture->device);
  const BurnModule module = burn_module(BurnLinear, &linear);
  assert_pattern(store, module, (BurnStoreRename){"fc(", ""},
                 "store: bytes: pattern \"fc(\": missing closing parenthesis, at character 3");
  assert_pattern(store, module, (BurnStoreRename){"^(a+)+$", ""},
                 "store: bytes: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!: pattern \"^(a+)+$\": match limit "
                 "exceeded");
  assert_pattern(store, module, (BurnStoreRename){".*", "one"},
                 "store: bytes: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! and b both become oneone");
  BurnLinear_release(&linear);
  burn_store_close(store);
}

/* -- a real file ------------------------------------------------------------------------------ */

enum { IMAGES = 16, PIXELS = 28 * 28, CLASSES = 10 };

static Mnist mnist_make(BurnDevice *device) {
  const BurnSize2 kernel = {{3, 3}};
  return (Mnist){burn_conv2d_new(BURN_SIZE2(1, 8), kernel, device),
                 burn_conv2d_new(BURN_SIZE2(8, 16), kernel, device),
                 burn_conv2d_new(BURN_SIZE2(16, 24), kernel, device),
                 burn_batch_norm_new(24, device),
                 burn_linear_new(11616, 32, device),
                 burn_linear_new(32, 10, device),
                 burn_batch_norm_new(10, device)};
}

static BurnTensor *mnist_forward(const Mnist *m, BurnTensor *x) {
  x = burn_relu(burn_conv2d_forward(&m->conv1, x));
  x = burn_relu(burn_conv2d_forward(&m->conv2, x));
  x = burn_relu(burn_conv2d_forward(&m->conv3, x));
  x = burn_flatten(burn_batch_norm_forward(&m->norm1, x), 1, 3);
  x = burn_linear_forward(&m->fc2, burn_relu(burn_linear_forward(&m->fc1, x)));
  return burn_log_softmax(burn_batch_norm_forward(&m->norm2, x), 1);
}

/* The first images of the test set, as the network takes them; NULL where they are absent. */
static BurnTensor *test_images(BurnDevice *device) {
  static float pixels[IMAGES * PIXELS];
  BurnStatus status = BURN_OK;
  BurnDataset *raw = burn_dataset_mnist(data_path("../mnist").text, BURN_MNIST_TEST, &status);
  if (!raw) return NULL;
  BurnDataset *images = burn_dataset_mnist_normalize(raw, &status);
  check_status(status);
  for (size_t i = 0; i < IMAGES; i++) {
    int64_t label;
    void *const item[] = {pixels + i * PIXELS, &label};
    check_status(burn_dataset_get(images, i, item));
  }
  burn_dataset_drop(images);
  return burn_tensor_f32(device, pixels, BURN_SHAPE(IMAGES, 1, 28, 28));
}

static void test_mnist_of_others(void **state) {
  const Fixture *fixture = *state;
  const Path file = data_path("burn/mnist.safetensors");
  BurnTensor *images = file.text[0] ? test_images(fixture->device) : NULL;
  if (!images) {
    printf("skipped: no models/burn/mnist.safetensors, or no MNIST beside it\n");
    skip();
  }
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open(file.text, &status);
  check_status(status);
  assert_int_equal(burn_store_count(store), 20);
  Mnist mnist = mnist_make(fixture->device);
  const BurnStoreApply options = {.adapter = BURN_STORE_PYTORCH};
  check_status(burn_store_apply(store, burn_module(Mnist, &mnist), &options, NULL));
  float found[IMAGES * CLASSES], wanted[IMAGES * CLASSES];
  check_status(burn_read_f32(mnist_forward(&mnist, images), found, IMAGES * CLASSES));
  BurnTensor *reference =
      burn_npy_read(fixture->device, data_path("burn/mnist_safetensors_logsoftmax_test0-15.npy").text);
  check_status(burn_read_f32(reference, wanted, IMAGES * CLASSES));
  for (size_t i = 0; i < IMAGES * CLASSES; i++) {
    if (!(wanted[i] - found[i] <= 1e-5F && found[i] - wanted[i] <= 1e-5F))
      fail_msg("image %zu, class %zu: %.8g, expected %.8g", i / CLASSES, i % CLASSES, (double)found[i],
               (double)wanted[i]);
  }
  Mnist_release(&mnist);
  burn_store_close(store);
}

/* As torch.nn.MultiheadAttention names them: rows of query, key and value in one. */
static const Made torch_attention[] = {
    {"attn.in_proj_weight", 2, {6, 2}, 1},
    {"attn.in_proj_bias", 1, {6}, 20},
    {"attn.out_proj.weight", 2, {2, 2}, 30},
    {"attn.out_proj.bias", 1, {2}, 40},
};
#define ATTENTION_FIELDS(X) X(BurnMultiHeadAttention, attn, "of one head")
BURN_MODULE(Attention, ATTENTION_FIELDS);
#define PACKED_FIELDS(X) X(BurnParam, in_proj_weight, "[6, 2]")
BURN_MODULE(Packed, PACKED_FIELDS);

static void test_packed_attention(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  Attention net = {burn_multi_head_attention_new(2, 1, device)};
  const BurnModule module = burn_module(Attention, &net);
  const BurnStoreApply torch = {.adapter = BURN_STORE_PYTORCH};
  MadeFile file;
  BurnStore *store = made_store(&file, torch_attention, 4);
  BurnRecordReport report = {NULL, 0, {0}};
  check_status(burn_store_apply(store, module, &torch, &report));
  assert_int_equal(report.counts[BURN_RECORD_LOADED], 8);
  burn_record_report_release(&report);
  assert_param(&net.attn.query.weight, (double[]){1, 3, 2, 4}, 4);
  assert_param(&net.attn.key.weight, (double[]){5, 7, 6, 8}, 4);
  assert_param(&net.attn.value.weight, (double[]){9, 11, 10, 12}, 4);
  assert_param(&net.attn.value.bias, (double[]){24, 25}, 2);
  assert_param(&net.attn.output.weight, (double[]){30, 32, 31, 33}, 4);
  assert_non_null(strstr(burn_status_message(burn_store_apply(store, module, NULL, NULL)),
                         "attn.query.weight: in the module, not in the file: [2,2] f32"));
  burn_store_close(store);
  Attention_release(&net);
  /* What a module has under the packed name itself stays in one. */
  Packed packed = {burn_param(burn_zeros(device, BURN_SHAPE(6, 2), BURN_DTYPE_F32))};
  const Made whole[] = {{"in_proj_weight", 2, {6, 2}, 1}};
  store = made_store(&file, whole, 1);
  check_status(burn_store_apply(store, burn_module(Packed, &packed), &torch, NULL));
  assert_param(&packed.in_proj_weight, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12);
  burn_store_close(store);
  Packed_release(&packed);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_torch),           cmocka_unit_test(test_packed_attention),
      cmocka_unit_test(test_as_it_is),        cmocka_unit_test(test_renames),
      cmocka_unit_test(test_filters),         cmocka_unit_test(test_bad_patterns),
      cmocka_unit_test(test_mnist_of_others),
  };
  return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
