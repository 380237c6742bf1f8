/* burn.c - the burn command: what this installation has and which backend a program would get. */
#include <burn/burn.h>

#include "../examples/common/arguments.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: burn backends [--json]   plugins found, where, version, score, devices; and why others were refused\n"
    "       burn version             version of the library\n"
    "\n"
    "A program picks its backend by --backend or BURN_BACKEND: ndarray, autodiff<ndarray>, trace+autodiff+ndarray.";

static void print_plugin(const BurnPluginInfo *info) {
  if (info->usable || info->kind[0]) {
    printf("  %-10s %-9s %-7s %s\n", info->name, info->kind, info->version, info->description);
  } else {
    printf("  %-10s refused\n", info->name);
  }
  printf("             %s\n", info->path);
  if (strcmp(info->kind, "backend") == 0) printf("             score %d", info->score);
  for (unsigned i = 0; i < info->device_count; i++) printf("%s %s:%u %s", i ? "," : ";", info->name, i, info->devices[i]);
  if (strcmp(info->kind, "backend") == 0) putchar('\n');
  if (!info->usable && info->reason[0]) printf("             why not: %s\n", info->reason);
}

/* The stack that a program without any choice of its own would get, for inference and for training. */
static void print_choice(const char *what, BurnDevice *device) {
  const BurnStatus status = burn_device_status(device);
  printf("  %-10s %s\n", what, status == BURN_OK ? burn_device_name(device) : burn_status_message(status));
  burn_device_close(device);
}

static int backends_text(void) {
  printf("plugins:\n");
  for (size_t i = 0; i < burn_plugin_count(); i++) print_plugin(burn_plugin_info(i));
  if (burn_plugin_count() == 0) printf("  none\n");
  printf("searched:\n");
  for (const char *const *folder = burn_plugin_search_path(); *folder; folder++) printf("  %s\n", *folder);
  printf("chosen when the program does not say (BURN_BACKEND=%s):\n", getenv("BURN_BACKEND") ? getenv("BURN_BACKEND") : "");
  print_choice("inference", burn_device_open(NULL));
  print_choice("training", burn_device_open_training(NULL));
  return 0;
}

static cJSON *plugin_json(const BurnPluginInfo *info) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", info->name);
  cJSON_AddStringToObject(object, "kind", info->kind);
  cJSON_AddStringToObject(object, "path", info->path);
  cJSON_AddStringToObject(object, "version", info->version);
  cJSON_AddStringToObject(object, "description", info->description);
  cJSON_AddBoolToObject(object, "usable", info->usable);
  cJSON_AddStringToObject(object, "reason", info->reason);
  cJSON_AddNumberToObject(object, "score", info->score);
  cJSON *devices = cJSON_AddArrayToObject(object, "devices");
  for (unsigned i = 0; i < info->device_count; i++) cJSON_AddItemToArray(devices, cJSON_CreateString(info->devices[i]));
  return object;
}

static int backends_json(void) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "version", burn_version());
  cJSON *plugins = cJSON_AddArrayToObject(root, "plugins");
  for (size_t i = 0; i < burn_plugin_count(); i++) cJSON_AddItemToArray(plugins, plugin_json(burn_plugin_info(i)));
  cJSON *searched = cJSON_AddArrayToObject(root, "searched");
  for (const char *const *folder = burn_plugin_search_path(); *folder; folder++) {
    cJSON_AddItemToArray(searched, cJSON_CreateString(*folder));
  }
  char *text = cJSON_Print(root);
  cJSON_Delete(root);
  if (!text) {
    fprintf(stderr, "burn: out of memory\n");
    return 1;
  }
  puts(text);
  free(text);
  return 0;
}

int main(int argc, char **argv) {
  bool json = false;
  const Argument arguments[] = {{"json", ARGUMENT_FLAG, &json, NULL, "machine-readable output"}};
  const char *command = NULL;
  const int parsed = arguments_parse(argc, argv, usage, arguments, 1, &command, 1);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (command && strcmp(command, "backends") == 0) return json ? backends_json() : backends_text();
  if (command && strcmp(command, "version") == 0) {
    printf("burn %s, plugin ABI %u.%u\n", burn_version(), BURN_ABI_MAJOR, BURN_ABI_MINOR);
    return 0;
  }
  fprintf(stderr, "%s\n", command ? "burn: unknown command; it is backends or version. See --help" : usage);
  return 2;
}
