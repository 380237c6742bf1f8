/* module_print.c - a module as a text tree, in Burn's manner:
 *
 *   Mlp {
 *     fc1: Linear {weight: [784,128], bias: [128], params: 100480}
 *     drop: Dropout {prob: 0.5}
 *     params: 100480
 *   }
 *
 * A module without modules of its own takes one line. Names lose the prefix "Burn". */
#include "module_internal.h"
#include "text_builder.h"
#include "value_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_module(BurnTextBuilder *out, const BurnType *type, void *data, unsigned level);

const char *burn_type_short_name(const BurnType *type) {
  bool prefixed = strncmp(type->name, "Burn", 4) == 0 && type->name[4] >= 'A' && type->name[4] <= 'Z';
  return prefixed ? type->name + 4 : type->name;
}

/* Takes the tensor. */
static void print_tensor(BurnTextBuilder *out, BurnTensor *x) {
  BurnStatus status = x ? burn_tensor_status(x) : BURN_OK;
  if (!x) {
    burn__text_add(out, "none");
  } else if (status != BURN_OK) {
    burn__text_addf(out, "failed (%s)", burn_status_message(status));
  } else {
    burn__text_add(out, burn_shape_text(burn_shape(x)).text);
  }
  burn_drop(x);
}

/* [784,128] Q8S + lora 8 */
static void print_param(BurnTextBuilder *out, const BurnParam *param) {
  const BurnParamExtra *extra = param->extra;
  print_tensor(out, burn_clone(param->value));
  if (extra && extra->is_quantized) burn__text_addf(out, " %s", burn_quant_value_name(extra->scheme.value));
  if (extra && extra->input != BURN_PARAM_INPUT_FLOAT) burn__text_add(out, " x int8");
  if (extra && extra->is_adapted) burn__text_addf(out, " + lora %lld", (long long)burn_dim(extra->a.value, 1));
}

static void print_constant(BurnTextBuilder *out, const BurnType *type, const void *data);

/* Same or Explicit {height: 1, width: 1} or Normal(0.0, 1.0) */
static void print_variant(BurnTextBuilder *out, const BurnType *type, const char *data) {
  uint32_t index;
  memcpy(&index, data, sizeof index);
  if (index >= type->count) {
    burn__text_addf(out, "case %" PRIu32 " of %" PRIu32, index, type->count);
    return;
  }
  const BurnVariant *variant = &type->variants[index];
  burn__text_add(out, variant->name);
  if (variant->field_count == 0) return;
  bool named = variant->fields[0].name != NULL;
  burn__text_add(out, named ? " {" : "(");
  for (uint32_t i = 0; i < variant->field_count; i++) {
    const BurnField *field = &variant->fields[i];
    burn__text_add(out, i ? ", " : "");
    if (named) burn__text_addf(out, "%s: ", field->name);
    print_constant(out, field->type(), data + field->offset);
  }
  burn__text_add(out, named ? "}" : ")");
}

static void print_sizes(BurnTextBuilder *out, const size_t *values, uint32_t count) {
  burn__text_add(out, "[");
  for (uint32_t i = 0; i < count; i++) burn__text_addf(out, "%s%zu", i ? ", " : "", values[i]);
  burn__text_add(out, "]");
}

static void print_constant(BurnTextBuilder *out, const BurnType *type, const void *data) {
  switch (type->kind) {
    case BURN_TYPE_SIZE:
      burn__text_addf(out, "%zu", *(const size_t *)data);
      break;
    case BURN_TYPE_I64:
      burn__text_addf(out, "%" PRId64, *(const int64_t *)data);
      break;
    case BURN_TYPE_F64:
      burn__text_number(out, *(const double *)data);
      break;
    case BURN_TYPE_BOOL:
      burn__text_add(out, *(const bool *)data ? "true" : "false");
      break;
    case BURN_TYPE_TEXT:
      burn__text_addf(out, "\"%.*s\"", (int)sizeof(BurnText), (const char *)data);
      break;
    case BURN_TYPE_SIZES:
      print_sizes(out, data, type->count);
      break;
    case BURN_TYPE_VARIANT:
      print_variant(out, type, data);
      break;
    case BURN_TYPE_OPTION_F64: {
      const BurnOptionF64 *option = data;
      if (option->present) {
        burn__text_number(out, option->value);
      } else {
        burn__text_add(out, "none");
      }
      break;
    }
    case BURN_TYPE_OPTION_SIZE: {
      const BurnOptionSize *option = data;
      if (option->present) {
        burn__text_addf(out, "%zu", option->value);
      } else {
        burn__text_add(out, "none");
      }
      break;
    }
    default:
      burn__text_add(out, "?");
      break;
  }
}

static void print_list(BurnTextBuilder *out, const BurnModuleList *list, unsigned level) {
  const size_t count = list->count;
  burn__text_add(out, count ? "[\n" : "[]");
  for (size_t i = 0; i < count; i++) {
    burn__text_indent(out, level + 1);
    burn__text_addf(out, "%zu: ", i);
    print_module(out, list->type, burn_module_list_at(list, i), level + 1);
    burn__text_add(out, "\n");
  }
  if (count == 0) return;
  burn__text_indent(out, level);
  burn__text_add(out, "]");
}

static void print_option(BurnTextBuilder *out, const BurnModuleOption *option, unsigned level) {
  if (option->data) {
    print_module(out, option->type, option->data, level);
  } else {
    burn__text_add(out, "none");
  }
}

static void print_member(BurnTextBuilder *out, const BurnType *type, void *member, unsigned level) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
      print_param(out, member);
      break;
    case BURN_TYPE_BUFFER:
      print_tensor(out, burn_buffer_value(member));
      break;
    case BURN_TYPE_CONSTANT:
      print_tensor(out, burn_constant_value(member));
      break;
    case BURN_TYPE_MODULE:
    case BURN_TYPE_MODULE_VARIANT:
    case BURN_TYPE_CONFIG:
      print_module(out, type, member, level);
      break;
    case BURN_TYPE_MODULE_OPTION:
      print_option(out, member, level);
      break;
    case BURN_TYPE_MODULE_LIST:
      print_list(out, member, level);
      break;
    default:
      print_constant(out, type, member);
      break;
  }
}

static bool has_modules(const BurnType *type) {
  for (uint32_t i = 0; i < type->field_count; i++) {
    uint32_t kind = type->fields[i].type()->kind;
    if (kind == BURN_TYPE_MODULE || kind == BURN_TYPE_MODULE_LIST || kind == BURN_TYPE_MODULE_OPTION ||
        kind == BURN_TYPE_MODULE_VARIANT)
      return true;
  }
  return false;
}

/* What stands before an entry of a module: its first, or a further one. */
static void print_separator(BurnTextBuilder *out, bool first, bool multiline, unsigned level) {
  if (multiline) {
    burn__text_add(out, first ? " {\n" : "\n");
    burn__text_indent(out, level + 1);
  } else {
    burn__text_add(out, first ? " {" : ", ");
  }
}

static void print_fields(BurnTextBuilder *out, const BurnType *type, void *data, unsigned level) {
  bool multiline = has_modules(type);
  int64_t params = type->kind == BURN_TYPE_MODULE ? burn_module_num_params((BurnModule){type, data}) : 0;
  burn__text_add(out, burn_type_short_name(type));
  for (uint32_t i = 0; i < type->field_count; i++) {
    const BurnField *field = &type->fields[i];
    print_separator(out, i == 0, multiline, level);
    burn__text_addf(out, "%s: ", field->name);
    print_member(out, field->type(), (char *)data + field->offset, level + 1);
  }
  if (params > 0) {
    print_separator(out, type->field_count == 0, multiline, level);
    burn__text_addf(out, "params: %" PRId64, params);
  }
  if (type->field_count == 0) return;
  if (multiline) {
    burn__text_add(out, "\n");
    burn__text_indent(out, level);
  }
  burn__text_add(out, "}");
}

/* Of a variant Dense(Linear {weight: ..}). */
static void print_module(BurnTextBuilder *out, const BurnType *type, void *data, unsigned level) {
  if (type->kind != BURN_TYPE_MODULE_VARIANT) {
    print_fields(out, type, data, level);
    return;
  }
  const BurnField *chosen = burn__module_case(type, data);
  burn__text_addf(out, "%s(", chosen ? chosen->name : "?");
  if (chosen) print_module(out, chosen->type(), (char *)data + chosen->offset, level);
  burn__text_add(out, ")");
}

char *burn_module_text(BurnModule module) {
  if (burn__module_check(module) != BURN_OK) return NULL;
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  print_member(&text, module.type, module.data, 0);
  return burn__text_finish(&text);
}

void burn_module_print(BurnModule module) {
  char *text = burn_module_text(module);
  if (text) (void)puts(text);
  free(text);
}
