/* op_registry.c - ops of kernel packs: checked and numbered when a pack is loaded, found by name.
 *
 * Numbers are handed out from BURN_OP_FIRST_OF_PACKS up and never again; entries are only added, so readers need no
 * lock. */
#include "pack.h"

#include <burn/guess.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_PACK_OPS = 1024 };

pthread_mutex_t burn__pack_mutex = PTHREAD_MUTEX_INITIALIZER;
static PackOp *_Atomic pack_ops[MAX_PACK_OPS];
static atomic_uint pack_op_count;

const PackOp *burn__pack_op(uint32_t op) {
  if (op < BURN_OP_FIRST_OF_PACKS ||
      op - BURN_OP_FIRST_OF_PACKS >= atomic_load_explicit(&pack_op_count, memory_order_acquire))
    return NULL;
  return atomic_load_explicit(&pack_ops[op - BURN_OP_FIRST_OF_PACKS], memory_order_acquire);
}

const BurnOpInfo *burn__pack_op_info(uint32_t op) {
  const PackOp *entry = burn__pack_op(op);
  return entry ? &entry->info : NULL;
}

const BurnOpDefinition *burn__op_definition(uint32_t op) {
  const PackOp *entry = burn__pack_op(op);
  return entry ? &entry->definition : NULL;
}

const BurnOpInfo *burn__pack_op_find(const char *name) {
  const uint32_t count = atomic_load_explicit(&pack_op_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    const PackOp *entry = atomic_load_explicit(&pack_ops[i], memory_order_acquire);
    if (strcmp(entry->info.name, name) == 0) return &entry->info;
  }
  return NULL;
}

/* -- registration ----------------------------------------------------------------------------- */

/* "pack.op" with the pack's own name, and an op name of a-z, 0-9, _. */
static bool is_name_of_pack(const char *name, const char *pack) {
  const size_t length = strlen(pack);
  if (!name || strncmp(name, pack, length) != 0 || name[length] != '.' || !name[length + 1]) return false;
  return strspn(name + length + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name + length + 1);
}

/* A default is of its attribute's tag; a list has one number for every axis, as in ops.def. */
static bool is_default_of(const BurnAttr *value, uint32_t tag) {
  if (value->tag == BURN_ATTR_NONE) return true;
  if (tag == BURN_ATTR_NUMBER) return value->tag == BURN_ATTR_I64 || value->tag == BURN_ATTR_F64;
  return value->tag == tag;
}

static BurnStatus check_attr(const BurnOpInfo *info, uint32_t i) {
  const char *name = info->attr_names[i];
  const BurnAttr *value = &info->attr_defaults[i];
  const uint32_t tag = info->attr_tags[i];
  if (!name || !name[0]) return BURN_FAIL(INCOMPATIBLE, "%s: attribute %u has no name", info->name, i);
  if (tag < BURN_ATTR_I64 || tag > BURN_ATTR_NUMBER)
    return BURN_FAIL(INCOMPATIBLE, "%s: attribute '%s' has tag %u, known are 1 to %d", info->name, name, tag,
                     BURN_ATTR_NUMBER);
  if (!is_default_of(value, tag)) {
    return BURN_FAIL(INCOMPATIBLE, "%s: attribute '%s' has tag %u, its default %u%s", info->name, name, tag, value->tag,
                     tag == BURN_ATTR_NUMBER ? ": the default of a number is an I64 or an F64" : "");
  }
  if (value->tag == BURN_ATTR_I64S && value->count > 0) {
    return BURN_FAIL(INCOMPATIBLE,
                     "%s: the default of '%s' is a list of %u; the default of a list is one number for every axis,"
                     " value.i64 with count 0",
                     info->name, name, value->count);
  }
  return BURN_OK;
}

/* What is looked at in every call, or printed. */
static BurnStatus check_tables(const BurnOpInfo *info) {
  const bool attrs = info->attr_count == 0 || (info->attr_names && info->attr_defaults && info->attr_tags);
  if (!info->input_names || !attrs || (info->kinds & BURN_KIND_ANY) == 0)
    return BURN_FAIL(INCOMPATIBLE, "%s: names of inputs, tables of attributes or kinds are missing", info->name);
  for (uint32_t i = 0; i < info->input_count; i++) {
    if (!info->input_names[i] || !info->input_names[i][0])
      return BURN_FAIL(INCOMPATIBLE, "%s: input %u has no name", info->name, i);
  }
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < info->attr_count && status == BURN_OK; i++) status = check_attr(info, i);
  return status;
}

static BurnStatus check_definition(const BurnOpDefinition *definition, const char *pack) {
  if (!definition || definition->struct_size < BURN_OP_DEFINITION_MIN_BYTES || !definition->info ||
      definition->info->struct_size < BURN_OP_INFO_MIN_BYTES) {
    return BURN_FAIL(INCOMPATIBLE, "an op definition is missing or too small: built with broken or foreign headers");
  }
  const BurnOpInfo *info = definition->info;
  if (!is_name_of_pack(info->name, pack)) {
    return BURN_FAIL(INCOMPATIBLE, "its op is called '%s'; ops of this pack are called '%s.' and a-z, 0-9, _",
                     info->name ? info->name : "(null)", pack);
  }
  if (!definition->infer) return BURN_FAIL(INCOMPATIBLE, "%s has no shape rule (infer)", info->name);
  if (info->output_count < 1 || info->output_count > BURN_MAX_OUTPUTS || info->input_count > BURN_MAX_FIXED_INPUTS ||
      info->input_required > info->input_count || info->input_count < 1 || info->attr_count > BURN_MAX_ATTRS) {
    return BURN_FAIL(INCOMPATIBLE,
                     "%s: %u inputs (%u required), %u outputs, %u attributes; possible are 1..%u, 1..%u and 0..%d",
                     info->name, info->input_count, info->input_required, info->output_count, info->attr_count,
                     BURN_MAX_FIXED_INPUTS, BURN_MAX_OUTPUTS, BURN_MAX_ATTRS);
  }
  const uint32_t inputs = definition->saved_inputs | definition->constant_inputs;
  if (inputs >> info->input_count || definition->saved_outputs >> info->output_count) {
    return BURN_FAIL(
        INCOMPATIBLE,
        "%s: saved_inputs 0x%x, constant_inputs 0x%x or saved_outputs 0x%x have a bit beyond its %u inputs and "
        "%u outputs",
        info->name, definition->saved_inputs, definition->constant_inputs, definition->saved_outputs, info->input_count,
        info->output_count);
  }
  return check_tables(info);
}

static int falling(int32_t left, int32_t right) { return (left < right) - (left > right); }
static int by_falling_priority(const void *a, const void *b) {
  return falling(((const BurnKernel *)a)->priority, ((const BurnKernel *)b)->priority);
}
static int devices_by_falling_priority(const void *a, const void *b) {
  return falling(((const BurnDeviceKernel *)a)->priority, ((const BurnDeviceKernel *)b)->priority);
}

/* The kernels of one op, sorted; true unless there is no memory. */
static bool collect_kernels(const BurnKernelsInterface *pack, PackOp *entry) {
  entry->kernels = calloc(pack->kernel_count ? pack->kernel_count : 1, sizeof *entry->kernels);
  if (!entry->kernels) return false;
  for (uint32_t i = 0; i < pack->kernel_count; i++) {
    if (strcmp(pack->kernels[i]->op, entry->info.name) != 0) continue;
    burn_struct_copy(&entry->kernels[entry->kernel_count++], sizeof *entry->kernels, pack->kernels[i]);
  }
  qsort(entry->kernels, entry->kernel_count, sizeof *entry->kernels, by_falling_priority);
  return true;
}

static bool collect_device_kernels(const BurnKernelsInterface *pack, PackOp *entry) {
  const uint32_t count = pack->device_kernel_count;
  entry->device_kernels = calloc(count ? count : 1, sizeof *entry->device_kernels);
  if (!entry->device_kernels) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(pack->device_kernels[i]->op, entry->info.name) != 0) continue;
    BurnDeviceKernel *kernel = &entry->device_kernels[entry->device_kernel_count++];
    burn_struct_copy(kernel, sizeof *kernel, pack->device_kernels[i]);
  }
  qsort(entry->device_kernels, entry->device_kernel_count, sizeof *entry->device_kernels, devices_by_falling_priority);
  return true;
}

static BurnStatus add_op(const BurnKernelsInterface *pack, const BurnOpDefinition *definition) {
  const uint32_t index = atomic_load(&pack_op_count);
  PackOp *entry = calloc(1, sizeof *entry);
  if (!entry) return BURN_FAIL(OUT_OF_MEMORY, "%s: no memory for the op", definition->info->name);
  burn_struct_copy(&entry->info, sizeof entry->info, definition->info);
  burn_struct_copy(&entry->definition, sizeof entry->definition, definition);
  entry->definition.info = &entry->info;
  entry->info.struct_size = sizeof entry->info;
  entry->info.op = BURN_OP_FIRST_OF_PACKS + index;
  entry->info.is_composite = definition->decompose != NULL;
  entry->info.takes_list = 0;
  entry->info.gradient = definition->backward    ? BURN_GRADIENT_RULE
                         : definition->decompose ? BURN_GRADIENT_VIA
                                                 : BURN_GRADIENT_CONSTANT;
  if (!entry->info.doc) entry->info.doc = "";
  if (!entry->info.family) entry->info.family = "pack";
  if (!collect_kernels(pack, entry) || !collect_device_kernels(pack, entry)) {
    free(entry->kernels);
    free(entry);
    return BURN_FAIL(OUT_OF_MEMORY, "%s: no memory for its kernels", definition->info->name);
  }
  atomic_store_explicit(&pack_ops[index], entry, memory_order_release);
  atomic_store_explicit(&pack_op_count, index + 1, memory_order_release);
  return BURN_OK;
}

static bool is_op_of(const BurnKernelsInterface *pack, const char *name) {
  for (uint32_t i = 0; i < pack->op_count; i++) {
    if (strcmp(pack->ops[i]->info->name, name) == 0) return true;
  }
  return false;
}

static BurnStatus check_kernels(const BurnKernelsInterface *pack) {
  for (uint32_t i = 0; i < pack->kernel_count; i++) {
    const BurnKernel *kernel = pack->kernels ? pack->kernels[i] : NULL;
    if (!kernel || kernel->struct_size < BURN_KERNEL_MIN_BYTES || !kernel->op || !kernel->run)
      return BURN_FAIL(INCOMPATIBLE, "kernel %u is missing, too small, or lacks its op's name or run", i);
    if (!is_op_of(pack, kernel->op))
      return BURN_FAIL(INCOMPATIBLE, "kernel %u is for '%s', which is not an op of this pack", i, kernel->op);
  }
  return BURN_OK;
}

static bool is_whole_code(const BurnDeviceCode *code) {
  return code && code->struct_size >= BURN_DEVICE_CODE_MIN_BYTES && code->data && code->bytes > 0;
}

static bool is_whole_device_kernel(const BurnDeviceKernel *kernel) {
  if (!kernel || kernel->struct_size < BURN_DEVICE_KERNEL_MIN_BYTES || !kernel->op || !kernel->entry || !kernel->plan)
    return false;
  bool whole = kernel->code_count > 0 && kernel->codes;
  for (uint32_t i = 0; whole && i < kernel->code_count; i++) whole = is_whole_code(kernel->codes[i]);
  return whole;
}

static BurnStatus check_device_kernels(const BurnKernelsInterface *pack) {
  for (uint32_t i = 0; i < pack->device_kernel_count; i++) {
    const BurnDeviceKernel *kernel = pack->device_kernels ? pack->device_kernels[i] : NULL;
    if (!is_whole_device_kernel(kernel)) {
      return BURN_FAIL(INCOMPATIBLE,
                       "device kernel %u is missing, too small, or lacks its op's name, entry, plan or code", i);
    }
    if (!is_op_of(pack, kernel->op))
      return BURN_FAIL(INCOMPATIBLE, "device kernel %u is for '%s', which is not an op of this pack", i, kernel->op);
  }
  return BURN_OK;
}

/* Names that occur once, and room for all: nothing of a pack is registered that is refused. */
static BurnStatus check_room(const BurnKernelsInterface *pack) {
  const uint32_t count = atomic_load(&pack_op_count);
  if (pack->op_count > MAX_PACK_OPS - count) {
    return BURN_FAIL(INCOMPATIBLE, "it defines %u ops; %u of %d places are taken", pack->op_count, count,
                     (int)MAX_PACK_OPS);
  }
  for (uint32_t i = 0; i < pack->op_count; i++) {
    const char *name = pack->ops[i]->info->name;
    bool known = burn__pack_op_find(name) != NULL;
    for (uint32_t k = 0; k < i && !known; k++) known = strcmp(pack->ops[k]->info->name, name) == 0;
    if (known) return BURN_FAIL(INCOMPATIBLE, "it defines '%s' twice", name);
  }
  return BURN_OK;
}

static void tell_numbers(const BurnKernelsInterface *pack, uint32_t first) {
  uint32_t numbers[MAX_PACK_OPS];
  for (uint32_t i = 0; i < pack->op_count; i++) numbers[i] = first + i;
  if (pack->registered) pack->registered(numbers);
}

BurnStatus burn__pack_register(const BurnPlugin *plugin) {
  BurnKernelsInterface copy, *const pack = &copy;
  burn__plugin_interface(plugin, "burn.kernels", &copy, sizeof copy);
  BurnStatus status =
      pack->op_count > 0 && pack->ops ? BURN_OK : BURN_FAIL(INCOMPATIBLE, "the kernel pack defines no op");
  for (uint32_t i = 0; i < pack->op_count && status == BURN_OK; i++)
    status = check_definition(pack->ops[i], plugin->name);
  if (status == BURN_OK) status = check_kernels(pack);
  if (status == BURN_OK) status = check_device_kernels(pack);
  if (status != BURN_OK) return status;
  pthread_mutex_lock(&burn__pack_mutex);
  status = check_room(pack);
  const uint32_t first = BURN_OP_FIRST_OF_PACKS + atomic_load(&pack_op_count);
  for (uint32_t i = 0; i < pack->op_count && status == BURN_OK; i++) status = add_op(pack, pack->ops[i]);
  if (status == BURN_OK) tell_numbers(pack, first);
  pthread_mutex_unlock(&burn__pack_mutex);
  return status;
}

static BurnGuess guess_op(const char *name) {
  BurnGuess guess = burn_guess(name);
  for (uint32_t op = 0; op < BURN_OP_LIMIT; op++) {
    if (burn__op_info(op)) burn_guess_add(&guess, burn__op_info(op)->name);
  }
  for (uint32_t op = BURN_OP_FIRST_OF_PACKS; burn__op_info(op); op++) burn_guess_add(&guess, burn__op_info(op)->name);
  return guess;
}

BurnStatus burn__op_lookup(const char *name, const BurnOpInfo **out) {
  *out = name ? burn__op_find(name) : NULL;
  if (*out) return BURN_OK;
  const char *dot = name ? strchr(name, '.') : NULL;
  BurnGuess guess = guess_op(name);
  if (!dot) {
    return BURN_FAIL(NOT_FOUND, "there is no op '%s'.%s 'burn ops' lists them", name ? name : "(null)",
                     burn_guess_text(&guess));
  }
  char *pack = burn__text_format("%.*s", (int)(dot - name), name);
  if (!pack) return BURN_FAIL(OUT_OF_MEMORY, "%s: no memory to look the op up", name);
  const BurnPlugin *plugin = NULL;
  BurnStatus status = burn__plugin_find(pack, BURN_PLUGIN_KERNELS, &plugin);
  free(pack);
  if (status != BURN_OK) return burn_status_annotate(status, "op '%s'", name);
  *out = burn__pack_op_find(name);
  if (*out) return BURN_OK;
  guess = guess_op(name); /* the pack's own are there now */
  return BURN_FAIL(NOT_FOUND, "the kernel pack '%s' %s has no op '%s'%s%s", plugin->name, plugin->version, name,
                   guess.best ? "." : "", burn_guess_text(&guess));
}

/* Booleans and dtypes that a pack may use as such; no dtype is one, which the pack may fill in. */
static BurnStatus check_values(const BurnOpInfo *info, const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->attr_count; i++) {
    const BurnAttr *attr = &call->attrs[i];
    const int64_t value = attr->value.i64;
    if (attr->tag == BURN_ATTR_BOOL && value != 0 && value != 1) {
      return BURN_FAIL(INVALID_ARGUMENT, "%s: attribute '%s' is %lld; a bool is 0 or 1", info->name,
                       info->attr_names[i], (long long)value);
    }
    const bool is_dtype = value == BURN_DTYPE_DEFAULT ||
                          (value > 0 && value < BURN_DTYPE_LIMIT && burn_dtype_bytes((BurnDType)value) > 0);
    if (attr->tag == BURN_ATTR_DTYPE && !is_dtype) {
      return BURN_FAIL(INVALID_DTYPE, "%s: attribute '%s': there is no dtype number %lld", info->name,
                       info->attr_names[i], (long long)value);
    }
  }
  return BURN_OK;
}

BurnStatus burn__pack_infer(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out) {
  BurnStatus status = check_values(info, call);
  if (status != BURN_OK) return status;
  status = burn__op_definition(call->op)->infer(burn__host(), call, out);
  if (status != BURN_OK && !burn__status_has_message(status))
    status = burn_status_annotate(status, "%s: its shape rule", info->name);
  for (uint32_t i = 0; i < info->output_count && status == BURN_OK; i++) {
    if (out[i].rank < 1 || out[i].rank > BURN_MAX_RANK || burn_dtype_bytes(out[i].dtype) == 0) {
      status = BURN_FAIL(INTERNAL, "%s: its shape rule gave output %u rank %u and dtype %u", info->name, i, out[i].rank,
                         out[i].dtype);
    }
    if (status == BURN_OK) status = burn__infer_count(info, &out[i]);
  }
  return status;
}
