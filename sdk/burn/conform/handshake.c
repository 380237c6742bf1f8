/* handshake.c - a plugin on its own: its descriptor, its interfaces, opening and closing, with structs that are shorter
 * and longer than it knows. Structs lie right before memory that cannot be touched, or are followed by bytes that must
 * stay. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "conform.h"

#include <burn/plugin/options.h>
#include <burn/plugin/plugin.h>

#if !defined(BURN_COMMAND_STATIC)
#include <dlfcn.h>
#endif
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OPENINGS = 100, OWNER = 7001, TAIL = 64, MAX_OPEN_ALLOCATIONS = 64 };

/* A plugin under test, and what lies below it in the stack. */
typedef struct Subject {
  StackPart part;
  const BurnPlugin *plugin;
  BurnPluginQuery query;
  const BurnBackendInterface *backend; /* or */
  const BurnDecoratorInterface *decorator;
  BurnDevice *below; /* of a decorator */
  char why[1024];    /* why there is no plugin to test; "" */
  bool is_linked_in;
} Subject;

/* -- finding it ------------------------------------------------------------------------------- */

/* The entry function of a plugin's file. */
static void open_file(Subject *subject, const char *path) {
#if defined(BURN_COMMAND_STATIC)
  snprintf(subject->why, sizeof subject->why, "%s: a static build loads no files", path);
#else
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = library ? dlsym(library, BURN_PLUGIN_SYMBOL) : NULL;
  if (symbol) {
    memcpy(&subject->query, &symbol, sizeof subject->query); /* ISO C has no cast from object to function pointer */
  } else {
    snprintf(subject->why, sizeof subject->why, "%s cannot be loaded: %s", path, dlerror());
  }
#endif
}

static void load(Subject *subject) {
  const BurnPluginInfo *info = NULL;
  for (size_t i = 0; i < burn_plugin_count() && !info; i++) {
    if (strcmp(burn_plugin_info(i)->name, subject->part.name) == 0) info = burn_plugin_info(i);
  }
  if (!info || (!info->usable && !info->kind[0])) {
    snprintf(subject->why, sizeof subject->why, "there is no usable plugin '%s'%s%s", subject->part.name,
             info ? ": " : "", info ? info->reason : "");
    return;
  }
  if (strcmp(info->path, "linked in") == 0) {
    subject->is_linked_in = true;
    return;
  }
  open_file(subject, info->path);
  if (subject->why[0]) return;
  const BurnHostInfo query = {sizeof query, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_OLDEST_MINOR, burn_version()};
  subject->plugin = subject->query(&query);
  if (subject->plugin->kind == BURN_PLUGIN_BACKEND) {
    subject->backend = subject->plugin->get_interface("burn.backend", 1);
  } else if (subject->plugin->kind == BURN_PLUGIN_DECORATOR) {
    subject->decorator = subject->plugin->get_interface("burn.decorator", 1);
    subject->below = burn_device_open(subject->part.below);
    if (burn_device_status(subject->below) != BURN_OK) {
      snprintf(subject->why, sizeof subject->why, "'%s' cannot be opened: %s", subject->part.below,
               burn_status_message(burn_device_status(subject->below)));
    }
  }
}

static const char *BURN_API_CALL no_option(const BurnOptions *options, const char *key) {
  (void)options;
  (void)key;
  return NULL;
}

/* The watching host without options: instances opened by hand have none. */
static BurnHost bare_host(void) {
  BurnHost host = *watching_host();
  host.option = no_option;
  return host;
}

/* What open asked for, each key once. */
enum { KEYS_MAX = 64, KEY_BYTES = 64 };
static char asked[KEYS_MAX][KEY_BYTES];
static uint32_t asked_count;

static const char *BURN_API_CALL noted_option(const BurnOptions *options, const char *key) {
  (void)options;
  for (uint32_t i = 0; i < asked_count; i++) {
    if (strcmp(asked[i], key) == 0) return NULL;
  }
  if (asked_count < KEYS_MAX) snprintf(asked[asked_count++], KEY_BYTES, "%s", key);
  return NULL;
}

/* Opens an instance into `out`, whose struct_size the caller has set. */
static BurnStatus open_raw(const Subject *subject, const BurnHost *host, BurnBackend *out) {
  static const uint64_t nothing[64]; /* an opaque object that only host->option looks at */
  const BurnOptions *options = (const BurnOptions *)(const void *)nothing;
  report_beat(); /* a GPU takes a while to open, and a hundred times that is not a hang */
  if (subject->backend) return subject->backend->open(host, 0, options, OWNER, out);
  return subject->decorator->open(host, burn_device_backend(subject->below), options, OWNER, out);
}

/* -- memory with an end ----------------------------------------------------------------------- */

/* `bytes` (a multiple of 8) of memory right before a page that cannot be touched; end with guarded_end. NULL without
 * memory. */
static void *guarded(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  if (mprotect(memory + page, page, PROT_NONE) == 0) return memory + page - bytes;
  munmap(memory, 2 * page);
  return NULL;
}

static void guarded_end(void *memory) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  munmap((void *)((uintptr_t)memory / page * page), 2 * page);
}

static bool is_noise(const void *memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (((const uint8_t *)memory)[i] != 0xC3) return false;
  }
  return true;
}

/* -- steps: each returns NULL, or what is wrong ----------------------------------------------- */

#define FAULT(...) (snprintf(fault, sizeof fault, __VA_ARGS__), fault)
static char fault[700];

static const char *fault_of_memory(void) {
  const char *complaint = watching_host_complaint();
  return complaint[0] ? FAULT("%s", complaint) : NULL;
}

/* The entry function with a query of `bytes` bytes that says it has `size`. */
static const BurnPlugin *ask(const Subject *subject, size_t bytes, uint32_t size) {
  char *memory = guarded(bytes);
  if (!memory) return subject->plugin;
  BurnHostInfo query = {size, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_OLDEST_MINOR, "0.1.0"};
  memset(memory, 0xC3, bytes);
  memcpy(memory, &query, bytes < sizeof query ? bytes : sizeof query);
  const BurnPlugin *plugin = subject->query((const BurnHostInfo *)(const void *)memory);
  guarded_end(memory);
  return plugin;
}

static const char *step_query(const Subject *subject) {
  const BurnPlugin *same = ask(subject, sizeof(BurnHostInfo), sizeof(BurnHostInfo));
  if (same != subject->plugin) return FAULT("the entry function returns another descriptor the second time");
  const BurnPlugin *of_long = ask(subject, sizeof(BurnHostInfo) + TAIL, sizeof(BurnHostInfo) + TAIL);
  if (of_long != same) return FAULT("the entry function returns another descriptor for a longer BurnHostInfo");
  /* An older host would ask with less: up to oldest_minor. The plugin may refuse by NULL. */
  const BurnPlugin *of_short = ask(subject, 16, 16);
  if (of_short && of_short != same)
    return FAULT("the entry function returns another descriptor for a shorter BurnHostInfo");
  return NULL;
}

static bool is_line(const char *text) { return text && text[0] && !strchr(text, '\n'); }

static const char *step_descriptor(const Subject *subject) {
  const BurnPlugin *plugin = subject->plugin;
  if (plugin->reserved != 0) return FAULT("reserved of the descriptor is %u, not 0", plugin->reserved);
  if (!is_line(plugin->version)) return FAULT("version of the descriptor is empty");
  if (!is_line(plugin->license)) return FAULT("license of the descriptor is empty");
  if (!is_line(plugin->description)) return FAULT("description of the descriptor is not one line");
  for (const char *c = plugin->name; *c; c++) {
    const bool good = (*c >= 'a' && *c <= 'z') || (c > plugin->name && ((*c >= '0' && *c <= '9') || *c == '_'));
    if (!good) return FAULT("the name '%s' is not made of a-z, 0-9, _", plugin->name);
  }
  return NULL;
}

static const char *step_interfaces(const Subject *subject) {
  static const char *const unknown[] = {
      "", "burn", "burn.backen", "burn.backendx", "BURN.BACKEND", "burn.no_such_interface"};
  const char *known = subject->backend ? "burn.backend" : subject->decorator ? "burn.decorator" : "burn.kernels";
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    if (subject->plugin->get_interface(unknown[i], 1)) return FAULT("get_interface(\"%s\", 1) is not NULL", unknown[i]);
  }
  if (subject->plugin->get_interface(known, UINT32_MAX))
    return FAULT("get_interface(\"%s\", 4294967295) is not NULL", known);
  const void *table = subject->plugin->get_interface(known, 1);
  if (!table || table != subject->plugin->get_interface(known, 1))
    return FAULT("get_interface(\"%s\", 1) changes from call to call", known);
  return NULL;
}

/* probe with a struct of `bytes`, `capacity` devices behind a guard; the tail beyond BurnProbe must stay. */
static const char *probe(const Subject *subject, size_t bytes, uint32_t capacity, BurnProbe *out) {
  char *memory = guarded(bytes);
  BurnDeviceInfo *devices = capacity ? guarded(capacity * sizeof *devices) : NULL;
  const BurnHost host = bare_host();
  if (!memory) return NULL;
  memset(memory, 0xC3, bytes);
  if (devices) memset(devices, 0, capacity * sizeof *devices);
  *out = (BurnProbe){
      .struct_size = (uint32_t)bytes, .device_capacity = capacity, .device_bytes = sizeof *devices, .devices = devices};
  memcpy(memory, out, sizeof *out);
  subject->backend->probe(&host, (BurnProbe *)(void *)memory);
  memcpy(out, memory, sizeof *out);
  const bool tail_is_whole = is_noise(memory + sizeof *out, bytes - sizeof *out);
  guarded_end(memory);
  if (devices) guarded_end(devices);
  out->devices = NULL;
  if (!tail_is_whole) return FAULT("probe writes beyond the BurnProbe that it knows");
  if (out->device_count > capacity)
    return FAULT("probe says %u devices, the list holds %u", out->device_count, capacity);
  if (!memchr(out->reason, '\0', sizeof out->reason)) return FAULT("the reason of probe is not terminated");
  return NULL;
}

static const char *step_probe(const Subject *subject) {
  BurnProbe first, second, other;
  if (!subject->backend) return NULL;
  const char *wrong = probe(subject, sizeof first, 4, &first);
  if (!wrong) wrong = probe(subject, sizeof second, 4, &second);
  if (wrong) return wrong;
  if (first.score != second.score || first.device_count != second.device_count) {
    return FAULT("probe is not repeatable: score %d and %d, devices %u and %u", first.score, second.score,
                 first.device_count, second.device_count);
  }
  wrong = probe(subject, sizeof other + TAIL, 0, &other);
  return wrong ? wrong : fault_of_memory();
}

static const char *describe(BurnStatus status) { return burn_status_message(status); }

/* Opens with a host's table of `bytes` bytes and a BurnBackend of `out_bytes`; `must` says that it has to work. */
static const char *open_with(const Subject *subject, size_t host_bytes, size_t out_bytes, bool must, const char *what) {
  BurnHost host = bare_host();
  host.struct_size = (uint32_t)host_bytes;
  char *host_memory = guarded(host_bytes), *out_memory = malloc(out_bytes + 512);
  if (!host_memory || !out_memory) return NULL;
  memset(host_memory, 0xC3, host_bytes);
  memcpy(host_memory, &host, host_bytes < sizeof host ? host_bytes : sizeof host);
  memset(out_memory, 0, out_bytes);
  const size_t known = out_bytes < sizeof(BurnBackend) ? out_bytes : sizeof(BurnBackend);
  memset(out_memory + known, 0xC3, out_bytes + 512 - known);
  BurnBackend *out = (BurnBackend *)(void *)out_memory;
  out->struct_size = (uint32_t)out_bytes;
  const BurnStatus status = open_raw(subject, (const BurnHost *)(const void *)host_memory, out);
  const char *wrong = NULL;
  if (!is_noise(out_memory + known, out_bytes + 512 - known))
    wrong = FAULT("open writes beyond the BurnBackend (%s)", what);
  if (must && status != BURN_OK) wrong = FAULT("open fails (%s): %s", what, describe(status));
  if (status == BURN_OK && !wrong && out->close) out->close(out->self);
  guarded_end(host_memory);
  free(out_memory);
  return wrong ? wrong : fault_of_memory();
}

static const char *step_long_structs(const Subject *subject) {
  const char *wrong = open_with(subject, sizeof(BurnHost), sizeof(BurnBackend), true, "structs of this version");
  if (!wrong) wrong = open_with(subject, sizeof(BurnHost) + TAIL, sizeof(BurnBackend), true, "a longer host table");
  if (!wrong) wrong = open_with(subject, sizeof(BurnHost), sizeof(BurnBackend) + TAIL, true, "a longer BurnBackend");
  return wrong;
}

static const char *step_short_backend(const Subject *subject) {
  const char *wrong =
      open_with(subject, sizeof(BurnHost), offsetof(BurnBackend, query), false, "a shorter BurnBackend");
  return wrong ? wrong : open_with(subject, sizeof(BurnHost), 16, false, "a BurnBackend of 16 bytes");
}

static const char *step_short_host(const Subject *subject) {
  return open_with(subject, offsetof(BurnHost, get_interface), sizeof(BurnBackend), false, "a shorter host table");
}

/* Set by a step that could not look, or has something to say that is not a failure; else NULL. */
static const char *nothing_to_check;

/* Opens into a plain table; NULL on success. */
static const char *open_plain(const Subject *subject, const BurnHost *host, BurnBackend *out) {
  *out = (BurnBackend){.struct_size = sizeof *out};
  const BurnStatus status = open_raw(subject, host, out);
  return status == BURN_OK ? NULL : FAULT("open fails: %s", describe(status));
}

static const char *odd_questions(const BurnBackend *instance) {
  static const char *const unknown[] = {"", "burn.no_such_interface", "burn.autodiffx"};
  BurnInterface interface = {NULL, NULL};
  for (size_t i = 0; instance->get_interface && i < 3; i++) {
    if (instance->get_interface(instance->self, unknown[i], 1, &interface))
      return FAULT("get_interface(\"%s\") of an instance is not 0", unknown[i]);
    if (instance->get_interface(instance->self, "burn.autodiff", UINT32_MAX, &interface)) {
      return FAULT("an instance says it has \"burn.autodiff\" of version 4294967295");
    }
  }
  if (interface.table || interface.self) return FAULT("get_interface writes to out though it answers 0");
  int64_t value = -77;
  if (instance->query && instance->query(instance->self, 0x7fffffffu, &value) == BURN_OK)
    return FAULT("query answers key 2147483647");
  if (value != -77) return FAULT("query writes to out though it fails");
  const bool knows = instance->dtype_usage && (instance->dtype_usage(instance->self, BURN_DTYPE_DEFAULT) ||
                                               instance->dtype_usage(instance->self, 9999));
  if (knows) return FAULT("dtype_usage knows dtypes 0 or 9999");
  static const uint32_t ops[] = {0, BURN_OP_LIMIT + 12345u, BURN_OP_FIRST_OF_PACKS + 12345u};
  for (size_t i = 0; instance->op_support && i < sizeof ops / sizeof ops[0]; i++)
    (void)instance->op_support(instance->self, ops[i]);
  if (instance->release) instance->release(instance->self, NULL);
  return NULL;
}

static const char *step_odd_questions(const Subject *subject) {
  const BurnHost host = bare_host();
  BurnBackend instance;
  const char *wrong = open_plain(subject, &host, &instance);
  if (wrong) return wrong;
  wrong = odd_questions(&instance);
  instance.close(instance.self);
  return wrong ? wrong : fault_of_memory();
}

/* What decompositions compare, count and add in. No failure by itself: there are backends for one program, whose ops do
 * without; other ops fail, and this says why. */
static const char *step_dtypes(const Subject *subject) {
  static const BurnDType needed[] = {BURN_DTYPE_BOOL, BURN_DTYPE_I64, BURN_DTYPE_F32};
  static char lacks[96];
  const uint32_t all = BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC;
  const BurnHost host = bare_host();
  BurnBackend instance;
  const char *wrong = open_plain(subject, &host, &instance);
  if (wrong) return wrong;
  for (size_t i = 0; i < sizeof needed / sizeof needed[0] && instance.dtype_usage; i++) {
    if ((instance.dtype_usage(instance.self, needed[i]) & all) == all) continue;
    snprintf(lacks, sizeof lacks, "dtype_usage says no to %s: ops fail whose decompositions compute in it",
             burn_dtype_name(needed[i]));
    nothing_to_check = lacks;
  }
  instance.close(instance.self);
  return NULL;
}

static const char *step_many_openings(const Subject *subject) {
  const BurnHost host = bare_host();
  BurnBackend instance;
  const int64_t before = watching_host_blocks();
  for (int i = 0; i < OPENINGS; i++) {
    const char *wrong = open_plain(subject, &host, &instance);
    if (wrong) return wrong;
    instance.close(instance.self);
  }
  const int64_t left = watching_host_blocks() - before;
  if (left != 0)
    return FAULT("after opening and closing %d times %" PRId64 " blocks of memory are left over", OPENINGS, left);
  return fault_of_memory();
}

static const char *step_failing_open(const Subject *subject) {
  const BurnHost host = bare_host();
  for (uint64_t n = 1; n <= MAX_OPEN_ALLOCATIONS; n++) {
    const int64_t before = watching_host_blocks();
    BurnBackend instance = {.struct_size = sizeof instance};
    watching_host_fail_at(n);
    const BurnStatus status = open_raw(subject, &host, &instance);
    watching_host_stop();
    if (status == BURN_OK) instance.close(instance.self);
    const int64_t left = watching_host_blocks() - before;
    if (left != 0)
      return FAULT("open with allocation %" PRIu64 " failing leaves %" PRId64 " blocks of memory", n, left);
    if (!watching_host_failed()) break;
  }
  return fault_of_memory();
}

static bool is_declared(const BurnOptionsInterface *declared, const char *key) {
  for (uint32_t i = 0; i < declared->option_count; i++) {
    if (strcmp(burn_option_info(declared, i)->key, key) == 0) return true;
  }
  return false;
}

static const char *fault_of_declaration(const BurnOptionsInterface *declared) {
  if (declared->struct_size < BURN_OPTIONS_INTERFACE_MIN_BYTES)
    return FAULT("its interface burn.options has %u bytes", declared->struct_size);
  if (declared->option_count == 0) return NULL;
  if (!declared->options || declared->option_bytes < BURN_OPTION_INFO_MIN_BYTES)
    return FAULT("its interface burn.options has no table");
  for (uint32_t i = 0; i < declared->option_count; i++) {
    const BurnOptionInfo *info = burn_option_info(declared, i);
    if (!is_line(info->key) || !info->values || !info->fallback || !is_line(info->doc))
      return FAULT("option %u lacks a text", i);
  }
  return NULL;
}

static const char *step_options(const Subject *subject) {
  const BurnOptionsInterface *declared = subject->plugin->get_interface(BURN_OPTIONS_INTERFACE_NAME, 1);
  BurnHost host = bare_host();
  BurnBackend instance;
  nothing_to_check = declared ? NULL : "the plugin does not declare its options (burn/plugin/options.h)";
  if (!declared) return NULL;
  const char *wrong = fault_of_declaration(declared);
  asked_count = 0;
  host.option = noted_option;
  if (!wrong) wrong = open_plain(subject, &host, &instance);
  if (wrong) return wrong;
  instance.close(instance.self);
  for (uint32_t i = 0; i < asked_count; i++) {
    if (!is_declared(declared, asked[i]))
      return FAULT("open asks for the option '%.63s', which is not declared", asked[i]);
  }
  return NULL;
}

/* -- steps on whole stacks -------------------------------------------------------------------- */

static BurnTensor *sum_of(BurnDevice *device, BurnTensor *other) {
  const float values[] = {1, 2, 3};
  BurnTensor *x = burn_tensor_f32(device, values, BURN_SHAPE(3));
  return burn_add(x, other ? other : burn_tensor_f32(device, values, BURN_SHAPE(3)));
}

static bool is_2_4_6(BurnTensor *x) {
  float values[3] = {0, 0, 0};
  return burn_read_f32(x, values, 3) == BURN_OK && values[0] == 2.0f && values[1] == 4.0f && values[2] == 6.0f;
}

/* A raw call with a tensor of another instance must be refused. */
static const char *mix_owners(BurnDevice *first, BurnDevice *second) {
  const float values[] = {1, 2, 3};
  BurnTensor *a = burn_tensor_f32(first, values, BURN_SHAPE(3)), *b = burn_tensor_f32(second, values, BURN_SHAPE(3));
  BurnPrimitive *inputs[] = {burn_tensor_primitive(a), burn_tensor_primitive(b)}, *output = NULL;
  const BurnOpCall call = {.struct_size = sizeof call,
                           .op = BURN_OP_add,
                           .input_count = 2,
                           .output_count = 1,
                           .inputs = inputs,
                           .outputs = &output};
  const BurnStatus status =
      inputs[0] && inputs[1] ? burn_host()->invoke(burn_device_backend(first), &call) : BURN_STATUS_BAD_OWNER;
  const bool same_owner = inputs[0] && inputs[1] && inputs[0]->owner == inputs[1]->owner;
  burn_drop(a);
  burn_drop(b);
  if (same_owner) return FAULT("tensors of two instances carry the same owner number");
  return burn_status_code(status) == BURN_STATUS_BAD_OWNER ? NULL
                                                           : FAULT("a tensor of another instance is not refused");
}

static const char *two_instances(const Conform *run) {
  BurnDevice *first = burn_device_open(run->stack), *second = burn_device_open(run->stack);
  const char *wrong = NULL;
  if (burn_device_status(first) != BURN_OK || burn_device_status(second) != BURN_OK) {
    wrong = FAULT("two instances cannot be open at once: %s", describe(burn_device_status(second)));
  } else {
    BurnTensor *x = sum_of(first, NULL), *y = sum_of(second, NULL);
    if (!is_2_4_6(x) || !is_2_4_6(y)) wrong = FAULT("1 + 1, 2 + 2, 3 + 3 is wrong with two instances open");
    if (!wrong) wrong = mix_owners(first, second);
  }
  burn_device_close(first);
  BurnTensor *left = sum_of(second, NULL);
  if (!is_2_4_6(left) && !wrong) wrong = FAULT("the second instance no longer works when the first is closed");
  burn_device_close(second);
  return wrong;
}

/* Opening `text` must fail, with a message that has `part` in it. */
static const char *must_be_refused(const char *text, const char *part) {
  BurnDevice *device = burn_device_open(text);
  const BurnStatus status = burn_device_status(device);
  const char *wrong = NULL;
  if (status == BURN_OK) {
    wrong = FAULT("'%s' opens", text);
  } else if (!strstr(describe(status), part)) {
    wrong = FAULT("'%s' is refused by a message without \"%s\": %s", text, part, describe(status));
  }
  burn_device_close(device);
  return wrong;
}

static const char *step_refusals(const Subject *subject) {
  char text[1024];
  const char *plus = subject->part.below[0] ? "+" : "";
  const char *separator = strchr(subject->part.text, '=') ? "," : ":";
  snprintf(text, sizeof text, "%s%sno_such_option=1%s%s", subject->part.text, separator, plus, subject->part.below);
  const char *wrong = must_be_refused(text, "no_such_option");
  if (wrong || !subject->backend) return wrong;
  snprintf(text, sizeof text, "%s:999", subject->part.name);
  return must_be_refused(text, "999");
}

/* -- the table -------------------------------------------------------------------------------- */

typedef struct Step {
  const char *what;
  const char *(*run)(const Subject *subject);
} Step;

static const Step steps[] = {
    {"entry function with short and long queries", step_query},
    {"descriptor", step_descriptor},
    {"interfaces by unknown names and too high versions", step_interfaces},
    {"probe, twice, and with a longer struct", step_probe},
    {"longer structs", step_long_structs},
    {"a shorter BurnBackend", step_short_backend},
    {"a shorter host table", step_short_host},
    {"questions that have no answer", step_odd_questions},
    {"dtypes that every stack has", step_dtypes},
    {"opened and closed a hundred times", step_many_openings},
    {"open with allocations failing", step_failing_open},
    {"unknown options and device numbers", step_refusals},
    {"options that open asks for are declared", step_options},
};
enum { STEP_COUNT = sizeof steps / sizeof steps[0], PACK_STEPS = 3 }; /* a pack is never opened: the first steps only */

static uint32_t part_count(const Conform *run) {
  StackPart part;
  uint32_t count = 0;
  while (count < 8 && stack_part(run->stack, count, &part)) count++;
  return count;
}

/* All steps for every plugin of the stack, then one for the whole. */
uint32_t handshake_step_count(const Conform *run) { return run->pack ? PACK_STEPS : part_count(run) * STEP_COUNT + 1; }

static void record(Conform *run, const char *wrong) {
  if (wrong) {
    report_fail(run->report, "%s", wrong);
  } else {
    report_pass(run->report);
  }
}

void check_handshake(Conform *run, uint32_t number) {
  char text[384];
  Subject subject = {0};
  if (!run->pack && number == part_count(run) * STEP_COUNT) {
    report_begin(run->report, CHECK_HANDSHAKE, NULL, number, "two instances at once");
    record(run, two_instances(run));
    return;
  }
  if (!stack_part(run->pack ? run->pack : run->stack, number / STEP_COUNT, &subject.part)) return;
  const Step *step = &steps[number % STEP_COUNT];
  snprintf(text, sizeof text, "%s: %s", subject.part.name, step->what);
  report_begin(run->report, CHECK_HANDSHAKE, NULL, number, text);
  load(&subject);
  if (subject.is_linked_in) {
    report_skip(run->report, "the plugin is linked into the program, there is no file to open");
  } else {
    nothing_to_check = NULL;
    const char *wrong = subject.why[0] ? subject.why : step->run(&subject);
    if (nothing_to_check) {
      report_skip(run->report, "%s", nothing_to_check);
    } else {
      record(run, wrong);
    }
  }
  burn_device_close(subject.below);
}
