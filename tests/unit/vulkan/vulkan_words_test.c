/* vulkan_words_test.c - kernels of packs as words of SPIR-V: what is not a module, or has no such function, is refused
 * before a driver sees it, and so is a launch beyond the device, also of a text. That the right words run is seen with
 * the SDK's pack (tests/plugins/vulkan). */
#if defined(FAKE_VULKAN)
#include "forked.h"
#include "vulkan_driver.h"

#include <burn/plugin/device.h>

/* Of the SDK's example: "forward" of fused_matmul_add_relu. */
static const uint32_t words[] = {
#include "fused_matmul_add_relu.inc"
};

static BurnStatus load(const BurnBackend *backend, const BurnDeviceInterface *table, const void *data, uint64_t bytes,
                       const char *entry, BurnLoadedKernel **out) {
  const BurnDeviceCode code = {.struct_size = sizeof code, .format = BURN_CODE_SPIRV, .data = data, .bytes = bytes};
  CHECK(table->kernel_takes_code(backend->self, &code) == 1, "words of SPIR-V are not taken");
  return table->kernel_load(backend->self, &code, entry, out);
}

static void expect(BurnStatus status, uint32_t code, const char *text) {
  CHECK(burn_status_code(status) == code, "the status is %u, not %u: %s", burn_status_code(status), code,
        burn_status_message(status));
  CHECK(strstr(burn_status_message(status), text), "'%s' does not say '%s'", burn_status_message(status), text);
}

static void run(void *context) {
  uint32_t other[sizeof words / sizeof words[0]];
  BurnInterface found = {NULL, NULL};
  BurnLoadedKernel *kernel = NULL;
  (void)context;
  use_processor();
  BurnDevice *device = burn_device_open("vulkan:thread_limit=256");
  if (burn_device_status(device) != BURN_OK) {
    printf("vulkan_words_test: skipped, there is no device of Vulkan\n");
    burn_device_close(device);
    return;
  }
  const BurnBackend *backend = burn_device_backend(device);
  CHECK(backend->get_interface(backend->self, BURN_DEVICE_INTERFACE_NAME, 1, &found), "there is no burn.device");
  const BurnDeviceInterface *table = found.table;
  expect(load(backend, table, "", 0, "forward", &kernel), BURN_STATUS_INVALID_ARGUMENT, "not a module of SPIR-V");
  expect(load(backend, table, words, sizeof words - 1, "forward", &kernel), BURN_STATUS_INVALID_ARGUMENT,
         "not a module");
  memcpy(other, words, sizeof words);
  other[0] = 0x03022307; /* the other order of bytes */
  expect(load(backend, table, other, sizeof other, "forward", &kernel), BURN_STATUS_INVALID_ARGUMENT, "not a module");
  memcpy(other, words, sizeof words);
  other[5] = UINT32_C(0xffff0011); /* an instruction that goes on past the end */
  expect(load(backend, table, other, sizeof other, "forward", &kernel), BURN_STATUS_NOT_FOUND, "'forward'");
  expect(load(backend, table, words, sizeof words, "backward", &kernel), BURN_STATUS_NOT_FOUND, "'backward'");
  expect(load(backend, table, words, sizeof words, "forwar", &kernel), BURN_STATUS_NOT_FOUND, "'forwar'");
  CHECK(load(backend, table, words, sizeof words, "forward", &kernel) == BURN_OK, "the right words are refused");
  BurnDeviceLaunch launch = {.struct_size = sizeof launch, .groups = {1, 1, 1}, .threads = {256, 2, 1}};
  const BurnOpCall call = {.struct_size = sizeof call};
  expect(table->kernel_launch(backend->self, kernel, &call, &launch), BURN_STATUS_INVALID_ARGUMENT,
         "256 x 2 x 1 threads");
  table->kernel_unload(backend->self, kernel);
  static const char text[] = "extern \"C\" __global__ void nothing() {}";
  const BurnDeviceCode code = {
      .struct_size = sizeof code, .format = BURN_CODE_CUDA_C, .data = text, .bytes = sizeof text - 1};
  CHECK(table->kernel_load(backend->self, &code, "nothing", &kernel) == BURN_OK, "a text is refused");
  expect(table->kernel_launch(backend->self, kernel, &call, &launch), BURN_STATUS_UNIMPLEMENTED,
         "has groups of 256 x 2 x 1 threads");
  table->kernel_unload(backend->self, kernel);
  burn_device_close(device);
}

static void test_wrong_words(void **state) {
  (void)state;
  forked(run, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_wrong_words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void) {
  printf("vulkan_words_test: skipped, the backend is not built as a plugin\n");
  return 0;
}
#endif
