/* xor.c - the smallest network that learns something a line cannot: two
 * inputs, a few hidden units, one output.
 *
 * Everything by hand: tensors, gradients, the update. See regression.c for the
 * same with layers and an optimizer. */
#define _POSIX_C_SOURCE 200809L
#include <burn/burn.h>

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <stdio.h>
#include <time.h>

enum { HIDDEN = 8 };

/* Leaves: [2, HIDDEN], [1, HIDDEN], [HIDDEN, 1], [1, 1]. */
typedef struct Net {
  BurnTensor *w1, *b1, *w2, *b2;
} Net;

static BurnTensor *leaf(BurnDevice *device, BurnShape shape) {
  return burn_require_grad(
      burn_random_uniform(device, shape, BURN_DTYPE_DEFAULT, -1, 1));
}

/* takes x [n, 2] -> [n, 1] */
static BurnTensor *forward(const Net *net, BurnTensor *x) {
  x = burn_add(burn_matmul(x, burn_clone(net->w1)), burn_clone(net->b1));
  x = burn_tanh(x);
  x = burn_add(burn_matmul(x, burn_clone(net->w2)), burn_clone(net->b2));
  return burn_sigmoid(x);
}

/* One leaf after a step of gradient descent: a new leaf, as the old one belongs
 * to the graph that is gone. */
static BurnTensor *descend(BurnTensor *x, BurnGradients *gradients,
                           double rate) {
  BurnDevice *device = burn_tensor_device(x);
  BurnTensor *step = burn_mul_scalar(burn_grad(x, gradients), rate);
  return burn_require_grad(
      burn_from_inner(burn_sub(burn_inner(x), step), device));
}

static BurnStatus train_step(Net *net, BurnTensor *x, BurnTensor *y,
                             double rate, double *loss) { /* takes x and y */
  BurnTensor *mean = burn_mean(burn_square(burn_sub(forward(net, x), y)));
  BurnStatus status = burn_read_scalar(burn_clone(mean), loss);
  BurnGradients *gradients = NULL;
  const BurnStatus walked = burn_backward(mean, &gradients);
  if (status == BURN_OK) status = walked;
  if (status == BURN_OK) {
    net->w1 = descend(net->w1, gradients, rate);
    net->b1 = descend(net->b1, gradients, rate);
    net->w2 = descend(net->w2, gradients, rate);
    net->b2 = descend(net->b2, gradients, rate);
  }
  burn_gradients_drop(gradients);
  return status;
}

typedef struct Options {
  size_t steps, seed;
  double rate;
  const char *backend;
  bool json;
} Options;

/* Loss and accuracy at the end of a run. */
typedef struct Outcome {
  double loss, accuracy;
} Outcome;

static BurnStatus learn(const Options *options, Net *net, const BurnTensor *x,
                        const BurnTensor *y, double *loss) {
  BurnStatus status = BURN_OK;
  for (size_t step = 1; status == BURN_OK && step <= options->steps; step++) {
    const bool report = step % 500 == 0 || step == options->steps;
    status = train_step(net, burn_clone(x), burn_clone(y), options->rate, loss);
    if (status != BURN_OK || !report) continue;
    if (options->json) {
      printf("{\"event\":\"step\",\"step\":%zu,\"loss\":%s}\n", step,
             json_number(*loss).text);
    } else {
      printf("step %zu: loss %.6f\n", step, *loss);
    }
  }
  return status;
}

static BurnStatus answer(const Options *options, const Net *net, BurnTensor *x,
                         double *accuracy) { /* takes x */
  float answers[4] = {0};
  const BurnStatus status = burn_read_f32(forward(net, x), answers, 4);
  size_t right = 0;
  for (int i = 0; status == BURN_OK && i < 4; i++) {
    const int a = i >> 1, b = i & 1;
    right += (answers[i] > 0.5f) == (a != b);
    if (!options->json) printf("%d xor %d = %.3f\n", a, b, (double)answers[i]);
  }
  *accuracy = (double)right / 4;
  return status;
}

static BurnStatus run(const Options *options, BurnDevice *device,
                      Outcome *outcome) {
  BurnTensor *x = burn_float(burn_tensor_f32(
      device, (float[]){0, 0, 0, 1, 1, 0, 1, 1}, BURN_SHAPE(4, 2)));
  BurnTensor *y = burn_float(
      burn_tensor_f32(device, (float[]){0, 1, 1, 0}, BURN_SHAPE(4, 1)));
  Net net = {
      leaf(device, BURN_SHAPE(2, HIDDEN)), leaf(device, BURN_SHAPE(1, HIDDEN)),
      leaf(device, BURN_SHAPE(HIDDEN, 1)), leaf(device, BURN_SHAPE(1, 1))};
  BurnStatus status = learn(options, &net, x, y, &outcome->loss);
  if (status == BURN_OK) {
    status = answer(options, &net, burn_clone(x), &outcome->accuracy);
  }
  burn_drop(x);
  burn_drop(y);
  burn_drop(net.w1);
  burn_drop(net.b1);
  burn_drop(net.w2);
  burn_drop(net.b2);
  return status;
}

static double seconds_since(const struct timespec *begin) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (double)(end.tv_sec - begin->tv_sec) +
         1e-9 * (double)(end.tv_nsec - begin->tv_nsec);
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {.steps = 2000, .seed = 1, .rate = 0.5};
  const Argument arguments[] = {
      {"steps", ARGUMENT_SIZE, &options.steps, "N", "gradient descent steps"},
      {"lr", ARGUMENT_NUMBER, &options.rate, "X", "learning rate"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of the first weights"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  static const char usage[] = "usage: xor [options]   learn the exclusive or";
  const int parsed = arguments_parse(argc, argv, usage, arguments, 5, NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.steps < 1) {
    fprintf(stderr, "xor: --steps is at least 1\n");
    return 2;
  }

  BurnDevice *device = burn_device_open_training(options.backend);
  burn_device_seed(device, options.seed);
  Outcome outcome = {0, 0};
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = run(&options, device, &outcome);
  if (status == BURN_OK) {
    printf(
        "%s\"backend\":%s,\"seed\":%zu,\"steps\":%zu,\"seconds\":%.3f,"
        "\"loss\":%s,\"accuracy\":%.2f}\n",
        result_begin(options.json), json_text(burn_device_name(device)).text,
        options.seed, options.steps, seconds_since(&begin),
        json_number(outcome.loss).text, outcome.accuracy);
  } else {
    fprintf(stderr, "xor: %s\n", burn_status_message(status));
  }
  burn_device_close(device);
  return status != BURN_OK;
}
