/* descriptor.h - the descriptor of a plugin, its entry and get_interface from a list of interfaces. C99 and C++11,
 * nothing to link.
 *
 *   BURN_COMMON_PLUGIN(BACKEND, "cuda", "0.1.0", "MIT OR Apache-2.0", "tensors on NVIDIA GPUs",
 *                      {"burn.backend", &backend_interface}, {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
 *
 * once per plugin, at the end of the file where its interfaces are. */
#ifndef BURN_COMMON_DESCRIPTOR_H
#define BURN_COMMON_DESCRIPTOR_H

#include <burn/plugin/plugin.h>

#include <string.h>

/* An interface by its name. As everywhere in the ABI, its table starts with struct_size and version. */
typedef struct BurnCommonInterface {
  const char *name;
  const void *table;
} BurnCommonInterface;

/* The table of that name in at least this version, or NULL. For get_interface of an opened device, too. */
static inline const void *burn_common_find(const BurnCommonInterface *rows, size_t count, const char *name,
                                           uint32_t min_version) {
  size_t i;
  for (i = 0; i < count; i++) {
    uint32_t head[2]; /* struct_size, version */
    if (strcmp(rows[i].name, name) != 0) continue;
    memcpy(head, rows[i].table, sizeof head);
    return head[1] >= min_version ? rows[i].table : NULL;
  }
  return NULL;
}

/* For get_interface of an opened device: the table, with the `self` that it was asked of. 1 if there is one. */
static inline int32_t burn_common_offer(const BurnCommonInterface *rows, size_t count, const char *name,
                                        uint32_t min_version, void *self, BurnInterface *out) {
  const void *table = burn_common_find(rows, count, name, min_version);
  if (!table) return 0;
  out->table = table;
  out->self = self;
  return 1;
}

/* KIND is that of BURN_PLUGIN_*: BACKEND, DECORATOR or KERNELS. The texts are those of BurnPlugin; what follows are
 * rows of BurnCommonInterface. */
#define BURN_COMMON_PLUGIN(KIND, plugin_name, plugin_version, plugin_license, plugin_description, ...)                \
  static const BurnCommonInterface burn_common_interfaces[] = {__VA_ARGS__};                                          \
  static const void *BURN_API_CALL burn_common_get_interface(const char *name, uint32_t min_version) {                \
    return burn_common_find(burn_common_interfaces, sizeof burn_common_interfaces / sizeof burn_common_interfaces[0], \
                            name, min_version);                                                                       \
  }                                                                                                                   \
  static const BurnPlugin burn_common_plugin = {(uint32_t)sizeof(BurnPlugin),                                         \
                                                BURN_ABI_MAJOR,                                                       \
                                                BURN_ABI_MINOR,                                                       \
                                                BURN_TARGET_MINOR,                                                    \
                                                BURN_PLUGIN_##KIND,                                                   \
                                                0,                                                                    \
                                                plugin_name,                                                          \
                                                plugin_version,                                                       \
                                                plugin_license,                                                       \
                                                plugin_description,                                                   \
                                                burn_common_get_interface};                                           \
  BURN_PLUGIN_ENTRY(burn_common_plugin)

#endif
