/* autodiff_plugin.c - the plugin: descriptor, open and close, and the tables of the instance.
 *
 * The decorator wraps tensors, so only what speaks of no tensor is forwarded as it is. Read the table at the end first.
 */
#include <burn/common/descriptor.h>
#include <burn/common/settings.h>
#include <burn/plugin/options.h>

#include "autodiff_internal.h"

BurnStatus burn__autodiff_check_owner(const AutodiffDecorator *decorator, const BurnPrimitive *x, const char *what) {
  if (x->owner == decorator->owner) return BURN_OK;
  return AUTODIFF_FAIL(decorator, BAD_OWNER,
                       "%s: the tensor belongs to instance %u, this autodiff decorator is instance %u", what, x->owner,
                       decorator->owner);
}

const char *burn__autodiff_op_name(const AutodiffDecorator *decorator, uint32_t op) {
  const BurnOpInfo *info = decorator->host->op_info(op);
  return info ? info->name : "an unknown op";
}

static BurnStatus BURN_API_CALL decorator_sync(void *self) {
  const BurnBackend *next = ((const AutodiffDecorator *)self)->next;
  return next->sync(next->self);
}

static uint32_t BURN_API_CALL decorator_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((const AutodiffDecorator *)self)->next;
  return next->dtype_usage(next->self, dtype);
}

static BurnStatus BURN_API_CALL decorator_query(void *self, uint32_t key, int64_t *out) {
  const BurnBackend *next = ((const AutodiffDecorator *)self)->next;
  return next->query(next->self, key, out);
}

static BurnStatus BURN_API_CALL decorator_trim(void *self) {
  burn__autodiff_spare_free(self);
  const BurnBackend *next = ((const AutodiffDecorator *)self)->next;
  return next->trim(next->self);
}

static void BURN_API_CALL decorator_close(void *self) {
  AutodiffDecorator *decorator = self;
  burn__autodiff_spare_free(decorator);
  burn__autodiff_regions_free(decorator);
  decorator->host->free(decorator, sizeof *decorator);
}

static const BurnAutodiffInterface autodiff_interface = {
    .struct_size = (uint32_t)sizeof(BurnAutodiffInterface),
    .version = 1,
    .require_grad = burn__autodiff_require_grad,
    .is_require_grad = burn__autodiff_is_require_grad,
    .detach = burn__autodiff_detach,
    .backward = burn__autodiff_backward,
    .backward_create_graph = burn__autodiff_backward_create_graph,
    .gradient = burn__autodiff_gradient,
    .gradients_release = burn__autodiff_gradients_release,
    .checkpoint_begin = burn__autodiff_checkpoint_begin,
    .checkpoint_end = burn__autodiff_checkpoint_end,
};

static int32_t BURN_API_CALL decorator_get_interface(void *self, const char *name, uint32_t min_version,
                                                     BurnInterface *out) {
  static const BurnCommonInterface offered[] = {{"burn.autodiff", &autodiff_interface}};
  return burn_common_offer(offered, 1, name, min_version, self, out);
}

#define AUTODIFF_OPTIONS(X)                                                        \
  X(CHECKPOINTING, "checkpointing", "none|balanced", "none", BURN_OPTION_HARMLESS, \
    "balanced: backward computes cheap results again instead of keeping them")

enum { AUTODIFF_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {AUTODIFF_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static BurnStatus read_options(const BurnHost *host, const BurnOptions *options, bool *balanced) {
  const char *values[OPTION_COUNT];
  uint32_t checkpointing = 0;
  burn_options_ask(host, options, &options_interface, values);
  const BurnCommonSettings given = {host, "autodiff", &options_interface, values};
  const BurnStatus status = burn_common_word(&given, OPTION_CHECKPOINTING, &checkpointing);
  *balanced = checkpointing == 1;
  return status;
}

static BurnStatus BURN_API_CALL decorator_open(const BurnHost *host, const BurnBackend *next,
                                               const BurnOptions *options, uint32_t owner, BurnBackend *out) {
  bool balanced = false;
  BurnStatus status = burn_plugin_check_open(host, out, "autodiff");
  if (status == BURN_OK) status = read_options(host, options, &balanced);
  if (status != BURN_OK) return status;
  AutodiffDecorator *decorator = (AutodiffDecorator *)host->allocate(sizeof *decorator);
  if (!decorator) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "autodiff", "no memory to open the decorator");
  decorator->host = host;
  decorator->next = next;
  decorator->level = out;
  decorator->owner = owner;
  atomic_init(&decorator->sequence, UINT64_C(0));
  atomic_init(&decorator->spare, NULL);
  decorator->balanced = balanced;
  burn__autodiff_regions_init(decorator);
  out->self = decorator;
  out->name = "autodiff";
  out->close = decorator_close;
  out->op_support = burn__autodiff_op_support;
  out->supports = burn__autodiff_supports;
  out->submit = burn__autodiff_submit;
  out->create = burn__autodiff_create;
  out->read = burn__autodiff_read;
  out->retain = burn__autodiff_retain;
  out->release = burn__autodiff_release;
  out->sync = decorator_sync;
  out->dtype_usage = decorator_dtype_usage;
  out->query = decorator_query;
  out->trim = decorator_trim;
  out->get_interface = decorator_get_interface;
  out->unwrap = burn__autodiff_unwrap;
  out->adopt = burn__autodiff_adopt;
  return BURN_OK;
}

static const BurnDecoratorInterface decorator_interface = {.struct_size = (uint32_t)sizeof(BurnDecoratorInterface),
                                                           .version = 1,
                                                           .wraps_tensors = 1,
                                                           .roles = BURN_ROLE_AUTODIFF,
                                                           .open = decorator_open};

BURN_COMMON_PLUGIN(DECORATOR, "autodiff", "0.1.0", "MIT OR Apache-2.0",
                   "gradients by reverse-mode differentiation, over any backend",
                   {"burn.decorator", &decorator_interface}, {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
