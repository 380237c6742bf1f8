/* plugin_describe.c - what is known of a plugin as JSON, and JSON as what lists show. Answers of this process, of a
 * child and from disk have this one form, so that all of them pass the same checks: a plugin may write anything,
 * too. */
#include "plugin_internal.h"

#include <burn/plugin/kernels.h>
#include <burn/text.h>

#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 16, OPTIONS_MAX = 256 };

/* -- writing ---------------------------------------------------------------------------------- */

/* A text of a plugin: in valid UTF-8 whatever it was. */
static void add_text(cJSON *object, const char *key, const char *text) {
  char *copy = burn__text_copy(text ? text : "");
  if (copy) cJSON_AddStringToObject(object, key, burn_text_clean(copy));
  free(copy);
}

cJSON *burn__answer_of_refusal(const char *name, BurnRefusal refusal, const char *reason) {
  cJSON *answer = cJSON_CreateObject();
  add_text(answer, "name", name);
  add_text(answer, "kind", "");
  add_text(answer, "version", "");
  add_text(answer, "description", "");
  add_text(answer, "refusal", burn__refusal_word(refusal));
  add_text(answer, "reason", reason);
  cJSON_AddNumberToObject(answer, "roles", 0);
  cJSON_AddNumberToObject(answer, "score", 0);
  cJSON_AddBoolToObject(answer, "declares_options", false);
  cJSON_AddArrayToObject(answer, "options");
  cJSON_AddArrayToObject(answer, "devices");
  return answer;
}

static void add_options(cJSON *answer, const BurnPlugin *plugin) {
  size_t count;
  bool declares;
  BurnPluginOption *options = burn__plugin_options_list(plugin, &count, &declares);
  cJSON_AddBoolToObject(answer, "declares_options", declares);
  cJSON *list = cJSON_AddArrayToObject(answer, "options");
  for (size_t i = 0; i < count; i++) {
    cJSON *option = cJSON_CreateObject();
    add_text(option, "key", options[i].key);
    add_text(option, "values", options[i].values);
    add_text(option, "default", options[i].fallback);
    add_text(option, "doc", options[i].doc);
    cJSON_AddBoolToObject(option, "harmless", options[i].harmless);
    cJSON_AddItemToArray(list, option);
  }
  free(options);
}

/* Devices up to the last that has a name: what the plugin did not fill was cleared before. */
static void add_devices(cJSON *list, BurnDeviceInfo *devices, uint32_t count) {
  while (count > 0 && !devices[count - 1].name[0]) count--;
  for (uint32_t i = 0; i < count; i++) {
    devices[i].name[sizeof devices[i].name - 1] = '\0';
    cJSON_AddItemToArray(list, cJSON_CreateString(devices[i].name[0] ? burn_text_clean(devices[i].name) : "(no name)"));
  }
}

static void add_probe(cJSON *answer, const BurnPlugin *plugin) {
  BurnDeviceInfo devices[DEVICES_MAX] = {{0}};
  BurnProbe result = {.struct_size = sizeof result,
                      .device_capacity = DEVICES_MAX,
                      .device_bytes = sizeof *devices,
                      .devices = devices};
  BurnBackendInterface interface;
  burn__plugin_interface(plugin, "burn.backend", &interface, sizeof interface);
  interface.probe(burn__host(), &result);
  result.reason[sizeof result.reason - 1] = '\0';
  if (result.device_count > DEVICES_MAX) {
    burn__log(BURN_LOG_INFO, "plugins", "%s counts %u devices where the list holds %d", plugin->name,
              result.device_count, DEVICES_MAX);
    result.device_count = DEVICES_MAX;
  }
  add_text(answer, "refusal", burn__refusal_word(result.score > 0 ? BURN_REFUSED_NONE : BURN_REFUSED_NO_DEVICE));
  add_text(answer, "reason", result.reason);
  cJSON_AddNumberToObject(answer, "score", result.score > 0 ? result.score : 0);
  add_devices(cJSON_AddArrayToObject(answer, "devices"), devices, result.device_count);
}

cJSON *burn__answer_of_entry(const BurnPluginEntry *entry) {
  const BurnPlugin *plugin = entry->plugin;
  if (!plugin) return burn__answer_of_refusal(entry->file_name, entry->refusal, entry->reason);
  cJSON *answer = cJSON_CreateObject();
  add_text(answer, "name", plugin->name);
  add_text(answer, "kind", burn__plugin_kind(plugin->kind)->name);
  add_text(answer, "version", plugin->version);
  add_text(answer, "description", plugin->description);
  cJSON_AddNumberToObject(answer, "roles", burn__plugin_roles(plugin));
  add_options(answer, plugin);
  burn__probe_stage(BURN__STAGE_PROBE);
  if (plugin->kind == BURN_PLUGIN_BACKEND) {
    add_probe(answer, plugin);
    return answer;
  }
  add_text(answer, "refusal", "");
  add_text(answer, "reason", "");
  cJSON_AddNumberToObject(answer, "score", 0);
  cJSON_AddArrayToObject(answer, "devices");
  return answer;
}

const char *burn__interface_lacks(uint32_t kind, const void *table) {
  const BurnBackendInterface *backend = table;
  const BurnDecoratorInterface *decorator = table;
  if (kind == BURN_PLUGIN_BACKEND) return !backend->probe ? "probe" : !backend->open ? "open" : NULL;
  if (kind == BURN_PLUGIN_DECORATOR) return decorator->open ? NULL : "open";
  return NULL; /* tables of packs are looked at when they are registered */
}

/* -- reading ---------------------------------------------------------------------------------- */

/* A text of valid UTF-8, or NULL and the answer is none. */
static const char *text_of(const cJSON *object, const char *key, bool *whole) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
  if (!text || !burn_text_is_clean(text)) *whole = false;
  return text ? text : "";
}

static bool bool_of(const cJSON *object, const char *key, bool *whole) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!cJSON_IsBool(item)) *whole = false;
  return cJSON_IsTrue(item);
}

/* The items of a list; none, and the answer is none, if there are more than `limit`. */
static size_t list_of(const cJSON *object, const char *key, size_t limit, const cJSON **list, bool *whole) {
  *list = cJSON_GetObjectItemCaseSensitive(object, key);
  const int count = cJSON_IsArray(*list) ? cJSON_GetArraySize(*list) : -1;
  if (count >= 0 && (size_t)count <= limit) return (size_t)count;
  *whole = false;
  return 0;
}

static void read_options(const cJSON *answer, BurnPluginInfo *info, bool *whole) {
  const cJSON *list, *item;
  const size_t count = list_of(answer, "options", OPTIONS_MAX, &list, whole);
  BurnPluginOption *options = count ? calloc(count, sizeof *options) : NULL;
  if (count && !options) *whole = false;
  if (!options) return;
  info->options = options;
  cJSON_ArrayForEach(item, list) {
    options[info->option_count++] =
        (BurnPluginOption){text_of(item, "key", whole), text_of(item, "values", whole), text_of(item, "default", whole),
                           text_of(item, "doc", whole), bool_of(item, "harmless", whole)};
  }
}

static void read_devices(const cJSON *answer, BurnPluginInfo *info, bool *whole) {
  const cJSON *list, *item;
  const size_t count = list_of(answer, "devices", DEVICES_MAX, &list, whole);
  const char **names = count ? calloc(count, sizeof *names) : NULL;
  if (count && !names) *whole = false;
  if (!names) return;
  info->devices = names;
  cJSON_ArrayForEach(item, list) {
    const char *name = cJSON_GetStringValue(item);
    if (!name || !burn_text_is_clean(name)) *whole = false;
    names[info->device_count++] = name ? name : "";
  }
}

static bool is_kind(const char *kind) {
  return !kind[0] || strcmp(kind, burn__plugin_kind(BURN_PLUGIN_BACKEND)->name) == 0 ||
         strcmp(kind, burn__plugin_kind(BURN_PLUGIN_DECORATOR)->name) == 0 ||
         strcmp(kind, burn__plugin_kind(BURN_PLUGIN_KERNELS)->name) == 0;
}

bool burn__verdict_read(cJSON *answer, const char *path, BurnVerdict *out) {
  bool whole = cJSON_IsObject(answer);
  *out = (BurnVerdict){.answer = answer};
  BurnPluginInfo *info = &out->info;
  *info = (BurnPluginInfo){.path = path,
                           .name = text_of(answer, "name", &whole),
                           .kind = text_of(answer, "kind", &whole),
                           .version = text_of(answer, "version", &whole),
                           .description = text_of(answer, "description", &whole),
                           .reason = text_of(answer, "reason", &whole),
                           .declares_options = bool_of(answer, "declares_options", &whole)};
  const char *word = text_of(answer, "refusal", &whole);
  out->refusal = burn__refusal_of_word(word);
  info->refusal = burn__refusal_word(out->refusal);
  info->help = burn__refusal_help(out->refusal);
  const cJSON *score = cJSON_GetObjectItemCaseSensitive(answer, "score");
  info->score = cJSON_IsNumber(score) ? score->valueint : 0;
  const cJSON *roles = cJSON_GetObjectItemCaseSensitive(answer, "roles");
  out->roles = cJSON_IsNumber(roles) && roles->valueint >= 0 ? (uint32_t)roles->valueint : 0;
  info->usable = out->refusal == BURN_REFUSED_NONE;
  const bool has_kind = info->kind[0] != '\0', needs_kind = info->usable || out->refusal == BURN_REFUSED_NO_DEVICE;
  whole = whole && cJSON_IsNumber(score) && cJSON_IsNumber(roles) && info->score >= 0 &&
          (!word[0] || out->refusal != BURN_REFUSED_NONE) && is_kind(info->kind) && has_kind == needs_kind;
  if (whole) read_options(answer, info, &whole);
  if (whole) read_devices(answer, info, &whole);
  if (whole) return true;
  free((void *)(uintptr_t)info->options);
  free((void *)(uintptr_t)info->devices);
  cJSON_Delete(answer);
  return false;
}
