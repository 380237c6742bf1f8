/* exclusive_decorator.c - a decorator of tomorrow (mutate.py), for ageing_test.c: it knows the attribute `exclusive` of
 * cumsum, and says when a call comes without it, which would be read beyond the end. */
#include <burn/plugin/build.h>
#include <burn/plugin/plugin.h>

typedef struct Exclusive {
  const BurnHost *host;
  const BurnBackend *next;
} Exclusive;

static BurnStatus run_cumsum(const Exclusive *e, const BurnOpCall *call) {
  if (call->attr_count != sizeof(BurnAttrs_cumsum) / sizeof(BurnAttr))
    return e->host->fail(BURN_STATUS_INTERNAL, __FILE__, __LINE__, "exclusive: cumsum comes without an attribute");
  BurnBuilder b = burn_builder_begin_for(e->host, e->next, call);
  BurnPrimitive *x = call->inputs[0];
  BurnPrimitive *sums = burn_build_dim(&b, BURN_OP_cumsum, x, BURN_ATTRS(cumsum, call)->dim.value.i64);
  if (BURN_ATTRS(cumsum, call)->exclusive.value.i64) sums = burn_build_sub(&b, sums, x);
  return burn_builder_finish(&b, call, &sums);
}

static BurnStatus BURN_API_CALL exclusive_submit(void *self, const BurnOpCall *call) {
  const Exclusive *e = (const Exclusive *)self;
  return call->op == BURN_OP_cumsum ? run_cumsum(e, call) : e->host->invoke(e->next, call);
}

static void BURN_API_CALL exclusive_close(void *self) {
  Exclusive *e = (Exclusive *)self;
  e->host->free(e, sizeof *e);
}

static BurnStatus BURN_API_CALL exclusive_open(const BurnHost *host, const BurnBackend *next,
                                               const BurnOptions *options, uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, "exclusive");
  (void)options;
  (void)owner;
  if (checked != BURN_OK) return checked;
  Exclusive *e = (Exclusive *)host->allocate(sizeof *e);
  if (!e) return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "exclusive: no memory");
  e->host = host;
  e->next = next;
  out->self = e;
  out->name = "exclusive";
  out->submit = exclusive_submit;
  out->close = exclusive_close;
  return BURN_OK;
}

static const BurnDecoratorInterface decorator = {
    .struct_size = (uint32_t)sizeof(BurnDecoratorInterface), .version = 1, .open = exclusive_open};

static const void *BURN_API_CALL exclusive_interface(const char *name, uint32_t min_version) {
  return strcmp(name, "burn.decorator") == 0 && min_version <= 1 ? &decorator : NULL;
}

static const BurnPlugin plugin = {.struct_size = (uint32_t)sizeof(BurnPlugin),
                                  .abi_major = BURN_ABI_MAJOR,
                                  .abi_minor = BURN_ABI_MINOR,
                                  .min_host_minor = BURN_TARGET_MINOR,
                                  .kind = BURN_PLUGIN_DECORATOR,
                                  .name = "exclusive",
                                  .version = "1.0",
                                  .license = "MIT OR Apache-2.0",
                                  .description = "knows an attribute of tomorrow",
                                  .get_interface = exclusive_interface};

BURN_PLUGIN_ENTRY(plugin)
