/* lbfgs.c - L-BFGS: all parameters as one vector, a direction from the last changes of parameters and gradients, a step
 * along it. What decides how it goes on is read as numbers; the direction itself is made on the device. */
#include <burn/train/lbfgs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "line_search.h"
#include "null_check.h"
#include "optimizer_internal.h"

const BurnType *BurnLineSearch_type(void) {
  static const BurnVariant variants[] = {
      [BURN_LINE_SEARCH_NONE] = {"None", 0, NULL}, [BURN_LINE_SEARCH_STRONG_WOLFE] = {"StrongWolfe", 0, NULL}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnLineSearch",
                                .bytes = sizeof(BurnLineSearch),
                                .count = 2,
                                .variants = variants};
  return &type;
}

/* A change of the parameters, s, and of the gradient, y, on the way there. */
typedef struct Change {
  BurnTensor *s, *y; /* [n] */
  BurnTensor *ys;    /* [1]: their product, above 0 */
} Change;

typedef struct History {
  Change *changes; /* the oldest first; room for history_size */
  size_t count;
} History;

/* What is left of a step for the next one; records have it. */
typedef struct State {
  History history;
  BurnTensor *d;             /* [n]: the last direction, */
  double t;                  /* and how far it went */
  BurnTensor *prev_gradient; /* [n]: where it began */
  double prev_loss;
  uint64_t iterations;
} State;

struct BurnLbfgs {
  BurnStatus status; /* why the config is refused */
  BurnLbfgsConfig config;
  State state;
};

/* -- life ------------------------------------------------------------------------------------- */

static void change_drop(Change *change) {
  burn_drop(change->s);
  burn_drop(change->y);
  burn_drop(change->ys);
}

static void state_release(State *state) {
  for (size_t i = 0; i < state->history.count; i++) change_drop(&state->history.changes[i]);
  free(state->history.changes);
  burn_drop(state->d);
  burn_drop(state->prev_gradient);
  *state = (State){.d = NULL};
}

static bool state_init(State *state, size_t history_size) {
  *state = (State){.history.changes = calloc(history_size + 1, sizeof(Change))};
  return state->history.changes != NULL;
}

BurnLbfgs *burn_lbfgs_create(const BurnLbfgsConfig *config) {
  const BurnLbfgsConfig defaults = BurnLbfgsConfig_defaults(), *with = config ? config : &defaults;
  const double unbounded = (double)INFINITY;
  const BurnNumberRange ranges[] = {{"max_iter", (double)with->max_iter, 1, unbounded},
                                    {"history_size", (double)with->history_size, 1, 1e6},
                                    {"tolerance_grad", with->tolerance_grad, 0, unbounded},
                                    {"tolerance_change", with->tolerance_change, 0, unbounded}};
  BurnLbfgs *lbfgs = calloc(1, sizeof *lbfgs);
  if (!lbfgs) return NULL;
  lbfgs->config = *with;
  if (with->max_eval == 0) lbfgs->config.max_eval = with->max_iter + with->max_iter / 4;
  lbfgs->status = burn__check_ranges("lbfgs", ranges, 4);
  if (lbfgs->status != BURN_OK || state_init(&lbfgs->state, with->history_size)) return lbfgs;
  free(lbfgs);
  return NULL;
}

void burn_lbfgs_destroy(BurnLbfgs *lbfgs) {
  if (!lbfgs) return;
  state_release(&lbfgs->state);
  free(lbfgs);
}

BurnStatus burn_lbfgs_status(const BurnLbfgs *lbfgs) {
  return lbfgs ? lbfgs->status
               : burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                                  "lbfgs: NULL: out of memory when it was created, or not created");
}

/* -- parameters as one vector ----------------------------------------------------------------- */

/* A step in progress. */
typedef struct Run {
  BurnLbfgs *lbfgs;
  BurnModule module;
  BurnLossClosure closure;
  void *context;
  size_t count;       /* parameters that ask for gradients */
  BurnDType dtype;    /* of the vector */
  BurnTensor **parts; /* [count]: room for a walk */
  size_t losses;      /* computed so far */
  BurnTensor *x;      /* [n]: the parameters of the last whole iteration */
} Run;

static bool is_asking(const BurnModuleTensor *tensor) {
  return tensor->param && burn_is_require_grad(tensor->param->value);
}

static BurnStatus count_one(void *context, const BurnModuleTensor *tensor) {
  Run *run = context;
  if (!is_asking(tensor)) return BURN_OK;
  run->count++;
  if (burn_dtype(tensor->param->value) == BURN_DTYPE_F64) run->dtype = BURN_DTYPE_F64;
  return burn_status_annotate(burn_tensor_status(tensor->param->value), "lbfgs: %s", tensor->path);
}

/* A walk over parts of a vector. */
typedef struct Walk {
  const Run *run;
  BurnGradients *gradients;
  BurnTensor *vector; /* to be put into the parameters; borrowed */
  int64_t at;         /* in the vector */
  size_t part, reached;
} Walk;

static BurnTensor *flat(BurnTensor *x, BurnDType dtype) { return burn_cast(burn_reshape(x, BURN_SHAPE(-1)), dtype); }

static BurnStatus gather_param(void *context, const BurnModuleTensor *tensor) {
  Walk *walk = context;
  if (!is_asking(tensor)) return BURN_OK;
  walk->run->parts[walk->part++] = flat(burn_inner(burn_param_value(tensor->param)), walk->run->dtype);
  return BURN_OK;
}

static BurnStatus gather_gradient(void *context, const BurnModuleTensor *tensor) {
  Walk *walk = context;
  if (!is_asking(tensor)) return BURN_OK;
  BurnTensor *gradient = burn_grad_remove(tensor->param->value, walk->gradients);
  walk->reached += gradient != NULL;
  if (!gradient) gradient = burn_zeros_like(burn_inner(burn_param_value(tensor->param)));
  walk->run->parts[walk->part++] = flat(gradient, walk->run->dtype);
  return BURN_OK;
}

static BurnTensor *joined(const Run *run) { return burn_scope_keep(NULL, burn_cat(run->parts, run->count, 0)); }

static BurnStatus gather_params(Run *run) {
  Walk walk = {.run = run};
  const BurnStatus status = burn_module_visit(run->module, gather_param, &walk);
  if (status != BURN_OK) return status;
  run->x = joined(run);
  return burn_tensor_status(run->x);
}

static BurnStatus gather_gradients(const Run *run, BurnGradients *gradients, BurnTensor **vector) {
  Walk walk = {.run = run, .gradients = gradients};
  BurnStatus status = burn_module_visit(run->module, gather_gradient, &walk);
  if (status != BURN_OK) return status;
  *vector = joined(run);
  return walk.reached > 0 ? burn_tensor_status(*vector) : burn__nothing_reached(run->module, run->count);
}

static BurnStatus scatter_param(void *context, const BurnModuleTensor *tensor) {
  Walk *walk = context;
  if (!is_asking(tensor)) return BURN_OK;
  BurnTensor *value = tensor->param->value;
  const int64_t count = burn_element_count(value);
  if (count == 0) return BURN_OK;
  BurnTensor *part = burn_reshape(burn_narrow(burn_clone(walk->vector), 0, walk->at, count), burn_shape(value));
  walk->at += count;
  part = burn_from_inner(burn_cast(part, burn_dtype(value)), burn_tensor_device(value));
  const BurnStatus status = burn_status_annotate(burn_tensor_status(part), "lbfgs: %s", tensor->path);
  if (status == BURN_OK) {
    burn_param_set(tensor->param, part);
  } else {
    burn_drop(part);
  }
  return status;
}

/* Puts a vector (borrowed) into the parameters. */
static BurnStatus scatter(const Run *run, BurnTensor *vector) {
  const BurnStatus status = burn_tensor_status(vector);
  return status == BURN_OK ? burn_module_visit(run->module, scatter_param, &(Walk){.run = run, .vector = vector})
                           : status;
}

/* -- losses ----------------------------------------------------------------------------------- */

/* Loss and gradient of the parameters as they are. */
static BurnStatus evaluate(Run *run, BurnLinePoint *point) {
  BurnGradients *gradients = NULL;
  BurnTensor *loss = run->closure(run->context);
  run->losses++;
  if (!loss) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "lbfgs: the closure gave no loss");
  BurnTensor *shown = burn_clone(loss);
  BurnStatus status = burn_backward(loss, &gradients);
  if (status == BURN_OK) status = gather_gradients(run, gradients, &point->gradient);
  burn_gradients_drop(gradients);
  const BurnStatus read = burn_read_scalar(shown, &point->loss);
  return status == BURN_OK ? read : status;
}

/* The parameters moved by t along the direction. */
static BurnTensor *moved(const Run *run, double t) {
  return burn_add(burn_clone(run->x), burn_mul_scalar(burn_clone(run->lbfgs->state.d), t));
}

static BurnStatus evaluate_at(Run *run, double t, BurnLinePoint *point) {
  BurnTensor *vector = moved(run, t);
  BurnStatus status = scatter(run, vector);
  burn_drop(vector);
  *point = (BurnLinePoint){.t = t};
  return status == BURN_OK ? evaluate(run, point) : status;
}

static BurnStatus slope_of(const Run *run, const BurnTensor *gradient, double *slope) {
  return burn_read_scalar(burn_dot(burn_clone(gradient), burn_clone(run->lbfgs->state.d)), slope);
}

static BurnStatus line_at(void *context, double t, BurnLinePoint *point) {
  Run *run = context;
  const BurnStatus status = evaluate_at(run, t, point);
  return status == BURN_OK ? slope_of(run, point->gradient, &point->slope) : status;
}

/* -- the direction ---------------------------------------------------------------------------- */

static void put(BurnTensor **place, BurnTensor *x) {
  burn_drop(*place);
  *place = burn_scope_keep(NULL, x);
}

/* Takes s and y; the oldest change goes where there is no more room. */
static void remember(History *history, size_t room, Change change) {
  if (history->count == room) {
    change_drop(&history->changes[0]);
    history->count--;
    memmove(history->changes, history->changes + 1, history->count * sizeof change);
  }
  burn_scope_keep(NULL, change.s);
  burn_scope_keep(NULL, change.y);
  burn_scope_keep(NULL, change.ys);
  history->changes[history->count++] = change;
}

/* The change since the last direction, if the loss is curved upwards along it. */
static BurnStatus remember_last(BurnLbfgs *lbfgs, const BurnTensor *gradient) {
  const State *state = &lbfgs->state;
  if (!state->prev_gradient || !state->d) return BURN_OK;
  double curved = 0;
  Change change = {burn_mul_scalar(burn_clone(state->d), state->t),
                   burn_sub(burn_clone(gradient), burn_clone(state->prev_gradient)), NULL};
  change.ys = burn_dot(burn_clone(change.y), burn_clone(change.s));
  const BurnStatus status = burn_read_scalar(burn_clone(change.ys), &curved);
  if (status == BURN_OK && curved > 1e-10) {
    remember(&lbfgs->state.history, lbfgs->config.history_size, change);
  } else {
    change_drop(&change);
  }
  return status;
}

/* The inverse of the second derivatives, as far as the changes tell, times q (taken): two passes over them. `shares`
 * has room for one tensor per change. */
static BurnTensor *two_passes(const History *history, BurnTensor *q, BurnTensor **shares) {
  const Change *last = &history->changes[history->count - 1];
  for (size_t i = history->count; i-- > 0;) {
    const Change *change = &history->changes[i];
    shares[i] = burn_div(burn_dot(burn_clone(change->s), burn_clone(q)), burn_clone(change->ys));
    q = burn_sub(q, burn_mul(burn_clone(change->y), burn_clone(shares[i])));
  }
  BurnTensor *yy = burn_dot(burn_clone(last->y), burn_clone(last->y));
  q = burn_mul(q, burn_div(burn_clone(last->ys), yy));
  for (size_t i = 0; i < history->count; i++) {
    const Change *change = &history->changes[i];
    BurnTensor *back = burn_div(burn_dot(burn_clone(change->y), burn_clone(q)), burn_clone(change->ys));
    q = burn_add(q, burn_mul(burn_clone(change->s), burn_sub(shares[i], back)));
  }
  return q;
}

static BurnStatus find_direction(BurnLbfgs *lbfgs, const BurnTensor *gradient) {
  State *state = &lbfgs->state;
  BurnTensor *down = burn_neg(burn_clone(gradient));
  BurnStatus status = state->iterations > 1 ? remember_last(lbfgs, gradient) : BURN_OK;
  if (status == BURN_OK && state->history.count > 0) {
    BurnTensor **shares = malloc(state->history.count * sizeof *shares);
    if (!shares) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "lbfgs: out of memory");
    if (shares) down = two_passes(&state->history, down, shares);
    free(shares);
  }
  put(&state->d, down);
  put(&state->prev_gradient, burn_clone(gradient));
  return status == BURN_OK ? burn_tensor_status(state->d) : status;
}

/* -- the step --------------------------------------------------------------------------------- */

static BurnStatus largest(BurnTensor *x, double *out) { return burn_read_scalar(burn_max_abs(x), out); }

/* How far to go without a search; in the very first iteration not further than 1 in all. */
static BurnStatus first_distance(const Run *run, const BurnTensor *gradient, double learning_rate, double *t) {
  double sum = 0;
  *t = learning_rate;
  if (run->lbfgs->state.iterations > 1) return BURN_OK;
  const BurnStatus status = burn_read_scalar(burn_sum(burn_abs(burn_clone(gradient))), &sum);
  *t = fmin(1, 1 / sum) * learning_rate;
  return status;
}

/* Goes along the direction, by t or as far as the search finds; `now` becomes the point that is reached. */
static BurnStatus go(Run *run, BurnLinePoint *now, double t) {
  const BurnLbfgsConfig *config = &run->lbfgs->config;
  BurnLine line = {line_at, run, 0, config->tolerance_change, 0};
  BurnLinePoint next = {.gradient = NULL};
  BurnStatus status = BURN_OK;
  if (config->line_search.kind == BURN_LINE_SEARCH_STRONG_WOLFE) {
    line.max_points = config->max_eval > run->losses ? config->max_eval - run->losses : 0;
    status = largest(burn_clone(run->lbfgs->state.d), &line.longest);
    if (status == BURN_OK) status = burn__line_search(&line, now, t, &next);
  } else {
    status = evaluate_at(run, t, &next);
  }
  if (status != BURN_OK) {
    burn_drop(next.gradient);
    return status;
  }
  burn_drop(now->gradient);
  *now = next;
  put(&run->x, moved(run, now->t));
  run->lbfgs->state.t = now->t;
  return scatter(run, run->x);
}

/* Whether a step is over: no more losses, a flat place, or nothing that changes. */
static BurnStatus check_end(const Run *run, const BurnLinePoint *now, double loss_before, bool *ended) {
  const BurnLbfgsConfig *config = &run->lbfgs->config;
  double steepest = 0, longest = 0;
  BurnStatus status = largest(burn_clone(now->gradient), &steepest);
  if (status == BURN_OK) status = largest(burn_clone(run->lbfgs->state.d), &longest);
  *ended = run->losses >= config->max_eval || steepest <= config->tolerance_grad ||
           fabs(now->t) * longest <= config->tolerance_change ||
           fabs(now->loss - loss_before) < config->tolerance_change;
  return status;
}

static BurnStatus iterate(Run *run, BurnLinePoint *now, double learning_rate, bool *ended) {
  State *state = &run->lbfgs->state;
  const double loss_before = now->loss;
  double t = 0;
  state->iterations++;
  BurnStatus status = find_direction(run->lbfgs, now->gradient);
  if (status == BURN_OK) status = first_distance(run, now->gradient, learning_rate, &t);
  if (status == BURN_OK) status = slope_of(run, now->gradient, &now->slope);
  state->t = t;
  *ended = now->slope > -run->lbfgs->config.tolerance_change;
  if (status != BURN_OK || *ended) return status;
  now->t = 0;
  status = go(run, now, t);
  return status == BURN_OK ? check_end(run, now, loss_before, ended) : status;
}

/* A vector of the state as the parameters are: device and dtype follow, the length has to be theirs. */
static BurnStatus adopt(const Run *run, BurnTensor **x) {
  if (!*x) return BURN_OK;
  const int64_t found = burn_element_count(*x), expected = burn_element_count(run->x);
  if (found != expected) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "lbfgs: the state is of %lld numbers, the parameters are %lld",
                            (long long)found, (long long)expected);
  }
  if (burn_tensor_device(*x) != burn_tensor_device(run->x)) *x = burn_to_device(*x, burn_tensor_device(run->x));
  *x = burn_scope_keep(NULL, burn_cast(*x, run->dtype));
  return burn_tensor_status(*x);
}

static BurnStatus adopt_state(Run *run) {
  State *state = &run->lbfgs->state;
  BurnStatus status = adopt(run, &state->d);
  if (status == BURN_OK) status = adopt(run, &state->prev_gradient);
  for (size_t i = 0; i < state->history.count && status == BURN_OK; i++) {
    Change *change = &state->history.changes[i];
    status = adopt(run, &change->s);
    if (status == BURN_OK) status = adopt(run, &change->y);
    put(&change->ys, burn_dot(burn_clone(change->y), burn_clone(change->s)));
  }
  return status;
}

/* Counts the parameters, makes them a vector, and computes the first loss. */
static BurnStatus begin(Run *run, BurnLinePoint *now) {
  BurnStatus status = burn_lbfgs_status(run->lbfgs);
  if (status == BURN_OK) status = burn_module_visit(run->module, count_one, run);
  if (status == BURN_OK && run->count == 0) status = burn__nothing_reached(run->module, 0);
  if (status != BURN_OK) return status;
  run->parts = malloc(run->count * sizeof(BurnTensor *));
  if (!run->parts) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "lbfgs: out of memory");
  status = gather_params(run);
  if (status == BURN_OK) status = adopt_state(run);
  return status == BURN_OK ? evaluate(run, now) : status;
}

BurnStatus burn_lbfgs_step(BurnLbfgs *lbfgs, BurnModule module, BurnLossClosure closure, void *context,
                           double learning_rate, double *loss) {
  Run run = {.lbfgs = lbfgs, .module = module, .closure = closure, .context = context, .dtype = BURN_DTYPE_F32};
  BurnLinePoint now = {.gradient = NULL};
  double steepest = 0;
  BurnStatus status = BURN_REQUIRED(closure, "a BurnLossClosure");
  if (status == BURN_OK) status = begin(&run, &now);
  if (status == BURN_OK) status = largest(burn_clone(now.gradient), &steepest);
  bool ended = status == BURN_OK && steepest <= lbfgs->config.tolerance_grad;
  for (size_t i = 0; status == BURN_OK && !ended && i < lbfgs->config.max_iter; i++) {
    status = iterate(&run, &now, learning_rate, &ended);
    if (status != BURN_OK) (void)scatter(&run, run.x); /* what has failed is told */
  }
  if (status == BURN_OK) lbfgs->state.prev_loss = now.loss;
  if (status == BURN_OK && loss) *loss = now.loss;
  burn_drop(now.gradient);
  burn_drop(run.x);
  free(run.parts);
  return status;
}

/* -- records ---------------------------------------------------------------------------------- */

static BurnValue *tensor_value(const BurnTensor *x) { return x ? burn_value_tensor(burn_clone(x)) : burn_value_nil(); }

BurnValue *burn_lbfgs_value(const BurnLbfgs *lbfgs) {
  if (burn_lbfgs_status(lbfgs) != BURN_OK) return NULL;
  const State *state = &lbfgs->state;
  BurnValue *map = burn_value_map(), *s = burn_value_array(), *y = burn_value_array();
  bool sound = true;
  for (size_t i = 0; i < state->history.count; i++) {
    sound = burn_value_append(s, tensor_value(state->history.changes[i].s)) && sound;
    sound = burn_value_append(y, tensor_value(state->history.changes[i].y)) && sound;
  }
  sound = burn_value_set(map, "history_s", s) && sound;
  sound = burn_value_set(map, "history_y", y) && sound;
  sound = burn_value_set(map, "d", tensor_value(state->d)) && sound;
  sound = burn_value_set(map, "t", burn_value_float(state->t)) && sound;
  sound = burn_value_set(map, "prev_flat_grad", tensor_value(state->prev_gradient)) && sound;
  sound = burn_value_set(map, "prev_loss", burn_value_float(state->prev_loss)) && sound;
  sound = burn_value_set(map, "g_iter", burn_value_int((int64_t)state->iterations)) && sound;
  if (sound) return map;
  burn_value_destroy(map);
  return NULL;
}

static BurnStatus bad_record(const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "lbfgs record: %s", what);
}

/* A tensor of rank 1, which may be nil if `absent` is allowed. */
static BurnStatus tensor_load(const BurnValue *value, const char *what, bool absent, BurnDevice *device,
                              BurnTensor **out) {
  if (absent && value && burn_value_kind(value) == BURN_VALUE_NIL) return BURN_OK;
  if (burn_value_kind(value) != BURN_VALUE_TENSOR) return bad_record(what);
  *out = burn_scope_keep(NULL, burn_value_as_tensor(value, device));
  const BurnStatus status = burn_tensor_status(*out);
  return status != BURN_OK || burn_rank(*out) == 1 ? status : bad_record(what);
}

/* The newest changes that there is room for. Their products are made by the next step. */
static BurnStatus history_load(const BurnValue *record, size_t room, BurnDevice *device, History *history) {
  const BurnValue *s = burn_value_get(record, "history_s"), *y = burn_value_get(record, "history_y");
  const size_t count = burn_value_count(s);
  if (burn_value_kind(s) != BURN_VALUE_ARRAY || burn_value_kind(y) != BURN_VALUE_ARRAY) {
    return bad_record("history_s and history_y, arrays, expected");
  }
  if (burn_value_count(y) != count) return bad_record("history_s and history_y are of two lengths");
  BurnStatus status = BURN_OK;
  for (size_t i = count > room ? count - room : 0; i < count && status == BURN_OK; i++) {
    Change *change = &history->changes[history->count++];
    status = tensor_load(burn_value_at(s, i), "history_s has what is not a vector", false, device, &change->s);
    if (status != BURN_OK) break;
    status = tensor_load(burn_value_at(y, i), "history_y has what is not a vector", false, device, &change->y);
  }
  return status;
}

static BurnStatus state_load(const BurnValue *record, size_t room, BurnDevice *device, State *state) {
  const int64_t iterations = burn_value_as_int(burn_value_get(record, "g_iter"), -1);
  if (iterations < 0) return bad_record("g_iter is missing or negative");
  state->iterations = (uint64_t)iterations;
  state->t = burn_value_as_float(burn_value_get(record, "t"), 1);
  state->prev_loss = burn_value_as_float(burn_value_get(record, "prev_loss"), 0);
  BurnStatus status = tensor_load(burn_value_get(record, "d"), "d is missing or no vector", true, device, &state->d);
  if (status == BURN_OK) {
    status = tensor_load(burn_value_get(record, "prev_flat_grad"), "prev_flat_grad is missing or no vector", true,
                         device, &state->prev_gradient);
  }
  return status == BURN_OK ? history_load(record, room, device, &state->history) : status;
}

BurnStatus burn_lbfgs_load(BurnLbfgs *lbfgs, const BurnValue *value, BurnDevice *device) {
  State state;
  BurnStatus status = burn_lbfgs_status(lbfgs);
  if (status != BURN_OK) return status;
  const size_t room = lbfgs->config.history_size;
  if (!state_init(&state, room)) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "lbfgs record: out of memory");
  status = state_load(value, room, burn_device_inner(device), &state);
  if (status != BURN_OK) {
    state_release(&state);
    return status;
  }
  state_release(&lbfgs->state);
  lbfgs->state = state;
  return BURN_OK;
}
