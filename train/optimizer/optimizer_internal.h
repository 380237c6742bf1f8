/* optimizer_internal.h - what the parts of an optimizer share: the walk over a module (optimizer.c), what is done to
 * which parameter (optimizer_group.c), records (optimizer_record.c), gradients by parameter (gradients_params.c). */
#ifndef BURN_TRAIN_OPTIMIZER_INTERNAL_H
#define BURN_TRAIN_OPTIMIZER_INTERNAL_H

#include <float.h>

#include <burn/plugin/op.h>
#include <burn/train/optimizer.h>

#include "param_map.h"

/* An entry of the map of states. */
typedef struct BurnStateEntry {
  const BurnOptimizerRule *rule; /* whose rows the tensors are; NULL: not stepped yet */
  uint64_t time;
  BurnTensor **tensors; /* one per row */
  uint64_t batch;       /* the last one of waiting steps that its tensors were given to */
} BurnStateEntry;

/* Why a parameter cannot be stepped, or BURN_OK: asked before it is given away. */
typedef BurnStatus (*BurnParamCheck)(const BurnTensor *param);

enum { BURN__STEP_INPUTS = 4, BURN__STEP_ATTRS = 6, BURN__STEP_OUTPUTS = 3 };

/* A step that is one op: its results are the parameter, and then the tensors of the state, in the order of the rule's
 * rows. Those that the rule does not keep are dropped. */
typedef struct BurnStepOp {
  uint32_t op, input_count, kept; /* kept: tensors of the state among the results */
  BurnTensor *inputs[BURN__STEP_INPUTS];
  BurnAttr attrs[BURN__STEP_ATTRS];
} BurnStepOp;

/* A rule's step as one op, instead of done: fills in `out`, which takes param, gradient and the tensors of the state,
 * and counts state->time. False, and nothing done, where it takes more than one op. */
typedef bool (*BurnStepAsOp)(const void *config, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                             double learning_rate, BurnStepOp *out);

/* What is done to some parameters. */
typedef struct BurnOptimizerGroup {
  BurnParamGroup which;
  const BurnOptimizerRule *rule;
  BurnParamCheck check; /* NULL: every one can */
  BurnStepAsOp as_op;   /* NULL: never one op */
  void *config;
  const BurnType *config_type; /* whose last row is the clipping; NULL: the config of a user's rule */
  BurnGradientClipping clipping;
} BurnOptimizerGroup;

/* Memory that a step leaves for the next one, so that a training loop asks the system for none. */
typedef struct BurnStepMemory {
  void *block;
  size_t bytes;
} BurnStepMemory;

struct BurnOptimizer {
  BurnStatus status;          /* why the config is refused; told by all that use the optimizer */
  BurnOptimizerGroup *groups; /* the first has all parameters; of those that have one, the last counts */
  size_t group_count;
  BurnParamMap states;        /* of BurnStateEntry */
  uint64_t batches;           /* of steps that waited and are done (optimizer.c) */
  bool stepped;               /* groups are complete, their paths are known to exist */
  bool warned;                /* of parameters without a gradient */
  BurnStepMemory found, rows; /* optimizer.c: parameters with their gradients, and what is known of steps that wait */
};

struct BurnGradientsParams {
  BurnStatus status; /* why a gradient is missing; told by whoever uses the object */
  BurnParamMap map;  /* of BurnTensor *; NULL once taken */
};

/* -- optimizer_group.c ------------------------------------------------------------------------ */

/* The bounds, inclusive, of a number in a config, which is finite. An infinite bound is none. */
typedef struct BurnNumberRange {
  const char *name;
  double value, least, largest;
} BurnNumberRange;
/* The bound of what has to be below 1, as a share that stays of an average: with 1 its correction divides 0 by 0. */
#define BURN__BELOW_1 (1 - DBL_EPSILON / 2)

static inline double burn__or_zero(BurnOptionF64 option) { return option.present ? option.value : 0; }

/* INVALID_ARGUMENT, with name and value, for the first of `count` numbers that is out of range or NaN. */
BurnStatus burn__check_ranges(const char *who, const BurnNumberRange *ranges, size_t count);
/* burn_optimizer_create with the clipping of the config, and with the first of `count` numbers out of range, or a
 * clipping that makes no sense, as the optimizer's failure. */
BurnOptimizer *burn__optimizer_create(const BurnOptimizerRule *rule, const BurnType *type, const void *config,
                                      BurnGradientClipping clipping, const BurnNumberRange *ranges, size_t count);
/* The same optimizer, whose steps are one op where `as_op` says so; NULL stays NULL. */
BurnOptimizer *burn__optimizer_as_op(BurnOptimizer *optimizer, BurnStepAsOp as_op);
/* The group of a parameter. */
const BurnOptimizerGroup *burn__optimizer_group(const BurnOptimizer *optimizer, const char *path, uint64_t id);
/* That every path and id of a group is in the module. */
BurnStatus burn__optimizer_groups_check(const BurnOptimizer *optimizer, BurnModule module);
/* The same of groups with a learning rate. */
BurnStatus burn__rates_check(const char *who, BurnModule module, const BurnModuleLearningRate *rates);
/* Warns, with their numbers as they were given, of groups that no parameter is in: a misspelt part does nothing. */
void burn__warn_of_empty_groups(const BurnOptimizer *optimizer, BurnModule module, const BurnModuleLearningRate *rates);

/* -- optimizer.c ------------------------------------------------------------------------------ */

/* Room for the tensors of a rule, all absent; false when out of memory. */
bool burn__state_init(BurnStateEntry *state, const BurnOptimizerRule *rule);
/* Drops the tensors and the room; the entry is zeroed. */
void burn__state_release(BurnStateEntry *state);
void burn__states_drop(BurnParamMap *states);
/* x in f32 if it is f16 or bf16. In those a decaying average soon stands still (0.999 x rounds to x in bf16), and the
 * square of a small gradient is 0; so steps are computed in f32 and states are kept in it. Takes x. */
BurnTensor *burn__without_halves(BurnTensor *x);

/* -- optimizer_op.c --------------------------------------------------------------------------- */

/* A rule's step by its op, alone. Gives the new parameter. */
BurnTensor *burn__step_op(BurnStepOp *step, BurnTensor **state);
/* Many of them, as one call of the backend where it can: step i's parameter goes to params[i], its state to states[i].
 * `room` is memory to work in: BURN__STEP_ROOM bytes for each. */
#define BURN__STEP_ROOM \
  (BURN__STEP_ATTRS * sizeof(BurnAttr) + (BURN__STEP_INPUTS + BURN__STEP_OUTPUTS) * sizeof(BurnTensor *))
void burn__step_ops(const BurnStepOp *steps, BurnTensor **const *states, BurnTensor **params, size_t count, void *room);

/* -- optimizer_record.c ----------------------------------------------------------------------- */

/* That the states of two rules have the same rows, so that one can go on with what the other has left. */
bool burn__same_rows(const BurnOptimizerRule *a, const BurnOptimizerRule *b);

/* -- gradients_params.c, gradient_clipping.c -------------------------------------------------- */

/* That a step would change nothing: no parameter of the module got a gradient. `asking`: how many ask for one. */
BurnStatus burn__nothing_reached(BurnModule module, size_t asking);
/* burn_backward of a loss (taken) of the module; one that comes from no parameter fails with what is wrong there. */
BurnStatus burn__backward_of(BurnModule module, BurnTensor *loss, BurnGradients **gradients);
/* BURN_OK, or why linking failed; NULL means out of memory. */
BurnStatus burn__gradients_params_status(const BurnGradientsParams *gradients);
/* That the limit of a clipping is above 0. */
BurnStatus burn__clipping_check(const char *who, BurnGradientClipping clipping);
/* "None", "Norm 0.5"; one that is sound. */
enum { BURN__CLIPPING_BYTES = 64 };
void burn__clipping_text(BurnGradientClipping clipping, char text[BURN__CLIPPING_BYTES]);
/* One gradient (taken), clipped by value or by its own norm. */
BurnTensor *burn__gradient_clip(BurnTensor *gradient, BurnGradientClipping clipping);

#endif
