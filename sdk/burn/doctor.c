/* doctor.c - burn doctor: explains a machine. Gathers everything into one JSON tree, which is printed as it is (--json)
 * or as text (doctor_text.c). */
#include "doctor.h"
#include "system.h"

#include <burn/guess.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the machine ------------------------------------------------------------------------------ */

/* Instruction sets that kernels here are or may be built for. */
static cJSON *cpu_features(void) {
  static const char *const wanted[] = {"sse4_2",   "avx",      "avx2",     "fma",         "f16c",
                                       "avx512f",  "avx512bw", "avx512vl", "avx512_bf16", "avx512_fp16",
                                       "amx_tile", "asimd",    "asimdhp",  "sve"};
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    if (system_has_feature(wanted[i])) cJSON_AddItemToArray(list, cJSON_CreateString(wanted[i]));
  }
  return list;
}

static cJSON *machine(void) {
  cJSON *object = cJSON_CreateObject();
  char system[512], processor[256];
  system_describe(system, sizeof system, processor, sizeof processor);
  cJSON_AddStringToObject(object, "system", system);
  cJSON_AddStringToObject(object, "processor", processor);
  cJSON_AddNumberToObject(object, "processors", system_processor_count());
  cJSON_AddNumberToObject(object, "threads", burn_threads());
  cJSON_AddNumberToObject(object, "memory_bytes", (double)system_memory_bytes());
  cJSON_AddItemToObject(object, "features", cpu_features());
  return object;
}

enum { LIBRARY_SECONDS = 20 };

typedef struct Library {
  bool found;
  char version[32];
} Library;

static void look_for(const void *name, void *answer) {
  Library *library = answer;
  library->found = system_has_library(name, library->version, sizeof library->version);
}

/* Libraries of others that plugins open when they are there. Each is loaded in a process of its own: OpenBLAS waits for
 * ever where an address space is limited, and a variable may name anything. */
static cJSON *drivers(void) {
  cJSON *list = cJSON_CreateArray();
  for (const SystemDriver *driver = system_drivers; driver->name; driver++) {
    const char *named = driver->variable ? getenv(driver->variable) : NULL;
    const char *library = named && named[0] ? named : driver->library;
    Library answer = {.found = false};
    char why[128];
    const bool looked = system_run_apart(look_for, library, &answer, sizeof answer, LIBRARY_SECONDS, why, sizeof why) ==
                        SYSTEM_RETURNED;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", driver->name);
    cJSON_AddStringToObject(object, "library", library);
    cJSON_AddBoolToObject(object, "found", looked && answer.found);
    cJSON_AddStringToObject(object, "version", looked ? answer.version : "");
    cJSON_AddStringToObject(object, "reason", looked ? "" : why);
    cJSON_AddStringToObject(object, "use", driver->use);
    cJSON_AddItemToArray(list, object);
  }
  return list;
}

/* -- what has a say --------------------------------------------------------------------------- */

static void add_variable(cJSON *list, const char *name, const char *meaning) {
  const char *value = getenv(name);
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", name);
  if (value) {
    cJSON_AddStringToObject(object, "value", value);
  } else {
    cJSON_AddNullToObject(object, "value");
  }
  cJSON_AddStringToObject(object, "meaning", meaning);
  cJSON_AddItemToArray(list, object);
}

static const SystemVariable our_variables[] = {
#define VARIABLE(name, meaning) {#name, meaning},
#include "environment.def"
#undef VARIABLE
};
enum { OUR_VARIABLES = sizeof our_variables / sizeof our_variables[0] };

/* A variable that is set and looks like a misspelled one of ours, which nobody else would notice. */
static void add_misspelled(cJSON *list, const char *assignment) {
  char name[64], meaning[160];
  const size_t length = strcspn(assignment, "=");
  if (strncmp(assignment, "BURN_", 5) != 0 || length >= sizeof name) return;
  snprintf(name, sizeof name, "%.*s", (int)length, assignment);
  BurnGuess guess = burn_guess(name + 5);
  for (size_t i = 0; i < OUR_VARIABLES; i++) {
    if (strcmp(name, our_variables[i].name) == 0) return;
    if (strncmp(our_variables[i].name, "BURN_", 5) == 0) burn_guess_add(&guess, our_variables[i].name + 5);
  }
  if (!guess.best) return;
  snprintf(meaning, sizeof meaning, "no program reads it. Did you mean BURN_%s?", guess.best);
  add_variable(list, name, meaning);
}

static cJSON *environment(void) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < OUR_VARIABLES; i++) add_variable(list, our_variables[i].name, our_variables[i].meaning);
  for (const SystemVariable *own = system_variables; own->name; own++) add_variable(list, own->name, own->meaning);
  for (char *const *set = system_environment(); *set; set++) add_misspelled(list, *set);
  return list;
}

static cJSON *settings(void) {
  BurnSettingsInfo files[3];
  const size_t count = burn_settings_files(files, sizeof files / sizeof files[0]);
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < count && i < sizeof files / sizeof files[0]; i++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "path", files[i].path);
    cJSON_AddBoolToObject(object, "exists", files[i].exists);
    cJSON_AddStringToObject(object, "backend", files[i].backend);
    cJSON_AddStringToObject(object, "problem", files[i].problem);
    cJSON_AddItemToArray(list, object);
  }
  return list;
}

static cJSON *places(void) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < burn_plugin_place_count(); i++) {
    const BurnPluginPlace *place = burn_plugin_place(i);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "path", place->path);
    cJSON_AddStringToObject(object, "source", place->source);
    cJSON_AddBoolToObject(object, "exists", place->exists);
    cJSON_AddNumberToObject(object, "files", (double)place->file_count);
    cJSON_AddStringToObject(object, "problem", place->problem);
    cJSON_AddItemToArray(list, object);
  }
  return list;
}

static cJSON *plugins(void) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < burn_plugin_count(); i++) cJSON_AddItemToArray(list, command_plugin_json(burn_plugin_info(i)));
  return list;
}

/* -- what a program needs ---------------------------------------------------------------------- */

static BurnDType dtype_named(const char *name, size_t length) {
  for (BurnDType dtype = 1; dtype < BURN_DTYPE_LIMIT; dtype++) {
    const char *known = burn_dtype_name(dtype);
    if (burn_dtype_bytes(dtype) && strlen(known) == length && strncmp(known, name, length) == 0) return dtype;
  }
  return BURN_DTYPE_DEFAULT;
}

/* "train,f16"; false after a word that is none. */
static bool read_need(const char *text, Need *need) {
  *need = (Need){.train = false};
  while (*text) {
    const size_t length = strcspn(text, ",");
    const BurnDType dtype = dtype_named(text, length);
    const bool train = length == 5 && strncmp(text, "train", 5) == 0,
               infer = length == 5 && strncmp(text, "infer", 5) == 0;
    if (!dtype && !train && !infer) {
      fprintf(stderr, "burn doctor: the need '%.*s' is unknown; it is train, infer, or a dtype such as f16\n",
              (int)length, text);
      return false;
    }
    need->train = need->train || train;
    if (dtype && need->dtype_count < BURN_DTYPE_LIMIT) need->dtypes[need->dtype_count++] = dtype;
    text += length + (text[length] == ',');
  }
  return true;
}

/* -- what it would get ------------------------------------------------------------------------- */

/* A backend that was found, and what came of opening it. */
typedef struct Candidate {
  const char *name;
  int score;
  bool usable;
  Opened opened; /* nothing was opened where it is not usable */
} Candidate;
typedef struct Candidates {
  Candidate *each;
  size_t count;
} Candidates;

/* A decorator that trains may be what ends the process: then the backend is asked alone. */
static Opened try_backend(const char *name, const Need *need) {
  const Need infer = {.train = false};
  Opened opened = command_try_open(name, need);
  if (!need->train || !opened.refusal[0]) return opened;
  const Opened alone = command_try_open(name, &infer);
  memcpy(opened.refusal, alone.refusal, sizeof opened.refusal);
  return opened;
}

/* Every backend, the usable ones first. */
static Candidates try_backends(const Need *need) {
  const size_t count = burn_plugin_count();
  Candidates all = {calloc(count ? count : 1, sizeof *all.each), 0};
  for (size_t i = 0; all.each && i < count; i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->kind, "backend") != 0) continue;
    Candidate *one = &all.each[all.count++];
    *one = (Candidate){.name = info->name, .score = info->score, .usable = info->usable};
    if (info->usable) one->opened = try_backend(info->name, need);
    if (!info->usable) snprintf(one->opened.problem, sizeof one->opened.problem, "%s", info->reason);
  }
  return all;
}

/* Programs that name no stack would open it and end so, too. */
static void quarantine(const Candidates *all) {
  for (size_t i = 0; i < all->count; i++) {
    const Opened *opened = &all->each[i].opened;
    if (!opened->refusal[0]) continue;
    const BurnStatus status = burn_plugin_quarantine(all->each[i].name, opened->refusal, opened->problem);
    if (status != BURN_OK) (void)command_fail("doctor", status);
  }
}

static cJSON *candidates_json(const Candidates *all) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < all->count; i++) {
    const Candidate *one = &all->each[i];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", one->name);
    cJSON_AddNumberToObject(object, "score", one->score);
    cJSON_AddBoolToObject(object, "suits", one->usable && !one->opened.problem[0]);
    cJSON_AddStringToObject(object, "problem", one->opened.problem);
    cJSON_AddStringToObject(object, "device", one->opened.device);
    cJSON_AddItemToArray(list, object);
  }
  return list;
}

/* What opening the chosen stack gives: as the candidate of that name, which was opened already. Where nobody has named
 * it, others are tried when it does not open. */
static Opened open_choice(const char *argument, const char *stack, bool is_named, const Need *need,
                          const Candidates *all) {
  for (size_t i = 0; i < all->count; i++) {
    const Candidate *one = &all->each[i];
    const bool is_same = one->usable && strcmp(one->name, stack) == 0;
    if (is_same && (is_named || !one->opened.problem[0])) return one->opened;
  }
  return command_try_open(argument, need);
}

static cJSON *choice(const char *argument, const char *need_text, const Need *need) {
  char stack[1024] = "";
  const char *source = "";
  Opened opened = {.name = ""};
  const Candidates all = try_backends(need);
  quarantine(&all);
  const BurnStatus status = burn_stack_choice(argument, stack, sizeof stack, &source);
  if (status == BURN_OK) {
    opened = open_choice(argument, stack, strcmp(source, "the highest score") != 0, need, &all);
  } else {
    snprintf(opened.problem, sizeof opened.problem, "%s", burn_status_message(status));
  }
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "need", need_text);
  cJSON_AddStringToObject(object, "stack", stack);
  cJSON_AddStringToObject(object, "source", source);
  cJSON_AddStringToObject(object, "opened", opened.name);
  cJSON_AddStringToObject(object, "passed_over", opened.passed_over);
  cJSON_AddBoolToObject(
      object, "autodiff_added",
      strcmp(stack, opened.name) != 0 && strstr(opened.name, "autodiff") && !strstr(stack, "autodiff"));
  cJSON_AddBoolToObject(object, "suits", !opened.problem[0]);
  cJSON_AddStringToObject(object, "problem", opened.problem);
  cJSON_AddItemToObject(object, "candidates", candidates_json(&all));
  free(all.each);
  return object;
}

int command_doctor(int argc, char **argv) {
  static const char usage[] =
      "usage: burn doctor [--need train|infer|DTYPE,...] [--stack S] [--retry] [--json]\n"
      "explains this machine: places, plugins, why others were refused, devices, drivers, settings, and the stack a "
      "program would get.\n"
      "Exits 1 if that stack cannot be opened or lacks what is needed.";
  const char *need_text = "infer", *stack = NULL;
  bool json = false, retry = false;
  const Argument arguments[] = {
      {"need", ARGUMENT_TEXT, &need_text, "N", "what the program does: train, infer, f16, or several as train,f16"},
      {"stack", ARGUMENT_TEXT, &stack, "S", "the stack that the program names itself"},
      {"retry", ARGUMENT_FLAG, &retry, NULL, "probe all plugins anew, those in quarantine too"},
      {"json", ARGUMENT_FLAG, &json, NULL, "machine-readable output"},
  };
  int status;
  Need need;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof arguments[0], NULL, 0, &status))
    return status;
  if (!read_need(need_text, &need)) return COMMAND_USAGE;
  const BurnStatus retried = retry ? burn_plugin_retry() : BURN_OK;
  if (retried != BURN_OK) (void)command_fail("doctor", retried);
  char abi[32];
  cJSON *root = cJSON_CreateObject();
  snprintf(abi, sizeof abi, "%u.%u", BURN_ABI_MAJOR, BURN_ABI_MINOR);
  cJSON_AddStringToObject(root, "version", burn_version());
  cJSON_AddStringToObject(root, "abi", abi);
  cJSON_AddItemToObject(root, "machine", machine());
  cJSON_AddItemToObject(root, "drivers", drivers());
  cJSON_AddItemToObject(root, "environment", environment());
  cJSON_AddItemToObject(root, "settings", settings());
  cJSON_AddItemToObject(root, "places", places());
  cJSON *chosen = choice(stack, need_text, &need); /* before the list, which shows whom it put into quarantine */
  cJSON_AddItemToObject(root, "plugins", plugins());
  cJSON_AddItemToObject(root, "choice", chosen);
  const bool suits =
      cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "choice"), "suits"));
  if (json) {
    status = command_print_json(root);
  } else {
    doctor_print(root);
    cJSON_Delete(root);
  }
  return status != COMMAND_OK ? status : suits ? COMMAND_OK : COMMAND_FAILED;
}
