/* device.c - the public face of a stack: default dtypes, random state, memory, and the inner device below autodiff. */
#include "guard.h"
#include "platform.h"
#include "plugin_internal.h"

#include <burn/op_call.h>
#include <burn/streams.h>
#include <burn/plugins.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the count of users ------------------------------------------------------------------------ */

/* A tensor counts as a user of its device, so every op would change that count twice. The thread that opened the
 * device, its home, does so without an atomic access: in home_references, which no other thread writes. Until the two
 * counts are made one, HOME_BIAS keeps the other from reaching 0. That happens in burn_device_close: another thread
 * than home asks for it (closing), makes a fence that all threads pass, and once home is not busy, home will see the
 * question before it counts again. */
#define HOME_BIAS (1LL << 48)

BURN__THREAD_LOCAL char burn__thread_mark_place;

static void make_home(BurnDevice *device) {
  atomic_init(&device->home, burn__thread_mark());
  atomic_store_explicit(&device->references, 1 + HOME_BIAS, memory_order_relaxed);
}

/* From here on all count in `references`. Called by home, or by the one that has fenced it off. */
static void leave_home(BurnDevice *device) {
  const long long own = atomic_load_explicit(&device->home_references, memory_order_relaxed);
  atomic_fetch_add_explicit(&device->references, own - HOME_BIAS, memory_order_acq_rel);
  atomic_store_explicit(&device->home, NULL, memory_order_release);
}

bool burn__home_wait(BurnDevice *device) {
  atomic_store_explicit(&device->home_busy, false, memory_order_release);
  while (atomic_load_explicit(&device->home, memory_order_acquire)) (void)sched_yield();
  return false;
}

static void close_home(BurnDevice *device) {
  const void *home = atomic_load_explicit(&device->home, memory_order_acquire);
  if (!home) return;
  if (home != burn__thread_mark()) {
    atomic_store_explicit(&device->closing, true, memory_order_seq_cst);
    burn__fence_threads();
    while (atomic_load_explicit(&device->home_busy, memory_order_acquire)) (void)sched_yield();
  }
  leave_home(device);
}

static BurnDevice *device_new(void) {
  BurnDevice *device = calloc(1, sizeof *device);
  if (!device) return NULL;
  atomic_init(&device->references, 1);
  if (burn__fence_threads_works()) make_home(device);
  device->float_dtype = BURN_DTYPE_F32;
  device->int_dtype = BURN_DTYPE_I64;
  pthread_mutex_init(&device->live_mutex, NULL);
  return device;
}

/* Stands in when there is no memory even for a device. */
static BurnDevice no_memory = {.status = BURN_STATUS_OUT_OF_MEMORY, .name = (char *)(uintptr_t) "(failed)"};

/* "autodiff<ndarray>" from the instances' labels, or the same of their identities; malloc'd. */
static char *stack_text(const BurnInstance *top, bool identities) {
  size_t bytes = 1, depth = 0;
  for (const BurnInstance *i = top; i; i = i->next) bytes += strlen(identities ? i->identity : i->label) + 2;
  char *name = malloc(bytes);
  if (!name) return NULL;
  char *at = name;
  for (const BurnInstance *i = top; i; i = i->next) {
    const char *label = identities ? i->identity : i->label;
    const size_t length = strlen(label);
    memcpy(at, label, length);
    at += length;
    if (i->next) {
      *at++ = '<';
      depth++;
    }
  }
  memset(at, '>', depth);
  at[depth] = '\0';
  return name;
}

/* The options float= and int= belong to core; the value 0 leaves the default. */
static BurnStatus dtype_option(const BurnOptions *options, const char *key, uint32_t kind, BurnDType *out) {
  const char *text = burn__option(options, key);
  if (!text) return BURN_OK;
  for (BurnDType dtype = 1; dtype < BURN_DTYPE_LIMIT; dtype++) {
    if (burn_dtype_kind(dtype) != kind || strcmp(burn_dtype_name(dtype), text) != 0) continue;
    *out = dtype;
    return BURN_OK;
  }
  return BURN_FAIL(INVALID_ARGUMENT, "option %s=%s names no %s dtype", key, text, key);
}

static BurnStatus check_dtype(const BurnInstance *top, BurnDType dtype) {
  const uint32_t needed = BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC;
  if ((top->backend.dtype_usage(top->backend.self, dtype) & needed) == needed) return BURN_OK;
  const BurnInstance *lowest = top;
  while (lowest->next) lowest = lowest->next; /* a decorator has its dtypes */
  return BURN_FAIL(INVALID_DTYPE, "backend '%s' cannot compute in %s", lowest->backend.name, burn_dtype_name(dtype));
}

/* A decorator that wraps tensors of the one which records offers gradients in its place. */
static BurnInstance *find_recorder(BurnInstance *autodiff) {
  for (BurnInstance *instance = autodiff; instance && instance->next; instance = instance->next) {
    if (instance->roles & BURN_ROLE_AUTODIFF) return instance;
  }
  return autodiff;
}

/* Gradients are of a decorator, whose results belong to the level below it. */
static BurnStatus check_gradients(const BurnInstance *recorder, const BurnAutodiffInterface *table) {
  const char *name = recorder->plugin->name;
  if (!recorder->next)
    return BURN_FAIL(INCOMPATIBLE, "'%s' offers gradients, but is not a decorator: there is no level below", name);
  if (table->struct_size >= BURN_AUTODIFF_INTERFACE_MIN_BYTES && table->require_grad && table->is_require_grad &&
      table->detach && table->backward && table->gradient && table->gradients_release)
    return BURN_OK;
  return BURN_FAIL(INCOMPATIBLE, "'%s' offers gradients, but its table of %u bytes lacks functions", name,
                   table->struct_size);
}

static BurnStatus make_inner(BurnDevice *device) {
  device->recorder = find_recorder(device->autodiff);
  const BurnStatus status = check_gradients(device->recorder, device->autodiff_interface.table);
  if (status != BURN_OK) return status;
  BurnDevice *inner = device_new();
  if (!inner) return BURN_FAIL(OUT_OF_MEMORY, "no memory for the inner device");
  inner->top = device->recorder->next;
  burn__instance_retain(inner->top);
  inner->name = stack_text(inner->top, false);
  inner->fingerprint = stack_text(inner->top, true);
  inner->float_dtype = device->float_dtype;
  inner->int_dtype = device->int_dtype;
  device->inner = inner;
  return BURN_OK;
}

/* A stack for training gets a decorator that computes gradients on top, unless it names one. */
static BurnStatus add_autodiff(BurnStackText *stack) {
  const char *name = NULL;
  for (size_t i = 0; i + 1 < stack->count; i++) {
    const BurnPlugin *plugin = NULL;
    const BurnStatus status = burn__plugin_find(stack->parts[i].name, BURN_PLUGIN_DECORATOR, &plugin);
    if (status != BURN_OK) return status;
    if (burn__plugin_roles(plugin) & BURN_ROLE_AUTODIFF) return BURN_OK;
  }
  const BurnStatus status = burn__plugin_with_role(BURN_ROLE_AUTODIFF, "autodiff", &name);
  return status == BURN_OK ? burn__stack_push_front(stack, name) : status;
}

static BurnStatus open_stack(BurnDevice *device, BurnStackText *stack, const BurnHost *host, bool training) {
  BurnStatus status = training ? add_autodiff(stack) : BURN_OK;
  if (status != BURN_OK) return status;
  const BurnOptions *options = &stack->parts[stack->count - 1].options;
  size_t count;
  const BurnPluginOption *own = burn_host_options(&count);
  status = dtype_option(options, own[BURN__OPTION_FLOAT].key, BURN_KIND_FLOAT, &device->float_dtype);
  if (status == BURN_OK) status = dtype_option(options, own[BURN__OPTION_INT].key, BURN_KIND_INT, &device->int_dtype);
  if (status == BURN_OK) status = burn__instance_open(stack, host, &device->top);
  if (status != BURN_OK) return status;
  device->name = stack_text(device->top, false);
  device->fingerprint = stack_text(device->top, true);
  status = check_dtype(device->top, device->float_dtype);
  if (status == BURN_OK) status = check_dtype(device->top, device->int_dtype);
  device->autodiff = burn__instance_interface(device->top, "burn.autodiff", &device->autodiff_interface);
  if (status == BURN_OK && device->autodiff) status = make_inner(device);
  if (status == BURN_OK && training && !device->autodiff) status = burn__no_gradients(device, "open");
  return status;
}

static BurnStatus open_text(BurnDevice *device, const char *text, const BurnHost *host, bool training) {
  BurnStackText stack = {0};
  BurnStatus status = burn__stack_parse(text, &stack);
  if (status == BURN_OK) status = open_stack(device, &stack, host, training);
  burn__stack_release(&stack);
  return status;
}

/* After an open that failed: the device has nothing of it. */
static void forget_stack(BurnDevice *device) {
  if (device->top) burn__instance_release(device->top);
  device->top = NULL;
  device->autodiff = device->recorder = NULL;
  free(device->fingerprint);
  free(device->name);
  device->fingerprint = device->name = NULL;
}

/* A better backend did not open, for the reason in `status`; what is remembered is for people. */
static void pass_over(BurnDevice *device, const BurnPluginInfo *info, BurnStatus status) {
  const char *before = device->passed_over ? device->passed_over : "";
  char *text = burn__text_format("%s%s%s (score %d): %s", before, *before ? "; " : "", info->name, info->score,
                                 burn_status_message(status));
  if (!text) return;
  free(device->passed_over);
  device->passed_over = text;
}

/* The automatic choice: the backend with the highest score that opens. */
static BurnStatus open_best(BurnDevice *device, const BurnHost *host, bool training) {
  const BurnPluginInfo **list;
  size_t count;
  BurnStatus status = burn__plugin_candidates(&list, &count);
  if (status != BURN_OK) return status;
  bool opened = false;
  for (size_t i = 0; i < count && !opened; i++) {
    status = open_text(device, list[i]->name, host, training);
    opened = status == BURN_OK;
    if (opened) break;
    forget_stack(device);
    pass_over(device, list[i], status);
    burn__log(BURN_LOG_WARN, "devices", "backend '%s' has the highest score (%d) but did not open: %s%s", list[i]->name,
              list[i]->score, burn_status_message(status), i + 1 < count ? "; the next one is tried" : "");
  }
  free((void *)list);
  return opened ? BURN_OK : burn__plugin_no_backend(device->passed_over ? device->passed_over : "");
}

static BurnStatus open_named_or_best(BurnDevice *device, const char *argument, const BurnHost *host, bool training,
                                     char **text) {
  const char *source = NULL;
  const BurnStatus status = burn__settings_stack(argument, text, &source);
  if (status != BURN_OK) return status;
  if (!*text) return open_best(device, host, training);
  const BurnStatus opened = open_text(device, *text, host, training);
  return source ? burn_status_annotate(opened, "%s", source) : opened;
}

static BurnDevice *open_device(const char *argument, const BurnHost *host, bool training) {
  burn__guards_decide();
  burn_streams_pin(); /* plugins open files */
  const bool may_work = burn__work_enter();
  BurnDevice *device = device_new();
  char *text = NULL;
  BurnStatus status = may_work ? burn__plugin_may_load() : burn__fork_failure();
  if (!device) status = BURN_STATUS_OUT_OF_MEMORY;
  if (status == BURN_OK) status = open_named_or_best(device, argument, host, training, &text);
  if (may_work) burn__work_leave();
  if (!device) return &no_memory;
  if (status != BURN_OK) {
    device->status = status;
    device->failure = burn__text_copy(burn_status_message(status));
    forget_stack(device);
  }
  if (!device->name) device->name = burn__text_format("(failed) %s", text ? text : "");
  free(text);
  return device;
}

BurnDevice *burn_device_open(const char *stack) { return open_device(stack, burn__host(), false); }
BurnDevice *burn_device_open_training(const char *stack) { return open_device(stack, burn__host(), true); }
BurnDevice *burn_device_open_with_host(const char *stack, const BurnHost *host) {
  return open_device(stack, host ? host : burn__host(), false);
}

BurnStatus burn__device_status(const BurnDevice *device) {
  if (!device) return BURN_FAIL(INVALID_ARGUMENT, "the device is NULL");
  if (device->status == BURN_OK) return BURN_OK;
  return burn__status_again(burn_status_code(device->status),
                            device->failure ? device->failure : burn_status_text(device->status));
}

BurnStatus burn_device_status(const BurnDevice *device) { return burn__device_status(device); }

/* -- lifetime --------------------------------------------------------------------------------- */

static void device_destroy(BurnDevice *device) {
  burn__device_release(device->inner);
  burn__instance_release(device->top);
  pthread_mutex_destroy(&device->live_mutex);
  free(device->failure);
  free(device->passed_over);
  free(device->fingerprint);
  free(device->name);
  free(device);
  burn__small_trim();
}

void burn__device_release_shared(BurnDevice *device) {
  if (!device || device == &no_memory) return;
  if (atomic_fetch_sub_explicit(&device->references, 1, memory_order_acq_rel) == 1) device_destroy(device);
}

void burn_device_close(BurnDevice *device) {
  if (!device || device == &no_memory || !burn__work_enter()) return;
  if (device->inner) burn__guard_report_live(device->inner);
  burn__guard_report_live(device);
  if (device->inner) close_home(device->inner);
  close_home(device);
  burn__device_release(device);
  burn__work_leave();
}

/* -- queries ---------------------------------------------------------------------------------- */

const char *burn_device_name(const BurnDevice *device) { return device && device->name ? device->name : "(none)"; }
const char *burn_device_fingerprint(const BurnDevice *device) {
  return device && device->fingerprint ? device->fingerprint : burn_device_name(device);
}
const char *burn_device_passed_over(const BurnDevice *device) {
  return device && device->passed_over ? device->passed_over : "";
}
bool burn_device_is_autodiff(const BurnDevice *device) { return device && device->autodiff; }
BurnDevice *burn_device_inner(BurnDevice *device) { return device && device->inner ? device->inner : device; }
BurnDType burn_device_float_dtype(const BurnDevice *device) { return device ? device->float_dtype : BURN_DTYPE_F32; }
BurnDType burn_device_int_dtype(const BurnDevice *device) { return device ? device->int_dtype : BURN_DTYPE_I64; }

BurnDType burn__device_index_dtype(const BurnDevice *device) {
  const BurnDType dtype = burn_device_int_dtype(device);
  return burn_dtype_bytes(dtype) < 4 ? BURN_DTYPE_I64 : dtype;
}

static BurnStatus check_default(const BurnDevice *device, const char *function, BurnDType dtype, uint32_t kind) {
  const BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return status;
  if (burn_dtype_kind(dtype) == kind) return check_dtype(device->top, dtype);
  return BURN_FAIL(INVALID_DTYPE, "%s: '%s' (number %u) is not %s dtype", function, burn_dtype_name(dtype), dtype,
                   kind == BURN_KIND_FLOAT ? "a float" : "an int");
}

BurnStatus burn_device_set_float_dtype(BurnDevice *device, BurnDType dtype) {
  const BurnStatus status = check_default(device, "device_set_float_dtype", dtype, BURN_KIND_FLOAT);
  if (status != BURN_OK) return status;
  device->float_dtype = dtype;
  if (device->inner) device->inner->float_dtype = dtype;
  return BURN_OK;
}

BurnStatus burn_device_set_int_dtype(BurnDevice *device, BurnDType dtype) {
  const BurnStatus status = check_default(device, "device_set_int_dtype", dtype, BURN_KIND_INT);
  if (status != BURN_OK) return status;
  device->int_dtype = dtype;
  if (device->inner) device->inner->int_dtype = dtype;
  return BURN_OK;
}

BurnStatus burn_device_sync(BurnDevice *device) {
  const BurnStatus status = burn__device_status(device);
  if (status != BURN_OK) return status;
  if (!burn__work_enter()) return burn__fork_failure();
  const BurnStatus synced = device->top->backend.sync(device->top->backend.self);
  burn__work_leave();
  return synced;
}

static int64_t query(const BurnDevice *device, uint32_t key) {
  int64_t value = -1;
  const BurnBackend *backend = &device->top->backend;
  if (!burn__work_enter()) return -1;
  if (backend->query(backend->self, key, &value) != BURN_OK) value = -1;
  burn__work_leave();
  return value;
}

BurnMemoryStats burn_device_memory(BurnDevice *device) {
  if (!device || !device->top) return (BurnMemoryStats){-1, -1, -1, -1};
  return (BurnMemoryStats){query(device, BURN_QUERY_BYTES_IN_USE), query(device, BURN_QUERY_BYTES_RESERVED),
                           query(device, BURN_QUERY_BYTES_PEAK), query(device, BURN_QUERY_LIVE_TENSORS)};
}

void burn_device_trim(BurnDevice *device) {
  if (!device || !device->top || !burn__work_enter()) return;
  const BurnStatus status = device->top->backend.trim(device->top->backend.self);
  if (status != BURN_OK) burn__log(BURN_LOG_WARN, "trim", "%s", burn_status_message(status));
  burn__small_trim();
  burn__work_leave();
}

/* -- random state ----------------------------------------------------------------------------- */

void burn_device_seed(BurnDevice *device, uint64_t seed) {
  burn_device_set_random_state(device, (BurnRandomState){.seed = seed, .offset = 0});
}

BurnRandomState burn_device_random_state(const BurnDevice *device) {
  if (!device) return (BurnRandomState){0, 0};
  return (BurnRandomState){atomic_load(&device->seed), atomic_load(&device->offset)};
}

void burn_device_set_random_state(BurnDevice *device, BurnRandomState state) {
  if (!device || device == &no_memory) return;
  atomic_store(&device->seed, state.seed);
  atomic_store(&device->offset, state.offset);
}
