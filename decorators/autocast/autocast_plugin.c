/* autocast_plugin.c - the plugin: descriptor, options, open and close, and the tables of the instance.
 *
 *   autocast<autodiff<cuda>>             products in bf16, sums, norms and losses in f32
 *   autocast:dtype=f16<autodiff<cuda>>   the same in f16, whose small gradients need a BurnGradScaler
 *
 * Read autocast_policy.def first. */
#include <burn/common/descriptor.h>
#include <burn/common/settings.h>
#include <burn/plugin/options.h>

#include "autocast_internal.h"

/* Ops arrive here whole: the policy is for ops as they are written, not for the parts of their decompositions, which
 * host->invoke runs below. Two do not, as not all of their floats are to be halves. */
static uint32_t BURN_API_CALL decorator_op_support(void *self, uint32_t op) {
  (void)self;
  const bool is_mixed = op == BURN_OP_attention_with_logsumexp || op == BURN_OP_attention_with_logsumexp_backward;
  return is_mixed ? BURN_SUPPORT_NO : BURN_SUPPORT_YES;
}

static BurnStatus BURN_API_CALL decorator_sync(void *self) {
  const BurnBackend *next = ((const AutocastDecorator *)self)->next;
  return next->sync(next->self);
}

static uint32_t BURN_API_CALL decorator_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((const AutocastDecorator *)self)->next;
  return next->dtype_usage(next->self, dtype);
}

/* Casts that are kept are not tensors of the program: who looks for leaks must not find them. */
static BurnStatus BURN_API_CALL decorator_query(void *self, uint32_t key, int64_t *out) {
  AutocastDecorator *decorator = self;
  const BurnStatus status = decorator->next->query(decorator->next->self, key, out);
  if (status == BURN_OK && key == BURN_QUERY_LIVE_TENSORS) *out -= atomic_load(&decorator->kept);
  return status;
}

static BurnStatus BURN_API_CALL decorator_trim(void *self) {
  const BurnBackend *next = ((const AutocastDecorator *)self)->next;
  return next->trim(next->self);
}

static int32_t BURN_API_CALL decorator_get_interface(void *self, const char *name, uint32_t min_version,
                                                     BurnInterface *out) {
  static const BurnCommonInterface offered[] = {{"burn.autodiff", &burn__autocast_autodiff}};
  const AutocastDecorator *decorator = self;
  return decorator->autodiff.struct_size ? burn_common_offer(offered, 1, name, min_version, self, out) : 0;
}

static void BURN_API_CALL decorator_close(void *self) {
  AutocastDecorator *decorator = self;
  pthread_mutex_destroy(&decorator->mutex);
  decorator->host->free(decorator, sizeof *decorator);
}

#define AUTOCAST_OPTIONS(X)                                   \
  X(DTYPE, "dtype", "bf16|f16", "bf16", BURN_OPTION_HARMLESS, \
    "what products are computed and held in; f16 has more digits and needs loss scaling")

enum { AUTOCAST_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {AUTOCAST_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static BurnStatus read_options(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                               BurnDType *half) {
  const uint32_t needed = BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC;
  const char *values[OPTION_COUNT];
  uint32_t index = 0;
  burn_options_ask(host, options, &options_interface, values);
  const BurnCommonSettings given = {host, "autocast", &options_interface, values};
  const BurnStatus status = burn_common_word(&given, OPTION_DTYPE, &index);
  if (status != BURN_OK) return status;
  *half = index == 0 ? BURN_DTYPE_BF16 : BURN_DTYPE_F16;
  if ((next->dtype_usage(next->self, *half) & needed) == needed) return BURN_OK;
  return BURN_COMMON_FAIL(host, INVALID_DTYPE, "autocast",
                          "'%s' cannot compute in %s; try dtype=%s, or leave autocast out", next->name,
                          burn_dtype_name(*half), index == 0 ? "f16" : "bf16");
}

static BurnStatus BURN_API_CALL decorator_open(const BurnHost *host, const BurnBackend *next,
                                               const BurnOptions *options, uint32_t owner, BurnBackend *out) {
  BurnDType half = BURN_DTYPE_BF16;
  BurnStatus status = burn_plugin_check_open(host, out, "autocast");
  if (status == BURN_OK) status = read_options(host, next, options, &half);
  if (status != BURN_OK) return status;
  AutocastDecorator *decorator = host->allocate(sizeof *decorator);
  if (!decorator) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "autocast", "no memory to open the decorator");
  memset(decorator, 0, sizeof *decorator);
  decorator->host = host;
  decorator->next = next;
  decorator->owner = owner;
  decorator->half = half;
  atomic_init(&decorator->kept, 0);
  pthread_mutex_init(&decorator->mutex, NULL);
  snprintf(decorator->name, sizeof decorator->name, "autocast on %s", next->name);
  burn__autocast_find_autodiff(decorator);
  out->self = decorator;
  out->name = decorator->name;
  out->close = decorator_close;
  out->op_support = decorator_op_support;
  out->submit = burn__autocast_submit;
  out->create = burn__autocast_create;
  out->read = burn__autocast_read;
  out->retain = burn__autocast_retain;
  out->release = burn__autocast_release;
  out->sync = decorator_sync;
  out->dtype_usage = decorator_dtype_usage;
  out->query = decorator_query;
  out->trim = decorator_trim;
  out->get_interface = decorator_get_interface;
  out->unwrap = burn__autocast_unwrap;
  out->adopt = burn__autocast_adopt;
  return BURN_OK;
}

static const BurnDecoratorInterface decorator = {
    .struct_size = (uint32_t)sizeof(BurnDecoratorInterface), .version = 1, .wraps_tensors = 1, .open = decorator_open};

BURN_COMMON_PLUGIN(DECORATOR, "autocast", "0.1.0", "MIT OR Apache-2.0",
                   "mixed precision: products in bf16 or f16, the rest in f32", {"burn.decorator", &decorator},
                   {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
