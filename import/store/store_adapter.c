/* store_adapter.c - what PyTorch calls the tensors of a module. */
#include "store_adapter.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *layer, *ours, *theirs;
} adapted[] = {
#define BURN_ADAPT(layer, ours, theirs) {#layer, #ours, #theirs},
#include "store_adapter.def"
#undef BURN_ADAPT
};

const char *burn__store_torch_field(const BurnModuleTensor *tensor) {
  const char *layer = burn_type_short_name(tensor->layer);
  for (size_t i = 0; i < sizeof adapted / sizeof adapted[0]; i++) {
    if (strcmp(adapted[i].layer, layer) == 0 && strcmp(adapted[i].ours, tensor->field) == 0) return adapted[i].theirs;
  }
  return NULL;
}

char *burn__store_with_field(const char *path, const char *field) {
  const char *point = strrchr(path, '.');
  const size_t kept = point ? (size_t)(point - path) + 1 : 0, bytes = strlen(field) + 1;
  char *out = malloc(kept + bytes);
  if (!out) return NULL;
  memcpy(out, path, kept);
  memcpy(out + kept, field, bytes);
  return out;
}

bool burn__store_is_transposed(const BurnModuleTensor *tensor) {
  return strcmp(burn_type_short_name(tensor->layer), "Linear") == 0 && strcmp(tensor->field, "weight") == 0;
}

bool burn__store_is_torch_only(const char *name) {
  const char *point = strrchr(name, '.');
  return strcmp(point ? point + 1 : name, "num_batches_tracked") == 0;
}

/* -- paths without cases ---------------------------------------------------------------------- */

/* What a step of a path leads to; a NULL type where the path goes on inside of a parameter. */
static BurnModule step_into(BurnModule module, const char *step, size_t length) {
  if (module.type->kind == BURN_TYPE_MODULE_LIST) {
    const BurnModuleList *list = module.data;
    return (BurnModule){list->type, burn_module_list_at(list, strtoul(step, NULL, 10))};
  }
  for (uint32_t i = 0; i < module.type->field_count; i++) {
    const BurnField *field = &module.type->fields[i];
    if (strlen(field->name) == length && memcmp(field->name, step, length) == 0)
      return (BurnModule){field->type(), (char *)module.data + field->offset};
  }
  return (BurnModule){NULL, NULL};
}

/* An option is not a step: its module is. */
static BurnModule out_of_option(BurnModule module) {
  if (!module.type || module.type->kind != BURN_TYPE_MODULE_OPTION) return module;
  const BurnModuleOption *option = module.data;
  return (BurnModule){option->data ? option->type : NULL, option->data};
}

char *burn__store_plain_path(BurnModule module, const char *path) {
  char *out = malloc(strlen(path) + 1);
  size_t used = 0;
  for (size_t at = 0, length = 0; out && path[at]; at += length + (path[at + length] == '.')) {
    length = strcspn(path + at, ".");
    const bool is_case = module.type && module.type->kind == BURN_TYPE_MODULE_VARIANT;
    if (module.type) module = out_of_option(step_into(module, path + at, length));
    if (is_case) continue;
    if (used > 0) out[used++] = '.';
    memcpy(out + used, path + at, length);
    used += length;
  }
  if (out) out[used] = '\0';
  return out;
}
