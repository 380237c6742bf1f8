/* replay_steps.h - steps of training that are recorded and replayed (burn/plugin/replay.h), for tests of backends that
 * have it: the very bits of the same steps run one by one, also where the batch changes, a parameter is held, memory is
 * trimmed. The test defines REPLAY_BACKEND, the backend's name, and use_device, which prepares a child. */
#ifndef BURN_REPLAY_STEPS_H
#define BURN_REPLAY_STEPS_H

#include "forked.h"

#include <burn/op_call.h>
#include <burn/ops_optimizer.h>
#include <burn/plugin/fusion_statistics.h>
#include <burn/plugin/replay.h>

static void use_device(void);

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static BurnInterface find(const BurnDevice *device, const char *name) {
  BurnInterface found = {NULL, NULL};
  for (const BurnBackend *level = burn_device_backend(device); level && !found.table; level = burn_backend_below(level))
    (void)level->get_interface(level->self, name, 1, &found);
  CHECK(found.table, "no level of the stack has %s", name);
  return found;
}

static BurnFusionStatistics fusion_statistics(const BurnDevice *device) {
  BurnFusionStatistics out = {.struct_size = sizeof out};
  const BurnInterface found = find(device, BURN_FUSION_INTERFACE);
  ((const BurnFusionInterface *)found.table)->statistics(found.self, &out);
  return out;
}

static BurnReplayStatistics replay_statistics(const BurnDevice *device) {
  BurnReplayStatistics out = {.struct_size = sizeof out};
  const BurnInterface found = find(device, BURN_REPLAY_INTERFACE);
  ((const BurnReplayInterface *)found.table)->statistics(found.self, &out);
  return out;
}

/* -- a model of two layers -------------------------------------------------------------------- */

enum { IN = 8, HIDDEN = 16, OUT = 4, WEIGHTS = IN * HIDDEN + HIDDEN * OUT, MAX_STEPS = 200 };

typedef struct Model {
  BurnTensor *w[2], *m[2], *v[2];
} Model;

static BurnTensor *numbers(BurnDevice *device, int64_t rows, int64_t columns, uint32_t seed) {
  float data[640];
  for (int64_t i = 0; i < rows * columns; i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
  }
  return burn_tensor_f32(device, data, BURN_SHAPE(rows, columns));
}

static Model make_model(BurnDevice *device) {
  Model model;
  for (int i = 0; i < 2; i++) {
    const int64_t rows = i == 0 ? IN : HIDDEN, columns = i == 0 ? HIDDEN : OUT;
    model.w[i] = numbers(device, rows, columns, 7u + (uint32_t)i);
    model.m[i] = burn_zeros(device, BURN_SHAPE(rows, columns), BURN_DTYPE_F32);
    model.v[i] = burn_zeros(device, BURN_SHAPE(rows, columns), BURN_DTYPE_F32);
  }
  return model;
}

static void drop_model(Model *model) {
  for (int i = 0; i < 2; i++) {
    burn_drop(model->w[i]);
    burn_drop(model->m[i]);
    burn_drop(model->v[i]);
  }
}

static void update(Model *model, int i, BurnTensor *gradient, int step) {
  BurnTensor *out[3];
  burn_adam_step(model->w[i], gradient, model->m[i], model->v[i], 0.9, 0.999, 0.01 / (1 + step), 1e-8, 0.999, 0, out);
  model->w[i] = out[0];
  model->m[i] = out[1];
  model->v[i] = out[2];
}

/* Attention by a kernel that asks for shared memory at its start, with a scale that changes. */
static BurnTensor *attended(BurnDevice *device, int step) {
  BurnTensor *heads = burn_reshape(numbers(device, 20, 32, (uint32_t)step + 5u), BURN_SHAPE(1, 1, 20, 32));
  const BurnAttentionOptions options = {.scale = 0.1 * (1 + step)};
  return burn_sum(burn_attention(burn_clone(heads), burn_clone(heads), heads, NULL, NULL, options));
}

/* One step with dropout, whose seed changes, and a rate that does; the loss is read, and a view of what is used in the
 * middle. */
static float train(BurnDevice *device, Model *model, int64_t batch, int step) {
  BurnTensor *x = numbers(device, batch, IN, (uint32_t)step * 31u + 1u), *y = numbers(device, batch, OUT, 99u);
  BurnTensor *mask = burn_random_bernoulli(device, BURN_SHAPE(batch, HIDDEN), BURN_DTYPE_F32, 0.8);
  BurnTensor *hidden = burn_relu(burn_matmul(burn_clone(x), burn_clone(model->w[0])));
  hidden = burn_mul(hidden, burn_clone(mask));
  BurnTensor *view = burn_transpose(burn_clone(hidden));
  BurnTensor *error = burn_sub(burn_matmul(burn_clone(hidden), burn_clone(model->w[1])), y);
  BurnTensor *loss = burn_add(burn_sum(burn_mul(burn_clone(error), burn_clone(error))), attended(device, step));
  BurnTensor *back = burn_matmul(burn_clone(error), burn_transpose(burn_clone(model->w[1])));
  back = burn_mul(burn_mul(back, mask), burn_cast(burn_greater_scalar(burn_clone(hidden), 0), BURN_DTYPE_F32));
  update(model, 1, burn_matmul(burn_transpose(hidden), error), step);
  update(model, 0, burn_matmul(burn_transpose(x), back), step);
  float value = 0;
  const BurnStatus status = burn_read_f32(loss, &value, 1);
  CHECK(status == BURN_OK, "step %d: %s", step, burn_status_message(status));
  float shown[HIDDEN * 8];
  CHECK(burn_read_f32(view, shown, (size_t)(HIDDEN * batch)) == BURN_OK, "the view of step %d cannot be read", step);
  for (int64_t i = 0; i < HIDDEN * batch; i++) value += shown[i];
  return value;
}

static void read_weights(const Model *model, float *out) {
  CHECK(burn_read_f32(burn_clone(model->w[0]), out, IN * HIDDEN) == BURN_OK, "the first weights cannot be read");
  CHECK(burn_read_f32(burn_clone(model->w[1]), out + IN * HIDDEN, HIDDEN * OUT) == BURN_OK,
        "the second weights cannot be read");
}

/* -- the same bits ---------------------------------------------------------------------------- */

/* What happens between steps, and what came out. */
typedef struct Run {
  int steps;
  void (*before)(BurnDevice *device, Model *model, int step, struct Run *run);
  int64_t batch; /* of the next step */
  BurnTensor *held;
  float losses[MAX_STEPS], weights[WEIGHTS], held_values[WEIGHTS];
  BurnFusionStatistics fusion;
  BurnReplayStatistics replay;
} Run;

static void run_steps(const char *stack, Run *run) {
  BurnDevice *device = open_stack(stack);
  Model model = make_model(device);
  run->held = NULL;
  for (int i = 0; i < run->steps; i++) {
    run->batch = 8;
    if (run->before) run->before(device, &model, i, run);
    run->losses[i] = train(device, &model, run->batch, i);
  }
  read_weights(&model, run->weights);
  if (run->held) CHECK(burn_read_f32(run->held, run->held_values, IN * HIDDEN) == BURN_OK, "what is held is lost");
  run->fusion = fusion_statistics(device);
  run->replay = replay_statistics(device);
  drop_model(&model);
  const BurnMemoryStats memory = burn_device_memory(device);
  CHECK(memory.live_tensors == 0 && memory.bytes_in_use == 0, "%lld tensors, %lld bytes are left",
        (long long)memory.live_tensors, (long long)memory.bytes_in_use);
  burn_device_close(device);
}

/* Both ways; the replayed one is left in `run`. */
static void compare(Run *run) {
  static Run eager;
  eager = *run;
  run_steps("fusion:replay=false<" REPLAY_BACKEND ">", &eager);
  run_steps("fusion<" REPLAY_BACKEND ">", run);
  CHECK(eager.replay.runs == 0 && eager.fusion.replays == 0, "replay=false replays");
  for (int i = 0; i < run->steps; i++)
    CHECK(memcmp(&run->losses[i], &eager.losses[i], sizeof(float)) == 0, "the loss of step %d is %a, one by one %a", i,
          (double)run->losses[i], (double)eager.losses[i]);
  CHECK(memcmp(run->weights, eager.weights, sizeof run->weights) == 0, "the weights differ");
  CHECK(memcmp(run->held_values, eager.held_values, sizeof run->held_values) == 0, "what was held has changed");
}

static Run *new_run(int steps) {
  Run *run = calloc(1, sizeof *run);
  CHECK(run, "no memory");
  run->steps = steps;
  return run;
}

static void plain_steps(void *context) {
  (void)context;
  use_device();
  Run *run = new_run(40);
  compare(run);
  CHECK(run->fusion.replays >= 35, "%d steps were replayed", (int)run->fusion.replays);
  CHECK(run->fusion.recordings == 1, "%d recordings were made", (int)run->fusion.recordings);
  CHECK(run->replay.patches > 0, "numbers change, but nothing was patched");
  free(run);
}

/* -- what comes between ----------------------------------------------------------------------- */

static void other_batch(BurnDevice *device, Model *model, int step, Run *run) {
  (void)device, (void)model;
  if (step % 10 == 9) run->batch = 5;
}

/* The recording of the usual batch is used again after each other one. */
static void batches_of_two_sizes(void *context) {
  (void)context;
  use_device();
  Run *run = new_run(60);
  run->before = other_batch;
  compare(run);
  CHECK(run->fusion.replays >= 50, "%d steps were replayed", (int)run->fusion.replays);
  CHECK(run->fusion.recordings == 2, "%d recordings were made", (int)run->fusion.recordings);
  free(run);
}

/* From step 12 on somebody holds the weights of then, at first the tensor, later a view of it. */
static void hold_weights(BurnDevice *device, Model *model, int step, Run *run) {
  (void)device;
  if (step == 12) run->held = burn_clone(model->w[0]);
  if (step == 20) {
    burn_drop(run->held);
    run->held = burn_reshape(burn_clone(model->w[0]), BURN_SHAPE(HIDDEN, IN));
  }
}

static void held_weights(void *context) {
  (void)context;
  use_device();
  Run *run = new_run(40);
  run->before = hold_weights;
  compare(run);
  CHECK(run->fusion.recordings >= 3, "%d recordings were made", (int)run->fusion.recordings);
  CHECK(run->fusion.replays >= 25, "%d steps were replayed", (int)run->fusion.replays);
  free(run);
}

static void trim_now_and_then(BurnDevice *device, Model *model, int step, Run *run) {
  (void)model, (void)run;
  if (step % 15 == 14) burn_device_trim(device);
}

static void trimmed_memory(void *context) {
  (void)context;
  use_device();
  Run *run = new_run(45);
  run->before = trim_now_and_then;
  compare(run);
  CHECK(run->fusion.recordings == 3, "%d recordings were made", (int)run->fusion.recordings);
  free(run);
}

/* What a step allocates lies elsewhere whenever other tensors have come or gone: then inputs are copied into slots. */
static void move_allocations(BurnDevice *device, Model *model, int step, Run *run) {
  static BurnTensor *ballast[8];
  BurnTensor **one = &ballast[step * 5 % 8];
  (void)model;
  burn_drop(*one);
  *one = step == run->steps - 8 ? NULL : numbers(device, 1 + step % 3, IN, 3);
  for (int i = 0; i < 8 && step >= run->steps - 8; i++) {
    burn_drop(ballast[i]);
    ballast[i] = NULL;
  }
}

static void inputs_that_move(void *context) {
  (void)context;
  use_device();
  Run *run = new_run(80);
  run->before = move_allocations;
  compare(run);
  CHECK(run->fusion.replays >= 50, "%d steps were replayed", (int)run->fusion.replays);
  free(run);
}

static void forked_test(void (*body)(void *)) { forked(body, NULL); }
static void test_steps_with_other_numbers(void **state) {
  (void)state;
  forked_test(plain_steps);
}
static void test_batches_of_two_sizes(void **state) {
  (void)state;
  forked_test(batches_of_two_sizes);
}
static void test_weights_that_somebody_holds(void **state) {
  (void)state;
  forked_test(held_weights);
}
static void test_memory_that_is_trimmed(void **state) {
  (void)state;
  forked_test(trimmed_memory);
}
static void test_inputs_that_move(void **state) {
  (void)state;
  forked_test(inputs_that_move);
}

/* -- results ---------------------------------------------------------------------------------- */

/* Losses that are read after all steps: a result that is still held keeps its contents. */
static void hold_losses(void *context) {
  enum { STEPS = 24 };
  BurnTensor *sums[2][STEPS];
  float values[2][STEPS];
  (void)context;
  use_device();
  for (int way = 0; way < 2; way++) {
    BurnDevice *device =
        open_stack(way == 0 ? "fusion:replay=false<" REPLAY_BACKEND ">" : "fusion<" REPLAY_BACKEND ">");
    Model model = make_model(device);
    for (int i = 0; i < STEPS; i++) {
      BurnTensor *sum = burn_mul_scalar(burn_sum(burn_mul(burn_clone(model.w[0]), burn_clone(model.w[0]))), 0.5);
      update(&model, 0, burn_mul_scalar(burn_clone(model.w[0]), 0.1), i);
      CHECK(burn_device_sync(device) == BURN_OK, "step %d fails", i);
      sums[way][i] = sum;
    }
    for (int i = 0; i < STEPS; i++) CHECK(burn_read_f32(sums[way][i], &values[way][i], 1) == BURN_OK, "no loss");
    CHECK(way == 0 || fusion_statistics(device).replays >= 15, "%d steps were replayed",
          (int)fusion_statistics(device).replays);
    drop_model(&model);
    burn_device_close(device);
  }
  CHECK(memcmp(values[0], values[1], sizeof values[0]) == 0, "losses that were held differ");
}

static void test_results_that_are_held(void **state) {
  (void)state;
  forked_test(hold_losses);
}

/* The same with a result that has no elements, and an input of that kind that lies elsewhere each time. */
static void hold_nothing(void *context) {
  enum { STEPS = 24 };
  BurnTensor *nothings[STEPS], *moved[STEPS];
  float none;
  (void)context;
  use_device();
  BurnDevice *device = open_stack("fusion<" REPLAY_BACKEND ">");
  Model model = make_model(device);
  BurnTensor *empty = burn_tensor_f32(device, NULL, BURN_SHAPE(0, IN));
  for (int i = 0; i < STEPS; i++) {
    BurnTensor *other = burn_tensor_f32(device, NULL, BURN_SHAPE(0, IN));
    nothings[i] = burn_exp(burn_mul_scalar(burn_clone(empty), 2));
    moved[i] = burn_mul_scalar(burn_clone(other), 2);
    update(&model, 0, burn_mul_scalar(burn_clone(model.w[0]), 0.1), i);
    update(&model, 1, burn_mul_scalar(burn_clone(model.w[1]), 0.1), i);
    CHECK(burn_device_sync(device) == BURN_OK, "step %d fails", i);
    burn_drop(i % 2 ? other : empty);
    if (i % 2 == 0) empty = other;
  }
  for (int i = 0; i < STEPS; i++) {
    CHECK(burn_read_f32(nothings[i], &none, 0) == BURN_OK, "the empty result of step %d has failed", i);
    CHECK(burn_read_f32(moved[i], &none, 0) == BURN_OK, "the other empty result of step %d has failed", i);
  }
  CHECK(fusion_statistics(device).replays >= 12, "%d steps were replayed", (int)fusion_statistics(device).replays);
  burn_drop(empty);
  drop_model(&model);
  burn_device_close(device);
}

static void test_results_without_elements_that_are_held(void **state) {
  (void)state;
  forked_test(hold_nothing);
}

#define REPLAY_STEPS_TESTS                                                                               \
  cmocka_unit_test(test_steps_with_other_numbers), cmocka_unit_test(test_batches_of_two_sizes),          \
      cmocka_unit_test(test_weights_that_somebody_holds), cmocka_unit_test(test_memory_that_is_trimmed), \
      cmocka_unit_test(test_inputs_that_move), cmocka_unit_test(test_results_that_are_held),             \
      cmocka_unit_test(test_results_without_elements_that_are_held)

/* -- steps that may fail ----------------------------------------------------------------------- */

/* The last loss of a few steps; *fine: none has failed. */
static float few_steps(BurnDevice *device, Model *model, bool *fine) {
  float loss = 0;
  *fine = burn_device_status(device) == BURN_OK;
  for (int i = 0; i < 8; i++) {
    BurnTensor *x = burn_mul(burn_clone(model->w[0]), burn_clone(model->w[0]));
    BurnTensor *sum = burn_sum(burn_add_scalar(burn_relu(x), (double)i));
    update(model, 0, burn_mul_scalar(burn_clone(model->w[0]), 0.1), i);
    *fine = burn_read_f32(sum, &loss, 1) == BURN_OK && *fine;
  }
  return loss;
}

/* Steps may fail, but those that say they have not are right (EXPECTED_LOSS), and nothing is left behind. */
BURN_UNUSED static void run_steps_that_may_fail(void) {
  BurnDevice *device = burn_device_open("fusion<" REPLAY_BACKEND ">");
  Model model = make_model(device);
  bool fine = false;
  float expected = 0;
  const float loss = few_steps(device, &model, &fine);
  (void)sscanf(getenv("EXPECTED_LOSS"), "%a", &expected);
  CHECK(!fine || memcmp(&loss, &expected, sizeof loss) == 0, "the loss is %a, not %a", (double)loss, (double)expected);
  drop_model(&model);
  const BurnMemoryStats memory = burn_device_memory(device);
  CHECK(memory.live_tensors <= 0 && memory.bytes_in_use <= 0, "%lld tensors are left", (long long)memory.live_tensors);
  burn_device_close(device);
}

/* Writes the loss to the file that `context` names. */
static void write_expected_loss(void *context) {
  bool fine = false;
  use_device();
  BurnDevice *device = open_stack("fusion:replay=false<" REPLAY_BACKEND ">");
  Model model = make_model(device);
  const float loss = few_steps(device, &model, &fine);
  CHECK(fine, "a step fails");
  drop_model(&model);
  burn_device_close(device);
  FILE *file = fopen(context, "w");
  CHECK(file && fprintf(file, "%a", (double)loss) > 0 && fclose(file) == 0, "%s cannot be written",
        (const char *)context);
}

/* What the last loss is to be goes into EXPECTED_LOSS, by way of a file in `folder`. */
BURN_UNUSED static void expect_loss(const char *folder) {
  char path[96], loss[40] = "";
  (void)snprintf(path, sizeof path, "%s/loss", folder);
  forked(write_expected_loss, path);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_non_null(fgets(loss, sizeof loss, file));
  (void)fclose(file);
  setenv("EXPECTED_LOSS", loss, 1);
}

#endif
