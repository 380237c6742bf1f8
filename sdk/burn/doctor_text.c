/* doctor_text.c - what burn doctor gathered, as text: one section per list of the tree. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

static const cJSON *get(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }

static const char *text(const cJSON *object, const char *key) {
  const char *value = cJSON_GetStringValue(get(object, key));
  return value ? value : "";
}
static double number(const cJSON *object, const char *key) { return cJSON_GetNumberValue(get(object, key)); }
static bool is(const cJSON *object, const char *key) { return cJSON_IsTrue(get(object, key)); }

static void print_machine(const cJSON *machine) {
  printf("machine\n  %s, %s\n", text(machine, "system"), text(machine, "processor"));
  printf("  %g processors, %g threads for work, %.1f GiB memory\n  features:", number(machine, "processors"),
         number(machine, "threads"), number(machine, "memory_bytes") / (1024.0 * 1024 * 1024));
  const cJSON *feature;
  cJSON_ArrayForEach(feature, get(machine, "features")) printf(" %s", cJSON_GetStringValue(feature));
  putchar('\n');
}

static void print_drivers(const cJSON *drivers) {
  const cJSON *driver;
  printf("drivers\n");
  cJSON_ArrayForEach(driver, drivers) {
    const char *version = text(driver, "version"), *why = text(driver, "reason");
    printf("  %-14s %s (%s%s%s%s%s) for %s\n", text(driver, "name"), is(driver, "found") ? "found" : "not found",
           text(driver, "library"), version[0] ? ", version " : "", version, why[0] ? ": " : "", why,
           text(driver, "use"));
  }
}

static void print_environment(const cJSON *variables) {
  const cJSON *variable;
  printf("environment\n");
  cJSON_ArrayForEach(variable, variables) {
    const bool is_set = cJSON_IsString(get(variable, "value"));
    printf("  %-22s %s%s%s  (%s)\n", text(variable, "name"), is_set ? "'" : "",
           is_set ? text(variable, "value") : "not set", is_set ? "'" : "", text(variable, "meaning"));
  }
}

static void print_settings(const cJSON *files) {
  const cJSON *file;
  printf("settings, the first that names a backend wins\n");
  cJSON_ArrayForEach(file, files) {
    const char *backend = text(file, "backend"), *problem = text(file, "problem");
    printf("  %s: %s%s\n", text(file, "path"),
           !is(file, "exists") ? "not there"
           : backend[0]        ? "backend "
                               : "names no backend",
           backend);
    if (problem[0]) printf("    problem: %s\n", problem);
  }
}

static void print_places(const cJSON *places) {
  const cJSON *place;
  printf("places searched, in this order\n");
  cJSON_ArrayForEach(place, places) {
    const char *problem = text(place, "problem");
    printf("  %s (%s): ", text(place, "path"), text(place, "source"));
    if (problem[0]) {
      printf("%s\n", problem);
    } else if (is(place, "exists")) {
      printf("%g plugin files\n", number(place, "files"));
    } else {
      printf("not there\n");
    }
  }
}

static void print_plugin(const cJSON *plugin) {
  const bool usable = is(plugin, "usable");
  printf("  %-12s %s %s %s\n    %s\n", text(plugin, "name"), usable ? "usable:" : "REFUSED", text(plugin, "kind"),
         text(plugin, "version"), text(plugin, "path"));
  if (text(plugin, "description")[0]) printf("    %s\n", text(plugin, "description"));
  if (!usable) {
    printf("    refused: %s: %s\n    what to do: %s\n", text(plugin, "refusal"), text(plugin, "reason"),
           text(plugin, "help"));
    if (text(plugin, "quarantined_since")[0]) printf("    in quarantine since %s\n", text(plugin, "quarantined_since"));
    return;
  }
  if (strcmp(text(plugin, "kind"), "backend") != 0) return;
  printf("    score %.0f%s%s\n", number(plugin, "score"), text(plugin, "reason")[0] ? ": " : "",
         text(plugin, "reason"));
  const cJSON *device;
  int index = 0;
  cJSON_ArrayForEach(device, get(plugin, "devices")) {
    printf("    device %s:%d  %s\n", text(plugin, "name"), index++, cJSON_GetStringValue(device));
  }
}

static void print_choice(const cJSON *choice) {
  printf("choice for a program that needs: %s\n", text(choice, "need"));
  if (text(choice, "stack")[0]) printf("  stack '%s', chosen by %s\n", text(choice, "stack"), text(choice, "source"));
  if (is(choice, "autodiff_added")) printf("  with autodiff on top, because the program trains\n");
  if (text(choice, "passed_over")[0]) printf("  PASSED OVER, as they did not open: %s\n", text(choice, "passed_over"));
  if (is(choice, "suits")) {
    printf("  opens as %s and has what is needed\n", text(choice, "opened"));
  } else {
    printf("  PROBLEM: %s\n", text(choice, "problem"));
  }
  const cJSON *candidate;
  printf("  backends that were found:\n");
  cJSON_ArrayForEach(candidate, get(choice, "candidates")) {
    printf(
        "    %-12s score %.0f, %s%s\n", text(candidate, "name"), number(candidate, "score"),
        is(candidate, "suits") ? "suits" : "does not suit: ", is(candidate, "suits") ? "" : text(candidate, "problem"));
    if (text(candidate, "device")[0]) printf("                 %s\n", text(candidate, "device"));
  }
}

void doctor_print(const cJSON *root) {
  printf("burn %s, plugin ABI %s\n", text(root, "version"), text(root, "abi"));
  print_machine(get(root, "machine"));
  print_drivers(get(root, "drivers"));
  print_environment(get(root, "environment"));
  print_settings(get(root, "settings"));
  print_places(get(root, "places"));
  printf("plugins\n");
  const cJSON *plugin;
  cJSON_ArrayForEach(plugin, get(root, "plugins")) print_plugin(plugin);
  if (cJSON_GetArraySize(get(root, "plugins")) == 0) printf("  none\n");
  print_choice(get(root, "choice"));
}
