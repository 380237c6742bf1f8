/* rl.h - reinforcement learning with numbered actions: an environment, an agent that acts in it and learns from
 * transitions, a buffer of these, and a loop for learners that learn from old ones (off-policy). DQN is such an agent.
 * Each part works by itself; the parts and defaults are Burn's (burn-rl), DQN's are of PyTorch's tutorial.
 *
 *   BurnDqn *dqn = burn_dqn_create(&dqn_config, environment.state_shape, module, forward, optimizer, device, &status);
 *   status = burn_off_policy_fit(&config, NULL, &environment, 1, NULL, burn_dqn_agent(dqn), device, &result);
 *
 * All of it is deterministic: what is random follows from the seeds of the configs, and from the environment's own. */
#ifndef BURN_TRAIN_RL_H
#define BURN_TRAIN_RL_H

#include <burn/train/optimizer.h>

BURN_EXTERN_C_BEGIN

/* -- environments ----------------------------------------------------------------------------- */

/* What a step in an environment gives beside the next state. */
typedef struct BurnEnvironmentStep {
  float reward;
  bool terminated; /* the episode ends in a state without future: its value is 0 */
  bool truncated;  /* it ends although it could go on (a limit of steps): the value of the state counts */
} BurnEnvironmentStep;

/* A world with states of floats and numbered actions. A failed status ends the run. */
typedef struct BurnEnvironment {
  BurnShape state_shape; /* of one state */
  size_t action_count;   /* actions are 0 .. action_count - 1 */
  /* Begins an episode and writes its first state. */
  BurnStatus (*reset)(void *context, float *state);
  /* Does an action, writes the state after it, and fills *step, which is zeroed. Not called after the end of an episode
   * before the next reset. */
  BurnStatus (*step)(void *context, size_t action, float *state, BurnEnvironmentStep *step);
  void *context;
} BurnEnvironment;

/* -- transitions ------------------------------------------------------------------------------ */

/* Steps as tensors of n rows. */
typedef struct BurnTransitions {
  BurnTensor *states;      /* f32 [n, ...] */
  BurnTensor *actions;     /* i64 [n] */
  BurnTensor *rewards;     /* f32 [n] */
  BurnTensor *next_states; /* f32 [n, ...] */
  BurnTensor *terminated;  /* f32 [n]: 1 where there is no future, else 0 */
} BurnTransitions;

/* Drops what is left of them. */
BURN_API void burn_transitions_drop(BurnTransitions *transitions);

/* The newest `capacity` transitions, in the host's memory: adding one costs no work of a device. */
typedef struct BurnTransitionBuffer BurnTransitionBuffer;

/* For states of a shape; `seed` is that of what is drawn. NULL with the reason in *status, which is that of a chain
 * (burn/error.h). */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnTransitionBuffer *burn_transition_buffer_create(size_t capacity,
                                                                                            BurnShape state_shape,
                                                                                            uint64_t seed,
                                                                                            BurnStatus *status);
BURN_API void burn_transition_buffer_destroy(BurnTransitionBuffer *buffer); /* NULL is allowed */
/* Copies one in; the oldest goes where the buffer is full. Nothing where the buffer is NULL. */
BURN_API void burn_transition_buffer_add(BurnTransitionBuffer *buffer, const float *state, size_t action, float reward,
                                         const float *next_state, bool terminated);
/* How many there are, at most the capacity; 0 where the buffer is NULL. */
BURN_API size_t burn_transition_buffer_count(const BurnTransitionBuffer *buffer);
/* `count` of them drawn uniformly, with replacement, as tensors on a device; the caller drops them. FAILED_PRECONDITION
 * if the buffer is empty. */
BURN_API BURN_USE_RESULT BurnStatus burn_transition_buffer_sample(BurnTransitionBuffer *buffer, BurnDevice *device,
                                                                  size_t count, BurnTransitions *transitions);

/* -- agents ----------------------------------------------------------------------------------- */

/* Who acts and learns: a policy with its own way to improve. */
typedef struct BurnAgent {
  /* Chooses an action for each of `count` states, which lie one after the other. `explore`: it may try what it does not
   * think best. */
  BurnStatus (*act)(void *context, const float *states, size_t count, bool explore, size_t *actions);
  /* One step of learning from transitions, of which it may take tensors. *loss gets the loss [1], below autodiff, the
   * caller's; it may stay NULL. */
  BurnStatus (*learn)(void *context, BurnTransitions *transitions, BurnTensor **loss);
  /* The chance of a random action at the moment, 0 .. 1; NULL: not known. */
  double (*exploration)(void *context);
  void *context;
} BurnAgent;

/* -- DQN -------------------------------------------------------------------------------------- */

/* Deep Q-learning (Mnih et al. 2015): a network gives the value of each action, Q(s, a), and learns that Q(s, a) is
 * reward + gamma max Q'(s', .) by the Huber loss, where Q' is a copy that follows the network slowly; with double_dqn
 * the action at s' is the network's choice (van Hasselt et al. 2016). An action is random with a chance that falls as
 * end + (start - end) exp(-actions / decay). */
#define BURN_DQN_CONFIG(REQ, OPT)                                                    \
  REQ(BurnSize, action_count, "actions to choose from")                              \
  OPT(BurnF64, gamma, 0.99, "what a reward one step later counts")                   \
  OPT(BurnF64, learning_rate, 1e-3, "of every step of learning")                     \
  OPT(BurnF64, tau, 0.005, "share of the network that goes into its copy, per step") \
  OPT(BurnBool, double_dqn, true, "the network chooses, its copy judges")            \
  OPT(BurnF64, epsilon_start, 0.9, "chance of a random action at first")             \
  OPT(BurnF64, epsilon_end, 0.05, "and in the end")                                  \
  OPT(BurnF64, epsilon_decay, 1000, "actions until it has fallen to 1/e of the way") \
  OPT(BurnSize, seed, 0, "of random actions")
BURN_CONFIG(BurnDqnConfig, BURN_DQN_CONFIG);

typedef struct BurnDqn BurnDqn;
/* The user's network: takes states [n, ...] -> values of the actions [n, action_count]. `module` points at the struct
 * of the module, in training or one of its copies below autodiff. */
typedef BurnTensor *(*BurnQNetwork)(const void *module, BurnTensor *states);

/* An agent for states of a shape and `module` on a device with autodiff. Module, optimizer and device stay the caller's
 * and outlive it. NULL with the reason in *status, which is that of a chain (burn/error.h). */
BURN_API BURN_CHAINS(7) BURN_USE_RESULT BurnDqn *burn_dqn_create(const BurnDqnConfig *config, BurnShape state_shape,
                                                                 BurnModule module, BurnQNetwork network,
                                                                 BurnOptimizer *optimizer, BurnDevice *device,
                                                                 BurnStatus *status);
BURN_API void burn_dqn_destroy(BurnDqn *dqn); /* NULL is allowed */
/* As an agent, which borrows it. */
BURN_API BurnAgent burn_dqn_agent(BurnDqn *dqn);

/* -- the loop --------------------------------------------------------------------------------- */

#define BURN_OFF_POLICY_CONFIG(REQ, OPT)                              \
  REQ(BurnSize, steps, "in each environment")                         \
  OPT(BurnSize, replay_capacity, 1024, "transitions that are kept")   \
  OPT(BurnSize, batch_size, 32, "of them in a step of learning")      \
  OPT(BurnSize, warmup_steps, 0, "before the first step of learning") \
  OPT(BurnSize, train_interval, 1, "steps between times of learning") \
  OPT(BurnSize, train_steps, 1, "steps of learning each time")        \
  OPT(BurnSize, eval_interval, 10000, "steps between evaluations")    \
  OPT(BurnSize, eval_episodes, 1, "of an evaluation")                 \
  OPT(BurnSize, seed, 0, "of the transitions that are drawn")
BURN_CONFIG(BurnOffPolicyConfig, BURN_OFF_POLICY_CONFIG);

/* An episode that has ended. */
typedef struct BurnEpisode {
  size_t number;      /* from 1, over all environments */
  size_t environment; /* where */
  size_t steps;       /* done by the run so far, in each environment */
  size_t length;      /* steps of the episode */
  double reward;      /* sum over the episode */
  double exploration; /* NaN if the agent does not tell */
} BurnEpisode;

/* An evaluation without exploration. */
typedef struct BurnPolicyEvaluation {
  size_t steps; /* done by the run before it */
  size_t episodes;
  double mean_reward; /* of the sums over episodes */
  double mean_length;
} BurnPolicyEvaluation;

/* Who hears of a run; each may be NULL. A failed status ends it and is returned. */
typedef struct BurnOffPolicyCallbacks {
  BurnStatus (*on_episode)(void *context, const BurnEpisode *episode);
  /* *stop: the run ends after it, complete. */
  BurnStatus (*on_evaluation)(void *context, const BurnPolicyEvaluation *evaluation, bool *stop);
  void *context;
} BurnOffPolicyCallbacks;

/* The outcome of burn_off_policy_fit. */
typedef struct BurnOffPolicyResult {
  size_t steps;              /* in each environment */
  size_t episodes;           /* that have ended */
  size_t learned;            /* steps of learning */
  double last_loss;          /* of them; NaN: there was none */
  BurnPolicyEvaluation last; /* the last evaluation; of 0 episodes if there was none */
  bool stopped;              /* on_evaluation ended it */
} BurnOffPolicyResult;

/* Acts in `count` environments of one kind at once, the states of all in one call of the agent, keeps the transitions
 * and learns from drawn ones on `device`. `evaluation` is an environment for evaluations; NULL: there are none. Both
 * callbacks and result may be NULL. */
BURN_API BURN_USE_RESULT BurnStatus burn_off_policy_fit(const BurnOffPolicyConfig *config,
                                                        const BurnOffPolicyCallbacks *callbacks,
                                                        const BurnEnvironment *environments, size_t count,
                                                        const BurnEnvironment *evaluation, BurnAgent agent,
                                                        BurnDevice *device, BurnOffPolicyResult *result);

/* `episodes` whole episodes without exploration; steps of the result is 0. */
BURN_API BURN_USE_RESULT BurnStatus burn_policy_evaluate(const BurnEnvironment *environment, BurnAgent agent,
                                                         size_t episodes, BurnPolicyEvaluation *result);

BURN_EXTERN_C_END

#endif
