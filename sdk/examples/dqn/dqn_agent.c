/* dqn_agent.c - deep Q-learning holds a pole upright: CartPole-v1.
 *
 *   dqn                 learns until the mean return of ten episodes is 500;
 *                       the best network so far is kept, and judged by a
 *                       hundred new episodes
 *   dqn play            one episode of what was saved, drawn as text
 *
 * CartPole-v1 counts as solved by a mean return of at least 475 of 500 over 100
 * episodes. */
#define _POSIX_C_SOURCE 200809L
#include "cartpole.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/nn.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- network --------------------------------------------------------------- */

#define Q_FIELDS(X)                      \
  X(BurnLinear, fc1, "state -> hidden")  \
  X(BurnLinear, fc2, "hidden -> hidden") \
  X(BurnLinear, fc3, "hidden -> actions")
BURN_MODULE(QNetwork, Q_FIELDS);

static QNetwork network_init(size_t hidden, BurnDevice *device) {
  return (QNetwork){.fc1 = burn_linear_new(CARTPOLE_STATE, hidden, device),
                    .fc2 = burn_linear_new(hidden, hidden, device),
                    .fc3 = burn_linear_new(hidden, CARTPOLE_ACTIONS, device)};
}

/* takes states [n, 4] -> values of the actions [n, 2] */
static BurnTensor *network_forward(const void *module, BurnTensor *x) {
  const QNetwork *m = module;
  x = burn_relu(burn_linear_forward(&m->fc1, burn_float(x)));
  x = burn_relu(burn_linear_forward(&m->fc2, x));
  return burn_linear_forward(&m->fc3, x);
}

/* -- training -------------------------------------------------------------- */

typedef struct Options {
  size_t steps, hidden, batch_size, replay, warmup, judged, seed;
  double learning_rate;
  const char *artifact, *backend;
  bool json;
} Options;

/* What a run tells every so many episodes, and what it keeps: deep Q-learning
 * forgets, too, so the last network is not always the best. */
typedef struct Told {
  const Options *options;
  BurnModule network;
  double rewards, best; /* since the last line; the best mean return */
  size_t episodes;
} Told;

static BurnStatus save(const Options *options, BurnModule network) {
  const ProgramPath path = program_path(options->artifact, "model");
  return burn_record_save(network, path.text, NULL);
}

static BurnStatus on_episode(void *context, const BurnEpisode *episode) {
  Told *told = context;
  told->rewards += episode->reward;
  if (++told->episodes < 25) return BURN_OK;
  const char *format =
      told->options->json
          ? "{\"event\":\"episodes\",\"episode\":%zu,\"steps\":%zu,"
            "\"mean_return\":%.1f,\"exploration\":%.3f}\n"
          : "episode %4zu  step %6zu  mean return %5.1f  exploration %.3f\n";
  printf(format, episode->number, episode->steps,
         told->rewards / (double)told->episodes, episode->exploration);
  fflush(stdout);
  told->rewards = 0;
  told->episodes = 0;
  return BURN_OK;
}

static BurnStatus on_evaluation(void *context,
                                const BurnPolicyEvaluation *evaluation,
                                bool *stop) {
  Told *told = context;
  if (!told->options->json) {
    printf("without exploration after %zu steps: %.1f\n", evaluation->steps,
           evaluation->mean_reward);
  }
  *stop = evaluation->mean_reward >= (double)CARTPOLE_STEPS;
  if (evaluation->mean_reward <= told->best) return BURN_OK;
  told->best = evaluation->mean_reward;
  return save(told->options, told->network);
}

static BurnDqn *agent_of(const Options *options, BurnModule network,
                         BurnOptimizer *optimizer, BurnDevice *device,
                         BurnStatus *status) {
  BurnDqnConfig config = BurnDqnConfig_defaults(CARTPOLE_ACTIONS);
  config.learning_rate = options->learning_rate;
  config.seed = options->seed;
  return burn_dqn_create(&config, BURN_SHAPE(CARTPOLE_STATE), network,
                         network_forward, optimizer, device, status);
}

/* Leaves the best network in `network` and in the artifact folder. */
static BurnStatus learn(const Options *options, BurnDevice *device,
                        BurnDqn *dqn, BurnModule network,
                        BurnOffPolicyResult *result) {
  CartPole cart = {.random = options->seed}, other = {.random = ~options->seed};
  const BurnEnvironment environment = cartpole_environment(&cart);
  const BurnEnvironment evaluation = cartpole_environment(&other);
  Told told = {
      .options = options, .network = network, .best = -(double)INFINITY};
  const BurnOffPolicyCallbacks callbacks = {on_episode, on_evaluation, &told};
  BurnOffPolicyConfig config = BurnOffPolicyConfig_defaults(options->steps);
  config.replay_capacity = options->replay;
  config.batch_size = options->batch_size;
  config.warmup_steps = options->warmup;
  config.eval_interval = 2000;
  config.eval_episodes = 10;
  config.seed = options->seed;
  BurnStatus status =
      burn_off_policy_fit(&config, &callbacks, &environment, 1, &evaluation,
                          burn_dqn_agent(dqn), device, result);
  if (status == BURN_OK && result->last.episodes == 0) {
    status = save(options, network); /* it was too short for an evaluation */
  }
  const ProgramPath path = program_path(options->artifact, "model");
  if (status != BURN_OK) return status;
  return burn_record_load(network, path.text, NULL);
}

/* The mean return of new episodes. */
static BurnStatus judge(const Options *options, BurnDqn *dqn,
                        BurnPolicyEvaluation *verdict) {
  CartPole cart = {.random = options->seed + 1000003};
  const BurnEnvironment environment = cartpole_environment(&cart);
  return burn_policy_evaluate(&environment, burn_dqn_agent(dqn),
                              options->judged, verdict);
}

static void print_result(const Options *options, const BurnDevice *device,
                         const BurnOffPolicyResult *result,
                         const BurnPolicyEvaluation *verdict, double seconds) {
  printf(
      "%s\"command\":\"train\",\"backend\":%s,\"seed\":%zu,\"steps\":%zu,"
      "\"episodes\":%zu,\"seconds\":%.1f,\"processor_seconds\":%.1f,"
      "\"judged_episodes\":%zu,\"mean_return\":%s,\"artifact\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, result->steps, result->episodes, seconds,
      program_processor_seconds(), verdict->episodes,
      json_number(verdict->mean_reward).text,
      json_text(options->artifact).text);
}

static BurnStatus train_network(const Options *options, BurnDevice *device,
                                QNetwork *network) {
  const BurnModule module = burn_module(QNetwork, network);
  const double begin = program_seconds();
  BurnAdamWConfig adamw = BurnAdamWConfig_defaults();
  adamw.amsgrad = true;
  adamw.clipping = (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(10);
  BurnOptimizer *optimizer = burn_adamw_create(&adamw);
  BurnStatus status = burn_folder_make(options->artifact);
  BurnOffPolicyResult result = {0};
  BurnPolicyEvaluation verdict = {0};
  BurnDqn *dqn = agent_of(options, module, optimizer, device, &status);
  if (status == BURN_OK) status = learn(options, device, dqn, module, &result);
  burn_dqn_destroy(dqn);
  dqn = agent_of(options, module, optimizer, device, &status); /* of the best */
  if (status == BURN_OK) status = judge(options, dqn, &verdict);
  if (status == BURN_OK) {
    print_result(options, device, &result, &verdict, program_seconds() - begin);
  }
  burn_dqn_destroy(dqn);
  burn_optimizer_destroy(optimizer);
  return status;
}

static BurnStatus train(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open_training(options->backend);
  burn_device_seed(device, options->seed);
  QNetwork network = network_init(options->hidden, device);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = train_network(options, device, &network);
  QNetwork_release(&network);
  burn_device_close(device);
  return status;
}

/* -- play ------------------------------------------------------------------ */

/* The cart on its track, and the pole's lean above it. */
static void draw(const CartPole *cart) {
  char track[62];
  memset(track, '-', 61);
  track[61] = '\0';
  const int at = 30 + (int)lround(cart->state[0] / 2.4 * 30);
  if (at >= 0 && at < 61) {
    const double lean = cart->state[2];
    track[at] = (char)(lean > 0.02 ? '/' : lean < -0.02 ? '\\' : '|');
  }
  printf("%s\n", track);
}

static BurnStatus play_on(const Options *options, BurnDevice *device,
                          const QNetwork *network, CartPole *cart) {
  const BurnEnvironment environment = cartpole_environment(cart);
  BurnEnvironmentStep step = {0};
  float state[CARTPOLE_STATE];
  BurnStatus status = environment.reset(cart, state);
  while (status == BURN_OK && !step.terminated && !step.truncated) {
    int64_t action = 0;
    if (!options->json && cart->steps % 10 == 0) draw(cart);
    BurnTensor *x =
        burn_tensor_f32(device, state, BURN_SHAPE(1, CARTPOLE_STATE));
    x = burn_argmax(network_forward(network, x), 1);
    status = burn_read_i64(x, &action, 1);
    if (status != BURN_OK) break;
    status = environment.step(cart, (size_t)action, state, &step);
  }
  return status;
}

static BurnStatus play(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open(options->backend);
  QNetwork network = network_init(options->hidden, device);
  const ProgramPath path = program_path(options->artifact, "model");
  CartPole cart = {.random = options->seed};
  BurnStatus status =
      burn_record_load(burn_module(QNetwork, &network), path.text, NULL);
  if (status == BURN_OK) status = play_on(options, device, &network, &cart);
  if (status == BURN_OK) {
    printf("%s\"command\":\"play\",\"return\":%zu}\n",
           result_begin(options->json), cart.steps);
  }
  QNetwork_release(&network);
  burn_device_close(device);
  return status;
}

/* -- program --------------------------------------------------------------- */

static const char *problem_of(const void *context, const char *command) {
  const Options *options = context;
  (void)command;
  if (options->steps < 1 || options->hidden < 1 || options->judged < 1) {
    return "--steps, --hidden and --judge are at least 1";
  }
  if (options->batch_size < 1 || options->replay < options->batch_size) {
    return "--batch-size is at least 1, --replay at least --batch-size";
  }
  return NULL;
}

int main(int argc, char **argv) {
  Options options = {.artifact = "artifacts/dqn",
                     .steps = 60000,
                     .hidden = 128,
                     .batch_size = 128,
                     .replay = 10000,
                     .warmup = 128,
                     .judged = 100,
                     .seed = 1,
                     .learning_rate = 1e-3};
  const Argument arguments[] = {
      {"steps", ARGUMENT_SIZE, &options.steps, "N", "at most so many"},
      {"hidden", ARGUMENT_SIZE, &options.hidden, "N", "width of both layers"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N",
       "transitions in a step of learning"},
      {"replay", ARGUMENT_SIZE, &options.replay, "N",
       "transitions that are kept"},
      {"warmup", ARGUMENT_SIZE, &options.warmup, "N",
       "steps before the first step of learning"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X", "learning rate"},
      {"judge", ARGUMENT_SIZE, &options.judged, "N",
       "episodes for the verdict at the end"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of all that is random"},
      {"artifact", ARGUMENT_TEXT, &options.artifact, "DIR",
       "where model.mpk goes"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"train", train}, {"play", play}};
  const Program program = {
      .name = "dqn",
      .usage =
          "usage: dqn [train] [options]   learn to hold a pole upright\n"
          "       dqn play [options]      an episode of what was saved",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of};
  return program_main(&program, argc, argv, &options);
}
