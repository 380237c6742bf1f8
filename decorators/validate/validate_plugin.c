/* validate_plugin.c - a decorator that checks, while a program runs, that every op keeps what it promises, and names
 * the first one that does not. It wraps no tensors; start with validate_submit.
 *
 *   finite=warn|strict|false (warn)  NaN or infinity out of finite inputs: told once per op, or a broken promise
 *   promises=true|false      (true)  the call's own description; dtype, shape, owner, strides and content of results
 *   ownership=true|false     (true)  inputs that others hold are unchanged, results are counted right
 *   determinism=true|false   (false) the same call gives the same bits again
 *   action=warn|fail         (fail)  the call goes on with a warning, once per op, or fails
 *   save=FOLDER              inputs and attributes of a call that broke a promise go to FOLDER/<number>-<op>/ */
#include "validate_internal.h"

#include <burn/common/descriptor.h>
#include <burn/common/settings.h>

#include <string.h>

/* -- rehearsals: the call is made while somebody else holds its inputs, and its results are thrown away -- */

/* How the other one holds them: the same primitive, or another view of the storage. */
enum { CLONED, VIEWED };

/* A second reference to input x, or a view that shares its memory, to be released. */
static BurnPrimitive *hold(const Validate *validate, BurnPrimitive *x, int how) {
  const BurnBackend *next = validate->next;
  if (how == VIEWED) {
    int64_t sizes[BURN_MAX_RANK] = {1}; /* an axis more, where there is room: no backend gives back x itself for that */
    const uint32_t more = x->rank < BURN_MAX_RANK;
    memcpy(sizes + more, x->shape, x->rank * sizeof sizes[0]);
    const BurnAttr shape = burn_attr_i64s(sizes, x->rank + more);
    BurnPrimitive *view = NULL;
    const BurnOpCall call = {.struct_size = sizeof call,
                             .op = BURN_OP_reshape,
                             .attr_count = 1,
                             .input_count = 1,
                             .output_count = 1,
                             .inputs = &x,
                             .outputs = &view,
                             .attrs = &shape};
    const BurnStatus status = validate->host->invoke(next, &call);
    if (status == BURN_OK && view != x && view->buffer && view->buffer == x->buffer) return view;
    if (status == BURN_OK) next->release(next->self, view);
  }
  next->retain(next->self, x); /* the backend copies for a view, or cannot */
  return x;
}

static void release_all(const Validate *validate, BurnPrimitive **primitives, uint32_t count) {
  const BurnBackend *next = validate->next;
  for (uint32_t i = 0; i < count; i++) {
    if (primitives[i]) next->release(next->self, primitives[i]);
    primitives[i] = NULL;
  }
}

/* Results are read for validate_same; whoever keeps one of them must keep it although the others go. */
static BurnStatus look_at_rehearsed(Check *check, BurnPrimitive **outputs) {
  for (uint32_t i = 0; i < check->call->output_count; i++) {
    Memory memory;
    if (!validate_header(check, i, &outputs[i], &check->call->output_descs[i], &memory)) return BURN_OK;
    validate_forget(check->validate, &check->rehearsed[i]);
    const BurnStatus status = validate_read(check->validate, outputs[i], &check->rehearsed[i]);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* Primitives alive below; -1 if the backend does not say. */
static int64_t count_alive(const Validate *validate) {
  const BurnBackend *next = validate->next;
  int64_t alive = -1;
  if (next->sync(next->self) != BURN_OK || next->query(next->self, BURN_QUERY_LIVE_TENSORS, &alive) != BURN_OK)
    return -1;
  return alive;
}

/* Whatever changes what is alive does so between these two. */
static void enter(Validate *validate) {
  atomic_fetch_add(&validate->running, 1u); /* first: who has read `activity` before the next line sees this */
  atomic_fetch_add(&validate->activity, 1u);
}
static void leave(Validate *validate) { atomic_fetch_sub(&validate->running, 1u); }

/* Nothing may be left of a rehearsal, nor too much be gone. Only one thread can tell: no other was inside when the
 * rehearsal began (else before is -1), and none has come since. */
static void check_count(Check *check, int64_t before, unsigned long long activity) {
  Validate *validate = check->validate;
  const int64_t after = before < 0 ? -1 : count_alive(validate);
  const bool alone = atomic_load(&validate->activity) == activity;
  if (before < 0 || after < 0 || !alone || after == before || !validate->ownership) return;
  validate_broken(check, "ownership", BURN_STATUS_INTERNAL,
                  after > before ? "%lld tensors stay alive after its results were released"
                                 : "%lld tensors more than its results were released with them",
                  (long long)(after > before ? after - before : before - after));
}

static BurnStatus rehearse(Check *check, BurnPrimitive **held, int how) {
  Validate *validate = check->validate;
  const unsigned long long activity = atomic_load(&validate->activity);
  const bool alone = atomic_load(&validate->running) == 1;
  const int64_t alive = alone ? count_alive(validate) : -1;
  BurnPrimitive *outputs[BURN_MAX_OUTPUTS] = {NULL};
  BurnOpCall call = *check->call;
  call.outputs = outputs;
  for (uint32_t i = 0; i < call.input_count; i++) held[i] = call.inputs[i] ? hold(validate, call.inputs[i], how) : NULL;
  BurnStatus status = validate->host->invoke(validate->next, &call);
  if (status == BURN_OK) status = look_at_rehearsed(check, outputs);
  if (status == BURN_OK && validate->ownership) {
    const char *whose = how == VIEWED ? "whose memory another view shares" : "which somebody else holds";
    status = validate_inputs_kept(check, UINT64_MAX, whose);
  }
  release_all(validate, outputs, call.output_count);
  release_all(validate, held, call.input_count);
  if (status == BURN_OK) check_count(check, alive, activity);
  return status;
}

static BurnStatus rehearse_all(Check *check) {
  const Validate *validate = check->validate;
  const uint32_t count = check->call->input_count;
  if (!validate->ownership && !validate->determinism) return BURN_OK;
  const uint64_t bytes = (count + 1) * sizeof(BurnPrimitive *);
  BurnPrimitive **held = validate->host->allocate(bytes);
  if (!held) return BURN_COMMON_FAIL(validate->host, OUT_OF_MEMORY, "validate", "no memory");
  BurnStatus status = rehearse(check, held, CLONED);
  const bool again =
      status == BURN_OK && !check->promise && validate->ownership && check->call->donate != 0 && count > 0;
  if (again) status = rehearse(check, held, VIEWED);
  validate->host->free(held, bytes);
  return status;
}

/* -- the call --------------------------------------------------------------------------------- */

static BurnStatus look_at_inputs(Check *check) {
  const BurnOpCall *call = check->call;
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!call->inputs[i]) continue;
    const BurnStatus status = validate_read(check->validate, call->inputs[i], &check->before[i]);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* Everything there is to check when the call has succeeded, until the first broken promise. */
static BurnStatus look_at_results(Check *check) {
  const Validate *validate = check->validate;
  const BurnOpCall *call = check->call;
  for (uint32_t i = 0; i < call->output_count; i++) {
    Memory memory;
    const bool good = validate_header(check, i, &call->outputs[i], &call->output_descs[i], &memory);
    if (!good) return BURN_OK; /* also without promises=true: such a result cannot be looked at */
    const BurnStatus status = validate_read(validate, call->outputs[i], &check->after[i]);
    if (status != BURN_OK) return status;
    if (validate->promises && !validate_addresses(check, i, &memory, &check->after[i])) return BURN_OK;
  }
  if (validate->ownership) {
    const BurnStatus status = validate_inputs_kept(check, ~call->donate, "which was not donated");
    if (status != BURN_OK || check->promise) return status;
  }
  if (validate->determinism && !validate_same(check)) return BURN_OK;
  if (validate->finite) validate_finite(check);
  return BURN_OK;
}

static void check_failure(Check *check) {
  for (uint32_t i = 0; i < check->call->output_count; i++) {
    if (!check->call->outputs[i]) continue;
    check->call->outputs[i] = NULL; /* nobody knows what it is */
    validate_broken(check, "promises", BURN_STATUS_INTERNAL, "the call failed but stored result %u", i);
  }
}

static BurnStatus examine(Check *check) {
  const Validate *validate = check->validate;
  BurnStatus status = look_at_inputs(check);
  if (status == BURN_OK && validate_described(check)) status = rehearse_all(check);
  if (status == BURN_OK && check->promise) {
    status = validate_report(check);
    check->promise = NULL; /* with a warning the call goes on */
  }
  if (status != BURN_OK) return status;
  status = validate->host->invoke(validate->next, check->call);
  BurnStatus reported = BURN_OK;
  if (status == BURN_OK) {
    status = look_at_results(check);
  } else {
    check_failure(check);
  }
  if (check->promise) reported = validate_report(check);
  if (reported != BURN_OK) status = reported;
  if (status != BURN_OK) release_all(validate, (BurnPrimitive **)check->call->outputs, check->call->output_count);
  return status;
}

static BurnStatus BURN_API_CALL validate_submit(void *self, const BurnOpCall *given) {
  Validate *validate = self;
  const BurnHost *host = validate->host;
  BurnOpCall call = *given;
  const uint64_t bytes = (call.input_count + 1) * sizeof(Content);
  Check check = {.validate = validate, .call = &call, .info = host->op_info(call.op), .before = host->allocate(bytes)};
  if (!check.before) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "validate", "no memory for a check");
  memset(check.before, 0, (size_t)bytes);
  if (validate->determinism) call.flags |= BURN_CALL_DETERMINISTIC;
  enter(validate);
  const BurnStatus status = examine(&check);
  leave(validate);
  for (uint32_t i = 0; i < call.input_count; i++) validate_forget(validate, &check.before[i]);
  for (uint32_t i = 0; i < BURN_MAX_OUTPUTS; i++) {
    validate_forget(validate, &check.rehearsed[i]);
    validate_forget(validate, &check.after[i]);
  }
  host->free(check.before, bytes);
  return status;
}

/* An op that is decomposed below is checked as a whole: on the way to a finite result its parts may be infinite, and
 * its own results have to be what was promised. */
static uint32_t BURN_API_CALL validate_op_support(void *self, uint32_t op) {
  const Validate *validate = self;
  const BurnOpInfo *info = validate->host->op_info(op);
  if (info && info->is_composite) return BURN_SUPPORT_YES;
  return validate->next->op_support(validate->next->self, op);
}

/* -- the rest of the table: counted, else passed on ------------------------------------------- */

/* A new tensor is looked at as if it were the result of an op. */
static BurnStatus look_at_created(Validate *validate, const BurnTensorDesc *desc, BurnPrimitive **out) {
  static const BurnOpInfo info = {.struct_size = sizeof info, .name = "create"};
  const BurnOpCall call = {
      .struct_size = sizeof call, .op = BURN_OP_INVALID, .output_count = 1, .outputs = out, .output_descs = desc};
  Check check = {.validate = validate, .call = &call, .info = &info};
  Memory memory;
  if (validate_header(&check, 0, out, desc, &memory) || !check.promise) return BURN_OK;
  const BurnStatus status = validate_report(&check);
  if (status != BURN_OK) release_all(validate, out, 1);
  return status;
}

static BurnStatus BURN_API_CALL validate_create(void *self, const BurnTensorDesc *desc, const void *data,
                                                BurnPrimitive **out) {
  const BurnBackend *next = ((Validate *)self)->next;
  enter(self);
  BurnStatus status = next->create(next->self, desc, data, out);
  if (status == BURN_OK) status = look_at_created(self, desc, out);
  leave(self);
  return status;
}
static void BURN_API_CALL validate_retain(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((Validate *)self)->next;
  enter(self);
  next->retain(next->self, x);
  leave(self);
}
static void BURN_API_CALL validate_release(void *self, BurnPrimitive *x) {
  const BurnBackend *next = ((Validate *)self)->next;
  enter(self);
  next->release(next->self, x);
  leave(self);
}

static void BURN_API_CALL validate_close(void *self) {
  Validate *validate = self;
  validate->host->free(validate, sizeof *validate);
}

/* -- opening ---------------------------------------------------------------------------------- */

#define VALIDATE_OPTIONS(X)                                                                                        \
  X(FINITE, "finite", "warn|strict|false", "warn", BURN_OPTION_HARMLESS,                                           \
    "results that are not finite though all inputs are: told once per op, or a broken promise")                    \
  X(PROMISES, "promises", "true|false", "true", BURN_OPTION_HARMLESS, "shapes, dtypes and owners are as said")     \
  X(OWNERSHIP, "ownership", "true|false", "true", BURN_OPTION_HARMLESS,                                            \
    "inputs that the caller keeps stay as they are")                                                               \
  X(DETERMINISM, "determinism", "true|false", "false", BURN_OPTION_HARMLESS, "every op gives the same bits twice") \
  X(ACTION, "action", "warn|fail", "fail", BURN_OPTION_HARMLESS, "what the first broken promise does")             \
  X(SAVE, "save", "path", "", 0, "folder that gets the inputs of the call that broke one; else they are not kept")

enum { VALIDATE_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
enum { FINITE_WARN, FINITE_STRICT, FINITE_FALSE }; /* words of the rows, in their order */
enum { ACTION_WARN, ACTION_FAIL };
static const BurnOptionInfo option_rows[] = {VALIDATE_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static BurnStatus choose_all(Validate *validate, const BurnOptions *options) {
  const BurnHost *host = validate->host;
  const char *values[OPTION_COUNT];
  burn_options_ask(host, options, &options_interface, values);
  const BurnCommonSettings given = {host, "validate", &options_interface, values};
  uint32_t finite = FINITE_WARN, action = ACTION_FAIL;
  validate->promises = validate->ownership = true;
  BurnStatus status = burn_common_word(&given, OPTION_FINITE, &finite);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_PROMISES, &validate->promises);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_OWNERSHIP, &validate->ownership);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_DETERMINISM, &validate->determinism);
  if (status == BURN_OK) status = burn_common_word(&given, OPTION_ACTION, &action);
  validate->finite = finite != FINITE_FALSE;
  validate->finite_is_strict = finite == FINITE_STRICT;
  validate->warn = action == ACTION_WARN;
  const char *folder = values[OPTION_SAVE];
  if (status != BURN_OK || !folder) return status;
  if (strlen(folder) < sizeof validate->save && *folder) {
    snprintf(validate->save, sizeof validate->save, "%s", folder);
    return BURN_OK;
  }
  return BURN_COMMON_FAIL(host, INVALID_ARGUMENT, "validate", "save= needs a folder of 1 to 511 bytes");
}

static BurnStatus BURN_API_CALL validate_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                              uint32_t owner, BurnBackend *out) {
  (void)owner; /* tensors stay those of the decorator below */
  const BurnStatus checked = burn_plugin_check_open(host, out, "validate");
  if (checked != BURN_OK) return checked;
  Validate *validate = host->allocate(sizeof *validate);
  if (!validate) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "validate", "no memory");
  memset(validate, 0, sizeof *validate);
  validate->host = host;
  validate->next = next;
  const BurnStatus status = choose_all(validate, options);
  if (status != BURN_OK) {
    host->free(validate, sizeof *validate);
    return status;
  }
  snprintf(validate->name, sizeof validate->name, "validate on %s", next->name);
  out->self = validate; /* what is left out here is done by the level below */
  out->name = validate->name;
  out->op_support = validate_op_support;
  out->submit = validate_submit;
  out->create = validate_create;
  out->retain = validate_retain;
  out->release = validate_release;
  out->close = validate_close;
  return BURN_OK;
}

static const BurnDecoratorInterface decorator = {
    .struct_size = sizeof(BurnDecoratorInterface),
    .version = 1,
    .wraps_tensors = 0,
    .open = validate_open,
};

BURN_COMMON_PLUGIN(DECORATOR, "validate", "0.1.0", "MIT OR Apache-2.0",
                   "checks every op that passes: finite values, shapes, ownership, determinism; names the first that "
                   "breaks",
                   {"burn.decorator", &decorator}, {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
