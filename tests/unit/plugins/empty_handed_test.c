/* empty_handed_test.c - plugins that report success and give nothing, or a tensor of another shape
 * (tests/plugins/empty_handed.c, lazy.h): whoever asked says so, with the plugin's name, and nothing crashes. */
#include "forked.h"

#include <burn/dlpack.h>
#include <burn/op_call.h>
#include <burn/transfer.h>

enum { COUNT = 4 };
static const float VALUES[COUNT] = {1, 2, 3, 4};

static BurnTensor *square(BurnDevice *device) { return burn_tensor_f32(device, VALUES, BURN_SHAPE(2, 2)); }

/* What a failure that has to come says. */
static void check_failure(const char *stack, BurnStatus status, const char *message) {
  const char *text = burn_status_message(status);
  CHECK(status != BURN_OK && strstr(text, message), "%s: '%s' does not contain '%s'", stack, text, message);
}

static void close_without_tensors(const char *stack, BurnDevice *device) {
  const BurnStatus synced = burn_device_sync(device); /* work that is late holds tensors */
  const int64_t live = burn_device_memory(device).live_tensors;
  CHECK(live <= 0, "%s: %d tensors are left; %s", stack, (int)live, burn_status_message(synced));
  burn_device_close(device);
}

/* -- tensors ---------------------------------------------------------------------------------- */

typedef struct Row {
  const char *stack, *message;
} Row;

static const Row rows[] = {
    {"empty_handed:of=create<ndarray>", "create: 'empty_handed' reports success, but gave no tensor"},
    {"autodiff<empty_handed:of=create<ndarray>>", "create: 'empty_handed' reports success, but gave no tensor"},
    {"fusion<empty_handed:of=create<ndarray>>", "create: 'empty_handed' reports success, but gave no tensor"},
    {"autocast<empty_handed:of=create<ndarray>>", "create: 'empty_handed' reports success, but gave no tensor"},
    {"trace:format=count,file=/dev/null<empty_handed:of=create<ndarray>>",
     "create: 'trace on empty_handed' reports success, but gave no tensor"},
    {"validate<empty_handed:of=create<ndarray>>",
     "validate: op 'create' broke the promise 'promises': result 0 is the address 0x0, where no header can be read; "
     "inputs: none -> f32[2,2]"},
    {"empty_handed:of=create_shape<ndarray>", "create: 'empty_handed' gave a tensor of f32 [3,2], not of f32 [2,2]"},
    {"autodiff<fusion<empty_handed:of=create_shape<ndarray>>>",
     "create: 'empty_handed' gave a tensor of another shape or dtype than it was asked for"},
    {"validate<empty_handed:of=create_shape<ndarray>>", "result 0 is f32[3,2], not f32[2,2]"},
    {"empty_handed:of=create_rank<ndarray>",
     "create: 'empty_handed' gave a tensor of f32 and no shape, not of f32 [2,2]"},
    {"fusion<empty_handed:of=create_rank<ndarray>>", "create: 'empty_handed' gave a tensor of another shape"},
    {"empty_handed:of=result<ndarray>", "mul: 'empty_handed' reports success, but gave no result 0"},
    {"autodiff<empty_handed:of=result<ndarray>>", "mul: 'empty_handed' reports success, but gave no result 0"},
    {"fusion<empty_handed:of=result<ndarray>>", "mul: 'empty_handed' reports success, but gave no result 0"},
    {"empty_handed:of=result_shape<ndarray>", "mul: 'empty_handed' gave a tensor of f32 [3,2], not of f32 [2,2]"},
    {"empty_handed:of=result_rank<ndarray>", "mul: 'empty_handed' gave a tensor of f32 and no shape, not of f32 [2,2]"},
    {"autodiff<empty_handed:of=result_shape<ndarray>>", "mul: 'empty_handed' gave a tensor of another shape"},
    {"autodiff<empty_handed:of=result_rank<ndarray>>", "mul: 'empty_handed' gave a tensor of another shape"},
    {"fusion<empty_handed:of=result_shape<ndarray>>", "mul: 'empty_handed' gave a tensor of another shape"},
    {"fusion<empty_handed:of=result_rank<ndarray>>", "mul: 'empty_handed' gave a tensor of another shape"},
    {"autodiff<autocast<empty_handed:of=result_rank<ndarray>>>", "mul: 'empty_handed' gave a tensor of another shape"},
    {"fusion<empty_handed:of=fused<ndarray>>", "'empty_handed' reports success, but gave no tensor"},
    {"empty_handed:of=functions<ndarray>",
     "'empty_handed' offers gradients, but its table of 512 bytes lacks functions"},
};

static void compute(void *context) {
  const Row *row = context;
  BurnDevice *device = burn_device_open(row->stack);
  float found[COUNT];
  BurnTensor *x = square(device), *y = burn_mul(x, square(device));
  check_failure(row->stack, burn_read_f32(burn_add(y, square(device)), found, COUNT), row->message);
  close_without_tensors(row->stack, device);
}

static void what_is_not_given_is_named(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    Row row = rows[i];
    forked(compute, &row);
  }
}

/* A reason without an end is cut where its room ends. */
static void ask_why(void *context) {
  const char *stack = context;
  BurnDevice *device = burn_device_open(stack);
  BurnTensor *x = burn_mul(square(device), square(device));
  const char *text = burn_status_message(burn_tensor_status(x));
  check_contains(text, "mul: backend 'empty_handed' has no kernel for it: xxx");
  const char *first = strstr(text, "xxx");
  const size_t length = strspn(first, "x");
  CHECK(length == 255 && strcmp(first + length, ", and it has no decomposition") == 0, "%d: %s", (int)length, text);
  burn_drop(x);
  close_without_tensors(stack, device);
}

static void a_reason_without_an_end_is_cut(void **state) {
  (void)state;
  forked(ask_why, (void *)(uintptr_t) "empty_handed:of=end<ndarray>");
}

/* -- interfaces without a table --------------------------------------------------------------- */

static void compute_well(void *context) {
  const char *stack = context;
  BurnDevice *device = burn_device_open(stack);
  float found[COUNT] = {0};
  for (int round = 0; round < 12; round++) {
    BurnTensor *x = square(device);
    for (int i = 0; i < 6; i++) x = burn_exp(burn_matmul(burn_mul_scalar(x, 0.01), square(device)));
    const BurnStatus status = burn_read_f32(burn_add(x, square(device)), found, COUNT);
    CHECK(status == BURN_OK, "%s: %s", stack, burn_status_message(status));
  }
  CHECK(found[0] > 1 && found[0] < 3, "%s: %g", stack, (double)found[0]);
  close_without_tensors(stack, device);
}

/* A recording that cannot be begun is none; the calls are made one by one. */
static void what_is_not_there_is_done_without(void **state) {
  static const char *const stacks[] = {"empty_handed:of=tables<ndarray>",
                                       "autodiff<empty_handed:of=tables<ndarray>>",
                                       "fusion<empty_handed:of=tables<ndarray>>",
                                       "autocast<empty_handed:of=tables<ndarray>>",
                                       "validate<empty_handed:of=tables<ndarray>>",
                                       "trace:format=count,file=/dev/null<empty_handed:of=tables<ndarray>>",
                                       "fusion<empty_handed:of=functions<ndarray>>",
                                       "fusion<empty_handed:of=recording<ndarray>>"};
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) forked(compute_well, (void *)(uintptr_t)stacks[i]);
}

/* -- calls that are joined -------------------------------------------------------------------- */

static void join(void *context) {
  const char *stack = context, *message = "add: 'empty_handed' reports success, but gave no tensor";
  BurnDevice *device = burn_device_open(stack);
  BurnTensor *inputs[4], *outputs[2];
  float found[COUNT];
  for (int i = 0; i < 4; i++) inputs[i] = square(device);
  const BurnOpInfo *add = NULL;
  CHECK(burn_op_find("add", &add) == BURN_OK, "add");
  burn_op_calls(add, 2, inputs, 2, NULL, outputs);
  for (int i = 0; i < 2; i++) check_failure(stack, burn_read_f32(outputs[i], found, COUNT), message);
  close_without_tensors(stack, device);
}

static void joined_calls_without_results_fail(void **state) {
  (void)state;
  forked(join, (void *)(uintptr_t) "empty_handed:of=joined<ndarray>");
  forked(join, (void *)(uintptr_t) "fusion<empty_handed:of=joined<ndarray>>");
}

/* -- gradients -------------------------------------------------------------------------------- */

static void differentiate(void *context) {
  const char *of = context;
  char stack[64], message[96];
  snprintf(stack, sizeof stack, "empty_handed:of=%s<ndarray>", of);
  snprintf(message, sizeof message, "%s: 'empty_handed' reports success, but gave no %s", of,
           strcmp(of, "backward") == 0 ? "gradients" : "tensor");
  BurnDevice *device = burn_device_open(stack);
  BurnGradients *gradients = NULL;
  if (strcmp(of, "backward") == 0) {
    check_failure(stack, burn_backward(square(device), &gradients), message);
    CHECK(!gradients, "%s: gradients", stack);
  } else {
    BurnTensor *x = strcmp(of, "detach") == 0 ? burn_detach(square(device)) : burn_require_grad(square(device));
    check_failure(stack, burn_tensor_status(x), message);
    burn_drop(x);
  }
  close_without_tensors(stack, device);
}

static void gradients_that_are_not_given_are_named(void **state) {
  static const char *const verbs[] = {"require_grad", "detach", "backward"};
  (void)state;
  for (size_t i = 0; i < 3; i++) forked(differentiate, (void *)(uintptr_t)verbs[i]);
}

/* -- late work -------------------------------------------------------------------------------- */

static BurnTensor *upload(BurnDevice *device) {
  BurnStaging *staging = NULL;
  BurnStagingSlot *slot = NULL;
  CHECK(burn_staging_open(device, sizeof VALUES, 1, &staging) == BURN_OK, "staging");
  CHECK(burn_staging_take(staging, &slot) == BURN_OK, "slot");
  memcpy(burn_staging_memory(slot), VALUES, sizeof VALUES);
  BurnTensor *x = burn_staging_tensor(slot, 0, BURN_DTYPE_F32, BURN_SHAPE(2, 2));
  burn_staging_give(slot);
  burn_staging_close(staging);
  return x;
}

static void transfer(void *context) {
  const Row *row = context;
  float found[COUNT];
  BurnDevice *device = burn_device_open(row->stack), *source = burn_device_open("lazy");
  BurnTensor *x = strstr(row->stack, "upload")   ? upload(device)
                  : strstr(row->stack, "copies") ? burn_to_device(square(source), device)
                                                 : square(device);
  check_failure(row->stack, burn_read_finish_f32(burn_read_start(x), found, COUNT), row->message);
  close_without_tensors(row->stack, device);
  close_without_tensors("lazy", source);
}

static void late_work_without_an_event_or_tensor_is_named(void **state) {
  static const Row late[] = {
      {"lazy:wrong=reads_nothing", "read_async: 'lazy' reports success, but gave no event"},
      {"autodiff<lazy:wrong=reads_nothing>", "read_async: 'lazy' reports success, but gave no event"},
      {"lazy:wrong=uploads_untold", "create_async: 'lazy' reports success, but gave no event"},
      {"lazy:wrong=uploads_nothing", "create_async: 'lazy' reports success, but gave no tensor"},
      {"fusion<lazy:wrong=uploads_nothing>", "create_async: 'lazy' reports success, but gave no tensor"},
      {"lazy:1:wrong=copies_nothing", "copy_from: 'lazy' reports success, but gave no tensor"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
    Row row = late[i];
    forked(transfer, &row);
  }
}

/* -- DLPack ----------------------------------------------------------------------------------- */

static void import_nothing(void *context) {
  BurnDevice *source = burn_device_open("ndarray"), *device = burn_device_open("liar");
  struct DLManagedTensorVersioned *shared = NULL;
  (void)context;
  CHECK(burn_to_dlpack(square(source), &shared) == BURN_OK, "to_dlpack");
  BurnTensor *x = burn_from_dlpack(shared, device);
  check_failure("liar", burn_tensor_status(x), "from_dlpack: 'liar' reports success, but gave no tensor");
  burn_drop(x);
  burn_device_close(device);
  burn_device_close(source);
}

static void export_nothing(void *context) {
  BurnDevice *device = burn_device_open("liar:lie=buffer_missing");
  struct DLManagedTensorVersioned *shared = NULL;
  (void)context;
  check_failure("liar", burn_to_dlpack(burn_add(square(device), square(device)), &shared),
                "to_dlpack: 'liar' gave no address of the elements");
  CHECK(!shared, "a tensor");
  close_without_tensors("liar", device);
}

static void memory_that_is_not_there_is_named(void **state) {
  (void)state;
  forked(import_nothing, NULL);
  forked(export_nothing, NULL);
}

int main(void) {
  if (setenv("BURN_PLUGIN_PATH", BURN_BUILD_DIR "/tests/broken_plugins", 1) != 0) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_not_given_is_named),
      cmocka_unit_test(a_reason_without_an_end_is_cut),
      cmocka_unit_test(what_is_not_there_is_done_without),
      cmocka_unit_test(joined_calls_without_results_fail),
      cmocka_unit_test(gradients_that_are_not_given_are_named),
      cmocka_unit_test(memory_that_is_not_there_is_named),
      cmocka_unit_test(late_work_without_an_event_or_tensor_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
