/* vulkan_driver.h - which driver tests run on that pretend other devices: Mesa's for the processor, whose memory the host
 * sees, unless VK_DRIVER_FILES names one. */
#ifndef BURN_TEST_VULKAN_DRIVER_H
#define BURN_TEST_VULKAN_DRIVER_H

#include <glob.h>
#include <stdlib.h>

static inline void use_processor(void) {
  static const char *const places[] = {"/usr/local/share/vulkan/icd.d/lvp_icd*.json", "/etc/vulkan/icd.d/lvp_icd*.json",
                                       "/usr/share/vulkan/icd.d/lvp_icd*.json"};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    glob_t found = {0};
    if (glob(places[i], 0, NULL, &found) == 0) setenv("VK_DRIVER_FILES", found.gl_pathv[0], 0);
    globfree(&found);
  }
  setenv("VK_DRIVER_FILES", "/nonexistent", 0);
}

#endif
