/* plugin_options.c - options that are declared: the host's own and those of plugins (burn/plugin/options.h), and which
 * of them a burn.json of the working directory may name. */
#include "core_internal.h"

#include <burn/plugins.h>
#include <burn/plugin/options.h>

#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 256 }; /* a table with more is none */

static const BurnPluginOption host_options[] = {
    [BURN__OPTION_FLOAT] = {"float", "f16|bf16|f32|f64", "f32", "dtype of floats where a program does not say", true},
    [BURN__OPTION_INT] = {"int", "u8|i8|i16|i32|i64", "i64", "dtype of integers where a program does not say", true},
};

const BurnPluginOption *burn_host_options(size_t *count) {
  if (count) *count = sizeof host_options / sizeof host_options[0];
  return host_options;
}

const BurnOptionsInterface *burn__plugin_options(const BurnPlugin *plugin) {
  const BurnOptionsInterface *declared = plugin->get_interface(BURN_OPTIONS_INTERFACE_NAME, 1);
  if (!declared || declared->struct_size < BURN_OPTIONS_INTERFACE_MIN_BYTES || declared->option_count > OPTIONS_MAX)
    return NULL;
  if (declared->option_count == 0) return declared;
  if (!declared->options || declared->option_bytes < BURN_OPTION_INFO_MIN_BYTES) return NULL;
  for (uint32_t i = 0; i < declared->option_count; i++) {
    const BurnOptionInfo *info = burn_option_info(declared, i);
    if (!info->key || !info->values || !info->fallback || !info->doc) return NULL;
  }
  return declared;
}

static bool is_host_option(const char *key) {
  for (size_t i = 0; i < sizeof host_options / sizeof host_options[0]; i++) {
    if (strcmp(host_options[i].key, key) == 0) return true;
  }
  return false;
}

static BurnStatus check_key(const BurnPlugin *plugin, const BurnOptionsInterface *declared, uint32_t index) {
  const char *key = burn_option_info(declared, index)->key;
  if (!key[0] || strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(key))
    return BURN_FAIL(INCOMPATIBLE, "it declares an option '%s': keys have a-z, 0-9 and _, at least one of them", key);
  if (plugin->kind == BURN_PLUGIN_BACKEND && is_host_option(key))
    return BURN_FAIL(INCOMPATIBLE, "it declares the option '%s', which the host takes for every backend", key);
  for (uint32_t i = 0; i < index; i++) {
    if (strcmp(burn_option_info(declared, i)->key, key) == 0)
      return BURN_FAIL(INCOMPATIBLE, "it declares the option '%s' twice", key);
  }
  return BURN_OK;
}

BurnStatus burn__plugin_options_check(const BurnPlugin *plugin) {
  const BurnOptionsInterface *declared = burn__plugin_options(plugin);
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; declared && i < declared->option_count && status == BURN_OK; i++)
    status = check_key(plugin, declared, i);
  return status;
}

BurnPluginOption *burn__plugin_options_list(const BurnPlugin *plugin, size_t *count, bool *declares) {
  const BurnOptionsInterface *declared = burn__plugin_options(plugin);
  BurnPluginOption *list = declared && declared->option_count ? calloc(declared->option_count, sizeof *list) : NULL;
  *declares = declared != NULL;
  *count = list ? declared->option_count : 0;
  for (size_t i = 0; i < *count; i++) {
    const BurnOptionInfo *info = burn_option_info(declared, (uint32_t)i);
    list[i] = (BurnPluginOption){info->key, info->values, info->fallback, info->doc,
                                 (info->flags & BURN_OPTION_HARMLESS) != 0};
  }
  return list;
}

static bool is_harmless(const BurnPlugin *plugin, bool is_backend, const char *key) {
  if (is_backend && is_host_option(key)) return true;
  const BurnOptionsInterface *declared = burn__plugin_options(plugin);
  for (uint32_t i = 0; declared && i < declared->option_count; i++) {
    const BurnOptionInfo *info = burn_option_info(declared, i);
    if (strcmp(info->key, key) == 0) return (info->flags & BURN_OPTION_HARMLESS) != 0;
  }
  return false;
}

BurnStatus burn__stack_check_harmless(const BurnStackText *stack) {
  for (size_t i = 0; i < stack->count; i++) {
    const BurnStackPart *part = &stack->parts[i];
    const bool is_backend = i + 1 == stack->count;
    const BurnPlugin *plugin = NULL;
    BurnStatus status =
        part->options.count == 0
            ? BURN_OK
            : burn__plugin_find(part->name, is_backend ? BURN_PLUGIN_BACKEND : BURN_PLUGIN_DECORATOR, &plugin);
    if (status != BURN_OK) return status;
    for (size_t j = 0; j < part->options.count; j++) {
      const char *key = part->options.options[j].key;
      if (is_harmless(plugin, is_backend, key)) continue;
      return BURN_FAIL(FAILED_PRECONDITION,
                       "option '%s' of '%s' is not taken from a file of the working directory, which may come from "
                       "anybody: %s does not "
                       "declare it harmless. Write it in BURN_BACKEND, --backend or your own burn.json",
                       key, part->name, part->name);
    }
  }
  return BURN_OK;
}
