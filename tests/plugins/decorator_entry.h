/* decorator_entry.h - the end of a decorator for tests that has no options: what it is, and its one interface. */
#ifndef TEST_DECORATOR_ENTRY_H
#define TEST_DECORATOR_ENTRY_H

#include <burn/plugin/plugin.h>

#include <string.h>

/* TEST_DECORATOR(open, "what it does"): of the name PLUGIN_NAME, opened by `open`; the last line of a plugin. */
#define TEST_DECORATOR(open_function, text)                                                          \
  static const BurnDecoratorInterface decorator_interface = {                                        \
      .struct_size = (uint32_t)sizeof(BurnDecoratorInterface), .version = 1, .open = open_function}; \
  static const void *BURN_API_CALL decorator_get_interface(const char *name, uint32_t min_version) { \
    return strcmp(name, "burn.decorator") == 0 && min_version <= 1 ? &decorator_interface : NULL;    \
  }                                                                                                  \
  static const BurnPlugin plugin = {.struct_size = (uint32_t)sizeof(BurnPlugin),                     \
                                    .abi_major = BURN_ABI_MAJOR,                                     \
                                    .abi_minor = BURN_ABI_MINOR,                                     \
                                    .min_host_minor = BURN_TARGET_MINOR,                             \
                                    .kind = BURN_PLUGIN_DECORATOR,                                   \
                                    .name = PLUGIN_NAME,                                             \
                                    .version = "1.0",                                                \
                                    .license = "MIT OR Apache-2.0",                                  \
                                    .description = text,                                             \
                                    .get_interface = decorator_get_interface};                       \
  BURN_PLUGIN_ENTRY(plugin)

#endif
