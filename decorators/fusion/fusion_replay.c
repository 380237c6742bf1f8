/* fusion_replay.c - plans that repeat, as recordings of the backend (burn/plugin/replay.h).
 *
 * A plan that has run twice, with its inputs given away alike, is recorded at the third run: its launches are made once
 * more with stand-ins while nothing runs. From then on a flush that finds the plan starts the recording instead.
 *
 * Inputs that lay at the same place all the time (parameters and moments, which are updated in place) stay where they
 * are, and the recording is of use only as long as they do; others, such as a batch, are copied into slots before each
 * run. Results are handed out in the recording's own memory, and a result that is still held when the plan comes again
 * gets memory of its own from then on. What a plan's key leaves out (numbers, seeds) is compared with what was
 * recorded, and launches with other numbers are patched.
 *
 * Whenever something does not fit, the launches are made as ever, which is always right. */
#include "fusion_internal.h"

#include <stdio.h>
#include <string.h>

enum {
  RUNS_BEFORE = 3,        /* the run that is recorded ... */
  REGION_RUNS_BEFORE = 2, /* ... of a region, which the program says will come again */
  MIN_LAUNCHES = 3,       /* below, starting a recording gains nothing */
  WINDOW = 16,            /* runs ... */
  MAX_MISSES = 3,         /* ... in which so many misses end it */
  MAX_MOVES = 2,          /* an input that has moved so often gets a slot */
  MAX_TOLD = 8,           /* times that a plan's log tells what kept it from being recorded */
  MAX_COPIED = 64 << 20,  /* bytes of inputs that are copied for each run: beyond, launches cost less */
  STALE = 1024 /* a recording may be thrown out for another one when so many runs of others came after its last */
};

typedef struct Input {
  BurnReplayPlace place;
  int64_t strides[BURN_MAX_RANK];
  uint32_t value; /* number in the queue */
  uint32_t dead;
  uint32_t moves; /* times that it made the recording useless */
  uint32_t slot;  /* number in the recording; BURN_REPLAY_NONE: it stays where it is */
  bool varies;
} Input;

typedef struct Output {
  uint32_t value, held;
  uint32_t input; /* number among the inputs, or BURN_REPLAY_NONE */
  bool copies;
} Output;

struct FusionReplay {
  BurnRecording *recording; /* NULL: none yet */
  uint32_t input_count, output_count, attr_count, stand_in_count;
  Input *inputs;
  Output *outputs;
  BurnAttr *attrs;           /* of all ops, one after the other, as they are in the recording */
  BurnPrimitive **stand_ins; /* of the inputs of all launches; belong to the recording */
  uint64_t used;             /* time stamp */
  uint64_t replays;          /* runs of recordings that were there */
  uint32_t seen;             /* runs with inputs given away alike */
  uint32_t runs, misses;     /* in this window */
  uint32_t told;
  bool is_refused, is_blocked; /* blocked: a result of the last run was still held when the plan came again */
};

/* -- memory ----------------------------------------------------------------------------------- */

static uint32_t count_inputs(const FusionQueue *queue) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < queue->values.count; i++) count += fusion_values(queue)[i].producer == FUSION_NONE;
  return count;
}

static uint32_t count_outputs(const FusionQueue *queue) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < queue->values.count; i++)
    count += fusion_values(queue)[i].producer != FUSION_NONE && !fusion_values(queue)[i].dead;
  return count;
}

static void free_parts(const FusionDecorator *decorator, FusionReplay *r) {
  decorator->host->free(r->inputs, (r->input_count + 1u) * sizeof *r->inputs);
  decorator->host->free(r->outputs, (r->output_count + 1u) * sizeof *r->outputs);
  decorator->host->free(r->attrs, (r->attr_count + 1u) * sizeof *r->attrs);
  decorator->host->free(r->stand_ins, (r->stand_in_count + 1u) * sizeof(BurnPrimitive *));
  decorator->host->free(r, sizeof *r);
}

static void *cleared(const FusionDecorator *decorator, uint64_t bytes) {
  void *memory = decorator->host->allocate(bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

/* NULL without memory. Arrays have an item more than they need, so none of them is empty. */
static FusionReplay *replay_new(const FusionQueue *queue, const FusionPlan *plan) {
  const FusionDecorator *decorator = queue->decorator;
  FusionReplay *r = (FusionReplay *)cleared(decorator, sizeof *r);
  if (!r) return NULL;
  r->input_count = count_inputs(queue);
  r->output_count = count_outputs(queue);
  for (uint32_t i = 0; i < queue->ops.count; i++) r->attr_count += fusion_ops(queue)[i].attr_count;
  for (uint32_t i = 0; i < plan->launches.count; i++) r->stand_in_count += fusion_launches(plan)[i].input_count;
  r->inputs = (Input *)cleared(decorator, (r->input_count + 1u) * sizeof *r->inputs);
  r->outputs = (Output *)cleared(decorator, (r->output_count + 1u) * sizeof *r->outputs);
  r->attrs = (BurnAttr *)cleared(decorator, (r->attr_count + 1u) * sizeof *r->attrs);
  r->stand_ins = (BurnPrimitive **)cleared(decorator, (r->stand_in_count + 1u) * sizeof(BurnPrimitive *));
  if (r->inputs && r->outputs && r->attrs && r->stand_ins) {
    uint32_t input = 0;
    for (uint32_t i = 0; i < queue->values.count; i++)
      if (fusion_values(queue)[i].producer == FUSION_NONE) r->inputs[input++].value = i;
    return r;
  }
  free_parts(decorator, r);
  return NULL;
}

/* -- all recordings of the decorator ---------------------------------------------------------- */

static void drop_locked(FusionDecorator *decorator, FusionPlan *plan) {
  FusionReplays *replays = &decorator->replays;
  if (plan->replay->recording) decorator->replay->drop(decorator->replay_self, plan->replay->recording);
  plan->replay->recording = NULL;
  plan->replay->seen = 0;
  for (uint32_t i = 0; i < replays->count; i++)
    if (replays->plans[i] == plan) replays->plans[i--] = replays->plans[--replays->count];
}

static void drop(FusionDecorator *decorator, FusionPlan *plan) {
  pthread_mutex_lock(&decorator->replays.mutex);
  drop_locked(decorator, plan);
  pthread_mutex_unlock(&decorator->replays.mutex);
}

void burn__fusion_replay_free(FusionDecorator *decorator, FusionPlan *plan) {
  if (!plan->replay) return;
  drop(decorator, plan);
  free_parts(decorator, plan->replay);
}

/* Not while another thread uses it. */
static bool drop_if_idle(FusionDecorator *decorator, FusionPlan *plan) {
  if (atomic_exchange(&plan->is_busy, 1u)) return false;
  drop_locked(decorator, plan);
  atomic_store(&plan->is_busy, 0u);
  return true;
}

bool burn__fusion_replay_drop_all(FusionDecorator *decorator) {
  FusionReplays *replays = &decorator->replays;
  bool any = false;
  pthread_mutex_lock(&replays->mutex);
  for (uint32_t i = replays->count; i-- > 0;) any = drop_if_idle(decorator, replays->plans[i]) || any;
  pthread_mutex_unlock(&replays->mutex);
  return any;
}

/* The one used longest ago goes, unless it is in use all the time, too. */
static bool make_room(FusionDecorator *decorator) {
  FusionReplays *replays = &decorator->replays;
  FusionPlan *oldest = NULL;
  if (replays->count < FUSION_RECORDINGS) return true;
  for (uint32_t i = 0; i < replays->count; i++)
    if (!oldest || replays->plans[i]->replay->used < oldest->replay->used) oldest = replays->plans[i];
  return replays->clock - oldest->replay->used > STALE && drop_if_idle(decorator, oldest);
}

/* False if there are enough. */
static bool enlist(FusionDecorator *decorator, FusionPlan *plan, BurnRecording *recording) {
  FusionReplays *replays = &decorator->replays;
  pthread_mutex_lock(&replays->mutex);
  const bool fits = make_room(decorator);
  if (fits) {
    replays->plans[replays->count++] = plan;
    plan->replay->recording = recording;
  }
  pthread_mutex_unlock(&replays->mutex);
  if (!fits) decorator->replay->drop(decorator->replay_self, recording);
  return fits;
}

static bool is_full(FusionDecorator *decorator) {
  FusionReplays *replays = &decorator->replays;
  pthread_mutex_lock(&replays->mutex);
  const bool full = !make_room(decorator);
  pthread_mutex_unlock(&replays->mutex);
  return full;
}

/* -- inputs ----------------------------------------------------------------------------------- */

static BurnReplayPlace where(const FusionDecorator *decorator, BurnPrimitive *x) {
  BurnReplayPlace place = {.struct_size = (uint32_t)sizeof place};
  decorator->replay->where(decorator->replay_self, x, &place);
  return place;
}

/* Is it given away as before, with the strides that it had? Who else holds it is nothing to a recording that has a copy
 * of it. */
static bool is_alike(const Input *input, const FusionValue *value, const BurnReplayPlace *place, bool is_copied) {
  const BurnPrimitive *x = value->inner;
  const bool held_alike = input->dead == value->dead && input->place.holders == place->holders;
  return (is_copied || held_alike) && memcmp(input->strides, x->strides, x->rank * sizeof *x->strides) == 0;
}

static bool is_there(const Input *input, const BurnReplayPlace *place) {
  return input->place.address == place->address && input->place.memory == place->memory &&
         input->place.bytes == place->bytes;
}

static void remember(Input *input, const FusionValue *value, const BurnReplayPlace *place) {
  input->place = *place;
  input->dead = value->dead;
  memcpy(input->strides, value->inner->strides, value->inner->rank * sizeof *input->strides);
}

/* The number of the first input that is not as in the last run; the count if all are. */
static uint32_t first_unlike(const FusionQueue *queue, const FusionReplay *r) {
  for (uint32_t i = 0; i < r->input_count; i++) {
    const FusionValue *value = &fusion_values(queue)[r->inputs[i].value];
    const BurnReplayPlace place = where(queue->decorator, value->inner);
    if (!is_alike(&r->inputs[i], value, &place, r->inputs[i].varies)) return i;
  }
  return r->input_count;
}

static void tell_unlike(FusionQueue *queue, const FusionPlan *plan, FusionReplay *r, uint32_t input) {
  char why[160];
  (void)snprintf(why, sizeof why,
                 "input %u of %u, read by %.40s, is held, or laid out, in another way than in the last run", input + 1u,
                 r->input_count, burn__fusion_reader_name(queue, r->inputs[input].value));
  if (r->told++ < MAX_TOLD) burn__fusion_log_replay(queue->decorator, plan, "not recorded yet", why);
  burn__fusion_region_why(queue, "%s", why);
}

/* Counts a run whose inputs are given away as at the last one; others start again. */
static void observe(FusionQueue *queue, const FusionPlan *plan, FusionReplay *r) {
  const uint32_t unlike = r->seen > 0 ? first_unlike(queue, r) : r->input_count;
  if (unlike < r->input_count) {
    r->seen = 0;
    tell_unlike(queue, plan, r, unlike);
  }
  for (uint32_t i = 0; i < r->input_count; i++) {
    Input *input = &r->inputs[i];
    const FusionValue *value = &fusion_values(queue)[input->value];
    const BurnReplayPlace place = where(queue->decorator, value->inner);
    if (r->seen == 0) input->varies = input->moves >= MAX_MOVES;
    if (r->seen > 0 && !is_there(input, &place)) input->varies = true;
    remember(input, value, &place);
  }
  r->seen++;
}

/* Why the recording cannot be run with these inputs, in the queue; false if it can. */
static bool misfits(FusionQueue *queue, FusionReplay *r) {
  char *why = queue->trial_reason;
  for (uint32_t i = 0; i < r->input_count; i++) {
    Input *input = &r->inputs[i];
    const FusionValue *value = &fusion_values(queue)[input->value];
    const BurnReplayPlace place = where(queue->decorator, value->inner);
    const bool alike = is_alike(input, value, &place, input->slot != BURN_REPLAY_NONE);
    if (alike && (input->slot != BURN_REPLAY_NONE || is_there(input, &place))) continue;
    input->moves += alike;
    (void)snprintf(why, sizeof queue->trial_reason, "an input %s (input %u of %u, read by %.40s)",
                   alike ? "has moved" : "is held, or laid out, in another way", i + 1u, r->input_count,
                   burn__fusion_reader_name(queue, input->value));
    return true;
  }
  return false;
}

/* -- recording -------------------------------------------------------------------------------- */

static bool has_numbers(const FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch) {
  const uint32_t *ops = fusion_words(plan, launch->ops);
  for (uint32_t i = 0; i < launch->op_count; i++) {
    const FusionOp *op = &fusion_ops(queue)[ops[i]];
    for (uint32_t k = 0; k < op->attr_count; k++)
      if (burn__fusion_varies(queue->decorator, op->op, k, &op->attrs[k])) return true;
  }
  return false;
}

static bool put_stand_ins(FusionQueue *queue, FusionReplay *r) {
  const FusionDecorator *decorator = queue->decorator;
  const BurnReplayInterface *replay = decorator->replay;
  bool ok = true;
  for (uint32_t i = 0; i < r->input_count; i++) fusion_values(queue)[r->inputs[i].value].inner = NULL;
  for (uint32_t i = 0; i < r->input_count && ok; i++) {
    Input *input = &r->inputs[i];
    FusionValue *value = &fusion_values(queue)[input->value];
    BurnPrimitive *x = value->tensor->inner;
    input->slot = BURN_REPLAY_NONE;
    const BurnStatus status =
        input->varies ? replay->slot(decorator->replay_self, queue->trial, x, &value->inner, &input->slot)
                      : replay->stand_in(decorator->replay_self, queue->trial, BURN_REPLAY_INPUT, i, x, &value->inner);
    ok = burn__fusion_gives(queue, status, &value->tensor->desc, &value->inner);
  }
  return ok;
}

/* Stand-ins for the inputs of a launch whose numbers may change. */
static bool keep_inputs(FusionQueue *queue, const FusionPlan *plan, uint32_t number, BurnPrimitive **out) {
  const FusionDecorator *decorator = queue->decorator;
  const FusionLaunch *launch = &fusion_launches(plan)[number];
  const uint32_t *slots = fusion_words(plan, launch->inputs);
  bool ok = true;
  for (uint32_t i = 0; i < launch->input_count && ok; i++) {
    out[i] = NULL;
    if (slots[i] == FUSION_NONE) continue;
    const BurnStatus status = decorator->replay->stand_in(decorator->replay_self, queue->trial, number, i,
                                                          fusion_values(queue)[slots[i]].inner, &out[i]);
    ok = burn__fusion_gives(queue, status, NULL, &out[i]); /* it belongs to the recording */
  }
  return ok;
}

static bool keeps_results(const FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch) {
  const uint32_t *outputs = fusion_words(plan, launch->outputs);
  for (uint32_t i = 0; i < launch->output_count; i++)
    if (!fusion_values(queue)[outputs[i]].dead) return true;
  return false;
}

static bool try_launches(FusionQueue *queue, const FusionPlan *plan, FusionReplay *r) {
  const FusionDecorator *decorator = queue->decorator;
  BurnPrimitive **stand_ins = r->stand_ins;
  bool ok = true;
  for (uint32_t i = 0; i < plan->launches.count && ok; i++) {
    const FusionLaunch *launch = &fusion_launches(plan)[i];
    const bool keeps = keeps_results(queue, plan, launch);
    ok = burn__fusion_works(queue, decorator->replay->mark(decorator->replay_self, queue->trial, i, keeps));
    if (ok && has_numbers(queue, plan, launch)) ok = keep_inputs(queue, plan, i, stand_ins);
    if (ok) burn__fusion_run_launch(queue, plan, launch);
    ok = ok && queue->trial_reason[0] == '\0';
    burn__fusion_release_dead(queue, fusion_words(plan, launch->releases), launch->release_count);
    stand_ins += launch->input_count;
  }
  return ok;
}

static bool hold_outputs(FusionQueue *queue, FusionReplay *r) {
  bool ok = true;
  uint32_t count = 0;
  for (uint32_t i = 0; i < queue->values.count && ok; i++) {
    const FusionValue *value = &fusion_values(queue)[i];
    if (value->producer == FUSION_NONE || value->dead) continue;
    Output *output = &r->outputs[count++];
    *output = (Output){.value = i, .copies = output->copies};
    ok = burn__fusion_hold(queue, value->inner, r->input_count, &output->held, &output->input);
  }
  return ok;
}

/* What the trial has put into values goes; the inputs are what they were. */
static void put_back(FusionQueue *queue) {
  const BurnBackend *next = queue->decorator->next;
  for (uint32_t i = 0; i < queue->values.count; i++) {
    FusionValue *value = &fusion_values(queue)[i];
    if (value->inner) next->release(next->self, value->inner);
    value->inner = value->producer == FUSION_NONE ? value->tensor->inner : NULL;
  }
}

static void copy_attrs(const FusionQueue *queue, FusionReplay *r) {
  BurnAttr *to = r->attrs;
  for (uint32_t i = 0; i < queue->ops.count; i++) {
    const FusionOp *op = &fusion_ops(queue)[i];
    if (op->attr_count > 0) memcpy(to, op->attrs, op->attr_count * sizeof *to);
    to += op->attr_count;
  }
}

/* False with the reason in the queue; then nothing has changed. */
static bool record(FusionQueue *queue, FusionPlan *plan, FusionReplay *r) {
  FusionDecorator *decorator = queue->decorator;
  if (!burn__fusion_begin(queue)) return false;
  const bool ok = put_stand_ins(queue, r) && try_launches(queue, plan, r) && hold_outputs(queue, r);
  put_back(queue);
  BurnRecording *recording = queue->trial;
  queue->trial = NULL;
  const BurnStatus ended = decorator->replay->end(decorator->replay_self, recording, ok);
  if (ok && !burn__fusion_works(queue, ended)) return false;
  if (!ok) return false;
  copy_attrs(queue, r);
  if (enlist(decorator, plan, recording)) return true;
  (void)snprintf(queue->trial_reason, sizeof queue->trial_reason, "there are %d recordings in use", FUSION_RECORDINGS);
  return false;
}

/* -- other numbers ---------------------------------------------------------------------------- */

static bool has_changed(const FusionQueue *queue, const FusionOp *op, const BurnAttr *recorded) {
  for (uint32_t i = 0; i < op->attr_count; i++)
    if (burn__fusion_varies(queue->decorator, op->op, i, &op->attrs[i]) &&
        memcmp(&op->attrs[i], &recorded[i], sizeof *recorded) != 0)
      return true;
  return false;
}

/* Makes a launch once more with the stand-ins of its inputs. */
static void patch_launch(FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch,
                         BurnPrimitive *const *stand_ins) {
  const BurnBackend *next = queue->decorator->next;
  const uint32_t *inputs = fusion_words(plan, launch->inputs), *outputs = fusion_words(plan, launch->outputs);
  for (uint32_t i = 0; i < launch->input_count; i++)
    if (inputs[i] != FUSION_NONE) fusion_values(queue)[inputs[i]].inner = stand_ins[i];
  burn__fusion_run_launch(queue, plan, launch);
  for (uint32_t i = 0; i < launch->output_count; i++) {
    FusionValue *value = &fusion_values(queue)[outputs[i]];
    if (value->inner) next->release(next->self, value->inner);
    value->inner = NULL;
  }
  for (uint32_t i = 0; i < launch->input_count; i++) {
    if (inputs[i] == FUSION_NONE) continue;
    FusionValue *value = &fusion_values(queue)[inputs[i]];
    value->inner = value->producer == FUSION_NONE ? value->tensor->inner : NULL;
  }
}

/* Ops whose numbers differ from those recorded, as flags; the recorded ones become theirs. */
static uint32_t find_changes(const FusionQueue *queue, const FusionReplay *r, uint8_t *changed) {
  BurnAttr *recorded = r->attrs;
  uint32_t count = 0;
  for (uint32_t i = 0; i < queue->ops.count; i++) {
    const FusionOp *op = &fusion_ops(queue)[i];
    changed[i] = has_changed(queue, op, recorded);
    if (changed[i]) memcpy(recorded, op->attrs, op->attr_count * sizeof *recorded);
    count += changed[i];
    recorded += op->attr_count;
  }
  return count;
}

static bool patch_changed(FusionQueue *queue, const FusionPlan *plan, const FusionReplay *r, const uint8_t *changed) {
  const FusionDecorator *decorator = queue->decorator;
  BurnPrimitive *const *stand_ins = r->stand_ins;
  bool ok = true;
  for (uint32_t i = 0; i < plan->launches.count && ok; i++) {
    const FusionLaunch *launch = &fusion_launches(plan)[i];
    const uint32_t *ops = fusion_words(plan, launch->ops);
    bool differs = false;
    for (uint32_t k = 0; k < launch->op_count; k++) differs = differs || changed[ops[k]];
    if (differs) ok = burn__fusion_works(queue, decorator->replay->mark(decorator->replay_self, queue->trial, i, 0));
    if (differs && ok) patch_launch(queue, plan, launch, stand_ins);
    ok = ok && queue->trial_reason[0] == '\0';
    stand_ins += launch->input_count;
  }
  return ok;
}

/* False if the recording cannot do with these numbers: then it is of no use any more. */
static bool patch(FusionQueue *queue, const FusionPlan *plan, FusionReplay *r) {
  const FusionDecorator *decorator = queue->decorator;
  uint8_t *changed = (uint8_t *)decorator->host->allocate(queue->ops.count);
  bool ok = changed != NULL;
  queue->trial_reason[0] = '\0';
  if (ok && find_changes(queue, r, changed) > 0) {
    ok = burn__fusion_works(queue, decorator->replay->patch_begin(decorator->replay_self, r->recording));
    if (ok) {
      queue->trial = r->recording;
      ok = patch_changed(queue, plan, r, changed);
      queue->trial = NULL;
      ok = burn__fusion_works(queue, decorator->replay->patch_end(decorator->replay_self, r->recording)) && ok;
    }
  }
  decorator->host->free(changed, queue->ops.count);
  return ok;
}

/* -- running ---------------------------------------------------------------------------------- */

/* False if a result of the last run is still held: it keeps its memory, and gets copies from now on. */
static bool results_are_free(FusionQueue *queue, const FusionReplay *r) {
  const FusionDecorator *decorator = queue->decorator;
  bool all = true;
  for (uint32_t i = 0; i < r->output_count; i++) {
    Output *output = &r->outputs[i];
    if (output->input != BURN_REPLAY_NONE ||
        decorator->replay->is_free(decorator->replay_self, r->recording, output->held))
      continue;
    const FusionOp *op = &fusion_ops(queue)[fusion_values(queue)[output->value].producer];
    burn__fusion_region_why(queue, "a result of the last run is still held (of %.60s)",
                            burn__fusion_op_name(decorator, op->op));
    output->copies = true;
    all = false;
  }
  return all;
}

static bool fill_slots(FusionQueue *queue, const FusionReplay *r) {
  const FusionDecorator *decorator = queue->decorator;
  bool ok = true;
  for (uint32_t i = 0; i < r->input_count && ok; i++)
    if (r->inputs[i].slot != BURN_REPLAY_NONE)
      ok = burn__fusion_works(queue, decorator->replay->fill(decorator->replay_self, r->recording, r->inputs[i].slot,
                                                             fusion_values(queue)[r->inputs[i].value].inner));
  return ok;
}

static void take_results(FusionQueue *queue, const FusionReplay *r) {
  for (uint32_t i = 0; i < r->output_count; i++) {
    const Output *output = &r->outputs[i];
    BurnPrimitive *input =
        output->input == BURN_REPLAY_NONE ? NULL : fusion_values(queue)[r->inputs[output->input].value].inner;
    burn__fusion_take(queue, r->recording, output->held, input, output->copies, output->value);
  }
}

static void release_inputs(FusionQueue *queue, const FusionReplay *r) {
  for (uint32_t i = 0; i < r->input_count; i++) burn__fusion_release_dead(queue, &r->inputs[i].value, 1);
}

/* False if nothing has run, with the reason in the queue where the recording is of no use any more. */
static bool run(FusionQueue *queue, FusionPlan *plan, FusionReplay *r) {
  FusionDecorator *decorator = queue->decorator;
  if (!results_are_free(queue, r)) {
    if (r->is_blocked) /* the holder keeps the memory, the next recording gets other */
      (void)snprintf(queue->trial_reason, sizeof queue->trial_reason, "a result of the last run is still held");
    r->is_blocked = !r->is_blocked;
    return false;
  }
  r->is_blocked = false;
  if (!patch(queue, plan, r) || !fill_slots(queue, r)) return false;
  if (!burn__fusion_works(queue, decorator->replay->run(decorator->replay_self, r->recording))) return false;
  take_results(queue, r);
  release_inputs(queue, r);
  pthread_mutex_lock(&decorator->replays.mutex);
  r->used = ++decorator->replays.clock;
  pthread_mutex_unlock(&decorator->replays.mutex);
  return true;
}

/* -- the flush -------------------------------------------------------------------------------- */

/* The recording goes; after too many in a short time there will be no other. */
static void miss(FusionQueue *queue, FusionPlan *plan, const char *why) {
  FusionDecorator *decorator = queue->decorator;
  FusionReplay *r = plan->replay;
  drop(decorator, plan);
  r->seen = 0;
  r->is_refused = ++r->misses >= MAX_MISSES;
  burn__fusion_log_replay(decorator, plan, r->is_refused ? "not replayed any more" : "not replayed", why);
  burn__fusion_region_why(queue, "%s", why);
}

/* Of the inputs that move, with what else lies in their memory. */
static uint64_t copied_bytes(const FusionReplay *r) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < r->input_count; i++) bytes += r->inputs[i].varies ? r->inputs[i].place.bytes : 0;
  return bytes;
}

/* Is it time to record the plan? */
static bool is_due(FusionQueue *queue, FusionPlan *plan, FusionReplay *r) {
  const bool in_region = fusion_in_region(queue);
  observe(queue, plan, r);
  if (r->seen < (in_region ? REGION_RUNS_BEFORE : RUNS_BEFORE)) {
    if (r->misses > 0) burn__fusion_region_why(queue, "it is recorded again the next time");
    return false;
  }
  if (is_full(queue->decorator)) {
    burn__fusion_region_why(queue, "there are %d recordings in use", FUSION_RECORDINGS);
    return false;
  }
  if (in_region || copied_bytes(r) <= MAX_COPIED) return true;
  miss(queue, plan, "inputs that move are too large to be copied");
  return false;
}

static bool first_run(FusionQueue *queue, FusionPlan *plan, FusionReplay *r) {
  FusionDecorator *decorator = queue->decorator;
  if (!is_due(queue, plan, r)) return false;
  if (!record(queue, plan, r)) {
    miss(queue, plan, queue->trial_reason);
    return false;
  }
  uint32_t slots = 0;
  char text[64];
  for (uint32_t i = 0; i < r->input_count; i++) slots += r->inputs[i].slot != BURN_REPLAY_NONE;
  (void)snprintf(text, sizeof text, "%u of %u inputs are copied", slots, r->input_count);
  burn__fusion_log_replay(decorator, plan, "recorded", text);
  atomic_fetch_add_explicit(&decorator->statistics.recordings, 1u, memory_order_relaxed);
  return run(queue, plan, r);
}

static bool further_run(FusionQueue *queue, FusionPlan *plan, FusionReplay *r) {
  queue->trial_reason[0] = '\0';
  if (!misfits(queue, r) && run(queue, plan, r)) return true;
  if (queue->trial_reason[0]) miss(queue, plan, queue->trial_reason);
  return false;
}

static bool has_failed_input(const FusionQueue *queue, const FusionReplay *r) {
  for (uint32_t i = 0; i < r->input_count; i++)
    if (fusion_values(queue)[r->inputs[i].value].failure) return true;
  return false;
}

/* A program that marks a region gets another try after each window. */
static bool is_refused(FusionQueue *queue, FusionReplay *r) {
  if (++r->runs >= WINDOW) {
    r->runs = r->misses = 0;
    if (fusion_in_region(queue)) r->is_refused = false;
  }
  if (r->is_refused) burn__fusion_region_why(queue, "the last %d recordings of it soon were of no use", MAX_MISSES);
  return r->is_refused;
}

static uint32_t replay(FusionQueue *queue, FusionPlan *plan) {
  if (!plan->replay) plan->replay = replay_new(queue, plan);
  FusionReplay *r = plan->replay;
  if (!r || is_refused(queue, r)) return BURN_FUSION_SINGLE;
  if (has_failed_input(queue, r)) {
    burn__fusion_region_why(queue, "an input has failed");
    return BURN_FUSION_SINGLE;
  }
  if (!r->recording) return first_run(queue, plan, r) ? BURN_FUSION_RECORDED : BURN_FUSION_SINGLE;
  if (!further_run(queue, plan, r)) return BURN_FUSION_SINGLE;
  r->replays++;
  return BURN_FUSION_REPLAYED;
}

uint64_t burn__fusion_replay_count(const FusionPlan *plan) { return plan->replay ? plan->replay->replays : 0; }

uint32_t burn__fusion_replay(FusionQueue *queue, FusionPlan *plan) {
  if (!queue->decorator->replay) {
    burn__fusion_region_why(queue, "%s", queue->decorator->no_replay);
    return BURN_FUSION_SINGLE;
  }
  if (plan->launches.count < (fusion_in_region(queue) ? 1 : MIN_LAUNCHES)) {
    burn__fusion_region_why(queue, "nothing of it is wanted");
    return BURN_FUSION_SINGLE;
  }
  if (atomic_exchange(&plan->is_busy, 1u)) return BURN_FUSION_SINGLE;
  const uint32_t outcome = replay(queue, plan);
  atomic_store(&plan->is_busy, 0u);
  return outcome;
}
