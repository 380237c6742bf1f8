/* try_open.c - opens stacks as programs would, in a process of its own: a plugin that crashes there costs the command a
 * line of its output. */
#include "command.h"
#include "system.h"

#include <burn/op_call.h>
#include <burn/plugin/backend.h>
#include <burn/transfer.h>

#include <stdio.h>
#include <string.h>

enum { SECONDS = 60 }; /* drivers may take a while to make a context */

typedef struct Wish {
  const char *stack;
  const Need *need;
} Wish;

/* What the backend says of its device. */
static void describe(BurnDevice *device, char *text, size_t bytes) {
  BurnDeviceDescription description = {.struct_size = (uint32_t)sizeof description};
  if (burn_device_describe(device, &description) != BURN_OK) return;
  const char *const parts[] = {description.name, description.architecture, description.driver};
  for (size_t i = 0, used = 0; i < sizeof parts / sizeof parts[0] && used < bytes; i++) {
    if (parts[i][0]) used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", parts[i]);
  }
}

/* Every backend has the primitive ops: nothing else takes their place, and other ops are made of them. */
static void look_for_ops(const BurnBackend *top, char *problem, size_t bytes) {
  const BurnBackend *lowest = top;
  const char *first = NULL;
  unsigned missing = 0;
  while (burn_backend_below(lowest)) lowest = burn_backend_below(lowest);
  for (uint32_t op = 0; op < BURN_OP_LIMIT; op++) {
    const BurnOpInfo *info = burn_op_info(op);
    if (!info || burn_backend_op_routes(lowest, op) != 0) continue;
    if (!first) first = info->name;
    missing++;
  }
  if (missing > 0) {
    snprintf(problem, bytes, "%s lacks %u primitive op%s, '%s' among them: 'burn ops --stack %s' shows what is MISSING",
             lowest->name, missing, missing == 1 ? "" : "s", first, burn_backend_label(lowest));
  }
}

static void open_here(const void *context, void *result) {
  const Wish *wish = context;
  Opened *out = result;
  BurnDevice *device = wish->need->train ? burn_device_open_training(wish->stack) : burn_device_open(wish->stack);
  const BurnStatus status = burn_device_status(device);
  *out = (Opened){.name = ""};
  snprintf(out->name, sizeof out->name, "%s", status == BURN_OK ? burn_device_name(device) : "");
  snprintf(out->problem, sizeof out->problem, "%s", status == BURN_OK ? "" : burn_status_message(status));
  snprintf(out->passed_over, sizeof out->passed_over, "%s", burn_device_passed_over(device));
  if (status == BURN_OK) snprintf(out->inner, sizeof out->inner, "%s", burn_device_name(burn_device_inner(device)));
  if (status == BURN_OK) describe(device, out->device, sizeof out->device);
  const BurnBackend *top = burn_device_backend(device);
  for (size_t i = 0; top && i < wish->need->dtype_count && !out->problem[0]; i++) {
    const uint32_t wanted = BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC;
    if ((top->dtype_usage(top->self, wish->need->dtypes[i]) & wanted) == wanted) continue;
    snprintf(out->problem, sizeof out->problem, "%s cannot compute in %s", burn_device_name(device),
             burn_dtype_name(wish->need->dtypes[i]));
  }
  if (top && !out->problem[0]) look_for_ops(top, out->problem, sizeof out->problem);
  burn_device_close(device);
}

/* The words of refusals.def. */
static const char *const refusals[] = {[SYSTEM_RETURNED] = "",
                                       [SYSTEM_CRASHED] = "crashed",
                                       [SYSTEM_HUNG] = "hung",
                                       [SYSTEM_EXITED] = "exited",
                                       [SYSTEM_NOT_STARTED] = ""};

Opened command_try_open(const char *stack, const Need *need) {
  static Opened opened;
  const Wish wish = {stack, need};
  char why[256];
  (void)burn_plugin_count(); /* once, here, and not in every child */
  const SystemEnd end = system_run_apart(open_here, &wish, &opened, sizeof opened, SECONDS, why, sizeof why);
  if (end == SYSTEM_RETURNED) return opened;
  opened = (Opened){.name = ""};
  snprintf(opened.refusal, sizeof opened.refusal, "%s", refusals[end]);
  snprintf(opened.problem, sizeof opened.problem, "opening %s: %s", stack ? stack : "the automatic choice", why);
  return opened;
}
