/* backends.c - burn backends: what this installation has and which backend a program would get. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

cJSON *command_plugin_json(const BurnPluginInfo *info) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", info->name);
  cJSON_AddStringToObject(object, "kind", info->kind);
  cJSON_AddStringToObject(object, "path", info->path);
  cJSON_AddStringToObject(object, "version", info->version);
  cJSON_AddStringToObject(object, "description", info->description);
  cJSON_AddBoolToObject(object, "usable", info->usable);
  cJSON_AddStringToObject(object, "reason", info->reason);
  cJSON_AddStringToObject(object, "why_not", info->why_not);
  cJSON_AddStringToObject(object, "help", info->help);
  cJSON_AddNumberToObject(object, "score", info->score);
  cJSON *devices = cJSON_AddArrayToObject(object, "devices");
  for (unsigned i = 0; i < info->device_count; i++) cJSON_AddItemToArray(devices, cJSON_CreateString(info->devices[i]));
  return object;
}

static int backends_json(void) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "version", burn_version());
  cJSON *plugins = cJSON_AddArrayToObject(root, "plugins");
  for (size_t i = 0; i < burn_plugin_count(); i++) cJSON_AddItemToArray(plugins, command_plugin_json(burn_plugin_info(i)));
  cJSON *searched = cJSON_AddArrayToObject(root, "searched");
  for (const char *const *folder = burn_plugin_search_path(); *folder; folder++) {
    cJSON_AddItemToArray(searched, cJSON_CreateString(*folder));
  }
  return command_print_json(root);
}

int command_backends(int argc, char **argv) {
  static const char usage[] =
      "usage: burn backends [--json]\n"
      "plugins found, where, version, score, devices; and why others were refused";
  bool json = false;
  const Argument arguments[] = {{"json", ARGUMENT_FLAG, &json, NULL, "machine-readable output"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, 1, NULL, 0, &status)) return status;
  return json ? backends_json() : backends_text();
}
