/* rl_test.c - transitions that are kept and drawn; DQN against the values of worlds that are small enough to solve by
 * Bellman's equation; the loop: episodes, evaluations, what ends it, the same bits by seed. */
#include "learner_testing.h"

/* -- the buffer ------------------------------------------------------------------------------- */

static BurnTransitionBuffer *buffer_of(size_t capacity, uint64_t seed) {
  BurnStatus status = BURN_OK;
  BurnTransitionBuffer *buffer = burn_transition_buffer_create(capacity, BURN_SHAPE(2), seed, &status);
  check_status(status);
  return buffer;
}

/* Transition i is recognised by each of its numbers. */
static void add(BurnTransitionBuffer *buffer, size_t i) {
  const float x = (float)i, state[] = {x, -x}, next[] = {x + 0.5f, -x - 0.5f};
  burn_transition_buffer_add(buffer, state, i, 10 * x, next, i % 3 == 0);
}

typedef struct Drawn {
  float states[4096], next[4096], rewards[2048], terminated[2048];
  int64_t actions[2048];
} Drawn;

static const Drawn *draw(BurnTransitionBuffer *buffer, BurnDevice *device, size_t count) {
  static Drawn drawn;
  BurnTransitions t;
  check_status(burn_transition_buffer_sample(buffer, device, count, &t));
  assert_true(burn_dim(t.states, 0) == (int64_t)count && burn_dim(t.states, 1) == 2);
  check_status(burn_read_f32(burn_clone(t.states), drawn.states, 2 * count));
  check_status(burn_read_f32(burn_clone(t.next_states), drawn.next, 2 * count));
  check_status(burn_read_f32(burn_clone(t.rewards), drawn.rewards, count));
  check_status(burn_read_f32(burn_clone(t.terminated), drawn.terminated, count));
  check_status(burn_read_i64(burn_clone(t.actions), drawn.actions, count));
  burn_transitions_drop(&t);
  return &drawn;
}

static void the_newest_are_kept_and_drawn_uniformly(void **state) {
  (void)state;
  size_t times[10] = {0};
  BurnDevice *device = burn_device_open("ndarray");
  BurnTransitionBuffer *buffer = buffer_of(4, 1);
  for (size_t i = 0; i < 10; i++) {
    add(buffer, i);
    assert_int_equal(burn_transition_buffer_count(buffer), i < 4 ? i + 1 : 4);
  }
  const Drawn *drawn = draw(buffer, device, 2000);
  for (size_t i = 0; i < 2000; i++) {
    const int64_t which = drawn->actions[i];
    const float x = (float)which;
    assert_true(which >= 6 && which < 10);
    assert_true(drawn->states[2 * i] == x && drawn->states[2 * i + 1] == -x);
    assert_true(drawn->next[2 * i] == x + 0.5f && drawn->next[2 * i + 1] == -x - 0.5f);
    assert_true(drawn->rewards[i] == 10 * x && drawn->terminated[i] == (which % 3 == 0 ? 1 : 0));
    times[which]++;
  }
  /* 500 each; six deviations of a binomial are 116 */
  for (size_t i = 6; i < 10; i++) assert_true(times[i] > 384 && times[i] < 616);
  burn_transition_buffer_destroy(buffer);
  burn_device_close(device);
}

static void draws_follow_the_seed(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  int64_t first[50];
  for (uint64_t seed = 0; seed < 3; seed++) {
    BurnTransitionBuffer *buffer = buffer_of(100, seed == 2 ? 1 : 0);
    for (size_t i = 0; i < 100; i++) add(buffer, i);
    const Drawn *drawn = draw(buffer, device, 50);
    if (seed == 0) memcpy(first, drawn->actions, sizeof first);
    assert_true((memcmp(first, drawn->actions, sizeof first) == 0) == (seed < 2));
    burn_transition_buffer_destroy(buffer);
  }
  burn_device_close(device);
}

static void wrong_buffers_are_refused(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnTransitions t;
  BurnDevice *device = burn_device_open("ndarray");
  assert_null(burn_transition_buffer_create(0, BURN_SHAPE(2), 0, &status));
  check_refused(status, BURN_STATUS_INVALID_ARGUMENT, "0 transitions of states of rank 1 make no sense");
  status = BURN_OK;
  assert_null(burn_transition_buffer_create(4, BURN_SHAPE(2, 0), 0, &status));
  check_refused(status, BURN_STATUS_INVALID_ARGUMENT, "make no sense");
  status = BURN_OK;
  assert_null(burn_transition_buffer_create(SIZE_MAX / 16, BURN_SHAPE(1 << 20), 0, &status));
  check_refused(status, BURN_STATUS_INVALID_ARGUMENT, "make no sense");
  BurnTransitionBuffer *buffer = buffer_of(4, 1);
  check_refused(burn_transition_buffer_sample(buffer, device, 1, &t), BURN_STATUS_FAILED_PRECONDITION,
                "there is nothing to draw from");
  burn_transition_buffer_destroy(buffer);
  burn_device_close(device);
}

/* -- small worlds ----------------------------------------------------------------------------- */

enum { PLACES = 5, ACTIONS = 2 };

/* A corridor: left and right, rewards at both ends, from the middle. */
typedef struct Corridor {
  size_t at, length, limit; /* steps until an episode is truncated; 0: none */
  size_t fails_at, steps;
} Corridor;

static void show(const Corridor *corridor, float *state) {
  for (size_t i = 0; i < PLACES; i++) state[i] = i == corridor->at ? 1.0f : 0.0f;
}

static BurnStatus corridor_reset(void *context, float *state) {
  Corridor *corridor = context;
  corridor->at = PLACES / 2;
  corridor->length = 0;
  show(corridor, state);
  return BURN_OK;
}

static float reward_at(size_t at) { return at == 0 ? 0.3f : at == PLACES - 1 ? 1.0f : -0.1f; }

static BurnStatus corridor_step(void *context, size_t action, float *state, BurnEnvironmentStep *step) {
  Corridor *corridor = context;
  if (++corridor->steps == corridor->fails_at) return burn_status_make(BURN_STATUS_IO, "the corridor fell in");
  corridor->at += action == 1 ? 1 : (size_t)-1;
  step->reward = reward_at(corridor->at);
  step->terminated = corridor->at == 0 || corridor->at == PLACES - 1;
  step->truncated = corridor->limit && ++corridor->length == corridor->limit && !step->terminated;
  show(corridor, state);
  return BURN_OK;
}

/* One place, reward 1, for ever: cut off after `limit` steps, or at an end if that is 0. */
static BurnStatus still_step(void *context, size_t action, float *state, BurnEnvironmentStep *step) {
  Corridor *corridor = context;
  (void)action;
  step->reward = 1;
  step->terminated = corridor->limit == 0;
  step->truncated = corridor->limit && ++corridor->length == corridor->limit;
  show(corridor, state);
  return BURN_OK;
}

static BurnEnvironment world(Corridor *corridor, bool still) {
  return (BurnEnvironment){BURN_SHAPE(PLACES), ACTIONS, corridor_reset, still ? still_step : corridor_step, corridor};
}

/* Q by Bellman's equation, iterated until nothing moves. */
static void solve(double gamma, double q[PLACES][ACTIONS]) {
  memset(q, 0, PLACES * sizeof *q);
  for (int round = 0; round < 1000; round++) {
    for (size_t at = 1; at + 1 < PLACES; at++) {
      for (size_t action = 0; action < ACTIONS; action++) {
        const size_t next = action == 1 ? at + 1 : at - 1;
        const bool ends = next == 0 || next == PLACES - 1;
        const double future = ends ? 0 : fmax(q[next][0], q[next][1]);
        q[at][action] = (double)reward_at(next) + gamma * future;
      }
    }
  }
}

/* -- DQN on them ------------------------------------------------------------------------------ */

#define TABLE_FIELDS(X) X(BurnParam, values, "[places, actions]")
BURN_MODULE(Table, TABLE_FIELDS);

static BurnTensor *look_up(const void *module, BurnTensor *states) {
  return burn_matmul(states, burn_param_value(&((const Table *)module)->values));
}

typedef struct Taught {
  BurnStatus status;
  BurnOffPolicyResult result;
  float values[PLACES][ACTIONS];
} Taught;

static Taught teach(const BurnDqnConfig *config, const BurnOffPolicyConfig *loop,
                    const BurnOffPolicyCallbacks *callbacks, const BurnEnvironment *environments, size_t count,
                    const BurnEnvironment *evaluation) {
  Taught taught = {.status = BURN_OK};
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  Table table = {burn_param(burn_zeros(device, BURN_SHAPE(PLACES, ACTIONS), BURN_DTYPE_F32))};
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  BurnDqn *dqn = burn_dqn_create(config, BURN_SHAPE(PLACES), burn_module(Table, &table), look_up, optimizer, device,
                                 &taught.status);
  if (dqn) {
    taught.status = burn_off_policy_fit(loop, callbacks, environments, count, evaluation, burn_dqn_agent(dqn), device,
                                        &taught.result);
  }
  check_status(burn_read_f32(burn_param_value(&table.values), taught.values[0], (size_t)PLACES * ACTIONS));
  burn_dqn_destroy(dqn);
  burn_optimizer_destroy(optimizer);
  Table_release(&table);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
  return taught;
}

static BurnDqnConfig dqn_of(double gamma, bool double_dqn) {
  BurnDqnConfig config = BurnDqnConfig_defaults(ACTIONS);
  config.gamma = gamma;
  config.learning_rate = 0.02;
  config.tau = 0.1;
  config.double_dqn = double_dqn;
  config.epsilon_end = config.epsilon_start = 1; /* any way may be taken */
  return config;
}

static void values_are_those_of_bellman(void **state) {
  (void)state;
  double q[PLACES][ACTIONS];
  solve(0.8, q);
  for (int i = 0; i < 2; i++) {
    Corridor corridors[2] = {{.limit = 20}, {.limit = 20}};
    const BurnEnvironment both[] = {world(&corridors[0], false), world(&corridors[1], false)};
    BurnOffPolicyConfig loop = BurnOffPolicyConfig_defaults(1500);
    loop.warmup_steps = 32;
    const BurnDqnConfig config = dqn_of(0.8, i == 1);
    const Taught taught = teach(&config, &loop, NULL, both, 2, NULL);
    check_status(taught.status);
    assert_int_equal(taught.result.steps, 1500);
    assert_int_equal(taught.result.learned, 1500 - 32);
    assert_true(taught.result.last_loss < 1e-3);
    for (size_t at = 1; at + 1 < PLACES; at++) {
      for (size_t action = 0; action < ACTIONS; action++) {
        if (!(fabs((double)taught.values[at][action] - q[at][action]) < 0.02)) {
          fail_msg("Q(%zu, %zu) is %g, not %g", at, action, (double)taught.values[at][action], q[at][action]);
        }
      }
    }
  }
}

/* A state at the end has no future, one where an episode was cut off has: 1, and 1 / (1 - gamma). */
static void only_ends_have_no_future(void **state) {
  (void)state;
  for (size_t limit = 0; limit <= 3; limit += 3) {
    Corridor corridor = {.limit = limit};
    const BurnEnvironment still = world(&corridor, true);
    const BurnOffPolicyConfig loop = BurnOffPolicyConfig_defaults(1500);
    const BurnDqnConfig config = dqn_of(0.5, true);
    const Taught taught = teach(&config, &loop, NULL, &still, 1, NULL);
    check_status(taught.status);
    assert_int_equal(taught.result.episodes, limit ? 500 : 1500);
    for (size_t action = 0; action < ACTIONS; action++) {
      const double expected = limit ? 2 : 1;
      assert_true(fabs((double)taught.values[PLACES / 2][action] - expected) < 0.02);
    }
  }
}

/* -- the loop --------------------------------------------------------------------------------- */

typedef struct Heard {
  size_t episodes, evaluations, stop_at, length;
  double reward, exploration;
  bool fails;
} Heard;

static BurnStatus heard_episode(void *context, const BurnEpisode *episode) {
  Heard *heard = context;
  assert_int_equal(episode->number, ++heard->episodes);
  assert_true(episode->exploration <= heard->exploration);
  heard->exploration = episode->exploration;
  heard->length += episode->length;
  heard->reward += episode->reward;
  return heard->fails && heard->episodes == 3 ? burn_status_make(BURN_STATUS_CANCELLED, "enough") : BURN_OK;
}

static BurnStatus heard_evaluation(void *context, const BurnPolicyEvaluation *evaluation, bool *stop) {
  Heard *heard = context;
  assert_int_equal(evaluation->episodes, 5);
  assert_int_equal(evaluation->steps, ++heard->evaluations * 100);
  *stop = heard->evaluations == heard->stop_at;
  return BURN_OK;
}

static Taught listened(Heard *heard, size_t seed, size_t fails_at) {
  Corridor corridor = {.limit = 20, .fails_at = fails_at}, other = {.limit = 20};
  const BurnEnvironment environment = world(&corridor, false), evaluation = world(&other, false);
  BurnOffPolicyConfig loop = BurnOffPolicyConfig_defaults(600);
  BurnDqnConfig config = dqn_of(0.8, true);
  config.epsilon_end = 0.1;
  config.epsilon_decay = 200;
  config.seed = seed;
  loop.eval_interval = 100;
  loop.eval_episodes = 5;
  loop.seed = seed;
  heard->exploration = 1;
  const BurnOffPolicyCallbacks callbacks = {heard_episode, heard_evaluation, heard};
  return teach(&config, &loop, &callbacks, &environment, 1, &evaluation);
}

static void callbacks_hear_of_episodes_and_evaluations(void **state) {
  (void)state;
  Heard heard = {.episodes = 0};
  const Taught taught = listened(&heard, 1, 0);
  check_status(taught.status);
  assert_int_equal(heard.episodes, taught.result.episodes);
  assert_true(heard.length <= 600 && heard.length > 580);
  assert_int_equal(heard.evaluations, 6);
  /* end + (start - end) exp(-600 / 200) at the end, a little more at the last episode */
  assert_true(heard.exploration >= 0.1 + 0.9 * exp(-3) - 1e-12 && heard.exploration < 0.1 + 0.9 * exp(-2.8));
  /* the best way from the middle: -0.1, then 1 */
  assert_true(fabs(taught.result.last.mean_reward - 0.9) < 1e-6);
  assert_true(taught.result.last.mean_length == 2);
}

static void runs_end_when_they_should(void **state) {
  (void)state;
  Heard stopped = {.stop_at = 2}, failing = {.fails = true}, broken = {.episodes = 0};
  const Taught early = listened(&stopped, 1, 0);
  check_status(early.status);
  assert_true(early.result.stopped && early.result.steps == 200);
  check_refused(listened(&failing, 1, 0).status, BURN_STATUS_CANCELLED, "enough");
  check_refused(listened(&broken, 1, 50).status, BURN_STATUS_IO, "step 50: environment 0: the corridor fell in");
}

static void runs_repeat_by_seed(void **state) {
  (void)state;
  Heard heard[3] = {{.episodes = 0}};
  const Taught one = listened(&heard[0], 1, 0), again = listened(&heard[1], 1, 0), other = listened(&heard[2], 2, 0);
  assert_memory_equal(one.values, again.values, sizeof one.values);
  assert_true(heard[0].reward == heard[1].reward && heard[0].episodes == heard[1].episodes);
  assert_true(memcmp(one.values, other.values, sizeof one.values) != 0);
}

static BurnStatus act_badly(void *context, const float *states, size_t count, bool explore, size_t *actions) {
  (void)context;
  (void)states;
  (void)explore;
  for (size_t i = 0; i < count; i++) actions[i] = ACTIONS;
  return BURN_OK;
}

static BurnStatus learn_nothing(void *context, BurnTransitions *transitions, BurnTensor **loss) {
  (void)context;
  (void)transitions;
  (void)loss;
  return BURN_OK;
}

static void wrong_use_is_refused(void **state) {
  (void)state;
  Corridor corridor = {.limit = 20};
  BurnEnvironment two[] = {world(&corridor, false), world(&corridor, false)};
  BurnOffPolicyConfig loop = BurnOffPolicyConfig_defaults(10);
  BurnDqnConfig config = dqn_of(0.8, true);
  const BurnAgent bad = {.act = act_badly, .learn = learn_nothing};
  BurnPolicyEvaluation evaluation;
  BurnDevice *device = burn_device_open("ndarray");
  check_refused(burn_off_policy_fit(&loop, NULL, two, 1, NULL, bad, device, NULL), BURN_STATUS_OUT_OF_RANGE,
                "step 1: environment 0: the agent chose action 2 of 2");
  check_refused(burn_policy_evaluate(two, bad, 1, &evaluation), BURN_STATUS_OUT_OF_RANGE, "action 2 of 2");
  check_refused(burn_policy_evaluate(two, bad, 0, &evaluation), BURN_STATUS_INVALID_ARGUMENT, "0 episodes");
  check_refused(burn_off_policy_fit(&loop, NULL, two, 0, NULL, bad, device, NULL), BURN_STATUS_INVALID_ARGUMENT,
                "no environment");
  two[1].action_count = 3;
  check_refused(teach(&config, &loop, NULL, two, 2, NULL).status, BURN_STATUS_INVALID_ARGUMENT,
                "environments of different kinds");
  config.gamma = 1.5;
  check_refused(teach(&config, &loop, NULL, two, 1, NULL).status, BURN_STATUS_INVALID_ARGUMENT,
                "dqn: gamma is not within 0..1");
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_newest_are_kept_and_drawn_uniformly),
      cmocka_unit_test(draws_follow_the_seed),
      cmocka_unit_test(wrong_buffers_are_refused),
      cmocka_unit_test(values_are_those_of_bellman),
      cmocka_unit_test(only_ends_have_no_future),
      cmocka_unit_test(callbacks_hear_of_episodes_and_evaluations),
      cmocka_unit_test(runs_end_when_they_should),
      cmocka_unit_test(runs_repeat_by_seed),
      cmocka_unit_test(wrong_use_is_refused),
  };
  return cmocka_run_group_tests_name("rl", tests, NULL, NULL);
}
