/* vulkan_compare.h - the backend on whatever device there is, beside ndarray. */
#ifndef BURN_TEST_VULKAN_COMPARE_H
#define BURN_TEST_VULKAN_COMPARE_H

#include "conv_compare.h"
#include "vulkan_driver.h"

static const char plugin_path[] = BURN_BUILD_DIR "/lib/burn/plugins/burn_vulkan" BURN_PLUGIN_SUFFIX;

/* In a child: without a device it ends, as a test that passed. */
static inline BurnDevice *open_device(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (strcmp(stack, "ndarray") != 0 && burn_device_status(device) != BURN_OK) {
    print_message("skipped: %s\n", burn_status_message(burn_device_status(device)));
    exit(0);
  }
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  return device;
}

#endif
