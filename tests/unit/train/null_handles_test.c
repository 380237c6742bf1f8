/* null_handles_test.c - what a call gets where one before it failed and nobody looked: NULL for a handle or a path, {0}
 * for a module, config or schedule, ranks that no shape has. Statuses say so, other results are empty, and nothing
 * crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>
#include <burn/transfer.h>
#include <burn/zip.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void expect(BurnStatus status, const char *message) {
  assert_string_equal(burn_status_message(status), message);
}

static const char no_module[] = "module: the module is NULL; burn_module(Type, &object) makes one";

static void modules(void **state) {
  (void)state;
  const BurnModule none = {NULL, NULL}, nobody = burn_module(BurnLinear, NULL);
  BurnLinear copy;
  uint8_t *bytes = NULL;
  size_t count = 0;
  expect(burn_module_status(none), no_module);
  expect(burn_module_status(nobody), "Linear: the module is NULL; burn_module(Type, &object) makes one");
  expect(burn_record_save(none, "/nonexistent/never", NULL),
         "save /nonexistent/never: module: the module is NULL; burn_module(Type, &object) makes one");
  expect(burn_record_to_bytes(none, NULL, &bytes, &count),
         "save to bytes: module: the module is NULL; burn_module(Type, &object) makes one");
  assert_null(burn_value_module(none));
  BurnValue *value = burn_value_map();
  expect(burn_value_into_module(value, none), no_module);
  burn_value_destroy(value);
  assert_int_equal(burn_module_num_params(none), 0);
  assert_null(burn_module_text(none));
  assert_null(burn_module_display(none, NULL));
  assert_null(burn_module_summary_text(none));
  burn_module_freeze(none);
  burn_module_to_device(none, NULL);
  burn_module_release(none);
  burn_module_release(nobody);
  memset(&copy, 1, sizeof copy);
  burn_module_clone(nobody, &copy);
  assert_null(copy.weight.value);
  BurnModuleList list = burn_module_list(NULL, 3);
  assert_int_equal(list.count, 0);
  assert_null(burn_module_list_at(&list, 0));
}

static void configs(void **state) {
  (void)state;
  const BurnConfig none = {NULL, NULL};
  BurnLinearConfig config = {0};
  assert_null(burn_config_text(none));
  expect(burn_config_parse(none, "{}"), "config: the config is NULL; burn_config(Type, &object) makes one");
  expect(burn_config_save(none, "/nonexistent/never"),
         "save /nonexistent/never: config: the config is NULL; burn_config(Type, &object) makes one");
  expect(burn_config_parse(burn_config(BurnLinearConfig, &config), NULL), "BurnLinearConfig: the JSON is NULL");
  BurnSchedule schedule = {NULL, {NULL, NULL}};
  assert_true(burn_schedule_rate(&schedule, 3) == 0);
}

static void archives(void **state) {
  (void)state;
  uint8_t *bytes = NULL;
  const uint8_t *stored = NULL;
  BurnZipEntry entry = {.name = "a", .bytes = (const uint8_t *)"b", .count = 1};
  uint8_t peeked[4];
  size_t count = 0;
  assert_int_equal(burn_zip_count(NULL), 0);
  assert_int_equal(burn_zip_find(NULL, "a"), 0);
  expect(burn_zip_read(NULL, 0, &bytes), "zip: there is no member 0, the archive is NULL");
  expect(burn_zip_make(&entry, 1, false, &bytes, &count), "ok");
  BurnStatus status = BURN_OK;
  BurnZip *zip = burn_zip_open(bytes, count, &status);
  assert_non_null(zip);
  assert_null(burn_zip_member(zip, 1));
  uint8_t *member = peeked;
  expect(burn_zip_read(zip, burn_zip_find(zip, "b"), &member), "zip: there is no member 1, there are 1");
  assert_ptr_equal(member, peeked); /* untouched */
  expect(burn_zip_stored(zip, 1, &stored), "zip: there is no member 1, there are 1");
  expect(burn_zip_peek(zip, 1, peeked, sizeof peeked, &count), "zip: there is no member 1, there are 1");
  burn_zip_close(zip);
  free(bytes);
  assert_int_equal(burn_npz_count(NULL), 0);
  assert_null(burn_npz_name(NULL, 0));
  assert_null(burn_npz_header(NULL, 0));
  burn_npz_values(NULL, 0, NULL);
  BurnTensor *x = burn_npz_read(NULL, "a", NULL);
  expect(burn_tensor_status(x), "npz: the archive is NULL");
  burn_drop(x);
}

static void layers(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnLinear linear = burn_linear_new(2, 2, device);
  BurnTensor *x = burn_ones(device, BURN_SHAPE(1, 2), BURN_DTYPE_F32);
  BurnQuantTensor q = burn_param_quant_input(&linear.weight, x);
  expect(burn_quant_status(&q), "the weight's input is not quantized: burn_param_quantizes_input says so");
  burn_quant_drop(q);
  const BurnInstanceNorm zeros = {0};
  BurnTensor *y = burn_instance_norm_forward(&zeros, burn_ones(device, BURN_SHAPE(1, 0, 1), BURN_DTYPE_F32));
  expect(burn_tensor_status(y), "instance_norm: a layer of zeros");
  burn_drop(y);
  BurnLinear_release(&linear);
  burn_device_close(device);
}

/* Every function that ends something takes nothing, too. */
static void enders(void **state) {
  (void)state;
  burn_param_release(NULL);
  burn_record_report_release(NULL);
  burn_token_list_release(NULL);
  burn_class_files_release(NULL);
  burn_wav_release(NULL);
  burn_step_drop(NULL);
  burn_transitions_drop(NULL);
}

/* Each takes its tensor. */
static void values(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32),
             *one = burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32);
  void *nowhere[] = {NULL};
  const size_t bytes[] = {8};
  expect(burn_read(burn_clone(x), NULL, 8), "read: the buffer is NULL");
  expect(burn_read_f32(burn_clone(x), NULL, 2), "read: the buffer is NULL");
  expect(burn_read_f64(burn_clone(x), NULL, 2), "read: the buffer is NULL");
  expect(burn_read_i64(burn_clone(x), NULL, 2), "read: the buffer is NULL");
  expect(burn_read_scalar(one, NULL), "read: the buffer is NULL");
  expect(burn_read_finish(burn_read_start(burn_clone(x)), NULL, 8), "read: the buffer is NULL");
  expect(burn_read_finish_f64(burn_read_start(burn_clone(x)), NULL, 2), "read: the buffer is NULL");
  expect(burn_read_all((BurnTensor *const[]){burn_clone(x)}, nowhere, bytes, 1), "read_all: the buffer is NULL");
  expect(burn_read_f32(burn_zeros(device, BURN_SHAPE(0), BURN_DTYPE_F32), NULL, 0), "ok");
  expect(burn_write(NULL, bytes, 8), "write: a tensor is NULL");
  burn_drop(x);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

static void training(void **state) {
  (void)state;
  BurnStagingSlot *slot = NULL;
  BurnBatch batch;
  BurnTransitions transitions;
  BurnStatus status = BURN_OK;
  expect(burn_staging_take(NULL, &slot), "staging: the staging memory is NULL");
  assert_null(burn_staging_memory(NULL));
  BurnTensor *x = burn_staging_tensor(NULL, 0, BURN_DTYPE_F32, BURN_SHAPE(2));
  expect(burn_tensor_status(x), "staging: the slot is NULL");
  burn_drop(x);
  assert_false(burn_batches_next(NULL, &batch));
  expect(burn_batches_stop(NULL), "loader: the batches are NULL");
  assert_true(isnan(burn_epoch_metric(NULL, "Loss", BURN_SPLIT_VALID)));
  const BurnEpochResult epoch = {.metric_count = 1, .metrics = {{.name = "Loss"}}};
  assert_true(isnan(burn_epoch_metric(&epoch, NULL, BURN_SPLIT_VALID)));
  expect(burn_calibration_end(NULL), "calibration: it is NULL");
  expect(burn_tensorboard_text(NULL, "a", 0, "b"), "tensorboard: the board is NULL");
  expect(burn_tensorboard_histogram(NULL, "a", 0, NULL), "tensorboard: the board is NULL");
  assert_int_equal(burn_transition_buffer_count(NULL), 0);
  expect(burn_transition_buffer_sample(NULL, NULL, 1, &transitions),
         "transition buffer: there is nothing to draw from");
  assert_null(burn_transition_buffer_create(4, (BurnShape){UINT32_MAX, {1}}, 1, &status));
  expect(status, "transition buffer: 4 transitions of states of rank 4294967295 make no sense");
}

static void paths_of_core(void **state) {
  (void)state;
  BurnLinearConfig config = {0};
  BurnValue *value = NULL;
  uint8_t *bytes = NULL;
  FILE *file = NULL;
  size_t count = 0;
  uint32_t format = 0;
  const BurnModule none = {NULL, NULL};
  BurnStatus status = BURN_OK;
  expect(burn_file_read(NULL, 8, &bytes, &count), "file: no path");
  expect(burn_file_open(NULL, &file, NULL), "file: no path");
  expect(burn_file_write(NULL, "a", 1), "file: no path");
  expect(burn_file_check_new(NULL, true), "file: no path");
  expect(burn_file_check_new(NULL, false), "file: no path");
  expect(burn_file_sweep(NULL), "folder: no path");
  assert_null(burn_folder_lock(NULL, &status));
  expect(status, "folder: no path");
  expect(burn_config_save(burn_config(BurnLinearConfig, &config), NULL), "save: no path");
  expect(burn_config_load(burn_config(BurnLinearConfig, &config), NULL), "load: no path");
  expect(burn_record_save(none, NULL, NULL), "save: no path");
  expect(burn_record_load(none, NULL, NULL), "load: no path");
  expect(burn_record_load_with(none, NULL, NULL, NULL, NULL), "load: no path");
  expect(burn_value_write(NULL, NULL, NULL), "save: no path");
  expect(burn_value_read(NULL, NULL, &value), "load: no path");
  expect(burn_value_read_any(NULL, &format, &value, &value), "load: no path");
  BurnTensor *x = burn_npy_read(NULL, NULL);
  expect(burn_npy_write(NULL, x), "npy: no path");
  x = burn_npy_read(NULL, NULL);
  expect(burn_npz_write(NULL, (const char *[]){"a"}, &x, 1, false), "npz: no path");
  status = BURN_OK;
  assert_null(burn_npz_open(NULL, &status));
  expect(status, "npz: no path");
}

/* A function that makes something and stores in `status` why it does not. */
#define EXPECT_NULL(message, ...) \
  do {                            \
    status = BURN_OK;             \
    assert_null(__VA_ARGS__);     \
    expect(status, message);      \
  } while (0)

static void paths_of_train(void **state) {
  (void)state;
  BurnWav sound;
  const BurnSpecialTokens specials = {0};
  const BurnColumn column = {"a", BURN_DTYPE_F32, {0, {0}}};
  BurnStatus status = BURN_OK;
  expect(burn_folder_make(NULL), "folder: no path");
  expect(burn_wav_read(NULL, &sound), "wav: no path");
  expect(burn_wav_write(NULL, NULL), "wav: no path");
  expect(burn_wav_write("a.wav", NULL), "wav: a.wav: no sound");
  EXPECT_NULL("byte_pair: no path", burn_tokenizer_byte_pair_read(NULL, "merges", &specials, &status));
  EXPECT_NULL("byte_pair: no path", burn_tokenizer_byte_pair_read("vocab", NULL, &specials, &status));
  EXPECT_NULL("json_lines: no path", burn_json_lines_create(NULL, false, &status));
  EXPECT_NULL("tensorboard: no path", burn_tensorboard_create(NULL, &status));
  EXPECT_NULL("prometheus: no path", burn_prometheus_create(NULL, 1, &status));
  EXPECT_NULL("csv: no path", burn_dataset_csv(NULL, &column, 1, NULL, &status));
  EXPECT_NULL("json_lines: no path", burn_dataset_json_lines(NULL, &column, 1, NULL, &status));
  EXPECT_NULL("numpy: no path", burn_dataset_numpy(NULL, NULL, 0, &status));
  EXPECT_NULL("text_lines: no path", burn_dataset_text_lines(NULL, NULL, &status));
}

static void datasets(void **state) {
  (void)state;
  const BurnWavConfig wav = {.frames = 2};
  const char *none[] = {NULL};
  const double fractions[] = {0.5, 0.5};
  BurnStatus status = BURN_OK;
  EXPECT_NULL("dataset: 2 columns, but the array of them is NULL", burn_dataset_csv("a.csv", NULL, 2, NULL, &status));
  EXPECT_NULL("text_lines: the config is NULL", burn_dataset_text_lines("a.txt", NULL, &status));
  EXPECT_NULL("text_folder: the config is NULL", burn_dataset_text_folder("a", NULL, &status));
  EXPECT_NULL("wav: the config is NULL", burn_dataset_wav(none, 1, NULL, &status));
  EXPECT_NULL("wav: the paths are NULL", burn_dataset_wav(NULL, 3, &wav, &status));
  EXPECT_NULL("wav: no path", burn_dataset_wav(none, 1, &wav, &status));
  EXPECT_NULL("dataset: the interface is NULL", burn_dataset_create(NULL, &status));
  const BurnColumn x = {"x", BURN_DTYPE_F32, {0}};
  EXPECT_NULL("dataset: the data of column \"x\" are NULL", burn_dataset_memory(&x, 1, NULL, 2, &status));
  EXPECT_NULL("dataset: the data of column \"x\" are NULL",
              burn_dataset_memory(&x, 1, (const void *const[]){NULL}, 2, &status));
  BurnBatch batch = {0};
  BurnTensor *nameless = burn_batch_take(&batch, NULL);
  expect(burn_tensor_status(nameless), "batch: the name of the column is NULL");
  burn_drop(nameless);
  BurnStepOutput output = {0};
  burn_step_give(&output, NULL, NULL);
  assert_null(burn_step_get(&output, "loss"));
  assert_null(burn_step_take(&output, NULL));
  EXPECT_NULL("compose: 2 datasets, but the array of them is NULL", burn_dataset_compose(NULL, 2, &status));
  EXPECT_NULL("map: no source dataset", burn_dataset_map(NULL, NULL, &status));
  status = BURN_OK;
  BurnDataset *digits = burn_dataset_digits(&(BurnDigitsConfig){.count = 4}, &status);
  EXPECT_NULL("map: the interface is NULL", burn_dataset_map(burn_dataset_clone(digits), NULL, &status));
  status = BURN_OK;
  assert_false(burn_dataset_split(digits, fractions, 2, NULL, &status));
  expect(status, "split: no room for the parts, it is NULL");
  assert_null(burn_dataset_map(NULL, NULL, &status)); /* after a failure */
  expect(status, "split: no room for the parts, it is NULL");
}

static BurnStepOutput step(void *context, const void *module, BurnBatch *batch) {
  (void)context, (void)module, (void)batch;
  return (BurnStepOutput){0};
}

static void measuring(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDevice *device = burn_device_open("ndarray");
  BurnLinear linear = burn_linear_new(2, 2, device);
  const BurnModule module = burn_module(BurnLinear, &linear);
  const BurnTask task = {.step = step};
  BurnDataset *digits = burn_dataset_digits(&(BurnDigitsConfig){.count = 4}, &status);
  BurnLoader *loader = burn_loader_create(digits, &(BurnLoaderConfig){.batch_size = 2}, &status);
  expect(status, "ok");
  expect(burn_evaluator_eval(NULL, &task, device, module, loader, "a", NULL), "evaluator: no place for the result");
  expect(burn_learner_evaluate(&task, device, module, loader, NULL, NULL), "evaluator: no place for the result");
  expect(burn_learner_evaluate(NULL, device, module, NULL, NULL, NULL), "evaluator: no data");
  expect(burn_module_apply_lora(module, NULL, NULL), "lora: the config is NULL");
  expect(burn_calibration_begin(module, NULL, NULL), "calibration: the pointer for it is NULL");
  burn_loader_destroy(loader);
  BurnLinear_release(&linear);
  burn_device_close(device);
}

static void schedules(void **state) {
  (void)state;
  const BurnSchedule made[] = {
      burn_schedule_constant(NULL),         burn_schedule_linear(NULL),     burn_schedule_exponential(NULL),
      burn_schedule_cosine_annealing(NULL), burn_schedule_step(NULL),       burn_schedule_noam(NULL),
      burn_schedule_composed(NULL),         burn_schedule_sequential(NULL), burn_schedule_warm_up(NULL)};
  const char none[] = "schedule: no table, as where the config was NULL, or one without a rate";
  for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
    expect(burn_schedule_check(&made[i]), none);
    assert_true(burn_schedule_rate(&made[i], 3) == 0);
  }
  expect(burn_schedule_check(NULL), none);
  assert_true(burn_schedule_rate(NULL, 3) == 0);
}

static void drop_two(BurnTensor **parts) {
  burn_drop(parts[0]);
  burn_drop(parts[1]);
}

/* The number of parts may be left out, as any second result. */
static void counts(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = burn_ones(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32), *parts[2];
  const int64_t sizes[] = {1, 1};
  size_t count = 7;
  expect(burn_split(burn_clone(x), 1, 0, parts, 2, NULL), "ok");
  drop_two(parts);
  expect(burn_chunk(burn_clone(x), 2, 0, parts, 2, NULL), "ok");
  drop_two(parts);
  expect(burn_split_with_sizes(burn_clone(x), sizes, 2, 0, parts, 2, NULL), "ok");
  drop_two(parts);
  expect(burn_iter_dim(burn_clone(x), 0, parts, 2, NULL), "ok");
  drop_two(parts);
  expect(burn_nonzero(burn_bool(burn_clone(x)), parts, 2, NULL), "ok");
  drop_two(parts);
  expect(burn_split(burn_clone(x), 0, 0, parts, 2, NULL), "split: pieces of size 0 are not possible");
  expect(burn_chunk(burn_clone(x), 2, 0, NULL, 2, &count), "chunk: 2 parts come out, the list holds 0");
  assert_int_equal(count, 2);
  burn_drop(x);
  burn_device_close(device);
}

/* As malloc gives them where there is no memory. */
static void bytes_without_an_address(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnLinear linear = burn_linear_new(2, 2, device);
  const BurnModule module = burn_module(BurnLinear, &linear);
  BurnValue *metadata = NULL, *item = NULL;
  uint32_t format = 0;
  for (uint32_t i = BURN_RECORD_MPK; i <= BURN_RECORD_BIN_GZ; i++) {
    const BurnRecordConfig config = {i, BURN_PRECISION_FULL};
    assert_true(burn_status_code(burn_record_from_bytes(module, NULL, 9, &config)) == BURN_STATUS_CORRUPT_DATA);
  }
  expect(burn_value_decode_any(NULL, 9, &format, &metadata, &item), "byte 0: the file is empty");
  expect(burn_value_decode_in_place(NULL, 9, &format, &metadata, &item), "byte 0: the file is empty");
  BurnLinear_release(&linear);
  burn_device_close(device);
}

static void buffers(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32);
  const char no_buffer[] = "read: the buffer is NULL";
  expect(burn_read(burn_clone(x), NULL, 4), no_buffer);
  expect(burn_read_f32(burn_clone(x), NULL, 1), no_buffer);
  expect(burn_read_i64(burn_clone(x), NULL, 1), no_buffer);
  expect(burn_read_scalar(burn_clone(x), NULL), no_buffer);
  expect(burn_read_finish(burn_read_start(burn_clone(x)), NULL, 4), no_buffer);
  expect(burn_read_finish_i64(burn_read_start(burn_clone(x)), NULL, 1), no_buffer);
  expect(burn_read_all(NULL, NULL, NULL, 1), "read_all: a list is NULL");
  expect(burn_read_all(NULL, NULL, NULL, 0), "ok");
  burn_drop(x);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(modules),  cmocka_unit_test(configs),       cmocka_unit_test(archives),
      cmocka_unit_test(layers),   cmocka_unit_test(enders),        cmocka_unit_test(values),
      cmocka_unit_test(training), cmocka_unit_test(paths_of_core), cmocka_unit_test(paths_of_train),
      cmocka_unit_test(datasets), cmocka_unit_test(measuring),     cmocka_unit_test(counts),
      cmocka_unit_test(buffers),  cmocka_unit_test(schedules),     cmocka_unit_test(bytes_without_an_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
