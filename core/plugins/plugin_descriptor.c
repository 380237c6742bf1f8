/* plugin_descriptor.c - what a plugin says of itself, checked and copied into structs of this version's size.
 *
 * Nobody else in core reads a struct that a plugin wrote: they get copies, in which what the plugin's headers did not
 * have is zero. So structs can grow, on either side. */
#include "platform.h"
#include "plugin_internal.h"

#include <burn/plugin/kernels.h>

#include <stdlib.h>
#include <string.h>

static const BurnPluginKind kinds[] = {
    {BURN_PLUGIN_BACKEND, "backend", "burn.backend", BURN_BACKEND_INTERFACE_MIN_BYTES},
    {BURN_PLUGIN_DECORATOR, "decorator", "burn.decorator", BURN_DECORATOR_INTERFACE_MIN_BYTES},
    {BURN_PLUGIN_KERNELS, "kernel pack", "burn.kernels", BURN_KERNELS_INTERFACE_MIN_BYTES},
};

const BurnPluginKind *burn__plugin_kind(uint32_t kind) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].kind == kind) return &kinds[i];
  }
  return NULL;
}

uint32_t burn__plugin_target(const BurnPlugin *plugin) {
  return plugin->min_host_minor ? plugin->min_host_minor : plugin->abi_minor;
}

#define REFUSE(WHY, ...) (*refusal = BURN_REFUSED_##WHY, BURN_FAIL(INCOMPATIBLE, __VA_ARGS__))

/* Every refusal names both versions and the way out. */
static BurnStatus check_version(const BurnPlugin *plugin, BurnRefusal *refusal) {
  const uint32_t target = burn__plugin_target(plugin);
  if (plugin->abi_major == BURN_ABI_MAJOR && target > BURN_ABI_MINOR) {
    return REFUSE(ABI_TOO_NEW,
                  "it is built for plugin ABI %u.%u, this host has %u.%u: update Burn, or build the plugin with"
                  " BURN_TARGET_MINOR=%u",
                  plugin->abi_major, target, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_MINOR);
  }
  if (plugin->abi_major > BURN_ABI_MAJOR) {
    return REFUSE(ABI_TOO_NEW,
                  "it is built for plugin ABI %u.%u, this host has %u.%u: update Burn, or rebuild the plugin with the"
                  " headers of Burn %s",
                  plugin->abi_major, target, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_VERSION);
  }
  if (plugin->abi_major != BURN_ABI_MAJOR || target < BURN_ABI_OLDEST_MINOR) {
    return REFUSE(ABI_TOO_OLD,
                  "it is built for plugin ABI %u.%u, this host has %u.%u and serves none before %u.%u: rebuild it with"
                  " the headers of Burn %s",
                  plugin->abi_major, target, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_MAJOR, BURN_ABI_OLDEST_MINOR,
                  BURN_VERSION);
  }
  return BURN_OK;
}

static BurnStatus check_kind(const BurnPlugin *plugin, BurnRefusal *refusal) {
  const BurnPluginKind *kind = burn__plugin_kind(plugin->kind);
  if (!kind) return REFUSE(UNKNOWN_KIND, "its kind %u is unknown to this version", plugin->kind);
  const uint32_t *table = plugin->get_interface(kind->interface, 1);
  if (!table) return REFUSE(NO_INTERFACE, "it says it is a %s but has no interface %s", kind->name, kind->interface);
  if (table[0] < kind->min_bytes) {
    return REFUSE(BAD_INTERFACE,
                  "its interface %s has %u bytes, at least %u are needed: it is built for plugin ABI %u.%u,"
                  " this host has %u.%u; rebuild it with the headers of Burn %s",
                  kind->interface, table[0], kind->min_bytes, plugin->abi_major, plugin->abi_minor, BURN_ABI_MAJOR,
                  BURN_ABI_MINOR, BURN_VERSION);
  }
  const char *missing = burn__interface_lacks(plugin->kind, table);
  if (missing) return REFUSE(BAD_INTERFACE, "its interface %s lacks the function %s", kind->interface, missing);
  return BURN_OK;
}

/* The first four members are those of every version. */
static BurnStatus check_size(const BurnPlugin *plugin, BurnRefusal *refusal) {
  enum { VERSIONS_BYTES = 4 * sizeof(uint32_t) };
  if (plugin->struct_size >= BURN_PLUGIN_MIN_BYTES) return BURN_OK;
  if (plugin->struct_size >= VERSIONS_BYTES) {
    const BurnStatus status = check_version(plugin, refusal);
    if (status != BURN_OK) return status;
  }
  return REFUSE(BAD_DESCRIPTOR,
                "its descriptor has %u bytes, at least %u are needed: built with broken or foreign headers",
                plugin->struct_size, BURN_PLUGIN_MIN_BYTES);
}

/* A name that a stack text can hold. */
static bool is_plugin_name(const char *name) {
  if (name[0] < 'a' || name[0] > 'z') return false;
  return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static BurnStatus check_texts(const BurnPlugin *plugin, const char *file_name, BurnRefusal *refusal) {
  if (!plugin->name || !plugin->version || !plugin->get_interface) {
    return REFUSE(BAD_DESCRIPTOR, "its descriptor lacks a name, a version or get_interface");
  }
  if (!is_plugin_name(plugin->name)) {
    return REFUSE(WRONG_NAME, "the plugin calls itself '%s': names have a-z, 0-9 and _, and start with a letter",
                  plugin->name);
  }
  if (file_name && strcmp(file_name, plugin->name) != 0) {
    return REFUSE(WRONG_NAME, "the plugin calls itself '%s': its file must be named burn_%s%s", plugin->name,
                  plugin->name, burn__plugin_suffix());
  }
  return BURN_OK;
}

BurnStatus burn__plugin_check(const BurnPlugin *plugin, const char *file_name, BurnRefusal *refusal,
                              const BurnPlugin **out) {
  if (!plugin) return REFUSE(NO_DESCRIPTOR, "its entry function returned no descriptor");
  BurnStatus status = check_size(plugin, refusal);
  if (status == BURN_OK) status = check_version(plugin, refusal);
  if (status == BURN_OK) status = check_texts(plugin, file_name, refusal);
  if (status == BURN_OK) status = check_kind(plugin, refusal);
  if (status == BURN_OK) {
    *refusal = BURN_REFUSED_BAD_OPTIONS;
    status = burn__plugin_options_check(plugin);
  }
  if (status != BURN_OK) return status;
  BurnPlugin *copy = malloc(sizeof *copy); /* lives as long as the plugin: until the process ends */
  if (!copy) return BURN_FAIL(OUT_OF_MEMORY, "no memory for its descriptor");
  burn_struct_copy(copy, sizeof *copy, plugin);
  *out = copy;
  return BURN_OK;
}

bool burn__plugin_interface(const BurnPlugin *plugin, const char *name, void *out, uint32_t bytes) {
  const void *table = plugin->get_interface(name, 1);
  memset(out, 0, bytes);
  if (table) burn_struct_copy(out, bytes, table);
  return table != NULL;
}
