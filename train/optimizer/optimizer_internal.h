/* optimizer_internal.h - what the parts of an optimizer share: the walk over a module (optimizer.c), records
 * (optimizer_record.c), and gradients by parameter (gradients_params.c). */
#ifndef BURN_TRAIN_OPTIMIZER_INTERNAL_H
#define BURN_TRAIN_OPTIMIZER_INTERNAL_H

#include <burn/train/optimizer.h>

#include "param_map.h"

/* An entry of the map of states: as many tensors as the rule has rows. */
typedef struct BurnStateEntry {
  uint64_t time;
  BurnTensor *tensors[];
} BurnStateEntry;

struct BurnOptimizer {
  const BurnOptimizerRule *rule;
  void *config;
  BurnParamMap states; /* of BurnStateEntry */
  bool warned;         /* of parameters without a gradient */
};

/* An empty map of the states of a rule, and its end with all tensors. */
BurnParamMap burn__states_map(const BurnOptimizerRule *rule);
void burn__states_drop(const BurnOptimizerRule *rule, BurnParamMap *states);
/* The failure of a call with NULL for the optimizer. */
BurnStatus burn__no_optimizer(void);

/* That a step would change nothing: no parameter of the module got a gradient. `asking`: how many ask for one.
 * gradients_params.c */
BurnStatus burn__nothing_reached(BurnModule module, size_t asking);
/* BURN_OK, or why linking failed; NULL means out of memory. gradients_params.c */
BurnStatus burn__gradients_params_status(const BurnGradientsParams *gradients);
/* Moves a gradient out; NULL if there is none. gradients_params.c */
BurnTensor *burn__gradients_params_take(BurnGradientsParams *gradients, uint64_t param_id);

#endif
