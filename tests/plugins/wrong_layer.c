/* wrong_layer.c - a decorator that breaks one promise, chosen by the environment variable BURN_TEST_FAULT: what `burn
 * conform` must find and name. Without the variable it changes nothing. */
#include <burn/plugin/options.h>
#include <burn/plugin/plugin.h>

#include <stdlib.h>
#include <string.h>

typedef struct Wrong {
  const BurnHost *host;
  const BurnBackend *next;
  unsigned calls;
} Wrong;

static int has_fault(const char *name) {
  const char *fault = getenv("BURN_TEST_FAULT");
  return fault && strcmp(fault, name) == 0;
}

/* The op runs as another one. */
static BurnStatus run_as(const Wrong *wrong, const BurnOpCall *call, uint32_t op) {
  BurnOpCall other = burn_call_copy(call);
  other.op = op;
  return wrong->host->invoke(wrong->next, &other);
}

/* Writes into input 0 though the caller keeps it. */
static void write_into_input(const BurnOpCall *call) {
  const BurnPrimitive *x = call->inputs[0];
  const int host = (x->flags & BURN_PRIMITIVE_HOST_MEMORY) != 0;
  if (host && burn_primitive_count(x) > 0) ((char *)x->buffer)[x->byte_offset] ^= 1;
}

/* Does not look whether there was memory. */
static void use_unchecked_memory(const BurnHost *host) {
  volatile char *memory = host->allocate(64);
  memory[0] = 1;
  host->free((void *)(uintptr_t)memory, 64);
}

static BurnStatus wrong_call(Wrong *wrong, const BurnOpCall *call) {
  const BurnHost *host = wrong->host;
  if (call->op == BURN_OP_neg && (has_fault("wrong_result") || has_fault("passed_by")))
    return run_as(wrong, call, BURN_OP_abs);
  if (call->op == BURN_OP_exp && has_fault("crash")) abort();
  volatile int forever = 1;
  while (forever && has_fault(call->op == BURN_OP_exp ? "hang" : "hang_always")) continue;
  if (call->op == BURN_OP_log && has_fault("exit")) exit(0);
  if (call->op == BURN_OP_sub && has_fault("unchecked_memory")) use_unchecked_memory(host);
  if (call->op == BURN_OP_cos && has_fault("changing") && wrong->calls++ % 2) return run_as(wrong, call, BURN_OP_sin);
  if (call->op == BURN_OP_mul && has_fault("wrong_size")) host->free(host->allocate(64), 32);
  const BurnStatus status = host->invoke(wrong->next, call);
  if (status != BURN_OK) return status;
  if (call->op == BURN_OP_add && has_fault("writes_input")) write_into_input(call);
  if (call->op == BURN_OP_recip && has_fault("leak")) wrong->next->retain(wrong->next->self, call->outputs[0]);
  return status;
}

static BurnStatus BURN_API_CALL wrong_submit(void *self, const BurnOpCall *call) { return wrong_call(self, call); }

static uint32_t BURN_API_CALL wrong_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((Wrong *)self)->next;
  return dtype == BURN_DTYPE_BOOL && has_fault("no_bool") ? BURN_USAGE_STORE : next->dtype_usage(next->self, dtype);
}

/* Lets the offer of the level below through, to run this layer's ops in groups and past it. */
static int32_t BURN_API_CALL lend_interface(void *self, const char *name, uint32_t min_version, BurnInterface *out) {
  const BurnBackend *next = ((Wrong *)self)->next;
  return next->get_interface(next->self, name, min_version, out);
}

static void BURN_API_CALL wrong_close(void *self) {
  Wrong *wrong = self;
  if (!has_fault("close_leaks")) wrong->host->free(wrong, sizeof *wrong);
}

static BurnStatus BURN_API_CALL wrong_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                           uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, PLUGIN_NAME);
  (void)owner;
  if (has_fault("undeclared_option")) (void)host->option(options, "secret");
  if (checked != BURN_OK && !has_fault("writes_beyond")) return checked;
  Wrong *wrong = host->allocate(sizeof *wrong);
  if (!wrong) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, PLUGIN_NAME ": no memory");
  memset(wrong, 0, sizeof *wrong);
  wrong->host = host;
  wrong->next = next;
  out->self = wrong;
  out->name = PLUGIN_NAME;
  out->submit = wrong_submit;
  out->dtype_usage = wrong_dtype_usage;
  out->close = wrong_close;
  if (has_fault("passed_by")) out->get_interface = lend_interface;
  return BURN_OK;
}

static const BurnDecoratorInterface layer_interface = {
    .struct_size = (uint32_t)sizeof(BurnDecoratorInterface), .version = 1, .open = wrong_open};

static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(0, NULL);

static const void *BURN_API_CALL wrong_interface(const char *name, uint32_t min_version) {
  if (strcmp(name, BURN_OPTIONS_INTERFACE_NAME) == 0) return &options_interface;
  const int known =
      strcmp(name, "burn.decorator") == 0 || (has_fault("any_interface") && strcmp(name, "burn.backend") != 0);
  return known && min_version <= 1 ? &layer_interface : NULL;
}

static const BurnPlugin plugin = {.struct_size = (uint32_t)sizeof(BurnPlugin),
                                  .abi_major = BURN_ABI_MAJOR,
                                  .abi_minor = BURN_ABI_MINOR,
                                  .min_host_minor = BURN_TARGET_MINOR,
                                  .kind = BURN_PLUGIN_DECORATOR,
                                  .name = PLUGIN_NAME,
                                  .version = "1.0",
                                  .license = "MIT OR Apache-2.0",
                                  .description = "breaks one promise on request",
                                  .get_interface = wrong_interface};

BURN_PLUGIN_ENTRY(plugin)
