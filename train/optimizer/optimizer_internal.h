/* optimizer_internal.h - what an optimizer's own file says about it: a rule, which is a step function for one parameter
 * and the names of its state in a record. optimizer.c does the rest: the walk over the module, states by id, records.
 */
#ifndef BURN_TRAIN_OPTIMIZER_INTERNAL_H
#define BURN_TRAIN_OPTIMIZER_INTERNAL_H

#include <burn/train/optimizer.h>

enum { BURN_STATE_TENSORS = 2 };

/* The state of one parameter: all zero before its first step. */
typedef struct BurnOptimizerState {
  uint64_t time; /* steps done, for rules that count them */
  BurnTensor *tensors[BURN_STATE_TENSORS];
} BurnOptimizerState;

/* One update. Takes param and gradient, which have one shape, dtype and (inner) device; state tensors that are present
 * have the same. The dtype is that of the parameter, but f32 for f16 and bf16. Returns the new param and replaces the
 * state's tensors; failures travel in any of them. To work in place, a step gives its tensors away instead of cloning
 * them. */
typedef BurnTensor *(*BurnOptimizerStep)(const void *config, BurnOptimizerState *state, BurnTensor *param,
                                         BurnTensor *gradient, double learning_rate);

typedef struct BurnOptimizerRule {
  const char *name; /* "adam": in messages */
  BurnOptimizerStep step;
  const char *group;                            /* the map in the record that holds the state: "momentum" */
  const char *tensor_names[BURN_STATE_TENSORS]; /* in that map; NULL after the last */
  bool counts;                                  /* the map also has `time` */
  bool may_lack_state;                          /* a parameter in the record may have nil for the map */
} BurnOptimizerRule;

/* An optimizer with a copy of its config; NULL when out of memory. */
BurnOptimizer *burn__optimizer_create(const BurnOptimizerRule *rule, const void *config, size_t config_bytes);

/* That a step would change nothing: no parameter of the module got a gradient. `asking`: how many ask for one.
 * gradients_params.c */
BurnStatus burn__nothing_reached(BurnModule module, size_t asking);
/* BURN_OK, or why linking failed; NULL means out of memory. gradients_params.c */
BurnStatus burn__gradients_params_status(const BurnGradientsParams *gradients);
/* Moves a gradient out; NULL if there is none. gradients_params.c */
BurnTensor *burn__gradients_params_take(BurnGradientsParams *gradients, uint64_t param_id);

#endif
