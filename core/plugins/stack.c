/* stack.c - opened plugins on top of each other.
 *
 * An instance holds a full-size copy of the plugin's table with defaults in the empty slots, so nobody below or above
 * tests for NULL. It counts its users: the device, and the instance on top of it. */
#include "core_internal.h"
#include "text_builder.h"

#include <stdlib.h>
#include <string.h>

/* -- what a table gets where the plugin left NULL --------------------------------------------- */

static int32_t BURN_API_CALL default_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes) {
  (void)self;
  (void)call;
  if (why_bytes > 0) why[0] = '\0';
  return 1;
}
static BurnStatus BURN_API_CALL default_sync(void *self) {
  (void)self;
  return BURN_OK;
}
static BurnStatus BURN_API_CALL default_query(void *self, uint32_t key, int64_t *out) {
  (void)self;
  (void)out;
  return BURN_FAIL(NOT_FOUND, "the backend does not answer query %u", key);
}
static int32_t BURN_API_CALL default_get_interface(void *self, const char *name, uint32_t min_version,
                                                   BurnInterface *out) {
  (void)self;
  (void)name;
  (void)min_version;
  (void)out;
  return 0;
}

static void fill_defaults(BurnBackend *backend) {
  if (!backend->supports) backend->supports = default_supports;
  if (!backend->sync) backend->sync = default_sync;
  if (!backend->query) backend->query = default_query;
  if (!backend->trim) backend->trim = default_sync;
  if (!backend->get_interface) backend->get_interface = default_get_interface;
}

static BurnStatus check_table(const BurnInstance *instance) {
  const BurnBackend *b = &instance->backend;
  const char *missing = !b->name          ? "name"
                        : !b->close       ? "close"
                        : !b->op_support  ? "op_support"
                        : !b->submit      ? "submit"
                        : !b->create      ? "create"
                        : !b->read        ? "read"
                        : !b->retain      ? "retain"
                        : !b->release     ? "release"
                        : !b->dtype_usage ? "dtype_usage"
                                          : NULL;
  if (!missing && instance->wraps_tensors && (!b->unwrap || !b->adopt)) missing = b->unwrap ? "adopt" : "unwrap";
  if (!missing) return BURN_OK;
  return BURN_FAIL(INCOMPATIBLE, "plugin '%s' opened without the function '%s'", instance->plugin->name, missing);
}

static uint32_t next_owner(void) {
  static atomic_uint last;
  return atomic_fetch_add(&last, 1) + 1;
}

static char *label_of(const BurnStackPart *part) {
  return part->has_index ? burn__text_format("%s:%u", part->name, part->index) : burn__text_copy(part->name);
}

static char *identity_of(const BurnStackPart *part, const char *label, const char *version) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_addf(&text, "%s %s", label, version);
  for (size_t i = 0; i < part->options.count; i++) {
    burn__text_addf(&text, "%c%s=%s", i ? ',' : ' ', part->options.options[i].key, part->options.options[i].value);
  }
  return burn__text_finish(&text);
}

static void instance_free(BurnInstance *instance) {
  free(instance->identity);
  free(instance->label);
  free(instance);
}

static BurnStatus open_plugin(BurnInstance *instance, const BurnStackPart *part, const BurnHost *host, uint32_t owner) {
  BurnBackend *table = &instance->backend;
  table->struct_size = sizeof *table;
  if (instance->next) {
    BurnDecoratorInterface decorator;
    burn__plugin_interface(instance->plugin, "burn.decorator", &decorator, sizeof decorator);
    instance->wraps_tensors = decorator.wraps_tensors != 0;
    instance->roles = decorator.roles;
    return decorator.open(host, &instance->next->backend, &part->options, owner, table);
  }
  BurnBackendInterface backend;
  burn__plugin_interface(instance->plugin, "burn.backend", &backend, sizeof backend);
  return backend.open(host, part->index, &part->options, owner, table);
}

/* Every function of a decorator that wraps gets its tensors, but those which have none: they may be left out. */
static bool has_tensors_functions(const BurnBackend *b) {
  return b->close && b->op_support && b->submit && b->create && b->read && b->retain && b->release && b->dtype_usage &&
         b->unwrap && b->adopt;
}

static void complete_wrapping(BurnInstance *instance) {
  BurnBackend *table = &instance->backend;
  if (!table->supports) table->supports = default_supports;
  if (!table->get_interface) table->get_interface = default_get_interface;
  if (has_tensors_functions(table)) burn__instance_forward(instance);
}

/* Tensors of a decorator that does not wrap are those of the level below, and what it does not do is done there. */
static void complete_table(BurnInstance *instance, uint32_t owner) {
  const bool forwards = instance->next && !instance->wraps_tensors;
  BurnBackend *table = &instance->backend;
  table->struct_size = sizeof *table;
  table->owner = forwards ? instance->next->backend.owner : owner;
  instance->target = forwards && !table->op_support ? BURN_ABI_MINOR : burn__plugin_target(instance->plugin);
  if (forwards) {
    burn__instance_forward(instance);
  } else if (instance->next) {
    complete_wrapping(instance);
  } else {
    fill_defaults(table);
  }
}

/* Ops and attributes that came after the version which the plugin targets are none that it has. */
static BurnStatus ask_support(BurnInstance *instance) {
  const BurnBackend *backend = &instance->backend;
  for (uint32_t op = 0; op < BURN_OP_LIMIT; op++) {
    const BurnOpInfo *info = burn__op_info(op);
    if (!info || info->since > instance->target) continue;
    const uint32_t answer = backend->op_support(backend->self, op);
    if (answer > BURN_SUPPORT_ASK) {
      return BURN_FAIL(INCOMPATIBLE, "plugin '%s': op_support answers %u for '%s'; 0 is no, 1 yes and 2 ask",
                       instance->plugin->name, answer, info->name);
    }
    instance->support[op] = (uint8_t)answer;
    if (burn_op_schema(info) > instance->target) instance->support[op] |= BURN__SUPPORT_OLDER;
  }
  return BURN_OK;
}

/* Opens one part on top of `next`, whose reference it takes on success. */
static BurnStatus open_part(const BurnStackPart *part, const BurnHost *host, BurnInstance *next, BurnInstance **out) {
  const BurnPlugin *plugin = NULL;
  BurnStatus status = burn__plugin_find(part->name, next ? BURN_PLUGIN_DECORATOR : BURN_PLUGIN_BACKEND, &plugin);
  if (status != BURN_OK) return status;
  if (next && part->has_index) {
    return BURN_FAIL(INVALID_ARGUMENT, "'%s:%u': a decorator has no device number; write it after the backend",
                     part->name, part->index);
  }
  BurnInstance *instance = calloc(1, sizeof *instance);
  if (!instance) return BURN_FAIL(OUT_OF_MEMORY, "no memory to open '%s'", part->name);
  instance->plugin = plugin;
  instance->next = next;
  atomic_init(&instance->references, 1);
  instance->label = label_of(part);
  instance->identity = instance->label ? identity_of(part, instance->label, plugin->version) : NULL;
  if (!instance->identity) {
    instance_free(instance);
    return BURN_FAIL(OUT_OF_MEMORY, "no memory to open '%s'", part->name);
  }
  const uint32_t owner = next_owner();
  status = open_plugin(instance, part, host, owner);
  if (status != BURN_OK) {
    instance_free(instance);
    return burn_status_annotate(status, "open '%s'", part->name);
  }
  complete_table(instance, owner);
  status = check_table(instance);
  if (status == BURN_OK) status = burn__options_check(&part->options, part->name);
  if (status == BURN_OK) status = ask_support(instance);
  if (status != BURN_OK) {
    if (instance->backend.close) instance->backend.close(instance->backend.self);
    instance_free(instance);
    return status;
  }
  *out = instance;
  return BURN_OK;
}

/* Whoever records what passes must lie above whatever changes when ops run, and once only. `top` opens on `next`. */
static BurnStatus check_order(const BurnInstance *top) {
  if (top->roles == 0) return BURN_OK;
  for (const BurnInstance *below = top->next; below; below = below->next) {
    if (!(below->roles & BURN_ROLE_AUTODIFF)) continue;
    if (top->roles & BURN_ROLE_AUTODIFF) {
      return BURN_FAIL(INVALID_ARGUMENT, "the stack computes gradients twice, in %s and in %s; once is enough",
                       top->plugin->name, below->plugin->name);
    }
    return BURN_FAIL(INVALID_ARGUMENT, "the stack has %s above %s; write %s<%s<..>>", top->plugin->name,
                     below->plugin->name, below->plugin->name, top->plugin->name);
  }
  return BURN_OK;
}

BurnStatus burn__instance_open(const BurnStackText *stack, const BurnHost *host, BurnInstance **out) {
  BurnStatus status = BURN_OK;
  BurnInstance *top = NULL;
  for (size_t i = stack->count; status == BURN_OK && i-- > 0;) {
    BurnInstance *instance = NULL;
    status = open_part(&stack->parts[i], host, top, &instance);
    if (status != BURN_OK) break;
    top = instance;
    status = check_order(top);
  }
  if (status != BURN_OK) {
    burn__instance_release(top);
    return status;
  }
  *out = top;
  return BURN_OK;
}

void burn__instance_retain(BurnInstance *instance) { atomic_fetch_add(&instance->references, 1); }

void burn__instance_release(BurnInstance *instance) {
  while (instance && atomic_fetch_sub(&instance->references, 1) == 1) {
    BurnInstance *next = instance->next;
    burn__instance_unload_kernels(instance);
    instance->backend.close(instance->backend.self);
    instance_free(instance);
    instance = next;
  }
}

/* A decorator that does not wrap passes the question on; the interface is that of the level which wraps or ends the
 * stack. */
BurnInstance *burn__instance_interface(BurnInstance *top, const char *name, BurnInterface *out) {
  BurnInstance *found = NULL;
  for (BurnInstance *instance = top; instance; instance = instance->next) {
    BurnInterface here;
    const bool has = burn__backend_ask(&instance->backend, name, &here);
    if (found && (!has || here.self != out->self)) return found; /* the level before had it from itself */
    if (has) {
      found = instance;
      *out = here;
    }
    if (instance->wraps_tensors) break; /* what lies below has other tensors */
  }
  return found;
}
