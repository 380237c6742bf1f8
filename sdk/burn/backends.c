/* backends.c - burn backends: what this installation has and which backend a program would get. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* "baseline|avx2 (default avx2): which one". */
static void print_option(const char *indent, const BurnPluginOption *option) {
  printf("%s%s=%s", indent, option->key, option->values);
  if (option->fallback[0]) printf(" (default %s)", option->fallback);
  printf(": %s\n", option->doc);
}

static void print_plugin(const BurnPluginInfo *info) {
  if (info->usable || info->kind[0]) {
    printf("  %-10s %-9s %-7s %s\n", info->name, info->kind, info->version, info->description);
  } else {
    printf("  %-10s refused\n", info->name);
  }
  printf("             %s\n", info->path);
  if (strcmp(info->kind, "backend") == 0) printf("             score %d", info->score);
  for (unsigned i = 0; i < info->device_count; i++)
    printf("%s %s:%u %s", i ? "," : ";", info->name, i, info->devices[i]);
  if (strcmp(info->kind, "backend") == 0) putchar('\n');
  for (size_t i = 0; i < info->option_count; i++) print_option("             ", &info->options[i]);
  if (info->reason[0])
    printf("             %s: %s\n", info->usable && info->score > 0 ? "found" : "refused", info->reason);
  char since[SINCE_BYTES];
  if (info->quarantined_since)
    printf("             in quarantine since %s; 'burn doctor --retry' tries it again\n",
           command_quarantine_text(info, since));
}

/* True if what is chosen names no decorator, so that training puts the one that computes gradients on top. */
static bool is_backend_alone(void) {
  char stack[1024];
  const char *source;
  return burn_stack_choice(NULL, stack, sizeof stack, &source) == BURN_OK && !strpbrk(stack, "<+");
}

static void print_choice(const char *what, const Opened *opened) {
  printf("  %-10s %s\n", what, opened->problem[0] ? opened->problem : opened->name);
  if (opened->passed_over[0]) printf("             passed over, as they did not open: %s\n", opened->passed_over);
}

/* The stack that a program without any choice of its own would get, for inference and for training. Opening one may
 * take seconds, and warns of what is passed over: where it tells both, one is opened. */
static void print_choices(void) {
  const Need train = {.train = true}, infer = {.train = false};
  const Opened training = command_try_open(NULL, &train);
  Opened inference = training;
  if (training.name[0] && is_backend_alone()) {
    memcpy(inference.name, training.inner, sizeof inference.name);
  } else {
    inference = command_try_open(NULL, &infer);
  }
  print_choice("inference", &inference);
  print_choice("training", &training);
}

static int backends_text(void) {
  printf("plugins:\n");
  for (size_t i = 0; i < burn_plugin_count(); i++) print_plugin(burn_plugin_info(i));
  if (burn_plugin_count() == 0) printf("  none\n");
  size_t count;
  const BurnPluginOption *options = burn_host_options(&count);
  printf("options of every backend:\n");
  for (size_t i = 0; i < count; i++) print_option("  ", &options[i]);
  printf("searched:\n");
  for (const char *const *folder = burn_plugin_search_path(); *folder; folder++) printf("  %s\n", *folder);
  printf("chosen when the program does not say (BURN_BACKEND=%s):\n",
         getenv("BURN_BACKEND") ? getenv("BURN_BACKEND") : "");
  print_choices();
  return 0;
}

static cJSON *options_json(const BurnPluginOption *options, size_t count) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < count; i++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "key", options[i].key);
    cJSON_AddStringToObject(object, "values", options[i].values);
    cJSON_AddStringToObject(object, "default", options[i].fallback);
    cJSON_AddStringToObject(object, "doc", options[i].doc);
    cJSON_AddBoolToObject(object, "harmless", options[i].harmless);
    cJSON_AddItemToArray(list, object);
  }
  return list;
}

const char *command_quarantine_text(const BurnPluginInfo *info, char text[SINCE_BYTES]) {
  const time_t since = (time_t)info->quarantined_since;
  const struct tm *parts = info->quarantined_since ? gmtime(&since) : NULL;
  if (!parts || strftime(text, SINCE_BYTES, "%Y-%m-%d %H:%M:%S UTC", parts) == 0) text[0] = '\0';
  return text;
}

cJSON *command_plugin_json(const BurnPluginInfo *info) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", info->name);
  cJSON_AddStringToObject(object, "kind", info->kind);
  cJSON_AddStringToObject(object, "path", info->path);
  cJSON_AddStringToObject(object, "version", info->version);
  cJSON_AddStringToObject(object, "description", info->description);
  cJSON_AddBoolToObject(object, "usable", info->usable);
  cJSON_AddStringToObject(object, "reason", info->reason);
  cJSON_AddStringToObject(object, "refusal", info->refusal);
  cJSON_AddStringToObject(object, "help", info->help);
  char since[SINCE_BYTES];
  cJSON_AddStringToObject(object, "quarantined_since", command_quarantine_text(info, since));
  cJSON_AddNumberToObject(object, "score", info->score);
  cJSON_AddBoolToObject(object, "declares_options", info->declares_options);
  cJSON_AddItemToObject(object, "options", options_json(info->options, info->option_count));
  cJSON *devices = cJSON_AddArrayToObject(object, "devices");
  for (unsigned i = 0; i < info->device_count; i++) cJSON_AddItemToArray(devices, cJSON_CreateString(info->devices[i]));
  return object;
}

static int backends_json(void) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "version", burn_version());
  cJSON *plugins = cJSON_AddArrayToObject(root, "plugins");
  for (size_t i = 0; i < burn_plugin_count(); i++)
    cJSON_AddItemToArray(plugins, command_plugin_json(burn_plugin_info(i)));
  size_t count;
  const BurnPluginOption *options = burn_host_options(&count);
  cJSON_AddItemToObject(root, "options", options_json(options, count));
  cJSON *searched = cJSON_AddArrayToObject(root, "searched");
  for (const char *const *folder = burn_plugin_search_path(); *folder; folder++) {
    cJSON_AddItemToArray(searched, cJSON_CreateString(*folder));
  }
  return command_print_json(root);
}

/* A text in a cell of a table: the bars between values would end it, and < would begin a tag of HTML. */
static void print_cell(const char *text) {
  printf(" ");
  for (; *text; text++) printf(*text == '|' || *text == '<' ? "\\%c" : "%c", *text);
  printf(" |");
}

static void print_table(const char *title, const BurnPluginOption *options, size_t count) {
  printf("\n## %s\n\n", title);
  if (count == 0) printf("None.\n");
  if (count == 0) return;
  printf("| option | values | default | harmless | what |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < count; i++) {
    printf("|");
    print_cell(options[i].key);
    print_cell(options[i].values);
    print_cell(options[i].fallback);
    print_cell(options[i].harmless ? "yes" : "no");
    print_cell(options[i].doc);
    printf("\n");
  }
}

static int compare_names(const void *a, const void *b) {
  const BurnPluginInfo *const *left = a, *const *right = b;
  return strcmp((*left)->name, (*right)->name);
}

/* By name, so that the page is the same whatever devices a machine has. */
static void print_plugin_tables(void) {
  const size_t count = burn_plugin_count();
  const BurnPluginInfo **infos = calloc(count + 1, sizeof *infos);
  for (size_t i = 0; infos && i < count; i++) infos[i] = burn_plugin_info(i);
  if (infos) qsort(infos, count, sizeof *infos, compare_names);
  for (size_t i = 0; infos && i < count; i++) {
    if (infos[i]->declares_options) print_table(infos[i]->name, infos[i]->options, infos[i]->option_count);
  }
  free(infos);
}

static int backends_markdown(void) {
  size_t count;
  const BurnPluginOption *options = burn_host_options(&count);
  printf(
      "# Options of plugins\n\n"
      "Written by `burn backends --markdown` from what the plugins declare; do not edit. Options stand after the name "
      "in a\n"
      "stack text: `ndarray:isa=avx2`, `validate:action=warn,determinism=true<ndarray>`. A `burn.json` of the working "
      "directory may\n"
      "name those that are harmless: they only choose how to compute or what to print to stderr.\n");
  print_table("Every backend", options, count);
  print_plugin_tables();
  return 0;
}

int command_backends(int argc, char **argv) {
  static const char usage[] =
      "usage: burn backends [--json]\n"
      "       burn backends --markdown\n"
      "plugins found, where, version, score, devices, options; and why others were refused";
  bool json = false, markdown = false;
  const Argument arguments[] = {{"json", ARGUMENT_FLAG, &json, NULL, "machine-readable output"},
                                {"markdown", ARGUMENT_FLAG, &markdown, NULL, "the reference page of all options"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, 2, NULL, 0, &status)) return status;
  if (markdown) return backends_markdown();
  return json ? backends_json() : backends_text();
}
