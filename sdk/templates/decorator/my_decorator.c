/* my_decorator.c - a decorator that counts the calls which pass through it, and runs one op in a way of its own.
 *
 * A stack text puts it on top of any backend or other decorator: my_decorator<ndarray>,
 * autodiff<my_decorator<ndarray>>. It hands out no tensors of its own, so everything but the functions below is done by
 * the level below, and ops that it has never heard of pass through as they are. Change `my_submit` to make it yours. */
#include "my_decorator.h"

#include <burn/common/descriptor.h>
#include <burn/common/settings.h>
#include <burn/plugin/build.h>
#include <burn/plugin/pass_on.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The state of one opened decorator. Calls come from any thread, so the counts are atomic. */
typedef struct MyDecorator {
  const BurnHost *host;
  const BurnBackend *next; /* the level below */
  _Atomic uint64_t calls, replaced;
  bool replaces; /* the option */
  char name[64];
} MyDecorator;

/* -- what it does ----------------------------------------------------------------------------- */

/* x - y written as x + (-y), which gives the same bits. build.h runs ops on the decorator below; a failure of any of
 * them sticks and is what burn_builder_finish returns. */
static BurnStatus replace_sub(MyDecorator *my, const BurnOpCall *call) {
  BurnBuilder b = burn_builder_begin_for(my->host, my->next, call);
  BurnPrimitive *negative = burn_build_op1(&b, BURN_OP_neg, call->inputs[1]);
  BurnPrimitive *result = burn_build_add(&b, call->inputs[0], negative);
  return burn_builder_finish(&b, call, &result);
}

/* Every op comes through here: look at it, change it, run something else, and call host->invoke to pass it on. Not
 * next->submit: invoke takes care of ops that the decorator below lacks. */
static BurnStatus BURN_API_CALL my_submit(void *self, const BurnOpCall *call) {
  MyDecorator *my = (MyDecorator *)self;
  atomic_fetch_add(&my->calls, 1);
  if (call->op != BURN_OP_sub || !my->replaces) return my->host->invoke(my->next, call);
  atomic_fetch_add(&my->replaced, 1);
  return replace_sub(my, call);
}

/* -- what programs may ask -------------------------------------------------------------------- */

static uint64_t BURN_API_CALL get_calls(void *self) { return atomic_load(&((MyDecorator *)self)->calls); }
static uint64_t BURN_API_CALL get_replaced(void *self) { return atomic_load(&((MyDecorator *)self)->replaced); }

static const MyDecoratorCounts counts = {sizeof(MyDecoratorCounts), 1, get_calls, get_replaced};

/* Names of others are the level below's to answer: its device, DLPack and the like. But what runs ops past my_submit,
 * such as kernels for several ops (burn/plugin/pass_on.h), there is none of. */
static int32_t BURN_API_CALL my_get_interface(void *self, const char *name, uint32_t min_version, BurnInterface *out) {
  static const BurnCommonInterface offered[] = {{"my_decorator.counts", &counts}};
  const BurnBackend *next = ((MyDecorator *)self)->next;
  if (burn_runs_ops(name)) return 0;
  if (strcmp(name, offered[0].name) != 0) return next->get_interface(next->self, name, min_version, out);
  return burn_common_offer(offered, 1, name, min_version, self, out);
}

/* -- life ------------------------------------------------------------------------------------- */

static void BURN_API_CALL my_close(void *self) {
  MyDecorator *my = (MyDecorator *)self;
  my->host->free(my, sizeof *my);
}

/* The options, declared and asked for by one list: my_decorator:replace=false. A row without BURN_OPTION_HARMLESS would
 * be refused in the burn.json of a folder that anybody may have made. */
#define MY_OPTIONS(X) X(REPLACE, "replace", "true|false", "true", BURN_OPTION_HARMLESS, "computes x - y as x + (-y)")

enum { MY_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {MY_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static BurnStatus read_options(MyDecorator *my, const BurnOptions *options) {
  const char *values[OPTION_COUNT];
  burn_options_ask(my->host, options, &options_interface, values);
  const BurnCommonSettings given = {my->host, "my_decorator", &options_interface, values};
  my->replaces = true; /* the default of the row */
  return burn_common_truth(&given, OPTION_REPLACE, &my->replaces);
}

/* Called for every stack that names the decorator. `next` is what lies below, and stays until after close. */
static BurnStatus BURN_API_CALL my_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                        uint32_t owner, BurnBackend *out) {
  (void)owner; /* for decorators with tensors of their own */
  const BurnStatus checked = burn_plugin_check_open(host, out, "my_decorator"); /* a host older than these headers? */
  if (checked != BURN_OK) return checked;
  MyDecorator *my = (MyDecorator *)host->allocate(sizeof *my);
  if (!my) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "my_decorator", "no memory");
  memset(my, 0, sizeof *my);
  my->host = host;
  my->next = next;
  const BurnStatus status = read_options(my, options);
  if (status != BURN_OK) {
    host->free(my, sizeof *my);
    return status;
  }
  atomic_init(&my->calls, 0);
  atomic_init(&my->replaced, 0);
  snprintf(my->name, sizeof my->name, "my_decorator on %s", next->name);
  out->self = my; /* what is left out here is done by the level below */
  out->name = my->name;
  out->submit = my_submit;
  out->get_interface = my_get_interface;
  out->close = my_close;
  return BURN_OK;
}

/* -- the plugin ------------------------------------------------------------------------------- */

static const BurnDecoratorInterface decorator = {
    .struct_size = sizeof(BurnDecoratorInterface), .version = 1, .open = my_open};

/* The name must be that of the file, burn_my_decorator.so. */
BURN_COMMON_PLUGIN(DECORATOR, "my_decorator", "0.1.0", "MIT OR Apache-2.0",
                   "counts the ops that pass, and computes x - y as x + (-y)", {"burn.decorator", &decorator},
                   {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
