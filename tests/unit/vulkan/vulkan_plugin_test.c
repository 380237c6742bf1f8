/* vulkan_plugin_test.c - the Vulkan backend as a program meets it: without a loader it says so and costs nothing; wrong
 * options are refused with words; a device tells what it is. That its ops are right is what the tests of
 * ../../plugins/vulkan show. Skipped with a message where it is not built; what needs a device, where there is none. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "forked.h"

#include <burn/op_call.h>
#include <burn/plugin/plugin.h>
#include <burn/transfer.h>

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const char plugin_path[] = BURN_BUILD_DIR "/lib/burn/plugins/burn_vulkan" BURN_PLUGIN_SUFFIX;

/* -- without a loader ------------------------------------------------------------------------- */

static double microseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static const BurnBackendInterface *load_plugin(void) {
  const BurnHostInfo host = {(uint32_t)sizeof host, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_MINOR, "test"};
  const BurnPlugin *(*query)(const BurnHostInfo *info) = NULL;
  void *library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL),
       *symbol = library ? dlsym(library, BURN_PLUGIN_SYMBOL) : NULL;
  CHECK(symbol, "%s", library ? "it has no entry" : dlerror());
  memcpy(&query, &symbol, sizeof query);
  const BurnPlugin *plugin = query(&host);
  CHECK(plugin, "it refuses the host");
  return plugin->get_interface("burn.backend", 1);
}

/* All that a program pays that looks at every plugin: loading, the descriptor, the probe. */
static void probe_without_loader(void *context) {
  double *took = context;
  BurnDeviceInfo devices[4];
  BurnProbe probe = {.struct_size = (uint32_t)sizeof probe,
                     .device_capacity = 4,
                     .device_bytes = (uint32_t)sizeof devices[0],
                     .devices = devices};
  setenv("BURN_VULKAN_LOADER", "/nonexistent/libvulkan.so.1", 1);
  const BurnHost *host = burn_host();
  const double start = microseconds_now();
  const BurnBackendInterface *backend = load_plugin();
  backend->probe(host, &probe);
  *took = microseconds_now() - start;
  CHECK(probe.score == 0 && probe.device_count == 0, "score %d, %u devices", probe.score, probe.device_count);
  check_contains(probe.reason, "there is no Vulkan here (/nonexistent/libvulkan.so.1)");
}

/* The fastest of some processes, as machines are busy. */
static void test_a_machine_without_a_loader(void **state) {
  (void)state;
  double *took = mmap(NULL, sizeof *took, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), best = 1e9;
  assert_true(took != MAP_FAILED);
  for (int i = 0; i < 20; i++) {
    forked(probe_without_loader, took);
    if (*took < best) best = *took;
  }
  (void)munmap(took, sizeof *took);
  print_message("loaded and probed without a loader in %.0f us\n", best);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  assert_true(best < 1000);
#endif
}

static void open_without_loader(void *context) {
  (void)context;
  setenv("BURN_VULKAN_LOADER", "/nonexistent/libvulkan.so.1", 1);
  BurnDevice *device = burn_device_open("vulkan");
  check_contains(burn_status_message(burn_device_status(device)), "vulkan: there is no Vulkan here (/nonexistent");
  burn_device_close(device);
}

/* The file is there and is no loader. */
static void open_with_another_library(void *context) {
  (void)context;
  setenv("BURN_VULKAN_LOADER", plugin_path, 1);
  BurnDevice *device = burn_device_open("vulkan");
  check_contains(burn_status_message(burn_device_status(device)), "the Vulkan loader has no vkGetInstanceProcAddr");
  burn_device_close(device);
}

static void test_opening_without_a_loader(void **state) {
  (void)state;
  forked(open_without_loader, NULL);
  forked(open_with_another_library, NULL);
}

/* -- options ---------------------------------------------------------------------------------- */

static void open_with_wrong_options(void *context) {
  (void)context;
  static const char *const texts[][2] = {
      {"vulkan:0:wait_limit=0", "vulkan: wait_limit=0 is not a number from 1 to 86400"},
      {"vulkan:0:cache=maybe", "vulkan: cache=maybe is neither true nor false"},
      {"vulkan:0:subgroups=32", "vulkan: subgroups=32 is neither true nor false"},
      {"vulkan:0:memory_limit=lots", "vulkan: memory_limit=lots"},
      {"vulkan:0:speed=high", "'vulkan' has no option 'speed'"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    BurnDevice *device = burn_device_open(texts[i][0]);
    check_contains(burn_status_message(burn_device_status(device)), texts[i][1]);
    burn_device_close(device);
  }
}

static void test_wrong_options(void **state) {
  (void)state;
  forked(open_with_wrong_options, NULL);
}

/* -- with a device ---------------------------------------------------------------------------- */

static void use_a_device(void *context) {
  (void)context;
  float values[3] = {0, 0, 0};
  BurnDeviceDescription is = {.struct_size = (uint32_t)sizeof is};
  BurnDevice *device = burn_device_open("vulkan");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  CHECK(burn_device_describe(device, &is) == BURN_OK && is.name[0], "the device has no name");
  check_contains(is.driver, "Vulkan 1.");
  CHECK(is.memory_bytes > 0 && is.free_bytes <= is.memory_bytes, "%lld bytes, %lld free", (long long)is.memory_bytes,
        (long long)is.free_bytes);
  BurnTensor *x = burn_tensor_f32(device, (float[]){1, 2, 3}, BURN_SHAPE(3));
  CHECK(burn_read_f32(burn_exp(x), values, 3) == BURN_OK && values[0] > 2.718f && values[0] < 2.719f, "exp(1) is %g",
        (double)values[0]);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
}

static void open_one_too_many(void *context) {
  (void)context;
  BurnDevice *device = burn_device_open("vulkan:63");
  check_contains(burn_status_message(burn_device_status(device)), "vulkan: there is no device 63: Vulkan knows ");
  burn_device_close(device);
}

/* The verdict of burn_probe, so that no driver is in the process that forks. */
static void test_a_device(void **state) {
  (void)state;
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->name, "vulkan") != 0 || strcmp(info->refusal, "no_device") != 0) continue;
    print_message("skipped: vulkan: %s\n", info->reason);
    skip();
  }
  forked(use_a_device, NULL);
  forked(open_one_too_many, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_machine_without_a_loader),
      cmocka_unit_test(test_opening_without_a_loader),
      cmocka_unit_test(test_wrong_options),
      cmocka_unit_test(test_a_device),
  };
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_plugin", tests, NULL, NULL);
}
