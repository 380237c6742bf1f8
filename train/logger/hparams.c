/* hparams.c - see hparams.h. */
#include "hparams.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#include "event_file.h"
#include "learner_internal.h"

/* Fields of Summary.Value, SummaryMetadata and its PluginData; HParamsPluginData, SessionStartInfo, an entry of a map,
 * google.protobuf.Value. */
enum { VALUE_TAG = 1, VALUE_METADATA = 9, METADATA_PLUGIN = 1, PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { DATA_SESSION_START = 3, SESSION_HPARAMS = 1, SESSION_START_SECONDS = 5, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { NUMBER_VALUE = 2, STRING_VALUE = 3, BOOL_VALUE = 4 };
enum { MAX_DEPTH = 32 };

/* One entry of the map `hparams`. */
static void add_entry(BurnTextBuilder *session, const char *path, const cJSON *item) {
  BurnTextBuilder entry = BURN_TEXT_BUILDER, value = BURN_TEXT_BUILDER;
  char *list = cJSON_IsArray(item) ? cJSON_PrintUnformatted(item) : NULL;
  if (cJSON_IsNumber(item)) {
    burn__proto_f64(&value, NUMBER_VALUE, item->valuedouble);
  } else if (cJSON_IsBool(item)) {
    burn__proto_varint(&value, BOOL_VALUE, cJSON_IsTrue(item) ? 1 : 0);
  } else {
    burn__proto_text(&value, STRING_VALUE, list ? list : cJSON_IsString(item) ? item->valuestring : "");
  }
  free(list);
  burn__proto_text(&entry, ENTRY_KEY, path);
  burn__proto_message(&entry, ENTRY_VALUE, &value);
  burn__proto_message(session, SESSION_HPARAMS, &entry);
}

static void add_fields(BurnTextBuilder *session, const char *path, const cJSON *object, int depth) {
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    BurnTextBuilder name = BURN_TEXT_BUILDER;
    burn__text_addf(&name, "%s%s%s", path, path[0] ? "." : "", item->string);
    char *text = burn__text_finish(&name);
    session->failed = session->failed || !text;
    if (text && cJSON_IsObject(item) && depth < MAX_DEPTH) {
      add_fields(session, text, item, depth + 1);
    } else if (text && !cJSON_IsNull(item)) {
      add_entry(session, text, item);
    }
    free(text);
  }
}

static void add_metadata(BurnTextBuilder *value, BurnTextBuilder *session) {
  BurnTextBuilder data = BURN_TEXT_BUILDER, plugin = BURN_TEXT_BUILDER, metadata = BURN_TEXT_BUILDER;
  burn__proto_message(&data, DATA_SESSION_START, session);
  burn__proto_text(&plugin, PLUGIN_NAME, "hparams");
  burn__proto_message(&plugin, PLUGIN_CONTENT, &data);
  burn__proto_message(&metadata, METADATA_PLUGIN, &plugin);
  burn__proto_text(value, VALUE_TAG, "_hparams_/session_start_info");
  burn__proto_message(value, VALUE_METADATA, &metadata);
}

BurnStatus burn__hparams_value(BurnConfig config, BurnTextBuilder *value) {
  char *json = burn_config_text(config);
  cJSON *tree = json ? cJSON_Parse(json) : NULL;
  BurnTextBuilder session = BURN_TEXT_BUILDER;
  session.failed = !tree;
  add_fields(&session, "", tree, 0);
  burn__proto_f64(&session, SESSION_START_SECONDS, burn__train_wall_seconds());
  add_metadata(value, &session);
  cJSON_Delete(tree);
  free(json);
  if (!value->failed) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tensorboard: no memory for the config");
}
