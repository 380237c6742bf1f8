/* vulkan_fused_test.c - random fused bodies of the Vulkan backend against its single ops. A body is several kernels,
 * which drivers compile for longer than they run: so these are few. */
#include <burn/burn.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vulkan_driver.h"

static void skip_without_a_device(void) {
  BurnDevice *device = NULL;
  use_processor();
  setenv("XDG_CACHE_HOME", BURN_BUILD_DIR "/cache", 1); /* as tests/plugins/vulkan/run: compiled kernels are kept */
  if (access(BURN_BUILD_DIR "/lib/burn/plugins/burn_vulkan" BURN_PLUGIN_SUFFIX, R_OK) != 0) {
    printf("skipped: vulkan: there is no plugin\n");
    exit(0);
  }
  device = burn_device_open("vulkan");
  if (burn_device_status(device) != BURN_OK) {
    printf("skipped: %s\n", burn_status_message(burn_device_status(device)));
    exit(0);
  }
  burn_device_close(device);
}

#define FUSED_STACKS \
  { .text = "vulkan:kernels=gpu" }
#define FUSED_PREPARE skip_without_a_device();
#define FUSED_COUNT 40
#define FUSED_LONG_COUNT 40
#define FUSED_F64
#define FUSED_INTEGERS
#define FUSED_MIDDLE_AXIS

#include "../ndarray/fused_body_test.c"
