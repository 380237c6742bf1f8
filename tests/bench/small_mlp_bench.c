/* small_mlp_bench.c - a network so small that only overhead is left: 16 -> 32 (relu) -> 16, 1,072 parameters, beside
 * plain C loops.
 *
 * Both sides run the same numbers: inference, and a training step (mean squared error, gradients, SGD), with a batch of
 * 1 and of 32; the step also as a region of burn/capture.h, on a stack that replays it. The results of the two sides
 * are compared before anything is timed. Samples of the two take turns; shown are medians.
 *
 *   small_mlp_bench [--captured STACK] [--repeats N] [--json] */
#include <burn/burn.h>
#include <burn/capture.h>
#include <burn/nn.h>
#include <burn/train.h>

#include "bench_time.h"
#include "../../sdk/examples/common/arguments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT = 16, HIDDEN = 32, OUTPUT = 16, MAX_BATCH = 32, MAX_REPEATS = 101, CHECKED_STEPS = 5 };

#define SAMPLE_SECONDS 0.02
#define LEARNING_RATE 0.01

static void check(BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "small_mlp_bench: %s\n", burn_status_message(status));
  exit(1);
}

/* -- ours ------------------------------------------------------------------------------------- */

#define MLP_FIELDS(X)              \
  X(BurnLinear, first, "16 to 32") \
  X(BurnLinear, second, "32 to 16")
BURN_MODULE(Mlp, MLP_FIELDS);

static BurnTensor *mlp_forward(const Mlp *m, BurnTensor *x) {
  x = burn_relu(burn_linear_forward(&m->first, x));
  return burn_linear_forward(&m->second, x);
}

/* -- plain C, as one writes it for this network alone ----------------------------------------- */

typedef struct Plain {
  float w1[INPUT][HIDDEN], b1[HIDDEN], w2[HIDDEN][OUTPUT], b2[OUTPUT];
  float hidden[MAX_BATCH][HIDDEN], out[MAX_BATCH][OUTPUT];
} Plain;

static void plain_forward(Plain *p, float (*x)[INPUT], int batch) {
  for (int n = 0; n < batch; n++) {
    float *restrict hidden = p->hidden[n], *restrict out = p->out[n];
    for (int j = 0; j < HIDDEN; j++) hidden[j] = p->b1[j];
    for (int i = 0; i < INPUT; i++) {
      for (int j = 0; j < HIDDEN; j++) hidden[j] += x[n][i] * p->w1[i][j];
    }
    for (int j = 0; j < HIDDEN; j++) hidden[j] = hidden[j] > 0 ? hidden[j] : 0;
    for (int j = 0; j < OUTPUT; j++) out[j] = p->b2[j];
    for (int i = 0; i < HIDDEN; i++) {
      for (int j = 0; j < OUTPUT; j++) out[j] += hidden[i] * p->w2[i][j];
    }
  }
}

static float plain_train(Plain *p, float (*x)[INPUT], float (*y)[OUTPUT], int batch) {
  static Plain g; /* gradients, of the activations too */
  float loss = 0;
  plain_forward(p, x, batch);
  memset(g.w1, 0, sizeof g.w1);
  memset(g.b1, 0, sizeof g.b1);
  memset(g.w2, 0, sizeof g.w2);
  memset(g.b2, 0, sizeof g.b2);
  const float scale = 2.0f / (float)(batch * OUTPUT);
  for (int n = 0; n < batch; n++) {
    for (int j = 0; j < OUTPUT; j++) {
      const float distance = p->out[n][j] - y[n][j];
      loss += distance * distance;
      g.out[n][j] = scale * distance;
      g.b2[j] += g.out[n][j];
    }
    for (int i = 0; i < HIDDEN; i++) {
      float sum = 0;
      for (int j = 0; j < OUTPUT; j++) {
        sum += g.out[n][j] * p->w2[i][j];
        g.w2[i][j] += p->hidden[n][i] * g.out[n][j];
      }
      g.hidden[n][i] = p->hidden[n][i] > 0 ? sum : 0;
      g.b1[i] += g.hidden[n][i];
    }
    for (int i = 0; i < INPUT; i++) {
      for (int j = 0; j < HIDDEN; j++) g.w1[i][j] += x[n][i] * g.hidden[n][j];
    }
  }
  const float rate = (float)LEARNING_RATE;
  for (int i = 0; i < INPUT; i++) {
    for (int j = 0; j < HIDDEN; j++) p->w1[i][j] -= rate * g.w1[i][j];
  }
  for (int j = 0; j < HIDDEN; j++) p->b1[j] -= rate * g.b1[j];
  for (int i = 0; i < HIDDEN; i++) {
    for (int j = 0; j < OUTPUT; j++) p->w2[i][j] -= rate * g.w2[i][j];
  }
  for (int j = 0; j < OUTPUT; j++) p->b2[j] -= rate * g.b2[j];
  return loss / (float)(batch * OUTPUT);
}

/* -- both sides ready for one batch size ------------------------------------------------------ */

typedef struct Sides {
  int batch;
  float x[MAX_BATCH][INPUT], y[MAX_BATCH][OUTPUT];
  Plain plain;
  BurnDevice *device, *inner;
  Mlp mlp;       /* trained */
  Mlp inference; /* the same below autodiff */
  BurnOptimizer *optimizer;
  BurnTensor *input, *target, *inner_input;
} Sides;

static float next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static void copy_param(const BurnParam *param, float *to, size_t bytes) {
  check(burn_read(burn_param_value(param), to, bytes));
}

static void begin(Sides *s, BurnDevice *device, int batch) {
  const BurnLinearConfig first = BurnLinearConfig_defaults(INPUT, HIDDEN),
                         second = BurnLinearConfig_defaults(HIDDEN, OUTPUT);
  s->batch = batch;
  s->device = device;
  s->inner = burn_device_inner(device);
  for (int n = 0; n < batch; n++) {
    for (int i = 0; i < INPUT; i++) s->x[n][i] = next_number();
    for (int j = 0; j < OUTPUT; j++) s->y[n][j] = next_number();
  }
  burn_device_seed(device, 7);
  s->mlp = (Mlp){burn_linear_init(&first, device), burn_linear_init(&second, device)};
  burn_device_seed(s->inner, 7);
  s->inference = (Mlp){burn_linear_init(&first, s->inner), burn_linear_init(&second, s->inner)};
  s->optimizer = burn_sgd_create(NULL);
  s->input = burn_tensor_f32(device, s->x[0], BURN_SHAPE(batch, INPUT));
  s->target = burn_tensor_f32(device, s->y[0], BURN_SHAPE(batch, OUTPUT));
  s->inner_input = burn_tensor_f32(s->inner, s->x[0], BURN_SHAPE(batch, INPUT));
  copy_param(&s->mlp.first.weight, s->plain.w1[0], sizeof s->plain.w1);
  copy_param(&s->mlp.first.bias, s->plain.b1, sizeof s->plain.b1);
  copy_param(&s->mlp.second.weight, s->plain.w2[0], sizeof s->plain.w2);
  copy_param(&s->mlp.second.bias, s->plain.b2, sizeof s->plain.b2);
}

static void end(Sides *s) {
  burn_drop(s->input);
  burn_drop(s->target);
  burn_drop(s->inner_input);
  burn_optimizer_destroy(s->optimizer);
  Mlp_release(&s->mlp);
  Mlp_release(&s->inference);
}

static void infer_ours(Sides *s) {
  BurnTensor *out = mlp_forward(&s->inference, burn_clone(s->inner_input));
  check(burn_tensor_status(out));
  burn_drop(out);
}

static void infer_plain(Sides *s) { plain_forward(&s->plain, s->x, s->batch); }

static BurnTensor *loss_of(const Sides *s) {
  const BurnMseLoss mse = burn_mse_loss_init();
  BurnTensor *out = mlp_forward(&s->mlp, burn_clone(s->input));
  return burn_mse_loss_forward(&mse, out, burn_clone(s->target), BURN_REDUCTION_MEAN);
}

static void train_ours(Sides *s) {
  check(burn_train_step(s->optimizer, burn_module(Mlp, &s->mlp), loss_of(s), LEARNING_RATE));
}

/* The same as a region, which is replayed from the third time on. */
static void train_captured(Sides *s) {
  check(burn_capture_begin(s->device));
  train_ours(s);
  check(burn_capture_end(s->device, NULL));
}

static void check_replayed(Sides *s) {
  BurnCaptureReport report = {.struct_size = sizeof report};
  check(burn_capture_begin(s->device));
  train_ours(s);
  check(burn_capture_end(s->device, &report));
  if (report.outcome != BURN_CAPTURE_REPLAYED)
    check(burn_status_make(BURN_STATUS_INTERNAL, "the step is not replayed: %s", report.reason));
}

static void train_plain(Sides *s) {
  static volatile float loss; /* so that it is computed */
  loss = plain_train(&s->plain, s->x, s->y, s->batch);
  (void)loss;
}

/* Both sides give the same numbers; then the plain parameters are those of `inference` no more, which does not matter.
 */
static void compare(Sides *s) {
  float out[MAX_BATCH][OUTPUT];
  BurnTensor *x = mlp_forward(&s->inference, burn_clone(s->inner_input));
  check(burn_read(x, out, (size_t)s->batch * sizeof out[0]));
  plain_forward(&s->plain, s->x, s->batch);
  for (int n = 0; n < s->batch; n++) {
    for (int j = 0; j < OUTPUT; j++) {
      if (!(fabsf(out[n][j] - s->plain.out[n][j]) < 1e-5f))
        check(burn_status_make(BURN_STATUS_INTERNAL, "outputs differ"));
    }
  }
  for (int step = 0; step < CHECKED_STEPS; step++) {
    double loss = 0;
    BurnTensor *ours = loss_of(s);
    check(burn_read_scalar(burn_clone(ours), &loss));
    check(burn_train_step(s->optimizer, burn_module(Mlp, &s->mlp), ours, LEARNING_RATE));
    const double plain = (double)plain_train(&s->plain, s->x, s->y, s->batch);
    if (!(fabs(loss - plain) < 1e-4 * plain)) {
      check(burn_status_make(BURN_STATUS_INTERNAL, "loss of step %d: %g, plain %g", step, loss, plain));
    }
  }
}

/* -- measuring -------------------------------------------------------------------------------- */

static double time_of(void (*run)(Sides *), Sides *s, size_t count) {
  const double start = seconds_now();
  for (size_t i = 0; i < count; i++) run(s);
  return seconds_now() - start;
}

static size_t count_for(void (*run)(Sides *), Sides *s) {
  size_t count = 16;
  while (time_of(run, s, count) < SAMPLE_SECONDS / 2) count *= 2;
  return count;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *samples, size_t count) {
  qsort(samples, count, sizeof *samples, by_value);
  return samples[count / 2];
}

static void measure(const char *what, Sides *s, void (*ours)(Sides *), void (*plain)(Sides *), size_t repeats,
                    bool json) {
  double our_samples[MAX_REPEATS], plain_samples[MAX_REPEATS];
  const size_t our_count = count_for(ours, s), plain_count = count_for(plain, s);
  for (size_t r = 0; r < repeats; r++) {
    our_samples[r] = 1e9 * time_of(ours, s, our_count) / (double)our_count;
    plain_samples[r] = 1e9 * time_of(plain, s, plain_count) / (double)plain_count;
  }
  const double our_ns = median(our_samples, repeats), plain_ns = median(plain_samples, repeats);
  if (json) {
    printf("{\"bench\":\"small_mlp\",\"case\":\"%s\",\"batch\":%d,\"unit\":\"ns\",\"ours\":%.6g,\"plain\":%.6g}\n",
           what, s->batch, our_ns, plain_ns);
    return;
  }
  printf("%-14s batch %-3d %10.0f ns %10.0f ns %8.2f\n", what, s->batch, our_ns, plain_ns, our_ns / plain_ns);
}

static void begin_table(BurnDevice *device, const char *stack, bool json) {
  check(burn_device_status(device));
  if (!json)
    printf("%-14s %-9s %13s %13s %8s   %s\n", "16-32-16, f32", "", "ours", "plain C", "ratio",
           stack ? stack : burn_device_name(device));
}

static void measure_calls(Sides *s, size_t repeats, bool json) {
  measure("inference", s, infer_ours, infer_plain, repeats, json);
  measure("training step", s, train_ours, train_plain, repeats, json);
}

static void measure_captured(Sides *s, size_t repeats, bool json) {
  measure("captured step", s, train_captured, train_plain, repeats, json);
  check_replayed(s);
}

/* Of both batches; stack NULL: the default one. */
static void measure_on(const char *stack, void (*cases)(Sides *, size_t, bool), size_t repeats, bool json) {
  BurnDevice *device = burn_device_open_training(stack);
  begin_table(device, stack, json);
  for (int batch = 1; batch <= MAX_BATCH; batch += MAX_BATCH - 1) {
    static Sides sides;
    begin(&sides, device, batch);
    compare(&sides);
    cases(&sides, repeats, json);
    end(&sides);
  }
  burn_device_close(device);
}

int main(int argc, char **argv) {
  size_t repeats = 15;
  bool json = false;
  const char *captured = "fusion<ndarray:replay=true>";
  const Argument arguments[] = {
      {"captured", ARGUMENT_TEXT, &captured, "STACK", "on which the step is captured; fusion<ndarray:replay=true>"},
      {"repeats", ARGUMENT_SIZE, &repeats, "N", "samples of each case; 1 .. 101"},
      {"json", ARGUMENT_FLAG, &json, NULL, "one JSON object per case"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: small_mlp_bench [options]   a tiny network beside plain C",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (repeats < 1 || repeats > MAX_REPEATS) {
    fprintf(stderr, "small_mlp_bench: --repeats %zu is outside 1..%d\n", repeats, MAX_REPEATS);
    return 2;
  }
  measure_on(NULL, measure_calls, repeats, json);
  measure_on(captured, measure_captured, repeats, json);
  return 0;
}
