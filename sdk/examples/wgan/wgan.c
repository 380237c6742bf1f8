/* wgan.c - a generator learns to draw digits: a Wasserstein GAN whose critic is
 * held near slope 1 by a gradient penalty (WGAN-GP, Gulrajani et al. 2017).
 *
 *   wgan                 train, save the generator, draw digits.pgm
 *   wgan --evaluate      let the model of the example mnist judge the digits
 *                        of the saved one */
#include "judge.h"
#include "pictures.h"
#include "wgan_model.h"

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CRITIC_STEPS = 5, TOLD_STEPS = 250, JUDGED = 2000, PATH_BYTES = 1024 };

typedef struct Options {
  const char *data, *artifact, *judge, *backend;
  size_t steps, batch_size, items, seed;
  double learning_rate;
  bool evaluate, json;
} Options;

/* -- training -------------------------------------------------------------- */

/* What a run learns with. The critic is frozen while the generator learns. */
typedef struct Run {
  BurnDevice *device;
  Generator generator;
  Critic critic;
  BurnOptimizer *generator_optimizer, *critic_optimizer;
} Run;

static BurnStatus train_critic(const Options *options, Run *run,
                               BurnTensor *real, double *distance) {
  BurnTensor *told = NULL;
  BurnTensor *loss = critic_loss(&run->critic, &run->generator, real, &told);
  BurnStatus status =
      burn_train_step(run->critic_optimizer, burn_module(Critic, &run->critic),
                      loss, options->learning_rate);
  const BurnStatus read = burn_read_scalar(told, distance);
  return status == BURN_OK ? read : status;
}

static BurnStatus train_generator(const Options *options, Run *run) {
  const BurnModule critic = burn_module(Critic, &run->critic);
  burn_module_freeze(critic);
  BurnTensor *loss = generator_loss(&run->generator, &run->critic,
                                    options->batch_size, run->device);
  const BurnStatus status = burn_train_step(
      run->generator_optimizer, burn_module(Generator, &run->generator), loss,
      options->learning_rate);
  burn_module_unfreeze(critic);
  return status;
}

static void report(const Options *options, size_t step, double distance) {
  printf(options->json ? "{\"event\":\"step\",\"step\":%zu,\"distance\":%s}\n"
                       : "step %6zu   distance %s\n",
         step, json_number(distance).text);
  fflush(stdout);
}

/* Epochs of real images until all steps are done; *distance: the mean of the
 * last TOLD_STEPS. */
static BurnStatus train_steps(const Options *options, Run *run,
                              BurnLoader *data, double *distance) {
  BurnStatus status = BURN_OK;
  double sum = 0;
  size_t critic_steps = 0, summed = 0;
  const size_t last = options->steps * CRITIC_STEPS;
  for (size_t epoch = 1; status == BURN_OK && critic_steps < last; epoch++) {
    BurnBatches *batches = burn_loader_start(data, run->device, epoch, 0);
    for (BurnBatch batch; status == BURN_OK && critic_steps < last &&
                          burn_batches_next(batches, &batch);) {
      double now = 0;
      BurnTensor *real = pixels_of(burn_batch_take(&batch, "image"));
      status = train_critic(options, run, real, &now);
      sum += now, summed++;
      if (status != BURN_OK || ++critic_steps % CRITIC_STEPS != 0) continue;
      status = train_generator(options, run);
      const size_t step = critic_steps / CRITIC_STEPS;
      if (step % TOLD_STEPS != 0 && critic_steps < last) continue;
      *distance = sum / (double)summed;
      report(options, step, *distance);
      sum = 0, summed = 0;
    }
    const BurnStatus stopped = burn_batches_stop(batches);
    if (status == BURN_OK) status = stopped;
  }
  return status;
}

/* -- wgan: what comes of a run -------------------------------------------- */

/* Fits: main looks at the length of the folder's name. */
static char *path_in(const Options *options, const char *name,
                     char path[PATH_BYTES]) {
  snprintf(path, PATH_BYTES, "%s/%s", options->artifact, name);
  return path;
}

static BurnStatus show(const Options *options, const Generator *m,
                       BurnDevice *device) {
  static float images[GRID * GRID * PIXELS];
  char path[PATH_BYTES];
  BurnStatus status = burn_read_f32(generate(m, GRID * GRID, device), images,
                                    (size_t)GRID * GRID * PIXELS);
  if (status != BURN_OK) return status;
  if (!options->json) print_digits(images);
  return save_grid(path_in(options, "digits.pgm", path), images);
}

static BurnLoader *loader_of(const Options *options, uint32_t split,
                             size_t items, BurnStatus *status) {
  return digits_loader(options->data, split, items, options->batch_size,
                       options->seed, status);
}

/* The generator of this run is saved and drawn from below autodiff. */
static BurnStatus finish(const Options *options, const Run *run) {
  char path[PATH_BYTES];
  Generator valid = Generator_valid(&run->generator);
  BurnStatus status =
      burn_record_save(burn_module(Generator, &valid),
                       path_in(options, "generator", path), NULL);
  if (status == BURN_OK) {
    status = show(options, &valid, burn_device_inner(run->device));
  }
  Generator_release(&valid);
  return status;
}

static BurnStatus train(const Options *options, BurnDevice *device) {
  BurnAdamConfig adam = BurnAdamConfig_defaults();
  adam.beta_1 = 0.5, adam.beta_2 = 0.9;
  Run run = {device, generator_init(device), critic_init(device),
             burn_adam_create(&adam), burn_adam_create(&adam)};
  double distance = (double)NAN;
  const clock_t begin = clock();
  BurnStatus status = burn_folder_make(options->artifact);
  BurnLoader *data =
      loader_of(options, BURN_MNIST_TRAIN, options->items, &status);
  if (status == BURN_OK) status = train_steps(options, &run, data, &distance);
  if (status == BURN_OK) status = finish(options, &run);
  if (status == BURN_OK) {
    printf(
        "%s\"backend\":%s,\"seed\":%zu,\"steps\":%zu,\"distance\":%s,"
        "\"processor_seconds\":%.1f}\n",
        result_begin(options->json), json_text(burn_device_name(device)).text,
        options->seed, options->steps, json_number(distance).text,
        (double)(clock() - begin) / CLOCKS_PER_SEC);
  }
  burn_loader_destroy(data);
  burn_optimizer_destroy(run.generator_optimizer);
  burn_optimizer_destroy(run.critic_optimizer);
  Generator_release(&run.generator);
  Critic_release(&run.critic);
  return status;
}

/* -- wgan --evaluate ------------------------------------------------------- */

/* The judge's verdict on real digits that it has not seen, and on generated
 * ones. */
static BurnStatus compare(const Options *options, const Model *judge,
                          BurnDevice *device, Verdict *real, Verdict *fake) {
  char path[PATH_BYTES];
  BurnBatch batch;
  BurnStatus status = BURN_OK;
  Generator m = generator_init(device);
  BurnLoader *test = digits_loader(options->data, BURN_MNIST_TEST, JUDGED,
                                   JUDGED, options->seed, &status);
  BurnBatches *batches = test ? burn_loader_start(test, device, 1, 0) : NULL;
  if (batches && burn_batches_next(batches, &batch)) {
    status = judge_images(judge, pixels_of(burn_batch_take(&batch, "image")),
                          burn_batch_take(&batch, "label"), real);
  }
  const BurnStatus stopped = batches ? burn_batches_stop(batches) : BURN_OK;
  if (status == BURN_OK) status = stopped;
  if (status == BURN_OK) {
    status = burn_record_load(burn_module(Generator, &m),
                              path_in(options, "generator", path), NULL);
  }
  if (status == BURN_OK) {
    status = judge_images(judge, generate(&m, JUDGED, device), NULL, fake);
  }
  Generator_release(&m);
  burn_loader_destroy(test);
  return status;
}

static void print_verdict(const Options *options, const Verdict *real,
                          const Verdict *fake) {
  double rarest = 1;
  if (!options->json) printf("share of each digit:");
  for (int i = 0; i < CLASSES; i++) {
    if (fake->share[i] < rarest) rarest = fake->share[i];
    if (!options->json) printf(" %.3f", fake->share[i]);
  }
  if (!options->json) putchar('\n');
  printf(
      "%s\"judge_accuracy\":%s,\"confident_of_real\":%s,"
      "\"confident_of_generated\":%s,\"rarest_digit\":%s}\n",
      result_begin(options->json), json_number(real->right).text,
      json_number(real->confident).text, json_number(fake->confident).text,
      json_number(rarest).text);
}

/* The device below autodiff, as nothing is learned. */
static BurnStatus evaluate(const Options *options, BurnDevice *device) {
  Model judge;
  memset(&judge, 0, sizeof judge);
  Verdict real = {0}, fake = {0};
  BurnStatus status = judge_load(options->judge, device, &judge);
  if (status == BURN_OK) {
    status = compare(options, &judge, device, &real, &fake);
  }
  if (status == BURN_OK) print_verdict(options, &real, &fake);
  Model_release(&judge);
  return status;
}

/* -- program --------------------------------------------------------------- */

static int run_command(const Options *options) {
  BurnDevice *device = burn_device_open_training(options->backend);
  BurnStatus status = burn_device_status(device);
  burn_device_seed(device, options->seed);
  burn_device_seed(burn_device_inner(device), options->seed);
  if (status == BURN_OK) {
    status = options->evaluate ? evaluate(options, burn_device_inner(device))
                               : train(options, device);
  }
  if (status != BURN_OK) {
    fprintf(stderr, "wgan: %s\n", burn_status_message(status));
  }
  burn_device_close(device);
  return status != BURN_OK;
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {.artifact = "artifacts/wgan",
                     .judge = "artifacts/mnist",
                     .steps = 5000,
                     .batch_size = 64,
                     .items = 20000,
                     .seed = 1,
                     .learning_rate = 5e-4};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options.data, "DIR",
       "folder with the four MNIST files; without it digits are generated"},
      {"steps", ARGUMENT_SIZE, &options.steps, "N",
       "steps of the generator, for each of which the critic takes five"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "images a step"},
      {"items", ARGUMENT_SIZE, &options.items, "N",
       "real digits to learn from"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X",
       "learning rate of both"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N",
       "of weights, noise and generated digits"},
      {"artifact", ARGUMENT_TEXT, &options.artifact, "DIR",
       "where generator.mpk and digits.pgm go"},
      ARGUMENT_BACKEND(&options),
      {"evaluate", ARGUMENT_FLAG, &options.evaluate, NULL,
       "judge what the saved generator draws by the model of mnist"},
      {"judge", ARGUMENT_TEXT, &options.judge, "DIR",
       "artifact folder of mnist, for --evaluate"},
      ARGUMENT_JSON(&options),
  };
  static const char usage[] =
      "usage: wgan [options]   learn to draw digits with WGAN-GP";
  const int parsed =
      arguments_parse(argc, argv, usage, arguments,
                      sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.steps < 1 || options.batch_size < 1 || options.items < 1) {
    fprintf(stderr, "wgan: --steps, --batch-size and --items are at least 1\n");
    return 2;
  }
  if (strlen(options.artifact) > PATH_BYTES - 16) {
    fprintf(stderr, "wgan: --artifact is longer than %d bytes\n",
            PATH_BYTES - 16);
    return 2;
  }
  return run_command(&options);
}
