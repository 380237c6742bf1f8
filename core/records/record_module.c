/* record_module.c - modules as trees, in Burn's layout; and files of them.
 *
 * A module is a map from field name to record with every field present; a parameter or buffer is {id, param: tensor};
 * a variant {"Case": record}; what is absent, constants, and whole modules without a place for tensors (Dropout, Relu)
 * are nil; constant arrays are arrays of nils. */
#include "module_internal.h"
#include "null_check.h"
#include "path_check.h"
#include "record_load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- paths ------------------------------------------------------------------------------------ */

static void step_text(const BurnRecordStep *step, char *text, size_t bytes) {
  if (!step->parent) {
    text[0] = '\0';
    return;
  }
  step_text(step->parent, text, bytes);
  size_t length = strlen(text);
  (void)snprintf(text + length, bytes - length, "%s%.200s", length ? "." : "", step->name);
}

BurnStatus burn__record_at(const BurnRecordStep *step, BurnStatus status) {
  char path[320];
  step_text(step, path, sizeof path);
  return status == BURN_OK || !path[0] ? status : burn_status_annotate(status, "%s", path);
}

BurnStatus burn__record_fail_at(const BurnRecordStep *step, uint32_t code, const char *format, ...) {
  char message[480];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return burn__record_at(step, burn_status_make(code, "%s", message));
}

/* -- module to tree --------------------------------------------------------------------------- */

static BurnStatus fields_to_value(const BurnRecordStep *step, const BurnType *type, char *data, BurnValue **out);

/* {id, param: tensor}; absent is nil. */
static BurnStatus tensor_to_value(const BurnRecordStep *step, const BurnModuleTensor *from, BurnValue **out) {
  BurnValue *tensor = NULL;
  char text[14];
  BurnStatus status = burn__record_tensor_value(from, &tensor);
  if (status != BURN_OK) return burn__record_at(step, status);
  if (!tensor) {
    *out = burn_value_nil();
    return BURN_OK;
  }
  burn_param_id_text(burn__record_tensor_id(from), text);
  *out = burn_value_map();
  (void)burn_value_set(*out, "id", burn_value_text(text));
  (void)burn_value_set(*out, "param", tensor);
  return BURN_OK;
}

/* The same, with the scale of a quantized input and the factors of an adapter. */
static BurnStatus param_to_value(const BurnRecordStep *step, BurnParam *param, BurnValue **out) {
  BurnValue *input_scale = NULL, *a = NULL, *b = NULL;
  BurnStatus status = tensor_to_value(step, &(BurnModuleTensor){.param = param}, out);
  if (status == BURN_OK) status = burn__record_at(step, burn__record_input_scale(param, &input_scale));
  if (input_scale) (void)burn_value_set(*out, "input_scale", input_scale);
  if (status != BURN_OK || !burn__param_is_adapted(param)) return status;
  status = tensor_to_value(step, &(BurnModuleTensor){.param = &param->extra->a}, &a);
  if (status == BURN_OK) status = tensor_to_value(step, &(BurnModuleTensor){.param = &param->extra->b}, &b);
  BurnValue *lora = burn_value_map();
  (void)burn_value_set(lora, "a", a);
  (void)burn_value_set(lora, "b", b);
  (void)burn_value_set(lora, "scale", burn_value_nil()); /* a constant, as in Burn */
  (void)burn_value_set(*out, "lora", lora);
  return status;
}

static BurnStatus list_to_value(const BurnRecordStep *step, const BurnModuleList *list, BurnValue **out) {
  BurnStatus status = BURN_OK;
  if (list->missing) {
    return burn__record_fail_at(step, BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu modules", list->missing);
  }
  BurnValue *array = burn_value_array();
  for (size_t i = 0; i < list->count && status == BURN_OK; i++) {
    char name[24];
    BurnValue *item = NULL;
    (void)snprintf(name, sizeof name, "%zu", i);
    const BurnRecordStep here = {step, name};
    status = fields_to_value(&here, list->type, burn_module_list_at(list, i), &item);
    if (status == BURN_OK) {
      (void)burn_value_append(array, item);
    } else {
      burn_value_destroy(item);
    }
  }
  *out = array;
  return status;
}

static BurnStatus option_to_value(const BurnRecordStep *step, const BurnModuleOption *option, BurnValue **out) {
  if (option->data) return fields_to_value(step, option->type, option->data, out);
  *out = burn_value_nil();
  return BURN_OK;
}

/* {"Case": record}, of a case without tensors {"Case": nil}. */
static BurnStatus variant_to_value(const BurnRecordStep *step, const BurnType *type, char *data, BurnValue **out) {
  const BurnField *chosen = burn__module_case(type, data);
  if (!chosen) return burn__record_fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "no case of %s", type->name);
  const BurnRecordStep here = {step, chosen->name};
  BurnValue *value = NULL;
  BurnStatus status = fields_to_value(&here, chosen->type(), data + chosen->offset, &value);
  *out = burn_value_map();
  (void)burn_value_set(*out, chosen->name, value);
  return status;
}

static BurnValue *constant_to_value(const BurnType *type) {
  if (type->kind != BURN_TYPE_SIZES) return burn_value_nil();
  BurnValue *array = burn_value_array();
  for (uint32_t i = 0; i < type->count; i++) (void)burn_value_append(array, burn_value_nil());
  return array;
}

static BurnStatus field_to_value(const BurnRecordStep *step, const BurnType *type, void *member, BurnValue **out) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
      return param_to_value(step, member, out);
    case BURN_TYPE_BUFFER:
      return tensor_to_value(step, &(BurnModuleTensor){.buffer = member}, out);
    case BURN_TYPE_MODULE_OPTION:
      return option_to_value(step, member, out);
    case BURN_TYPE_MODULE:
    case BURN_TYPE_MODULE_VARIANT:
      return fields_to_value(step, type, member, out);
    case BURN_TYPE_MODULE_LIST:
      return list_to_value(step, member, out);
    default:
      *out = constant_to_value(type);
      return BURN_OK;
  }
}

/* On failure *out holds what there is so far. */
static BurnStatus fields_to_value(const BurnRecordStep *step, const BurnType *type, char *data, BurnValue **out) {
  if (type->kind == BURN_TYPE_MODULE_VARIANT) return variant_to_value(step, type, data, out);
  BurnStatus status = BURN_OK;
  bool has_tensors = burn__type_has_tensors(type);
  *out = has_tensors ? burn_value_map() : burn_value_nil();
  for (uint32_t i = 0; has_tensors && i < type->field_count && status == BURN_OK; i++) {
    const BurnField *field = &type->fields[i];
    const BurnRecordStep here = {step, field->name};
    BurnValue *value = NULL;
    status = field_to_value(&here, field->type(), data + field->offset, &value);
    if (status == BURN_OK) {
      (void)burn_value_set(*out, field->name, value);
    } else {
      burn_value_destroy(value);
    }
  }
  return status;
}

BurnStatus burn__module_to_value(BurnModule module, BurnValue **out) {
  const BurnRecordStep root = {NULL, NULL};
  BurnValue *value = NULL;
  BurnStatus status = burn__module_check(module);
  if (status == BURN_OK) status = field_to_value(&root, module.type, module.data, &value);
  if (status == BURN_OK && !value) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record");
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return status;
  }
  *out = value;
  return BURN_OK;
}

BurnValue *burn_value_module(BurnModule module) {
  BurnValue *value = NULL;
  return burn__module_to_value(module, &value) == BURN_OK ? value : NULL;
}

/* -- flat: a map from path to tensor ---------------------------------------------------------- */

static BurnStatus add_flat(void *flat, const BurnModuleTensor *tensor) {
  const BurnRecordStep root = {NULL, NULL}, step = {&root, tensor->path};
  BurnValue *value = NULL, *input_scale = NULL;
  BurnStatus status = tensor_to_value(&step, tensor, &value);
  if (status == BURN_OK) (void)burn__value_push(flat, strdup(tensor->path), value);
  if (status == BURN_OK && tensor->param)
    status = burn__record_at(&step, burn__record_input_scale(tensor->param, &input_scale));
  if (input_scale) (void)burn__value_push(flat, burn__record_input_scale_name(tensor->path), input_scale);
  return status;
}

BurnStatus burn__module_to_flat(BurnModule module, BurnValue **out) {
  BurnValue *flat = burn_value_map();
  if (!flat) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record");
  BurnStatus status = burn_module_visit(module, add_flat, flat);
  if (status != BURN_OK) {
    burn_value_destroy(flat);
    return status;
  }
  *out = flat;
  return BURN_OK;
}

uint64_t burn__record_tensor_id(const BurnModuleTensor *tensor) {
  return tensor->param ? tensor->param->id : burn__buffer_id(tensor->buffer);
}

/* -- files ------------------------------------------------------------------------------------ */

/* The module as a format has it. */
static BurnStatus to_item(BurnModule module, uint32_t format, BurnValue **out) {
  BurnStatus status = burn__record_check_ids(module);
  if (status != BURN_OK) return status;
  return format == BURN_RECORD_BPK ? burn__module_to_flat(module, out) : burn__module_to_value(module, out);
}

/* With options where there are some; without, a named record is compared field by field. */
static BurnStatus from_item(const BurnValue *item, uint32_t format, BurnModule module, const BurnRecordLoad *options,
                            BurnRecordReport *report) {
  if (options) return burn__record_into_module(item, module, options, report);
  return format == BURN_RECORD_BPK ? burn__flat_into_module(item, module) : burn_value_into_module(item, module);
}

BurnStatus burn_record_save(BurnModule module, const char *path, const BurnRecordConfig *config) {
  BurnRecordConfig chosen = {0, 0};
  BurnValue *item = NULL;
  BurnStatus status = burn__path_check("save", path);
  if (status != BURN_OK) return status;
  status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = to_item(module, chosen.format, &item);
  if (status != BURN_OK) return burn_status_annotate(status, "save %s", path);
  status = burn__record_write(item, &module, path, &chosen);
  burn_value_destroy(item);
  return status;
}

static BurnStatus load_file(BurnModule module, const char *path, const BurnRecordConfig *config,
                            const BurnRecordLoad *options, BurnRecordReport *report) {
  BurnRecordConfig chosen = {0, 0};
  BurnValue *item = NULL;
  char *full_path = NULL;
  BurnStatus status = burn__path_check("load", path);
  if (status != BURN_OK) return status;
  status = burn__record_config(config, &chosen);
  if (status != BURN_OK) return burn_status_annotate(status, "load %s", path);
  status = burn__record_read(path, &chosen, &module, &item);
  if (status != BURN_OK) return status;
  status = from_item(item, chosen.format, module, options, report);
  burn_value_destroy(item);
  if (status == BURN_OK) return BURN_OK;
  (void)burn__record_path(path, chosen.format, &full_path);
  status = burn_status_annotate(status, "load %s", full_path ? full_path : path);
  free(full_path);
  return status;
}

static BurnStatus load_bytes(BurnModule module, const void *bytes, size_t count, const BurnRecordConfig *config,
                             const BurnRecordLoad *options, BurnRecordReport *report) {
  BurnRecordConfig chosen = {0, 0};
  BurnRecordParts parts = {NULL, NULL};
  BurnStatus status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = burn__record_decode(bytes, count, chosen.format, &module, &parts);
  if (status == BURN_OK) status = from_item(parts.item, chosen.format, module, options, report);
  burn__record_parts_release(&parts);
  return burn_status_annotate(status, "load from bytes");
}

BurnStatus burn_record_load(BurnModule module, const char *path, const BurnRecordConfig *config) {
  return load_file(module, path, config, NULL, NULL);
}

BurnStatus burn_record_from_bytes(BurnModule module, const void *bytes, size_t count, const BurnRecordConfig *config) {
  return load_bytes(module, bytes, count, config, NULL, NULL);
}

static const BurnRecordLoad defaults = {.dtypes = BURN_DTYPES_FROM_RECORD};

BurnStatus burn_record_load_with(BurnModule module, const char *path, const BurnRecordConfig *config,
                                 const BurnRecordLoad *options, BurnRecordReport *report) {
  BurnRecordReport unread = {.count = 0};
  BurnStatus status = load_file(module, path, config, options ? options : &defaults, report ? report : &unread);
  burn_record_report_release(&unread);
  return status;
}

BurnStatus burn_record_from_bytes_with(BurnModule module, const void *bytes, size_t count,
                                       const BurnRecordConfig *config, const BurnRecordLoad *options,
                                       BurnRecordReport *report) {
  BurnRecordReport unread = {.count = 0};
  BurnStatus status =
      load_bytes(module, bytes, count, config, options ? options : &defaults, report ? report : &unread);
  burn_record_report_release(&unread);
  return status;
}

BurnStatus burn_record_load_tensors(BurnModule module, const BurnRecordTensor *tensors, size_t count,
                                    const BurnRecordLoad *options, BurnRecordReport *report) {
  BurnRecordReport unread = {.count = 0};
  BurnStatus status = count > 0 ? BURN_REQUIRED(tensors, "a list of BurnRecordTensor") : BURN_OK;
  if (status != BURN_OK) return status;
  status = burn__tensors_into_module(tensors, count, module, options ? options : &defaults, report ? report : &unread);
  burn_record_report_release(&unread);
  return burn_status_annotate(status, "load");
}

BurnStatus burn_record_to_bytes(BurnModule module, const BurnRecordConfig *config, uint8_t **bytes, size_t *count) {
  BurnRecordConfig chosen = {0, 0};
  BurnValue *item = NULL;
  BurnStatus status = BURN_REQUIRED(bytes, "a uint8_t *");
  if (status == BURN_OK) status = BURN_REQUIRED(count, "a size_t");
  if (status != BURN_OK) return status;
  status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = to_item(module, chosen.format, &item);
  if (status == BURN_OK) status = burn__record_encode(item, &module, &chosen, bytes, count);
  burn_value_destroy(item);
  return burn_status_annotate(status, "save to bytes");
}
