/* validate_test.c - the validate decorator above a decorator that is wrong in one way (tests/plugins/faulty_layer.c)
 * and a backend that tells lies (liar.c): each fault is found and named; what is right passes; saved calls can be read
 * again. */
#include "sanitized.h"
#include "forked.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* validate does not release a result with a foreign owner or a short header: whose it is nobody can say. Those two faults
 * leave one each behind. */
#if defined(SANITIZED)
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }
#endif

#define FAULTY BURN_BUILD_DIR "/tests/broken_plugins/burn_faulty" BURN_PLUGIN_SUFFIX
#define LIAR BURN_BUILD_DIR "/tests/broken_plugins/burn_liar" BURN_PLUGIN_SUFFIX

static const float values[] = {1, 2, 3, 4};

static BurnDevice *open_stack(const char *options, const char *op, const char *fault, const char *backend) {
  char text[512];
  snprintf(text, sizeof text, "validate%s<faulty:op=%s,fault=%s<%s>>", options, op, fault, backend);
  BurnDevice *device = burn_device_open(text);
  assert_string_equal(burn_status_message(burn_device_status(device)), "ok");
  return device;
}

static BurnTensor *square(BurnDevice *device) { return burn_tensor_f32(device, values, BURN_SHAPE(2, 2)); }

/* -- every fault ------------------------------------------------------------------------------ */

static const struct {
  const char *options, *fault;
  bool share; /* somebody else holds the input */
  const char *message;
} faults[] = {
    {":finite=strict", "nan", false,
     "validate: op 'exp' broke the promise 'finite': result 0 has 1 of 4 values that are not finite, the first "
     "is nan at element 0, although all inputs are finite; inputs: f32[2,2] = 1, 2, 3, 4 -> f32[2,2] = nan, "},
    {":finite=strict", "infinity", true,
     "'finite': result 0 has 1 of 4 values that are not finite, the first is inf at element 0"},
    {"", "shape", false, "'promises': result 0 is f32[3,2], not f32[2,2]; inputs: f32[2,2] = 1, 2, 3, 4 -> f32[2,2]"},
    {"", "dtype", false, "'promises': result 0 is f64, not f32"},
    {"", "owner", false, "'promises': result 0 carries the owner number "},
    {"", "small", false, "'promises': result 0 has a header of 8 bytes, 64 are needed"},
    {"", "missing", false, "'faulty' reports success, but gave no result 0"},
    {":ownership=false", "stored", false, "'promises': the call failed but stored result 0"},
    {"", "strides", false, "'promises': result 0: what lies at the address of element 1 is not what read() gives"},
    {"", "before", false, "'promises': result 0 has strides that reach 2 elements before the start of its buffer"},
    {":ownership=false", "dtype", true, "'promises': result 0 is f64, not f32"},
    {"", "write", true, "'ownership': input 0, which somebody else holds, was changed: element 0 was 1 and became 2"},
    {"", "donated", false,
     "'ownership': input 0, which somebody else holds, was changed: element 0 was 1 and became 2"},
    {"", "storage", false,
     "'ownership': input 0, whose memory another view shares, was changed: element 0 was 1 and became 2"},
    {"", "leak", false, "'ownership': 1 tensors stay alive after its results were released"},
    {":determinism=true", "random", false, "'determinism': run twice, result 0 differs: element 0 was 1 and became 2"},
    {":determinism=true,ownership=false", "random", true,
     "'determinism': run twice, result 0 differs: element 0 was 0 and "
     "became 1"},
};

static void test_every_fault_is_named(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    BurnDevice *device = open_stack(faults[i].options, "exp", faults[i].fault, "ndarray");
    BurnTensor *x = square(device), *held = faults[i].share ? burn_clone(x) : NULL;
    BurnTensor *y = burn_exp(x);
    const BurnStatus status = burn_tensor_status(y);
    if (!strstr(burn_status_message(status), faults[i].message)) {
      fail_msg("%s%s says '%s', expected '%s'", faults[i].fault, faults[i].options, burn_status_message(status),
               faults[i].message);
    }
    BurnTensor *z = burn_log(square(device)); /* other ops are right */
    assert_string_equal(burn_status_message(burn_tensor_status(z)), "ok");
    burn_drop(z);
    burn_drop(y);
    burn_drop(held);
    burn_device_close(device);
  }
}

/* -- what comes from above -------------------------------------------------------------------- */

/* A decorator above that changes the inputs of a call and not its descriptions: backends believe these. */
static void check_from_above(const char *op, const char *fault, const char *message) {
  char text[128];
  snprintf(text, sizeof text, "faulty:op=%s,fault=%s<validate<ndarray>>", op, fault);
  BurnDevice *device = burn_device_open(text);
  BurnTensor *x = square(device), *y = strcmp(op, "exp") == 0 ? burn_exp(x) : burn_transpose(x);
  const char *found = burn_status_message(burn_tensor_status(y));
  if (!strstr(found, message)) fail_msg("%s says '%s', expected '%s'", text, found, message);
  burn_drop(y);
  burn_device_close(device);
}

static void test_a_call_with_stale_descriptions(void **state) {
  (void)state;
  check_from_above("exp", "described",
                   "validate: op 'exp' broke the promise 'promises': of these inputs and attributes result 0 is "
                   "f64[2,2], but the call says f32[2,2]; a decorator that changes a call sets its output_descs to "
                   "NULL; inputs: f64[2,2] = 0, 0, 0, 0 -> f32[2,2]");
  check_from_above("exp", "rank", "result 0 is f32[2], but the call says f32[2,2]");
  check_from_above("permute", "rank", "broke the promise 'promises': no such call is possible: permute: ");
}

/* e^100 is infinite in f32, and a step of sigmoid where a backend has no kernel for it. */
static void test_a_decomposed_op_is_checked_as_a_whole(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("validate:finite=strict<reference>");
  const float x[] = {-100, 0};
  float y[2] = {1, 1};
  const BurnStatus status = burn_read_f32(burn_sigmoid(burn_tensor_f32(device, x, BURN_SHAPE(2))), y, 2);
  assert_string_equal(burn_status_message(status), "ok");
  assert_float_equal(y[0], 0, 1e-6f);
  assert_float_equal(y[1], 0.5f, 1e-6f);
  burn_device_close(device);
}

/* -- what is switched off, and what is allowed ------------------------------------------------ */

static void check_passes(const char *options, const char *fault) {
  BurnDevice *device = open_stack(options, "exp", fault, "ndarray");
  BurnTensor *x = burn_exp(square(device));
  if (burn_tensor_status(x) != BURN_OK)
    fail_msg("%s, %s: %s", options, fault, burn_status_message(burn_tensor_status(x)));
  burn_drop(x);
  burn_device_close(device);
}

static void test_checks_can_be_switched_off(void **state) {
  (void)state;
  check_passes(":finite=false", "nan");
  check_passes("", "nan"); /* told, not a failure */
  check_passes(":promises=false", "strides");
  check_passes(":ownership=false", "write");
  check_passes("", "random"); /* determinism is off by default */
}

static void test_infinities_that_are_wanted(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("validate:finite=strict<ndarray>");
  const bool mask[] = {true, false, false, true};
  BurnTensor *x = burn_mask_fill(square(device), burn_tensor_bool(device, mask, BURN_SHAPE(2, 2)), -(double)INFINITY);
  assert_string_equal(burn_status_message(burn_tensor_status(x)), "ok"); /* given as a number */
  x = burn_softmax(x, 1);
  assert_string_equal(burn_status_message(burn_tensor_status(x)), "ok");
  x = burn_log(
      burn_sub(x, burn_full(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32, 2))); /* logarithms of negative numbers */
  assert_non_null(strstr(burn_status_message(burn_tensor_status(x)), "op 'log' broke the promise 'finite'"));
  burn_drop(x);
  burn_device_close(device);
}

/* Both orders with autodiff, on both backends: a gradient step passes, and the wrong op is named in the backward pass
 * too. */
static void test_stacks_with_autodiff(void **state) {
  (void)state;
  static const char *const stacks[] = {
      "autodiff<validate:determinism=true<ndarray>>", "validate:determinism=true<autodiff<ndarray>>",
      "autodiff<validate:determinism=true<reference>>", "validate:determinism=true<autodiff<reference>>",
      "validate:determinism=true<autodiff<ndarray:primitives=true>>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    BurnTensor *x = burn_require_grad(square(device));
    BurnGradients *gradients = NULL;
    const BurnStatus status =
        burn_backward(burn_sum(burn_mul(burn_exp(burn_clone(x)), burn_gelu(burn_clone(x)))), &gradients);
    if (status != BURN_OK) fail_msg("%s: %s", stacks[i], burn_status_message(status));
    BurnTensor *gradient = burn_grad(x, gradients);
    assert_string_equal(burn_status_message(burn_tensor_status(gradient)), "ok");
    burn_drop(gradient);
    burn_gradients_drop(gradients);
    burn_drop(x);
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
  }
  BurnDevice *device = burn_device_open("autodiff<validate:finite=strict<faulty:op=mul_scalar,fault=nan<ndarray>>>");
  BurnTensor *x = burn_require_grad(square(device));
  BurnTensor *y = burn_sum(burn_powf_scalar(burn_clone(x), 2)); /* 2 * x on the way back */
  assert_string_equal(burn_status_message(burn_tensor_status(y)), "ok");
  BurnGradients *gradients = NULL;
  const BurnStatus status = burn_backward(y, &gradients);
  assert_non_null(strstr(burn_status_message(status), "op 'mul_scalar' broke the promise 'finite'"));
  burn_gradients_drop(gradients);
  burn_drop(x);
  burn_device_close(device);
}

/* -- warnings --------------------------------------------------------------------------------- */

/* What the body writes to stderr. */
static void catch_stderr(void (*body)(void), char *text, size_t bytes) {
  char path[] = "/tmp/burn-validate-XXXXXX";
  const int file = mkstemp(path), saved = dup(STDERR_FILENO);
  assert_true(file >= 0 && saved >= 0);
  fflush(stderr);
  assert_true(dup2(file, STDERR_FILENO) >= 0);
  body();
  fflush(stderr);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  const ssize_t got = pread(file, text, bytes - 1, 0);
  text[got > 0 ? got : 0] = '\0';
  close(file);
  unlink(path);
}

static void run_with_warnings(void) {
  BurnDevice *device = open_stack(":finite=strict,action=warn", "exp", "nan", "ndarray");
  for (int i = 0; i < 3; i++) {
    BurnTensor *x = burn_exp(square(device));
    assert_string_equal(burn_status_message(burn_tensor_status(x)), "ok");
    float found[4];
    assert_true(burn_read_f32(x, found, 4) == BURN_OK && isnan(found[0]) && found[1] > 7);
  }
  burn_device_close(device);
}

static void test_a_warning_comes_once_per_op(void **state) {
  (void)state;
  char text[4096];
  catch_stderr(run_with_warnings, text, sizeof text);
  const char *first = strstr(text, "burn: warning: validate: op 'exp' broke the promise 'finite'");
  assert_non_null(first);
  assert_null(strstr(strchr(first, '\n'), "broke the promise"));
}

/* A NaN that the definition allows is told once per op, whatever `action` says of broken promises; a promise that the
 * same op breaks later is not hidden by that. */
static void run_with_odd_values(void) {
  BurnDevice *device = burn_device_open("validate<ndarray>");
  for (int i = 0; i < 3; i++) {
    BurnTensor *x = burn_log(burn_zeros(device, BURN_SHAPE(2), BURN_DTYPE_F32));
    float found[2];
    assert_true(burn_read_f32(x, found, 2) == BURN_OK && isinf(found[0]));
    x = burn_mean(burn_zeros(device, BURN_SHAPE(0), BURN_DTYPE_F32));
    assert_true(burn_read_f32(x, found, 1) == BURN_OK && isnan(found[0]));
    x = burn_cast(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_F32, 1e30), BURN_DTYPE_F16);
    assert_string_equal(burn_status_message(burn_tensor_status(x)), "ok");
    burn_drop(x);
  }
  burn_device_close(device);
}

static void test_what_is_not_finite_is_told_once_per_op(void **state) {
  (void)state;
  char text[4096];
  catch_stderr(run_with_odd_values, text, sizeof text);
  static const char *const ops[] = {"log", "mean", "cast"};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    char message[80];
    snprintf(message, sizeof message, "burn: warning: validate: op '%s' made what is not finite: ", ops[i]);
    const char *first = strstr(text, message);
    if (!first) fail_msg("nothing is said of %s: %s", ops[i], text);
    assert_null(strstr(first + 1, message));
  }
  assert_null(strstr(text, "promise"));
}

/* -- lies ------------------------------------------------------------------------------------- */

/* What liar.c can say, and what validate says of it. */
static const struct {
  const char *lie, *message;
} lies[] = {
    {"shape", "result 0 is f32[3,2], not f32[2,2]"},
    {"shape_missing", "result 0: its shape cannot be read, it should lie at 0x0"},
    {"shape_wild", "result 0: its shape cannot be read, it should lie at 0x10"},
    {"dtype", "result 0 is f64, not f32"},
    {"dtype_unknown", "result 0 is ?, not f32 (dtype 4711, not "},
    {"owner", "result 0 carries the owner number "},
    {"rank", "result 0 has rank 1, not 2"},
    {"rank_huge", "result 0 has rank 1000000000, not 2"},
    {"header_small", "result 0 has a header of 0 bytes, 64 are needed"},
    {"header_short", "result 0 has a header of 8 bytes, 64 are needed"},
    {"header_wild", "result 0 is the address 0x10, where no header can be read"},
    {"tracked", "result 0 has the flags 0x3: it says TRACKED though no input is"},
    {"buffer_missing", "result 0 says HOST_MEMORY but has no buffer"},
    {"buffer_wild",
     "result 0: no memory can be read at 0x10, where its first element should lie (f32[2,2], strides 2,1"},
    {"strides_missing", "result 0 says HOST_MEMORY but has no strides"},
    {"strides_wild", "result 0: its strides cannot be read, they should lie at 0x10"},
    {"strides_past_end", "where its highest element should lie (f32[2,2], strides 1099511627776,1, byte_offset 0"},
    {"strides_absurd", "result 0 has strides that no memory could hold (f32[2,2], strides 9223372036854775807,1"},
    {"strides_before",
     "result 0 has strides that reach 1 elements before the start of its buffer (f32[2,2], strides 2,-1"},
    {"strides_other",
     "what lies at the address of element 1 is not what read() gives: 2, not 4 (f32[2,2], strides 2,0"},
    {"offset_negative", "result 0 begins at byte -4 of its buffer, which is not a place for a f32"},
    {"offset_odd", "result 0 begins at byte 2 of its buffer, which is not a place for a f32"},
    {"offset_other",
     "what lies at the address of element 0 is not what read() gives: 4, not 2 (f32[2,2], strides 2,1, "
     "byte_offset 4"},
    {"offset_past_end", "where its first element should lie (f32[2,2], strides 2,1, byte_offset 35184372088832"},
    {"alias", "'ownership': input 0, which somebody else holds, was changed: element 0 was 1 and became 2"},
};
enum { LIE_COUNT = sizeof lies / sizeof lies[0] };

/* In a child, as a lie that is believed may crash it. */
static void add_with_a_lie(void *context) {
  const size_t i = *(const size_t *)context;
  char text[128];
  snprintf(text, sizeof text, "validate<liar:lie=%s>", lies[i].lie);
  BurnDevice *device = burn_device_open(text);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  BurnTensor *y = burn_add(square(device), square(device));
  const char *message = burn_status_message(burn_tensor_status(y));
  CHECK(strstr(message, "validate: op 'add' broke the promise '"), "%s: %s", lies[i].lie, message);
  check_contains(message, lies[i].message);
  burn_drop(y);
  burn_device_close(device);
}

static void test_no_lie_crashes_and_each_is_named(void **state) {
  (void)state;
  for (size_t i = 0; i < LIE_COUNT; i++) forked(add_with_a_lie, &i);
}

static void add_without_a_lie(void *context) {
  (void)context;
  BurnDevice *device = burn_device_open("validate<liar>");
  float found[4];
  CHECK(burn_read_f32(burn_add(square(device), square(device)), found, 4) == BURN_OK && found[3] == 8.0f, "%g",
        (double)found[3]);
  burn_device_close(device);
}

static void test_who_tells_no_lie_passes(void **state) {
  (void)state;
  forked(add_without_a_lie, NULL);
}

/* -- saved calls ------------------------------------------------------------------------------ */

static size_t read_file(const char *path, char *bytes, size_t most) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot read %s", path);
  const size_t got = fread(bytes, 1, most - 1, file);
  fclose(file);
  bytes[got] = '\0';
  return got;
}

static void check_json(const char *text) {
  cJSON *json = cJSON_Parse(text);
  if (!json) fail_msg("no JSON: %s", text);
  assert_string_equal(cJSON_GetObjectItem(json, "op")->valuestring, "softmax");
  assert_string_equal(cJSON_GetObjectItem(json, "promise")->valuestring, "finite");
  assert_true(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "attributes"), "dim")->valuedouble > 0.5);
  const cJSON *input = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "inputs"), 0);
  assert_string_equal(cJSON_GetObjectItem(input, "file")->valuestring, "input0.npy");
  assert_string_equal(cJSON_GetObjectItem(input, "dtype")->valuestring, "f32");
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(input, "shape")), 2);
  cJSON_Delete(json);
}

static void test_a_saved_call(void **state) {
  (void)state;
  char folder[64] = "/tmp/burn-validate-XXXXXX", options[96], path[160], bytes[2048];
  assert_non_null(mkdtemp(folder));
  snprintf(options, sizeof options, ":finite=strict,save=%s", folder);
  BurnDevice *device = open_stack(options, "softmax", "nan", "ndarray");
  BurnTensor *y = burn_softmax(square(device), 1);
  snprintf(path, sizeof path, "; saved in %s/0-softmax", folder);
  if (!strstr(burn_status_message(burn_tensor_status(y)), path))
    fail_msg("%s", burn_status_message(burn_tensor_status(y)));
  burn_drop(y);
  burn_device_close(device);
  snprintf(path, sizeof path, "%s/0-softmax/input0.npy", folder);
  const size_t got = read_file(path, bytes, sizeof bytes);
  assert_int_equal(got, 128 + sizeof values);
  assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
  assert_non_null(strstr(bytes + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,2,), }"));
  assert_int_equal(bytes[127], '\n');
  assert_memory_equal(bytes + 128, values, sizeof values);
  unlink(path);
  snprintf(path, sizeof path, "%s/0-softmax/call.json", folder);
  read_file(path, bytes, sizeof bytes);
  check_json(bytes);
  unlink(path);
  snprintf(path, sizeof path, "%s/0-softmax", folder);
  rmdir(path);
  rmdir(folder);
}

static void test_a_folder_that_cannot_be_made(void **state) {
  (void)state;
  BurnDevice *device = open_stack(":finite=strict,save=/nonexistent/x", "exp", "nan", "ndarray");
  BurnTensor *y = burn_exp(square(device));
  assert_non_null(strstr(burn_status_message(burn_tensor_status(y)), "; could not be saved in /nonexistent/x/0-exp"));
  burn_drop(y);
  burn_device_close(device);
}

static int add_plugin(void **state) {
  (void)state;
  unsetenv("BURN_LOG");
  return burn_plugin_add(FAULTY) == BURN_OK && burn_plugin_add(LIAR) == BURN_OK ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_fault_is_named),
      cmocka_unit_test(test_a_call_with_stale_descriptions),
      cmocka_unit_test(test_a_decomposed_op_is_checked_as_a_whole),
      cmocka_unit_test(test_checks_can_be_switched_off),
      cmocka_unit_test(test_infinities_that_are_wanted),
      cmocka_unit_test(test_stacks_with_autodiff),
      cmocka_unit_test(test_a_warning_comes_once_per_op),
      cmocka_unit_test(test_a_saved_call),
      cmocka_unit_test(test_a_folder_that_cannot_be_made),
      cmocka_unit_test(test_what_is_not_finite_is_told_once_per_op),
      cmocka_unit_test(test_no_lie_crashes_and_each_is_named),
      cmocka_unit_test(test_who_tells_no_lie_passes),
  };
  return cmocka_run_group_tests_name("validate", tests, add_plugin, NULL);
}
