/* decorator_forward_test.c - decorators that leave functions to the level below, what calls carry through a stack, and
 * roles instead of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/build.h>
#include <burn/plugin/fusion_statistics.h>
#include <burn/plugin/plugin.h>

#include <stdlib.h>
#include <string.h>

#include "seen_decorator.h"

#define TRACE "trace:format=count,file=/dev/null"
enum { COUNT = 3 };
static const float VALUES[COUNT] = {-1, 0.5f, 2};

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static const void *table_of(const BurnDevice *device, const char *name, void **self) {
  for (const BurnBackend *level = burn_device_backend(device); level; level = burn_backend_below(level)) {
    BurnInterface found = {NULL, NULL};
    if (!level->get_interface(level->self, name, 1, &found)) continue;
    *self = found.self;
    return found.table;
  }
  fail_msg("no level has the interface %s", name);
  return NULL;
}

/* What the decorator `seen` of a stack has seen. */
static SeenCalls *seen_by(const BurnDevice *device) {
  void *self = NULL;
  return (SeenCalls *)(uintptr_t)table_of(device, SEEN_INTERFACE, &self);
}

static BurnTensor *vector(BurnDevice *device) { return burn_tensor_f32(device, VALUES, BURN_SHAPE(COUNT)); }

static void must_read(BurnTensor *x) {
  float values[COUNT];
  const BurnStatus status = burn_read_f32(x, values, COUNT);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* -- what is left out is done below ----------------------------------------------------------- */

static BurnFusionStatistics statistics_of(const char *stack) {
  BurnDevice *device = open_stack(stack);
  void *self = NULL;
  const BurnFusionInterface *fusion = table_of(device, BURN_FUSION_INTERFACE, &self);
  BurnFusionStatistics out = {.struct_size = sizeof out};
  must_read(burn_mul_scalar(burn_mish(burn_selu(vector(device))), 2));
  fusion->statistics(self, &out);
  burn_device_close(device);
  return out;
}

static void test_a_decorator_that_only_looks_does_not_end_fusion(void **state) {
  static const char *const stacks[] = {"fusion<" TRACE "<ndarray>>", "fusion<seen<ndarray>>",
                                       "fusion<seen<" TRACE "<ndarray>>>"};
  (void)state;
  const BurnFusionStatistics plain = statistics_of("fusion<ndarray>");
  assert_true(plain.kernels > 0 && plain.fused_ops > 2);
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    const BurnFusionStatistics s = statistics_of(stacks[i]);
    if (s.kernels != plain.kernels || s.fused_ops != plain.fused_ops || s.calls != plain.calls)
      fail_msg("%s: %d kernels of %d ops, %d calls", stacks[i], (int)s.kernels, (int)s.fused_ops, (int)s.calls);
  }
}

/* A decorator that changes results and says nothing of interfaces: kernels for several ops must not get past it. Here
 * neg runs as abs. */
static void test_a_decorator_that_changes_results_is_not_passed_by(void **state) {
  static const char *const stacks[] = {"wrong<ndarray>",
                                       "fusion<wrong<ndarray>>",
                                       "fusion<wrong<" TRACE "<ndarray>>>",
                                       "fusion<" TRACE "<wrong<ndarray>>>",
                                       "autodiff<fusion<wrong<ndarray>>>",
                                       "fusion<wrong<ndarray:epilogues=true,replay=true>>"};
  (void)state;
  setenv("BURN_TEST_FAULT", "wrong_result", 1);
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    float values[COUNT] = {0};
    BurnTensor *x = burn_add_scalar(burn_neg(burn_mul_scalar(vector(device), 2)), 1);
    const BurnStatus status = burn_read_f32(x, values, COUNT);
    if (status != BURN_OK) fail_msg("%s: %s", stacks[i], burn_status_message(status));
    if (values[1] != 2 || values[2] != 5) fail_msg("%s: %g, %g", stacks[i], (double)values[1], (double)values[2]);
    burn_device_close(device);
  }
  unsetenv("BURN_TEST_FAULT");
}

static void test_a_late_failure_is_not_swallowed(void **state) {
  static const char *const stacks[] = {"fusion<ndarray>", "seen<fusion<ndarray>>", TRACE "<seen<fusion<ndarray>>>",
                                       "wrapping<fusion<ndarray>>", "autodiff<wrapping<fusion<ndarray>>>"};
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    const int64_t wrong[] = {0, 9};
    BurnTensor *y = burn_select(vector(device), 0, burn_tensor_i64(device, wrong, BURN_SHAPE(2)));
    const BurnStatus status = burn_device_sync(device);
    if (status == BURN_OK) fail_msg("%s: sync reports nothing", stacks[i]);
    assert_non_null(strstr(burn_status_message(status), "9"));
    assert_true(burn_device_memory(device).live_tensors >= 0);
    burn_device_trim(device);
    burn_drop(y);
    burn_device_close(device);
  }
}

/* -- what calls carry ------------------------------------------------------------------------- */

static BurnPrimitive *primitive(const BurnBackend *backend) {
  const BurnTensorDesc desc = {BURN_DTYPE_F32, 1, {COUNT}};
  BurnPrimitive *x = NULL;
  assert_true(backend->create(backend->self, &desc, VALUES, &x) == BURN_OK);
  return x;
}

static void invoke_one(const BurnBackend *backend, uint32_t op, uint32_t flags, const BurnExtension *next) {
  BurnPrimitive *x = primitive(backend), *out = NULL;
  const BurnOpCall call = {.struct_size = sizeof call,
                           .flags = flags,
                           .op = op,
                           .input_count = 1,
                           .output_count = 1,
                           .inputs = &x,
                           .outputs = &out,
                           .next = next};
  const BurnStatus status = burn_host()->invoke(backend, &call);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  backend->release(backend->self, out);
  backend->release(backend->self, x);
}

/* reference has no kernel for selu, so its parts pass; they say what they are parts of. */
static void test_parts_carry_origin_and_flags(void **state) {
  static const char *const stacks[] = {"seen<reference>", TRACE "<seen<reference>>"};
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    SeenCalls *seen = seen_by(device);
    seen->count = 0;
    invoke_one(burn_device_backend(device), BURN_OP_selu, BURN_CALL_DETERMINISTIC, NULL);
    assert_true(seen->count > 1);
    for (uint32_t k = 0; k < seen->count; k++) {
      assert_int_not_equal(seen->calls[k].op, BURN_OP_selu);
      assert_int_equal(seen->calls[k].origin, BURN_OP_selu);
      assert_int_equal(seen->calls[k].flags, BURN_CALL_DETERMINISTIC);
    }
    seen->count = 0;
    must_read(burn_exp(vector(device))); /* a call of a program is not part of anything */
    assert_int_equal(seen->count, 1);
    assert_int_equal(seen->calls[0].origin, BURN_OP_INVALID);
    burn_device_close(device);
  }
}

static void test_extensions_pass_untouched(void **state) {
  (void)state;
  const BurnExtension last = {.struct_size = sizeof last, .name = "test.last"};
  const BurnExtension first = {.struct_size = sizeof first, .name = "test.first", .next = &last};
  BurnDevice *device = open_stack(TRACE "<seen<ndarray>>");
  SeenCalls *seen = seen_by(device);
  seen->count = 0;
  invoke_one(burn_device_backend(device), BURN_OP_exp, 0, &first);
  assert_int_equal(seen->count, 1);
  assert_ptr_equal(seen->calls[0].next, &first);
  assert_ptr_equal(burn_extension_find(seen->calls[0].next, "test.last"), &last);
  assert_null(burn_extension_find(seen->calls[0].next, "test.none"));
  burn_device_close(device);
}

static void test_the_last_use_gives_storage_away(void **state) {
  (void)state;
  BurnDevice *device = open_stack("seen<ndarray>");
  const BurnBackend *backend = burn_device_backend(device);
  SeenCalls *seen = seen_by(device);
  BurnPrimitive *x = primitive(backend);
  seen->count = 0;
  BurnBuilder b = burn_builder_begin(burn_host(), backend);
  BurnPrimitive *kept = burn_build_op1(&b, BURN_OP_exp, x);
  BurnPrimitive *given = burn_build_op1(&b, BURN_OP_neg, kept);
  const void *storage = given->buffer;
  BurnPrimitive *sum = burn_build_op2(&b, BURN_OP_add, kept, burn_build_last_use(&b, given));
  assert_ptr_equal(sum->buffer, storage); /* ndarray writes into what nobody else holds */
  (void)burn_build_op2(&b, BURN_OP_mul, burn_build_last_use(&b, sum), sum); /* used twice by one call: not given */
  (void)burn_build_op1(&b, BURN_OP_neg, burn_build_last_use(&b, x));        /* no result of the builder: not given */
  assert_true(burn_builder_end(&b) == BURN_OK);
  static const uint64_t wanted[] = {0, 0, 2, 0, 0};
  assert_int_equal(seen->count, 5);
  for (int i = 0; i < 5; i++) assert_int_equal(seen->calls[i].donate, wanted[i]);
  backend->release(backend->self, x);
  burn_device_close(device);
}

/* -- regions ---------------------------------------------------------------------------------- */

/* The fusion of ABI 0.5 ends before the slots; one of later may leave them out. */
static void test_a_fusion_without_regions(void **state) {
  const BurnFusionInterface older = {.struct_size = (uint32_t)offsetof(BurnFusionInterface, capture_begin),
                                     .version = 1},
                            without = {.struct_size = (uint32_t)sizeof without, .version = 1};
  const BurnFusionInterface *tables[] = {&older, &without};
  (void)state;
  BurnDevice *device = open_stack("seen<fusion<ndarray>>");
  for (int i = 0; i < 2; i++) {
    seen_by(device)->fusion = tables[i];
    const BurnStatus begun = burn_capture_begin(device), ended = burn_capture_end(device, NULL);
    assert_int_equal(burn_status_code(begun), BURN_STATUS_UNIMPLEMENTED);
    assert_int_equal(burn_status_code(ended), BURN_STATUS_UNIMPLEMENTED);
    assert_string_equal(burn_status_message(begun), "capture_begin: 'seen' has no regions; a newer one has");
  }
  burn_device_close(device);
}

/* -- roles ------------------------------------------------------------------------------------ */

/* `mygrad` is the autodiff of this tree under another name, from before its interface had checkpoints. */
static void test_an_autodiff_of_another_name(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open_training("mygrad<ndarray>");
  assert_string_equal(burn_status_message(burn_device_status(device)), "ok");
  assert_string_equal(burn_device_name(device), "mygrad<ndarray>");
  assert_true(burn_device_is_autodiff(device));
  BurnTensor *x = burn_require_grad(vector(device));
  BurnGradients *gradients = NULL;
  assert_true(burn_backward(burn_sum(burn_mul_scalar(burn_clone(x), 3)), &gradients) == BURN_OK);
  float grads[COUNT];
  assert_true(burn_read_f32(burn_grad(x, gradients), grads, COUNT) == BURN_OK);
  assert_true(grads[0] == 3 && grads[2] == 3);
  burn_gradients_drop(gradients);
  assert_string_equal(burn_status_message(burn_checkpoint_begin(device)),
                      "checkpoint_begin: 'mygrad' keeps everything for the backward pass; it has no checkpoints");
  const BurnStatus ended = burn_checkpoint_end(device);
  assert_int_equal(burn_status_code(ended), BURN_STATUS_UNIMPLEMENTED);
  burn_drop(x);
  burn_device_close(device);
}

/* A decorator between the program and autodiff has tensors of its own, and no gradients of them: the way out is told
 * when the device is opened for training, else when gradients are asked for, and is not a stack that is refused. */
static void test_gradients_that_do_not_reach_the_top(void **state) {
  static const char stack[] = "wrapping<autodiff<ndarray>>";
  static const char reason[] =
      "the stack 'wrapping<autodiff<ndarray>>' has autodiff, but 'wrapping' above it hands out"
      " tensors of its own and offers no gradients; write autodiff<wrapping<..>>";
  (void)state;
  BurnDevice *training = burn_device_open_training(stack);
  assert_int_equal(burn_status_code(burn_device_status(training)), BURN_STATUS_NO_AUTODIFF);
  assert_non_null(strstr(burn_status_message(burn_device_status(training)), reason));
  burn_device_close(training);
  BurnDevice *device = open_stack(stack);
  BurnTensor *x = burn_require_grad(vector(device));
  assert_int_equal(burn_status_code(burn_tensor_status(x)), BURN_STATUS_NO_AUTODIFF);
  assert_non_null(strstr(burn_status_message(burn_tensor_status(x)), reason));
  burn_drop(x);
  burn_device_close(device);
}

static void test_roles_have_an_order(void **state) {
  static const struct {
    const char *stack, *message;
  } wrong[] = {{"fusion<mygrad<ndarray>>", "the stack has fusion above mygrad; write mygrad<fusion<..>>"},
               {"autodiff<seen<mygrad<ndarray>>>", "the stack computes gradients twice, in autodiff and in mygrad"}};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    BurnDevice *device = burn_device_open(wrong[i].stack);
    if (!strstr(burn_status_message(burn_device_status(device)), wrong[i].message))
      fail_msg("%s: %s", wrong[i].stack, burn_status_message(burn_device_status(device)));
    burn_device_close(device);
  }
}

/* -- what the host says ----------------------------------------------------------------------- */

static uint32_t failed_code;
static char annotated[64];
static BurnStatus BURN_API_CALL note_failure(uint32_t code, const char *file, int32_t line, const char *message) {
  (void)file;
  (void)line;
  assert_non_null(strstr(message, "the host is older than the plugin's target"));
  failed_code = code;
  return code;
}
static BurnStatus BURN_API_CALL note_prefix(BurnStatus status, const char *prefix) {
  strncpy(annotated, prefix, sizeof annotated - 1);
  return status;
}

/* Nothing beyond the first members of a short host is called. */
static void test_a_short_host_is_refused(void **state) {
  (void)state;
  BurnBackend table = {.struct_size = sizeof table};
  BurnHost host = *burn_host();
  assert_true(burn_plugin_check_open(&host, &table, "x") == BURN_OK);
  host.fail = note_failure;
  host.annotate = note_prefix;
  host.struct_size = sizeof host - 8;
  assert_int_equal(burn_status_code(burn_plugin_check_open(&host, &table, "my_plugin")), BURN_STATUS_INCOMPATIBLE);
  assert_string_equal(annotated, "my_plugin");
  host.struct_size = sizeof host;
  host.abi_minor = BURN_TARGET_MINOR - 1;
  assert_int_equal(burn_status_code(burn_plugin_check_open(&host, &table, "x")), BURN_STATUS_INCOMPATIBLE);
  host.abi_minor = BURN_TARGET_MINOR;
  table.struct_size = sizeof table - 8;
  assert_int_equal(burn_status_code(burn_plugin_check_open(&host, &table, "x")), BURN_STATUS_INCOMPATIBLE);
  assert_int_equal(failed_code, BURN_STATUS_INCOMPATIBLE);
}

static void test_facts_of_dtypes(void **state) {
  (void)state;
  for (BurnDType dtype = 0; dtype < 2 * BURN_DTYPE_LIMIT; dtype++) {
    const BurnDTypeInfo *info = burn_host()->dtype_info(dtype);
    if (burn_dtype_bytes(dtype) == 0) {
      assert_null(info);
      continue;
    }
    assert_int_equal(info->struct_size, sizeof *info);
    assert_int_equal(info->dtype, dtype);
    assert_string_equal(info->name, burn_dtype_name(dtype));
    assert_int_equal(info->kind, burn_dtype_kind(dtype));
    assert_int_equal(info->bits, 8 * burn_dtype_bytes(dtype));
    assert_int_equal(info->block_count, 1);
    assert_int_equal(info->block_bytes, burn_dtype_bytes(dtype));
  }
}

static int use_test_plugins(void **state) {
  (void)state;
  return setenv("BURN_PLUGIN_PATH", BURN_BUILD_DIR "/tests/broken_plugins", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_decorator_that_only_looks_does_not_end_fusion),
      cmocka_unit_test(test_a_decorator_that_changes_results_is_not_passed_by),
      cmocka_unit_test(test_a_late_failure_is_not_swallowed),
      cmocka_unit_test(test_parts_carry_origin_and_flags),
      cmocka_unit_test(test_extensions_pass_untouched),
      cmocka_unit_test(test_the_last_use_gives_storage_away),
      cmocka_unit_test(test_a_fusion_without_regions),
      cmocka_unit_test(test_an_autodiff_of_another_name),
      cmocka_unit_test(test_gradients_that_do_not_reach_the_top),
      cmocka_unit_test(test_roles_have_an_order),
      cmocka_unit_test(test_a_short_host_is_refused),
      cmocka_unit_test(test_facts_of_dtypes),
  };
  return cmocka_run_group_tests_name("decorators that forward", tests, use_test_plugins, NULL);
}
