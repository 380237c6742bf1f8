/* null_arguments_test.c - NULL where a function needs a struct that its caller fills, a config, a list, a callback or a
 * place for its result (burn/error.h, "NULL"): a status with the names of function and argument, never a crash. A row
 * per argument. Handles, modules and paths are in null_handles_test.c. */
#include "learner_testing.h"

#include <burn/burn.h>
#include <burn/capture.h>
#include <burn/dlpack.h>
#include <burn/file.h>
#include <burn/grid.h>
#include <burn/guess.h>
#include <burn/nn.h>
#include <burn/numpy.h>
#include <burn/op_call.h>
#include <burn/plugins.h>
#include <burn/tokenizer.h>
#include <burn/train.h>
#include <burn/train/class_files.h>
#include <burn/train/data_parallel.h>
#include <burn/train/grad_scaler.h>
#include <burn/train/lbfgs.h>
#include <burn/train/report.h>
#include <burn/train/rl.h>
#include <burn/train/wav.h>
#include <burn/transfer.h>
#include <burn/zip.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static BurnDevice *device;
static BurnLinear linear;

static void expect(BurnStatus status, const char *message) {
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
}

static void expect_tensor(BurnTensor *x, const char *message) {
  expect(burn_tensor_status(x), message);
  burn_drop(x);
}

/* Rows: a function, its argument that is NULL, what the message asks for, the call. */
#define MESSAGE(function, argument, wanted) #function ": " #argument " is NULL: " wanted " expected"
#define ROW(function, argument, wanted, ...) expect(burn_##function(__VA_ARGS__), MESSAGE(function, argument, wanted));
#define TENSOR_ROW(function, argument, wanted, ...) \
  expect_tensor(burn_##function(__VA_ARGS__), MESSAGE(function, argument, wanted));
/* Of a function whose last argument is the status of a chain. */
#define CHAIN_ROW(function, argument, wanted, ...)    \
  status = BURN_OK;                                   \
  assert_null(burn_##function(__VA_ARGS__, &status)); \
  expect(status, MESSAGE(function, argument, wanted));

static BurnTensor *ones(void) { return burn_ones(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32); }
static BurnTensor *loss(void) { return burn_sum(burn_linear_forward(&linear, ones())); }
static BurnModule module(void) { return burn_module(BurnLinear, &linear); }

static void tensors(void **state) {
  (void)state;
  BurnGradients *gradients = NULL;
  BurnTensor *const vectors[] = {burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32)};
  const char *source = NULL;
  ROW(meshgrid, grids, "a list of as many BurnTensor * as vectors", vectors, 1, BURN_GRID_MATRIX, BURN_GRID_DENSE, NULL)
  ROW(print_or_fail, file, "an open FILE", NULL, ones())
  ROW(backward, gradients, "a BurnGradients *", loss(), NULL)
  expect(burn_backward_create_graph(loss(), NULL), "backward: gradients is NULL: a BurnGradients * expected");
  ROW(to_dlpack, out, "a DLManagedTensorVersioned *", ones(), NULL)
  expect(burn_to_dlpack_on(ones(), 1, NULL), "to_dlpack: out is NULL: a DLManagedTensorVersioned * expected");
  ROW(op_find, out, "a const BurnOpInfo *", "relu", NULL)
  ROW(staging_open, out, "a BurnStaging *", device, 64, 1, NULL)
  ROW(staging_take, out, "a BurnStagingSlot *", NULL, NULL)
  ROW(device_describe, out, "a BurnDeviceDescription", device, NULL)
  ROW(quant_status, q, "a BurnQuantTensor", NULL)
  ROW(stack_choice, stack, "room for the text", "ndarray", NULL, 8, &source)
  BurnQuantTensor q = burn_quant_clone(NULL);
  expect(burn_quant_status(&q), "quant_clone: q is NULL: a BurnQuantTensor expected");
  burn_quant_drop(q);
  assert_int_equal(burn_device_memory(device).live_tensors, 2); /* weight and bias */
  assert_null(gradients);
}

/* What a failed burn_op_find leaves behind, and a primitive without its device. */
static void ops_by_name(void **state) {
  (void)state;
  BurnTensor *inputs[] = {ones(), ones()}, *outputs[2] = {NULL, NULL};
  BurnTensor *kept = ones();
  BurnPrimitive *primitive = burn_tensor_primitive(kept);
  burn_op_call(NULL, NULL, &inputs[0], 1, NULL, 0, &outputs[0]);
  expect_tensor(outputs[0], "op_call: op is NULL: what burn_op_find gives expected");
  inputs[0] = ones();
  burn_op_calls(NULL, 2, inputs, 1, NULL, outputs);
  for (int i = 0; i < 2; i++) expect_tensor(outputs[i], "op_call: op is NULL: what burn_op_find gives expected");
  expect_tensor(burn_tensor_from_primitive(NULL, primitive), "tensor_from_primitive: the device is NULL");
  TENSOR_ROW(tensor_from_primitive, primitive, "one of the device", device, NULL)
  BurnDevice *failed = burn_device_open("no_such_backend");
  BurnTensor *x = burn_tensor_from_primitive(failed, primitive);
  assert_int_equal(burn_status_code(burn_tensor_status(x)), BURN_STATUS_NOT_FOUND);
  burn_drop(x);
  burn_device_close(failed);
  burn_drop(kept);
  assert_int_equal(burn_device_memory(device).live_tensors, 2);
}

static void records(void **state) {
  (void)state;
  BurnValue *value = NULL, *item = NULL;
  uint8_t *bytes = NULL;
  size_t count = 0;
  uint32_t format = 0;
  const BurnRecordTensor unread = {.path = "weight"};
  ROW(module_visit, visitor, "a BurnModuleVisitor", module(), NULL, NULL)
  ROW(record_to_bytes, bytes, "a uint8_t *", module(), NULL, NULL, &count)
  ROW(record_to_bytes, count, "a size_t", module(), NULL, &bytes, NULL)
  ROW(record_load_tensors, tensors, "a list of BurnRecordTensor", module(), NULL, 1, NULL, NULL)
  expect(burn_record_load_tensors(module(), &unread, 1, NULL, NULL),
         "load: tensor 0 has no path or no function that reads it");
  ROW(value_read, out, "a BurnValue *", "a", NULL, NULL)
  ROW(value_read_any, format, "a uint32_t", "a", NULL, &value, &item)
  ROW(value_read_any, metadata, "a BurnValue *", "a", &format, NULL, &item)
  ROW(value_read_any, item, "a BurnValue *", "a", &format, &value, NULL)
  ROW(value_decode_any, format, "a uint32_t", "a", 1, NULL, &value, &item)
  ROW(value_decode_any, metadata, "a BurnValue *", "a", 1, &format, NULL, &item)
  ROW(value_decode_any, item, "a BurnValue *", "a", 1, &format, &value, NULL)
  const BurnRecordConfig bpk = {BURN_RECORD_BPK, BURN_PRECISION_FULL};
  assert_int_equal(burn_record_to_bytes(module(), &bpk, &bytes, &count), BURN_OK);
  ROW(value_decode_in_place, format, "a uint32_t", bytes, count, NULL, &value, &item)
  ROW(value_decode_in_place, item, "a BurnValue *", bytes, count, &format, &value, NULL)
  free(bytes);
  const BurnParamGroup listless = {.id_count = 2};
  const char no_ids[] = "quantize_inputs: group->ids is NULL: a list of ids expected";
  expect(burn_module_quantize_inputs(module(), &listless), no_ids);
  expect(burn_param_group_check(&(BurnParamGroup){.excludes = &listless}, module(), "quantize_inputs"), no_ids);
  assert_false(
      burn_param_group_has(&(BurnParamGroup){.id_count = 2, .parts = (const char *const[]){"b", NULL}}, "a", 1));
  BurnModuleOption option = burn_module_option(NULL);
  burn_module_option_set(&option, (BurnModule){NULL, &linear});
  assert_null(burn_module_option_get(&option));
}

static void files(void **state) {
  (void)state;
  BurnZipEntry entry = {.name = NULL};
  BurnTensor *x = ones();
  const char *const nameless[] = {NULL};
  uint8_t *bytes = NULL, peeked[1];
  size_t count = 0;
  BurnStatus status = BURN_OK;
  ROW(file_read, bytes, "a uint8_t *", "a", 8, NULL, &count)
  ROW(file_read, count, "a size_t", "a", 8, &bytes, NULL)
  ROW(file_open, file, "a FILE *", "a", NULL, NULL)
  ROW(npy_header, header, "a BurnNpyHeader", NULL, 0, NULL)
  expect(burn_npz_write("a.npz", NULL, &x, 1, false), "npz: a.npz: npz_write: names is NULL: a list of texts expected");
  x = ones();
  expect(burn_npz_write("a.npz", nameless, &x, 1, false), "npz: a.npz: npz: an array has no name");
  expect(burn_npz_write("a.npz", nameless, NULL, 1, false),
         "npz: a.npz: npz_write: tensors is NULL: a list of tensors expected");
  ROW(zip_make, entries, "a list of BurnZipEntry", NULL, 1, false, &bytes, &count)
  ROW(zip_make, bytes, "a uint8_t *", &entry, 0, false, NULL, &count)
  ROW(zip_make, count, "a size_t", &entry, 0, false, &bytes, NULL)
  expect(burn_zip_make(&entry, 1, false, &bytes, &count), "zip: member 0 has no name");
  entry = (BurnZipEntry){.name = "a", .count = 1};
  expect(burn_zip_make(&entry, 1, false, &bytes, &count), "zip: member 0 has no bytes");
  ROW(zip_read, bytes, "a uint8_t *", NULL, 0, NULL)
  ROW(zip_stored, bytes, "a const uint8_t *", NULL, 0, NULL)
  ROW(zip_peek, got, "a size_t", NULL, 0, peeked, 1, NULL)
  ROW(zip_peek, out, "room for the bytes", NULL, 0, NULL, 1, &count)
  assert_null(burn_zip_open(NULL, 64, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
  assert_int_equal(burn_device_memory(device).live_tensors, 2);
}

/* A name that is NULL is found nowhere; a count that nobody wants may be left out. */
static void names(void **state) {
  (void)state;
  const BurnZipEntry entry = {.name = "a", .bytes = (const uint8_t *)"b", .count = 1};
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = burn_zip_make(&entry, 1, false, &bytes, &count);
  BurnZip *zip = burn_zip_open(bytes, count, &status);
  assert_int_equal(status, BURN_OK);
  assert_int_equal(burn_zip_find(zip, NULL), 1);
  burn_zip_close(zip);
  free(bytes);
  BurnValue *map = burn_value_map();
  assert_true(burn_value_set(map, "a", burn_value_nil()));
  assert_null(burn_value_get(map, NULL));
  burn_value_destroy(map);
  BurnTokenizer *tokenizer = burn_tokenizer_characters("ab", 2, &status);
  assert_int_equal(burn_tokenizer_find(tokenizer, NULL, 1), -1);
  burn_tokenizer_destroy(tokenizer);
  BurnGuess guess = burn_guess("ndaray");
  burn_guess_add(&guess, NULL);
  assert_string_equal(burn_guess_text(&guess), "");
  assert_null(burn_step_get(NULL, "loss"));
  assert_null(burn_step_take(NULL, "loss"));
  assert_non_null(burn_host_options(NULL));
  char stack[8];
  assert_int_equal(burn_stack_choice("ndarray", stack, sizeof stack, NULL), BURN_OK);
}

static void data(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnDataset *digits = burn_dataset_digits(&(BurnDigitsConfig){.count = 4}, &status);
  BurnLoader *loader = burn_loader_create(burn_dataset_clone(digits), &(BurnLoaderConfig){.batch_size = 2}, &status);
  ROW(dataset_get, columns, "a place for each column", digits, 0, NULL)
  CHAIN_ROW(dataset_sample, config, "a BurnSampleConfig", burn_dataset_clone(digits), NULL)
  CHAIN_ROW(dataset_select, indices, "a list of indices", burn_dataset_clone(digits), NULL, 1)
  ROW(class_files_read, files, "a BurnClassFiles", "a", NULL, NULL)
  ROW(wav_read, sound, "a BurnWav", "a.wav", NULL)
  TENSOR_ROW(batch_take, batch, "a BurnBatch", NULL, "image")
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  assert_false(burn_batches_next(batches, NULL));
  expect(burn_batches_stop(batches), MESSAGE(batches_next, batch, "a BurnBatch"));
  burn_loader_destroy(loader);
  burn_dataset_drop(digits);
  const BurnTokens empty = {.tokens = NULL, .count = 2};
  BurnPaddingMask mask = burn_generate_padding_mask(device, 0, NULL, 1, (BurnSeqLength){BURN_SEQ_LENGTH_NO_MAX, 0});
  expect_tensor(mask.tensor, MESSAGE(generate_padding_mask, sequences, "a list of BurnTokens"));
  burn_drop(mask.mask);
  mask = burn_generate_padding_mask(device, 0, &empty, 1, (BurnSeqLength){BURN_SEQ_LENGTH_NO_MAX, 0});
  expect_tensor(mask.tensor, "generate_padding_mask: sequence 0 has no tokens");
  burn_drop(mask.mask);
}

static void texts(void **state) {
  (void)state;
  const BurnBytePairConfig nameless = {.vocabulary = 300, .specials = {NULL, 1}};
  BurnStatus status = BURN_OK;
  BurnTokenizer *tokenizer = burn_tokenizer_characters("ab", 2, &status);
  BurnTokenList tokens = {0};
  const int64_t id = 0;
  char *text = NULL;
  size_t length = 0;
  ROW(token_list_add, tokens, "a BurnTokenList", NULL, 1)
  ROW(tokenizer_encode, text, "length bytes", tokenizer, NULL, 1, &tokens)
  ROW(tokenizer_encode, tokens, "a BurnTokenList", tokenizer, "a", 1, NULL)
  ROW(tokenizer_decode, ids, "a list of count tokens", tokenizer, NULL, 1, &text, &length)
  ROW(tokenizer_decode, text, "a char *", tokenizer, &id, 1, NULL, &length)
  ROW(tokenizer_decode, length, "a size_t", tokenizer, &id, 1, &text, NULL)
  CHAIN_ROW(tokenizer_characters, text, "length bytes", NULL, 1)
  CHAIN_ROW(tokenizer_byte_pair_train, config, "a BurnBytePairConfig", "a", 1, NULL)
  CHAIN_ROW(tokenizer_byte_pair_train, text, "length bytes", NULL, 1, &nameless)
  status = BURN_OK;
  assert_null(burn_tokenizer_byte_pair_train("a", 1, &nameless, &status));
  expect(status, "byte_pair: special token 0 is NULL");
  status = BURN_OK;
  assert_null(burn_tokenizer_create(NULL, &status));
  expect(status, MESSAGE(tokenizer_create, interface, "a BurnTokenizerInterface"));
  burn_tokenizer_destroy(tokenizer);
}

static BurnGradientsParams *gradients_of_loss(void) {
  BurnGradients *gradients = NULL;
  assert_int_equal(burn_backward(loss(), &gradients), BURN_OK);
  return burn_gradients_params(gradients, module());
}

static void optimizers(void **state) {
  (void)state;
  const BurnModuleLearningRate listless = {.base = 0.1, .group_count = 1};
  BurnGradScaler scaler = burn_grad_scaler(NULL);
  BurnOptimizer *optimizer = burn_sgd_create(NULL), *ruleless = burn_optimizer_create(NULL, NULL, 0);
  bool finite = false;
  BurnGradientsParams *gradients = gradients_of_loss();
  const char no_scaler[] = "grad_scaler: scaler is NULL: a BurnGradScaler expected";
  ROW(gradients_accumulate, sum, "a BurnGradientsParams *", NULL, gradients_of_loss())
  ROW(module_learning_rate_check, rates, "a BurnModuleLearningRate", NULL)
  expect(burn_module_learning_rate_check(&listless),
         "module_learning_rate_check: rates->groups is NULL: a list of BurnLearningRateGroup expected");
  ROW(optimizer_step_rates, rates, "a BurnModuleLearningRate", optimizer, module(), gradients_of_loss(), NULL)
  ROW(train_step_rates, rates, "a BurnModuleLearningRate", optimizer, module(), loss(), NULL)
  expect(burn_train_step_rates(optimizer, module(), loss(), &listless),
         "sgd: rates->groups is NULL: a list of BurnLearningRateGroup expected");
  ROW(optimizer_with_group, group, "a BurnParamGroup", optimizer, NULL, burn_sgd_create(NULL))
  expect(burn_optimizer_status(ruleless), MESSAGE(optimizer_create, rule, "a BurnOptimizerRule"));
  ROW(lbfgs_step, closure, "a BurnLossClosure", NULL, module(), NULL, NULL, 0.1, NULL)
  ROW(grad_scaler_unscale, finite, "a bool", &scaler, gradients, NULL)
  expect(burn_grad_scaler_unscale(NULL, gradients, &finite), no_scaler);
  expect(burn_grad_scaler_status(NULL), no_scaler);
  expect(burn_grad_scaler_load(NULL, NULL), no_scaler);
  expect(burn_grad_scaler_step(NULL, optimizer, module(), gradients, 0.1, NULL), no_scaler);
  expect_tensor(burn_grad_scaler_scale(NULL, loss()), no_scaler);
  assert_null(burn_grad_scaler_value(NULL));
  burn_optimizer_destroy(ruleless);
  burn_optimizer_destroy(optimizer);
  assert_int_equal(burn_device_memory(device).live_tensors, 2);
}

static void running(void **state) {
  (void)state;
  const BurnDataParallel parallel = {.devices = &device, .device_count = 1};
  const BurnEnvironment environment = {.action_count = 1};
  BurnBatch batch = {0};
  BurnStepOutput output = {0};
  BurnGradientsParams *gradients = NULL;
  BurnTransitionBuffer *buffer = NULL;
  BurnPolicyEvaluation evaluation;
  BurnStatus status = BURN_OK;
  const Folder folder = folder_make();
  BurnTensorboard *board = burn_tensorboard_create(folder.path, &status);
  const char no_report[] = "report: config is NULL: a BurnReportConfig expected";
  ROW(data_parallel_step, config, "a BurnDataParallel", NULL, &batch, &output, &gradients)
  ROW(data_parallel_step, batch, "a BurnBatch", &parallel, NULL, &output, &gradients)
  ROW(data_parallel_step, output, "a BurnStepOutput", &parallel, &batch, NULL, &gradients)
  ROW(data_parallel_step, gradients, "a BurnGradientsParams *", &parallel, &batch, &output, NULL)
  ROW(gpu_use, use, "a BurnGpuUse", 0, NULL)
  ROW(tensorboard_text, tag, "a text", board, NULL, 0, "b")
  ROW(tensorboard_text, text, "a text", board, "a", 0, NULL)
  ROW(tensorboard_histogram, tag, "a text", board, NULL, 0, ones())
  burn_tensorboard_destroy(board);
  folder_remove(folder.path);
  ROW(report_samples, samples, "a list of BurnSample", "a", NULL, 1)
  expect(burn_report_write(NULL), no_report);
  expect(burn_report_on_epoch(NULL, NULL), no_report);
  assert_null(burn_report_json(NULL, &status));
  expect(status, no_report);
  status = BURN_OK;
  assert_null(burn_report_summary(NULL, &status));
  expect(status, no_report);
  status = BURN_OK;
  assert_null(burn_dqn_create(NULL, BURN_SHAPE(2), module(), NULL, NULL, device, &status));
  expect(status, MESSAGE(dqn_create, config, "a BurnDqnConfig"));
  ROW(policy_evaluate, environment, "a BurnEnvironment", NULL, (BurnAgent){0}, 1, &evaluation)
  ROW(policy_evaluate, result, "a BurnPolicyEvaluation", &environment, (BurnAgent){0}, 1, NULL)
  expect(burn_policy_evaluate(&environment, (BurnAgent){0}, 1, &evaluation),
         "evaluation: an agent that does not act, or an environment without reset or step");
  ROW(off_policy_fit, config, "a BurnOffPolicyConfig", NULL, NULL, &environment, 1, NULL, (BurnAgent){0}, device, NULL)
  ROW(transition_buffer_sample, transitions, "a BurnTransitions", buffer, device, 1, NULL)
}

int main(void) {
  device = burn_device_open("autodiff<ndarray>");
  linear = burn_linear_new(2, 2, device);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors), cmocka_unit_test(ops_by_name), cmocka_unit_test(records),
      cmocka_unit_test(files),   cmocka_unit_test(names),       cmocka_unit_test(data),
      cmocka_unit_test(texts),   cmocka_unit_test(optimizers),  cmocka_unit_test(running),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  BurnLinear_release(&linear);
  burn_device_close(device);
  return failed;
}
