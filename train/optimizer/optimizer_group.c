/* optimizer_group.c - what an optimizer does to which parameter: how it is made from a rule and a config, and groups of
 * parameters with a rule of their own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "null_check.h"
#include "optimizer_internal.h"

/* -- making one ------------------------------------------------------------------------------- */

static BurnStatus no_optimizer(void) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                          "optimizer: NULL: out of memory when it was created, or not created");
}

BurnStatus burn_optimizer_status(const BurnOptimizer *optimizer) {
  return optimizer ? optimizer->status : no_optimizer();
}

BurnOptimizer *burn_optimizer_create(const BurnOptimizerRule *rule, const void *config, size_t config_bytes) {
  BurnOptimizer *optimizer = calloc(1, sizeof *optimizer);
  BurnOptimizerGroup *group = calloc(1, sizeof *group);
  void *copy = malloc(config_bytes ? config_bytes : 1);
  if (!optimizer || !group || !copy) {
    free(optimizer);
    free(group);
    free(copy);
    return NULL;
  }
  BurnStatus status = BURN_REQUIRED(rule, "a BurnOptimizerRule");
  if (status == BURN_OK && config_bytes > 0) status = BURN_REQUIRED(config, "an object of config_bytes");
  if (status == BURN_OK && config_bytes > 0) memcpy(copy, config, config_bytes);
  *group = (BurnOptimizerGroup){.rule = rule, .config = copy};
  *optimizer = (BurnOptimizer){
      .status = status, .groups = group, .group_count = 1, .states = {.value_bytes = sizeof(BurnStateEntry)}};
  return optimizer;
}

static BurnStatus check_range(const char *who, const BurnNumberRange *range) {
  if (range->value >= range->least && range->value <= range->largest) {
    if (isfinite(range->value)) return BURN_OK;
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is %g, a finite number expected", who, range->name,
                            range->value);
  }
  if (range->largest == BURN__BELOW_1) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is %g, at least %g and below 1 expected", who,
                            range->name, range->value, range->least);
  }
  if (range->largest == (double)INFINITY) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is %g, at least %g expected", who, range->name,
                            range->value, range->least);
  }
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is %g, %g to %g expected", who, range->name,
                          range->value, range->least, range->largest);
}

BurnStatus burn__check_ranges(const char *who, const BurnNumberRange *ranges, size_t count) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) status = check_range(who, &ranges[i]);
  return status;
}

BurnOptimizer *burn__optimizer_create(const BurnOptimizerRule *rule, const BurnType *type, const void *config,
                                      BurnGradientClipping clipping, const BurnNumberRange *ranges, size_t count) {
  BurnOptimizer *optimizer = burn_optimizer_create(rule, config, type->bytes);
  if (!optimizer) return NULL;
  optimizer->groups[0].config_type = type;
  optimizer->status = burn__check_ranges(rule->name, ranges, count);
  if (optimizer->status == BURN_OK) optimizer->status = burn_optimizer_with_clipping(optimizer, clipping);
  return optimizer;
}

BurnOptimizer *burn__optimizer_as_op(BurnOptimizer *optimizer, BurnStepAsOp as_op) {
  if (optimizer) optimizer->groups[0].as_op = as_op;
  return optimizer;
}

void burn_optimizer_destroy(BurnOptimizer *optimizer) {
  if (!optimizer) return;
  burn__states_drop(&optimizer->states);
  for (size_t i = 0; i < optimizer->group_count; i++) free(optimizer->groups[i].config);
  free(optimizer->groups);
  free(optimizer->found.block);
  free(optimizer->rows.block);
  free(optimizer);
}

BurnStatus burn_optimizer_with_clipping(BurnOptimizer *optimizer, BurnGradientClipping clipping) {
  BurnStatus status = burn_optimizer_status(optimizer);
  if (status == BURN_OK) status = burn__clipping_check(optimizer->groups[0].rule->name, clipping);
  if (status == BURN_OK) optimizer->groups[0].clipping = clipping;
  return status;
}

/* -- groups ----------------------------------------------------------------------------------- */

static BurnStatus check_other(const BurnOptimizer *optimizer, const BurnOptimizer *other) {
  BurnStatus status = burn_optimizer_status(optimizer);
  if (status == BURN_OK) status = burn_optimizer_status(other);
  if (status != BURN_OK) return status;
  const char *who = optimizer->groups[0].rule->name, *name = other->groups[0].rule->name;
  if (optimizer->stepped) {
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "%s: a group of %s after the first step", who, name);
  }
  if (other->group_count > 1) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: a group of %s, which has groups itself", who, name);
  }
  if (other->groups[0].clipping.kind != BURN_GRADIENT_CLIPPING_GLOBAL_NORM) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "%s: a group of %s with clipping by the norm of all gradients, which is given to %s itself",
                          who, name, who);
}

/* Moves what `other` does after the groups that there are. */
static BurnStatus add_group(BurnOptimizer *optimizer, const BurnParamGroup *which, BurnOptimizer *other) {
  BurnOptimizerGroup *groups = realloc(optimizer->groups, (optimizer->group_count + 1) * sizeof *groups);
  if (!groups) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: out of memory", optimizer->groups[0].rule->name);
  optimizer->groups = groups;
  BurnOptimizerGroup *added = &groups[optimizer->group_count++];
  *added = other->groups[0];
  added->which = *which;
  other->groups[0].config = NULL;
  return BURN_OK;
}

BurnStatus burn_optimizer_with_group(BurnOptimizer *optimizer, const BurnParamGroup *group, BurnOptimizer *other) {
  BurnStatus status = check_other(optimizer, other);
  if (status == BURN_OK) status = BURN_REQUIRED(group, "a BurnParamGroup");
  if (status == BURN_OK) status = add_group(optimizer, group, other);
  burn_optimizer_destroy(other);
  return status;
}

const BurnOptimizerGroup *burn__optimizer_group(const BurnOptimizer *optimizer, const char *path, uint64_t id) {
  size_t i = optimizer->group_count - 1;
  while (i > 0 && !burn_param_group_has(&optimizer->groups[i].which, path, id)) i--;
  return &optimizer->groups[i];
}

BurnStatus burn__optimizer_groups_check(const BurnOptimizer *optimizer, BurnModule module) {
  BurnStatus status = BURN_OK;
  for (size_t i = 1; i < optimizer->group_count && status == BURN_OK; i++) {
    status = burn_param_group_check(&optimizer->groups[i].which, module, optimizer->groups[i].rule->name);
  }
  return status;
}

/* -- learning rates by groups ------------------------------------------------------------------ */

static BurnStatus rates_given(const char *who, const BurnModuleLearningRate *rates) {
  const BurnStatus status = BURN_REQUIRED_BY(who, rates, "a BurnModuleLearningRate");
  if (status != BURN_OK || rates->group_count == 0) return status;
  return BURN_REQUIRED_BY(who, rates->groups, "a list of BurnLearningRateGroup");
}

BurnStatus burn_module_learning_rate_check(const BurnModuleLearningRate *rates) {
  const BurnStatus given = rates_given("module_learning_rate_check", rates);
  if (given != BURN_OK) return given;
  if (!isfinite(rates->base)) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the base rate is not finite");
  for (size_t i = 0; i < rates->group_count; i++) {
    const BurnLearningRateGroup *group = &rates->groups[i];
    BurnStatus status = group->schedule.table ? burn_schedule_check(&group->schedule) : BURN_OK;
    if (!group->schedule.table && !isfinite(group->learning_rate))
      status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the rate is not finite");
    if (status != BURN_OK) return burn_status_annotate(status, "learning rate of group %zu", i);
  }
  return BURN_OK;
}

double burn_module_learning_rate_of(const BurnModuleLearningRate *rates, const char *path, uint64_t id) {
  for (size_t i = rates->group_count; i-- > 0;) {
    const BurnLearningRateGroup *group = &rates->groups[i];
    if (!burn_param_group_has(&group->which, path, id)) continue;
    return group->schedule.table ? burn_schedule_rate(&group->schedule, rates->iteration) : group->learning_rate;
  }
  return rates->base;
}

BurnStatus burn__rates_check(const char *who, BurnModule module, const BurnModuleLearningRate *rates) {
  BurnStatus status = rates_given(who, rates);
  if (status != BURN_OK) return status;
  if (!isfinite(rates->base)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the learning rate is %g, a finite number expected", who,
                            rates->base);
  }
  for (size_t i = 0; i < rates->group_count && status == BURN_OK; i++) {
    status = burn_param_group_check(&rates->groups[i].which, module, who);
  }
  return status;
}

/* -- groups that no parameter is in ------------------------------------------------------------ */

typedef struct Search {
  const BurnParamGroup *group;
  bool found;
} Search;

static BurnStatus look_for_one(void *context, const BurnModuleTensor *tensor) {
  Search *search = context;
  search->found =
      search->found || (tensor->param && burn_param_group_has(search->group, tensor->path, tensor->param->id));
  return BURN_OK;
}

/* `loses` is what it does nothing with. */
static void warn_if_empty(const char *who, BurnModule module, const BurnParamGroup *group, size_t index,
                          const char *loses) {
  char text[256];
  Search search = {group, false};
  if (burn_module_visit(module, look_for_one, &search) != BURN_OK || search.found) return;
  const char *const *parts = group->parts ? group->parts : group->any_parts;
  const bool named = parts && parts[0];
  snprintf(text, sizeof text, "group %zu%s%.80s%s has no parameter of %s: its %s is not used", index,
           named ? " (\"" : "", named ? parts[0] : "", named ? "\")" : "", burn_type_short_name(module.type), loses);
  burn_host()->log(BURN_LOG_WARN, who, text);
}

void burn__warn_of_empty_groups(const BurnOptimizer *optimizer, BurnModule module,
                                const BurnModuleLearningRate *rates) {
  const char *who = optimizer->groups[0].rule->name;
  for (size_t i = 1; i < optimizer->group_count; i++)
    warn_if_empty(who, module, &optimizer->groups[i].which, i - 1, "optimizer");
  for (size_t i = 0; i < rates->group_count; i++)
    warn_if_empty(who, module, &rates->groups[i].which, i, "learning rate");
}
