/* off_policy.c - the loop: act in all environments, keep what happened, learn from what was kept, look how good it is.
 */
#include "null_check.h"

#include <burn/train/rl.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An environment and its episode. */
typedef struct Place {
  size_t length;
  double reward;
  bool running;
} Place;

typedef struct Loop {
  const BurnOffPolicyConfig *config;
  BurnOffPolicyCallbacks callbacks;
  const BurnEnvironment *environments;
  const BurnEnvironment *evaluation;
  BurnAgent agent;
  BurnDevice *device;
  BurnOffPolicyResult *result;
  size_t count, elements; /* environments; floats of a state */
  Place *places;          /* [count] */
  float *states, *next;   /* [count][elements] */
  size_t *actions;        /* [count] */
  BurnTransitionBuffer *buffer;
  BurnTensor *loss; /* of the last step of learning */
} Loop;

static size_t elements_of(BurnShape shape) {
  size_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= (size_t)shape.dims[i];
  return count;
}

static BurnStatus check_action(size_t action, const BurnEnvironment *environment) {
  if (action < environment->action_count) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "the agent chose action %zu of %zu", action,
                          environment->action_count);
}

/* -- evaluation ------------------------------------------------------------------------------- */

static BurnStatus run_episode(const BurnEnvironment *environment, BurnAgent agent, float *state,
                              BurnPolicyEvaluation *sum) {
  BurnEnvironmentStep step = {0};
  BurnStatus status = environment->reset(environment->context, state);
  while (status == BURN_OK && !step.terminated && !step.truncated) {
    size_t action = 0;
    status = agent.act(agent.context, state, 1, false, &action);
    if (status == BURN_OK) status = check_action(action, environment);
    step = (BurnEnvironmentStep){0};
    if (status == BURN_OK) status = environment->step(environment->context, action, state, &step);
    sum->mean_reward += (double)step.reward;
    sum->mean_length += 1;
  }
  return status;
}

BurnStatus burn_policy_evaluate(const BurnEnvironment *environment, BurnAgent agent, size_t episodes,
                                BurnPolicyEvaluation *result) {
  BurnStatus status = BURN_REQUIRED(environment, "a BurnEnvironment");
  if (status == BURN_OK) status = BURN_REQUIRED(result, "a BurnPolicyEvaluation");
  if (status != BURN_OK) return status;
  *result = (BurnPolicyEvaluation){.episodes = episodes};
  if (!agent.act || !environment->reset || !environment->step)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "evaluation: an agent that does not act, or an environment without reset or step");
  if (episodes == 0) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "evaluation: 0 episodes");
  float *state = calloc(elements_of(environment->state_shape), sizeof *state);
  if (!state) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "evaluation: out of memory for a state");
  for (size_t i = 0; i < episodes && status == BURN_OK; i++) {
    status = burn_status_annotate(run_episode(environment, agent, state, result), "evaluation, episode %zu", i + 1);
  }
  free(state);
  result->mean_reward /= (double)episodes;
  result->mean_length /= (double)episodes;
  return status;
}

static BurnStatus evaluate(Loop *loop) {
  const BurnOffPolicyConfig *config = loop->config;
  BurnOffPolicyResult *result = loop->result;
  const bool due = config->eval_interval && result->steps % config->eval_interval == 0;
  if (!loop->evaluation || !due) return BURN_OK;
  BurnStatus status = burn_policy_evaluate(loop->evaluation, loop->agent, config->eval_episodes, &result->last);
  result->last.steps = result->steps;
  if (status == BURN_OK && loop->callbacks.on_evaluation) {
    status = loop->callbacks.on_evaluation(loop->callbacks.context, &result->last, &result->stopped);
  }
  return status;
}

/* -- a step ----------------------------------------------------------------------------------- */

static BurnStatus begin_episodes(Loop *loop) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < loop->count && status == BURN_OK; i++) {
    if (loop->places[i].running) continue;
    const BurnEnvironment *environment = &loop->environments[i];
    status = burn_status_annotate(environment->reset(environment->context, loop->states + i * loop->elements),
                                  "environment %zu", i);
    loop->places[i] = (Place){.running = true};
  }
  return status;
}

static BurnStatus end_episode(Loop *loop, size_t index) {
  Place *place = &loop->places[index];
  const BurnAgent *agent = &loop->agent;
  place->running = false;
  loop->result->episodes++;
  if (!loop->callbacks.on_episode) return BURN_OK;
  const BurnEpisode episode = {.number = loop->result->episodes,
                               .environment = index,
                               .steps = loop->result->steps + 1,
                               .length = place->length,
                               .reward = place->reward,
                               .exploration = agent->exploration ? agent->exploration(agent->context) : (double)NAN};
  return loop->callbacks.on_episode(loop->callbacks.context, &episode);
}

static BurnStatus step_one(Loop *loop, size_t index) {
  const BurnEnvironment *environment = &loop->environments[index];
  float *state = loop->states + index * loop->elements, *next = loop->next + index * loop->elements;
  Place *place = &loop->places[index];
  BurnEnvironmentStep step = {0};
  BurnStatus status = check_action(loop->actions[index], environment);
  if (status == BURN_OK) status = environment->step(environment->context, loop->actions[index], next, &step);
  if (status != BURN_OK) return burn_status_annotate(status, "environment %zu", index);
  burn_transition_buffer_add(loop->buffer, state, loop->actions[index], step.reward, next, step.terminated);
  memcpy(state, next, loop->elements * sizeof *state);
  place->length++;
  place->reward += (double)step.reward;
  return step.terminated || step.truncated ? end_episode(loop, index) : BURN_OK;
}

static BurnStatus learn(Loop *loop) {
  const BurnOffPolicyConfig *config = loop->config;
  const size_t done = loop->result->steps, interval = config->train_interval ? config->train_interval : 1;
  BurnStatus status = BURN_OK;
  if (done <= config->warmup_steps || done % interval != 0) return BURN_OK;
  for (size_t i = 0; i < config->train_steps && status == BURN_OK; i++) {
    BurnTransitions transitions;
    BurnTensor *loss = NULL;
    status = burn_transition_buffer_sample(loop->buffer, loop->device, config->batch_size, &transitions);
    if (status == BURN_OK) status = loop->agent.learn(loop->agent.context, &transitions, &loss);
    burn_transitions_drop(&transitions);
    burn_drop(loop->loss);
    loop->loss = loss;
    loop->result->learned += status == BURN_OK;
  }
  return status;
}

static BurnStatus step_all(Loop *loop) {
  BurnStatus status = begin_episodes(loop);
  if (status == BURN_OK) {
    status = loop->agent.act(loop->agent.context, loop->states, loop->count, true, loop->actions);
  }
  for (size_t i = 0; i < loop->count && status == BURN_OK; i++) status = step_one(loop, i);
  if (status != BURN_OK) return status;
  loop->result->steps++;
  status = learn(loop);
  return status == BURN_OK ? evaluate(loop) : status;
}

/* -- the run ---------------------------------------------------------------------------------- */

static BurnStatus check(const Loop *loop) {
  const BurnOffPolicyConfig *config = loop->config;
  const BurnEnvironment *first = loop->environments;
  const char *problem = NULL;
  const BurnStatus given = BURN_REQUIRED_BY("off_policy_fit", config, "a BurnOffPolicyConfig");
  if (given != BURN_OK) return given;
  if (loop->count == 0 || !first) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "off-policy: no environment");
  if (!loop->agent.act || !loop->agent.learn) problem = "the agent does not act, or does not learn";
  if (config->batch_size < 1) problem = "batch_size is 0";
  if (loop->evaluation && config->eval_interval && config->eval_episodes < 1) problem = "eval_episodes is 0";
  for (size_t i = 0; i < loop->count && !problem; i++) {
    const BurnEnvironment *one = &loop->environments[i];
    if (!one->reset || !one->step) problem = "an environment without reset or step";
    if (one->action_count != first->action_count || one->state_shape.rank != first->state_shape.rank ||
        elements_of(one->state_shape) != loop->elements) {
      problem = "environments of different kinds";
    }
  }
  return problem ? burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "off-policy: %s", problem) : BURN_OK;
}

static BurnStatus run(Loop *loop) {
  BurnStatus status = check(loop);
  if (status != BURN_OK) return status;
  loop->buffer = burn_transition_buffer_create(loop->config->replay_capacity, loop->environments[0].state_shape,
                                               loop->config->seed, &status);
  loop->places = calloc(loop->count, sizeof *loop->places);
  loop->states = calloc(loop->count * loop->elements, sizeof *loop->states);
  loop->next = calloc(loop->count * loop->elements, sizeof *loop->next);
  loop->actions = calloc(loop->count, sizeof *loop->actions);
  if (status == BURN_OK && (!loop->places || !loop->states || !loop->next || !loop->actions)) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "off-policy: out of memory for %zu environments", loop->count);
  }
  while (status == BURN_OK && loop->result->steps < loop->config->steps && !loop->result->stopped) {
    const size_t step = loop->result->steps + 1;
    status = burn_status_annotate(step_all(loop), "step %zu", step);
  }
  if (status == BURN_OK && loop->loss) {
    status = burn_read_scalar(loop->loss, &loop->result->last_loss);
    loop->loss = NULL;
  }
  return status;
}

BurnStatus burn_off_policy_fit(const BurnOffPolicyConfig *config, const BurnOffPolicyCallbacks *callbacks,
                               const BurnEnvironment *environments, size_t count, const BurnEnvironment *evaluation,
                               BurnAgent agent, BurnDevice *device, BurnOffPolicyResult *result) {
  BurnOffPolicyResult unwanted;
  Loop loop = {.config = config,
               .environments = environments,
               .evaluation = evaluation,
               .agent = agent,
               .device = device,
               .result = result ? result : &unwanted,
               .count = count,
               .elements = environments && count ? elements_of(environments[0].state_shape) : 0};
  if (callbacks) loop.callbacks = *callbacks;
  *loop.result = (BurnOffPolicyResult){.last_loss = (double)NAN};
  const BurnStatus status = run(&loop);
  burn_transition_buffer_destroy(loop.buffer);
  free(loop.places);
  free(loop.states);
  free(loop.next);
  free(loop.actions);
  burn_drop(loop.loss);
  return status;
}
