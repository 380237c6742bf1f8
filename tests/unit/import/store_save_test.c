/* store_save_test.c - files that are written: what Python reads in them, what goes back into a module, what is refused. */
#include "store_testing.h"

#include <burn/nn.h>

/* clang-format off */
#define NET_FIELDS(X)                      \
  X(BurnLinear, fc, "3 > 2")               \
  X(BurnLayerNorm, norm, "of 2")           \
  X(BurnParam, count, "integers")
BURN_MODULE(Net, NET_FIELDS);
/* clang-format on */

static BurnTensor *ramp(BurnDevice *device, float begin, BurnShape shape) {
  float values[16];
  for (int i = 0; i < 16; i++) values[i] = begin + (float)i;
  return burn_tensor_f32(device, values, shape);
}

static Net net_make(BurnDevice *device) {
  const int64_t count[] = {1, -2};
  Net net = {burn_linear_new(3, 2, device), burn_layer_norm_new(2, device),
             burn_param(burn_tensor_i64(device, count, BURN_SHAPE(2)))};
  burn_param_set(&net.fc.weight, ramp(device, 1, BURN_SHAPE(3, 2)));
  burn_param_set(&net.fc.bias, ramp(device, 10, BURN_SHAPE(2)));
  burn_param_set(&net.norm.gamma, ramp(device, 20, BURN_SHAPE(2)));
  burn_param_set(&net.norm.beta, ramp(device, 30, BURN_SHAPE(2)));
  return net;
}

static const char *const files[] = {"net.safetensors", "net.bpk", "net.npz", "net.pt"};
enum { FILES = sizeof files / sizeof files[0] };

/* -- what Python reads ------------------------------------------------------------------------ */

static void python_reads(const Fixture *fixture, const char *wanted) {
  const char *python = getenv("BURN_TEST_PYTHON");
  char command[600], found[8192];
  (void)snprintf(command, sizeof command, "%s '%s/tests/unit/import/store_read.py' '%s' 2>&1",
                 python && python[0] ? python : "python3", BURN_SOURCE_DIR, fixture->folder);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  const size_t got = fread(found, 1, sizeof found - 1, pipe);
  found[got] = '\0';
  if (pclose(pipe) != 0) fail_msg("%s", found);
  char *npz = strstr(found, "net.npz"); /* only where there is NumPy */
  if (!npz) {
    char *end = strstr((char *)(uintptr_t)wanted, "net.npz");
    assert_int_equal(got, (size_t)(end - wanted));
    assert_memory_equal(found, wanted, got);
    return;
  }
  assert_string_equal(found, wanted);
}

static void test_python(void **state) {
  const Fixture *fixture = *state;
  if (system("python3 -c pass >/dev/null 2>&1") != 0 && !getenv("BURN_TEST_PYTHON")) {
    printf("skipped: no python3\n");
    skip();
  }
  Net net = net_make(fixture->device);
  for (size_t i = 0; i < FILES; i++) {
    const BurnStoreSave options = {.adapter = BURN_STORE_PYTORCH, .overwrite = true};
    check_status(burn_store_save(burn_module(Net, &net), path_in(fixture, files[i]).text, &options));
  }
  python_reads(fixture,
               "net.safetensors metadata format pt\n"
               "net.safetensors count I64 2 1 -2\n"
               "net.safetensors fc.bias F32 2 10 11\n"
               "net.safetensors fc.weight F32 2x3 1 3 5 2 4 6\n"
               "net.safetensors norm.bias F32 2 30 31\n"
               "net.safetensors norm.weight F32 2 20 21\n"
               "net.pt fc.weight FloatStorage 2x3 1 3 5 2 4 6\n"
               "net.pt fc.bias FloatStorage 2 10 11\n"
               "net.pt norm.weight FloatStorage 2 20 21\n"
               "net.pt norm.bias FloatStorage 2 30 31\n"
               "net.pt count LongStorage 2 1 -2\n"
               "net.npz fc.weight float32 2x3 1 3 5 2 4 6\n"
               "net.npz fc.bias float32 2 10 11\n"
               "net.npz norm.weight float32 2 20 21\n"
               "net.npz norm.bias float32 2 30 31\n"
               "net.npz count int64 2 1 -2\n");
  Net_release(&net);
}

/* -- back again ------------------------------------------------------------------------------- */

static void assert_first(const BurnParam *param, double wanted) {
  double values[8];
  check_status(burn_read_f64(burn_clone(param->value), values, (size_t)burn_element_count(param->value)));
  assert_true(values[0] == wanted);
}

/* Every format that is read as well gives a module back, with PyTorch's habits and without. */
static void test_there_and_back(void **state) {
  const Fixture *fixture = *state;
  for (uint32_t adapter = BURN_STORE_AS_IT_IS; adapter <= BURN_STORE_PYTORCH; adapter++) {
    for (size_t i = 0; i < FILES; i++) {
      if (strcmp(files[i], "net.pt") == 0) continue; /* read by test_python */
      Net net = net_make(fixture->device), other = net_make(fixture->device);
      const Path path = path_in(fixture, files[i]);
      BurnStatus status = BURN_OK;
      check_status(burn_store_save(burn_module(Net, &net), path.text,
                                   &(BurnStoreSave){.adapter = adapter, .floats = BURN_DTYPE_F16, .overwrite = true}));
      burn_param_set(&other.fc.weight, ramp(fixture->device, 100, BURN_SHAPE(3, 2)));
      BurnStore *store = burn_store_open(path.text, &status);
      check_status(status);
      check_status(burn_store_apply(store, burn_module(Net, &other), &(BurnStoreApply){.adapter = adapter}, NULL));
      assert_int_equal(burn_dtype(other.fc.weight.value), BURN_DTYPE_F16);
      float found[6];
      const float wanted[6] = {1, 2, 3, 4, 5, 6};
      check_status(burn_read_f32(burn_clone(other.fc.weight.value), found, 6));
      assert_memory_equal(found, wanted, sizeof wanted);
      assert_first(&other.norm.gamma, 20);
      assert_first(&other.count, 1);
      burn_store_close(store);
      Net_release(&net);
      Net_release(&other);
    }
  }
}

/* Names, filters, metadata, and a tensor without axes, from one file into another. */
static void test_convert(void **state) {
  const Fixture *fixture = *state;
  need_patterns();
  static MadeFile file;
  const Made tensors[] = {{"model.a.weight", 2, {2, 2}, 1},
                          {"model.a.scale", 0, {0}, 7},
                          {"model.b.weight", 1, {2}, 5},
                          {"other", 1, {1}, 9}};
  const Path path = path_in(fixture, "converted");
  const BurnStoreRename renames[] = {{"^a\\.", "block.0."}};
  const char *const exclude[] = {"\\bb\\."};
  BurnValue *metadata = burn_value_map();
  assert_true(burn_value_set(metadata, "made \"by\"", burn_value_text("a\ntest")));
  BurnStatus status = BURN_OK;
  make_safetensors(&file, tensors, 4);
  BurnStore *store = burn_store_open_bytes(file.bytes, file.count, &status);
  const BurnStoreSave options = {
      .format = "safetensors",
      .names = {.top_level = "model", .renames = renames, .rename_count = 1, .exclude = exclude, .exclude_count = 1},
      .metadata = metadata};
  check_status(burn_store_convert(store, path.text, &options));
  burn_store_close(store);
  store = burn_store_open(path.text, &status);
  check_status(status);
  assert_int_equal(burn_store_count(store), 2);
  assert_values(store, "block.0.weight", fixture->device, (const double[]){1, 2, 3, 4}, 4);
  assert_true(burn_store_entry(store, burn_store_find(store, "block.0.scale"))->scalar);
  assert_string_equal(burn_value_as_text(burn_value_get(burn_store_metadata(store), "made \"by\""), ""), "a\ntest");
  burn_store_close(store);
  burn_value_destroy(metadata);
}

/* -- refusals --------------------------------------------------------------------------------- */

static void assert_not_saved(BurnModule module, const char *path, const BurnStoreSave *options, const char *message) {
  char wanted[700];
  (void)snprintf(wanted, sizeof wanted, "store: %s: %s", path, message);
  assert_string_equal(burn_status_message(burn_store_save(module, path, options)), wanted);
}

static void test_refusals(void **state) {
  const Fixture *fixture = *state;
  need_patterns();
  const Path there = path_in(fixture, "there.pt"), none = path_in(fixture, "x");
  Net net = net_make(fixture->device);
  const BurnModule module = burn_module(Net, &net);
  const BurnStoreRename same[] = {{"^.*$", "one"}}, taken[] = {{"^fc\\.weight$", "__metadata__"}};
  BurnValue *metadata = burn_value_map();
  check_status(burn_file_write(there.text, "mine", 4));
  assert_not_saved(module, there.text, NULL, "the file is there already; overwrite it, or choose another");
  assert_not_saved(module, none.text, NULL,
                   "an extension of a format is expected: .safetensors, .bpk, .npz, .pt, .pth or .bin");
  assert_not_saved(module, none.text, &(BurnStoreSave){.format = "safetensor"},
                   "no format \"safetensor\" is written. Did you mean 'safetensors'?");
  assert_not_saved(module, none.text, &(BurnStoreSave){.format = "pt", .names = {.renames = same, .rename_count = 1}},
                   "two tensors become one");
  assert_not_saved(module, none.text, &(BurnStoreSave){.format = "npz", .metadata = metadata},
                   "metadata are written to safetensors only");
  assert_not_saved(
      module, none.text, &(BurnStoreSave){.format = "safetensors", .names = {.renames = taken, .rename_count = 1}},
      "safetensors cannot hold a tensor that is called __metadata__, where it has its metadata: rename it");
  FILE *left = fopen(none.text, "rb");
  assert_null(left);
  burn_value_destroy(metadata);
  Net_release(&net);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_python),
      cmocka_unit_test(test_there_and_back),
      cmocka_unit_test(test_convert),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
