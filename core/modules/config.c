/* config.c - configs to and from text and files. The JSON itself is config_json.c's. */
#include <burn/config.h>

#include <burn/file.h>

#include "config_json.h"
#include "path_check.h"

#include <stdlib.h>
#include <string.h>

/* A config larger than this is none. */
enum { CONFIG_BYTES_LIMIT = 16 << 20 };

static BurnStatus config_check(BurnConfig config) {
  if (config.type && config.data) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the config is NULL; burn_config(Type, &object) makes one",
                          config.type ? burn_type_short_name(config.type) : "config");
}

static BurnStatus config_text(BurnConfig config, char **out) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  BurnStatus status = config_check(config);
  if (status == BURN_OK) status = burn__config_to_json(&text, config.type, config.data);
  if (status != BURN_OK) {
    burn__text_release(&text);
    return status;
  }
  *out = burn__text_finish(&text);
  return *out ? BURN_OK
              : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the JSON of %s", config.type->name);
}

char *burn_config_text(BurnConfig config) {
  char *text = NULL;
  return config_text(config, &text) == BURN_OK ? text : NULL;
}

BurnStatus burn_config_save(BurnConfig config, const char *path) {
  char *text = NULL;
  BurnStatus status = burn__path_check("save", path);
  if (status != BURN_OK) return status;
  status = config_text(config, &text);
  if (status == BURN_OK) {
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminator */
    status = burn_file_write(path, text, length + 1);
    free(text);
  }
  return status == BURN_OK ? BURN_OK : burn_status_annotate(status, "save %s", path);
}

BurnStatus burn_config_parse(BurnConfig config, const char *json) {
  BurnStatus status = config_check(config);
  if (status != BURN_OK) return status;
  if (!json) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the JSON is NULL", config.type->name);
  void *data = malloc(config.type->bytes);
  if (!data) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a %s", config.type->name);
  status = burn__config_from_json(json, config.type, data);
  if (status == BURN_OK) memcpy(config.data, data, config.type->bytes);
  free(data);
  return status;
}

BurnStatus burn_config_load(BurnConfig config, const char *path) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = burn__path_check("load", path);
  if (status != BURN_OK) return status;
  status = burn_file_read(path, CONFIG_BYTES_LIMIT, &bytes, &count);
  if (status == BURN_OK) {
    size_t length = strlen((const char *)bytes);
    status = length == count ? burn_config_parse(config, (const char *)bytes)
                             : burn_status_make(BURN_STATUS_CORRUPT_DATA, "zero byte at %zu of %zu", length, count);
    free(bytes);
  }
  return status == BURN_OK ? BURN_OK : burn_status_annotate(status, "load %s", path);
}

void *burn_config_set_bytes(void *to, const void *from, size_t offset, size_t bytes) {
  memcpy((char *)to + offset, (const char *)from + offset, bytes);
  return to;
}
