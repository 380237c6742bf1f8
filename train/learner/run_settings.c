/* run_settings.c - what a run is made from, as a list of names and texts: learning rate, optimizer, data, every
 * value of the config. A checkpoint keeps the list, and a run that resumes compares its own with it. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <burn/op_call.h>
#include <burn/text.h>

#include "learner_internal.h"
#include "optimizer_internal.h"

enum { NAME_BYTES = 256, MAX_TOLD = 4 };

void burn__train_warn(const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  burn_host()->log(BURN_LOG_WARN, "learner", text);
}

/* -- the list --------------------------------------------------------------------------------- */

static char *copy_text(const char *text, size_t length) {
  char *copy = malloc(length + 1);
  if (!copy) return NULL;
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

static void add(BurnSettings *settings, const char *name, const char *text, size_t length) {
  if (settings->count == settings->capacity) {
    const size_t capacity = settings->capacity ? 2 * settings->capacity : 32;
    struct BurnSetting *items = realloc(settings->items, capacity * sizeof *items);
    settings->failed = settings->failed || !items;
    if (!items) return;
    settings->items = items;
    settings->capacity = capacity;
  }
  struct BurnSetting *item = &settings->items[settings->count++];
  item->name = copy_text(name, strlen(name));
  item->text = copy_text(text, length);
  settings->failed = settings->failed || !item->name || !item->text;
}

static void add_size(BurnSettings *settings, const char *prefix, const char *name, unsigned long long value) {
  char full[NAME_BYTES], text[32];
  (void)snprintf(full, sizeof full, "%s%s", prefix, name);
  const int length = snprintf(text, sizeof text, "%llu", value);
  add(settings, full, text, (size_t)length);
}

void burn__settings_release(BurnSettings *settings) {
  for (size_t i = 0; i < settings->count; i++) {
    free(settings->items[i].name);
    free(settings->items[i].text);
  }
  free(settings->items);
  *settings = (BurnSettings){NULL, 0, 0, false};
}

/* -- the config, from the JSON that core makes of it ------------------------------------------ */

static const char *skip_space(const char *at) { return at + strspn(at, " \n"); }

/* The end of a value that is not an object: a text, an array of numbers, a word. */
static const char *value_end(const char *at) {
  if (*at == '[') return at + strcspn(at, "]") + 1;
  if (*at != '"') return at + strcspn(at, ",}\n");
  for (at++; *at && *at != '"'; at++) {
    if (*at == '\\' && at[1]) at++;
  }
  return *at ? at + 1 : at;
}

/* Adds the value at `at`, or those in it, under `name`; returns its end. */
static const char *add_json(BurnSettings *settings, const char *at, const char *name) {
  at = skip_space(at);
  if (*at != '{') {
    const char *end = value_end(at);
    add(settings, name, at, (size_t)(end - at));
    return end;
  }
  for (at = skip_space(at + 1); *at == '"'; at = skip_space(at)) {
    char inner[NAME_BYTES];
    const size_t length = strcspn(at + 1, "\"");
    (void)snprintf(inner, sizeof inner, "%s.%.*s", name, (int)length, at + 1);
    at = skip_space(at + length + 2);
    at = skip_space(add_json(settings, at + (*at == ':'), inner));
    at += *at == ',';
  }
  return at + (*at == '}');
}

/* -- what a run is made from ------------------------------------------------------------------ */

static void add_data(BurnSettings *settings, const char *prefix, const BurnLoader *loader) {
  const BurnLoaderConfig *config = burn__loader_config(loader);
  uint32_t checksum;
  add_size(settings, prefix, "items", burn_loader_item_count(loader));
  add_size(settings, prefix, "batch_size", config->batch_size);
  if (config->drop_last) add_size(settings, prefix, "drop_last", config->drop_last);
  add_size(settings, prefix, "shuffle", config->shuffle);
  if (config->shuffle) add_size(settings, prefix, "seed", config->seed);
  if (burn__loader_checksum(loader, &checksum)) add_size(settings, prefix, "checksum of two items", checksum);
}

static void add_config(BurnSettings *settings, BurnConfig config, const char *name) {
  if (!config.type) return;
  char *json = burn_config_text(config);
  if (json) (void)add_json(settings, json, name);
  settings->failed = settings->failed || !json;
  free(json);
}

/* The config of a schedule, and those that it is made of: "schedule.0" is "linear", "schedule.0.first" is "100". */
static void add_schedule(BurnSettings *settings, const BurnSchedule *schedule, const char *name) {
  BurnSchedulePart part;
  char inner[NAME_BYTES - 8];
  size_t count = 0;
  add_config(settings, schedule->config, name);
  if (!schedule->table->part) return;
  for (; schedule->table->part(schedule->config.data, count, &part); count++) {
    const char *kind = part.schedule->table->name;
    (void)snprintf(inner, sizeof inner, "%s.%zu", name, count);
    add(settings, inner, kind, strlen(kind));
    add_schedule(settings, part.schedule, inner);
    (void)snprintf(inner, sizeof inner, "%s.%zu.", name, count);
    add_size(settings, inner, "first", part.first);
  }
  (void)snprintf(inner, sizeof inner, "%s.", name);
  add_size(settings, inner, "parts", count);
}

/* A rate, or the name of what gives it, and its config. */
static void add_rate(BurnSettings *settings, double learning_rate, const BurnSchedule *schedule, const char *name,
                     const char *schedule_name) {
  const BurnScheduleInterface *table = schedule->table;
  char number[BURN_NUMBER_BYTES];
  const char *rate = table ? table->name : burn_number_text(learning_rate, 0, number);
  add(settings, name, rate, strlen(rate));
  if (table) add_schedule(settings, schedule, schedule_name);
}

/* The texts of a list, under "<name>.<what>.<number>". */
static void add_texts(BurnSettings *settings, const char *name, const char *what, const char *const *texts) {
  char inner[NAME_BYTES];
  for (size_t i = 0; texts && texts[i]; i++) {
    (void)snprintf(inner, sizeof inner, "%s.%s.%zu", name, what, i);
    add(settings, inner, texts[i], strlen(texts[i]));
  }
}

/* What a group of parameters is, but for a test of the user's. */
static void add_which(BurnSettings *settings, const char *name, const BurnParamGroup *which) {
  char inner[NAME_BYTES - 24], id[14];
  add_texts(settings, name, "paths", which->paths);
  add_texts(settings, name, "parts", which->parts);
  add_texts(settings, name, "any_parts", which->any_parts);
  for (size_t i = 0; i < which->id_count; i++) {
    (void)snprintf(inner, sizeof inner, "%s.ids.%zu", name, i);
    burn_param_id_text(which->ids[i], id);
    add(settings, inner, id, strlen(id));
  }
  (void)snprintf(inner, sizeof inner, "%s.excludes", name);
  if (which->excludes) add_which(settings, inner, which->excludes);
}

static void add_rate_group(BurnSettings *settings, const BurnLearningRateGroup *group, size_t index) {
  char name[40], schedule[40];
  (void)snprintf(name, sizeof name, "learning_rate.%zu", index);
  (void)snprintf(schedule, sizeof schedule, "schedule of group %zu", index);
  add_rate(settings, group->learning_rate, &group->schedule, name, schedule);
  add_which(settings, name, &group->which);
}

static void add_rates(BurnSettings *settings, const BurnLearnerConfig *config) {
  add_rate(settings, config->learning_rate, &config->schedule, "learning_rate", "schedule");
  for (size_t i = 0; i < config->rate_group_count; i++) add_rate_group(settings, &config->rate_groups[i], i);
}

/* The rule, the numbers of its config but for the clipping, and the clipping in use, which may be another one. */
static void add_optimizer_group(BurnSettings *settings, const BurnOptimizerGroup *group, const char *name) {
  char inner[NAME_BYTES], clipping[BURN__CLIPPING_BYTES];
  add(settings, name, group->rule->name, strlen(group->rule->name));
  if (group->config_type) {
    BurnType numbers = *group->config_type;
    numbers.field_count--;
    add_config(settings, (BurnConfig){&numbers, group->config}, name);
  }
  (void)snprintf(inner, sizeof inner, "%s.clipping", name);
  burn__clipping_text(group->clipping, clipping);
  add(settings, inner, clipping, strlen(clipping));
  add_which(settings, name, &group->which);
}

static void add_optimizer(BurnSettings *settings, const BurnOptimizer *optimizer) {
  char name[40];
  add_optimizer_group(settings, &optimizer->groups[0], "optimizer");
  for (size_t i = 1; i < optimizer->group_count; i++) {
    (void)snprintf(name, sizeof name, "optimizer.%zu", i);
    add_optimizer_group(settings, &optimizer->groups[i], name);
  }
  add_size(settings, "optimizer.", "groups", optimizer->group_count - 1);
}

BurnStatus burn__settings_fill(BurnSettings *settings, const BurnLearnerConfig *config, const BurnOptimizer *optimizer,
                               const BurnLoader *train, const BurnLoader *valid) {
  add_rates(settings, config);
  add_optimizer(settings, optimizer);
  add_size(settings, "", "gradient_accumulation",
           config->gradient_accumulation > 1 ? config->gradient_accumulation : 1);
  add_data(settings, "training data: ", train);
  if (valid) add_data(settings, "validation data: ", valid);
  add_config(settings, config->config, "config");
  return settings->failed ? burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "learner: out of memory for the settings")
                          : BURN_OK;
}

BurnValue *burn__settings_value(const BurnSettings *settings) {
  BurnValue *map = burn_value_map();
  bool sound = true;
  for (size_t i = 0; i < settings->count; i++) {
    sound = burn_value_set(map, settings->items[i].name, burn_value_text(settings->items[i].text)) && sound;
  }
  if (sound) return map;
  burn_value_destroy(map);
  return NULL;
}

/* -- the same run? ---------------------------------------------------------------------------- */

/* "config.num_epochs" is free if "num_epochs" stands in the list of words. */
static bool is_free(const char *name, const char *words) {
  static const char prefix[] = "config.";
  if (!words || strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
  name += sizeof prefix - 1;
  for (const char *at = words; *at; at += strcspn(at, " ")) {
    at += strspn(at, " ");
    if (strcspn(at, " ") == strlen(name) && strncmp(at, name, strlen(name)) == 0) return true;
  }
  return false;
}

/* The first few differences as text; how many there are is counted. */
typedef struct Differences {
  const BurnLearnerConfig *config;
  size_t count, used;
  char text[640];
} Differences;

static void differ(Differences *all, const char *name, const char *now, const char *before) {
  if (is_free(name, all->config->free_fields) || all->count++ >= MAX_TOLD) return;
  const int length = snprintf(all->text + all->used, sizeof all->text - all->used,
                              "%s%.100s is %.60s, the checkpoint has %.60s", all->used ? "; " : "", name, now, before);
  all->used =
      length > 0 && all->used + (size_t)length < sizeof all->text ? all->used + (size_t)length : sizeof all->text - 1;
}

/* A value that the other side lacks: only configs have to have the same fields. */
static void missing(Differences *all, const char *name, const char *now, const char *before) {
  if (strncmp(name, "config.", 7) == 0) differ(all, name, now, before);
}

static const struct BurnSetting *find(const BurnSettings *settings, const char *name) {
  for (size_t i = 0; i < settings->count; i++) {
    if (strcmp(settings->items[i].name, name) == 0) return &settings->items[i];
  }
  return NULL;
}

BurnStatus burn__settings_check(const BurnSettings *settings, const BurnValue *stored,
                                const BurnLearnerConfig *config) {
  Differences all = {.config = config};
  if (burn_value_kind(stored) != BURN_VALUE_MAP) return BURN_OK;
  for (size_t i = 0; i < settings->count; i++) {
    const struct BurnSetting *now = &settings->items[i];
    const char *before = burn_value_as_text(burn_value_get(stored, now->name), NULL);
    if (!before) missing(&all, now->name, now->text, "none");
    if (before && strcmp(before, now->text) != 0) differ(&all, now->name, now->text, before);
  }
  for (size_t i = 0; i < burn_value_count(stored); i++) {
    const char *name = burn_value_key_at(stored, i);
    if (!find(settings, name)) missing(&all, name, "not there", burn_value_as_text(burn_value_at(stored, i), "?"));
  }
  if (all.count == 0) return BURN_OK;
  const char *more = all.count > MAX_TOLD ? "; and more" : "";
  if (config->accept_changes) {
    burn__train_warn("resuming another run: %s%s", all.text, more);
    return BURN_OK;
  }
  return burn_status_make(
      BURN_STATUS_FAILED_PRECONDITION,
      "this is another run: %s%s. Resume with the same values, set accept_changes, or begin anew without resume",
      all.text, more);
}
