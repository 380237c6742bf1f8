/* bench_stacks.c - which stacks are measured: those that were named, or what a program gets by default beside every
 * other backend that can be used here. Each is opened once before anything is measured, so that a wrong name is told at
 * once. */
#include "bench.h"

#include <string.h>

/* After a comma: is it "key=value", which belongs to the stack before? */
static bool is_option(const char *text) { return text[strcspn(text, ",=+<>:")] == '='; }

static BurnStatus add(Bench *bench, char *stack) {
  if (bench->stack_count == MAX_STACKS) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "--stacks: at most %d stacks", MAX_STACKS);
  }
  bench->stacks[bench->stack_count++] = stack;
  return BURN_OK;
}

BurnStatus stacks_split(const char *text, Bench *bench) {
  if (strlen(text) >= sizeof bench->stack_text)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "--stacks: a text too long");
  strcpy(bench->stack_text, text);
  BurnStatus status = add(bench, bench->stack_text);
  for (char *at = strchr(bench->stack_text, ','); at && status == BURN_OK; at = strchr(at + 1, ',')) {
    if (is_option(at + 1)) continue;
    *at = '\0';
    status = add(bench, at + 1);
  }
  for (size_t i = 0; i < bench->stack_count && status == BURN_OK; i++) {
    if (bench->stacks[i][0] == '\0')
      status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "--stacks '%s': a stack without a name", text);
  }
  return status;
}

/* Does the backend of that name lie at the bottom of the stack? */
static bool ends_in(const char *stack, const char *backend) {
  const char *last = stack;
  for (const char *at = stack; *at; at++) {
    if (*at == '+' || *at == '<') last = at + 1;
  }
  const size_t length = strcspn(last, ":>");
  return length == strlen(backend) && strncmp(last, backend, length) == 0;
}

/* Worth a column without being asked for. `reference` is slow on purpose. */
static bool is_usual(const BurnPluginInfo *info, const char *standard) {
  return info->usable && strcmp(info->kind, "backend") == 0 && strcmp(info->name, "reference") != 0 &&
         !ends_in(standard, info->name);
}

static BurnStatus open_once(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  const BurnStatus status = burn_device_status(device);
  burn_device_close(device);
  return status;
}

static BurnStatus split_default(Bench *bench) {
  char text[sizeof bench->stack_text];
  const char *source = "";
  BurnStatus status = burn_stack_choice(NULL, text, sizeof text, &source);
  if (status != BURN_OK) return status;
  const size_t standard = strlen(text);
  char choice[sizeof text];
  memcpy(choice, text, standard + 1);
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    const size_t used = strlen(text);
    if (!is_usual(info, choice) || used + strlen(info->name) + 2 > sizeof text) continue;
    status = open_once(info->name);
    if (status == BURN_OK) {
      snprintf(text + used, sizeof text - used, ",%s", info->name);
    } else {
      fprintf(stderr, "burn bench: %s is left out: %s\n", info->name, burn_status_message(status));
    }
  }
  return stacks_split(text, bench);
}

BurnStatus stacks_open(Bench *bench, const char *text) {
  BurnStatus status = text ? stacks_split(text, bench) : split_default(bench);
  for (size_t i = 0; i < bench->stack_count && status == BURN_OK; i++) {
    status = burn_status_annotate(open_once(bench->stacks[i]), "the stack '%s' cannot be opened", bench->stacks[i]);
  }
  return status;
}
