/* ndarray_replay_test.c - "burn.replay" of the CPU backend, option replay=true: under fusion, steps that repeat are
 * recorded and replayed with the very bits of the same steps run one by one, whatever their calls do with memory. */
#include "status_testing.h"

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/ops_optimizer.h>
#include <burn/plugin/fusion_statistics.h>
#include <burn/plugin/replay.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 6, COLUMNS = 8, COUNT = ROWS * COLUMNS, ROUNDS = 14, MAX_VALUES = 4 * COUNT };

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  check_status(burn_device_status(device));
  return device;
}

static BurnInterface find(const BurnDevice *device, const char *name) {
  BurnInterface found = {NULL, NULL};
  for (const BurnBackend *level = burn_device_backend(device); level && !found.table; level = burn_backend_below(level))
    (void)level->get_interface(level->self, name, 1, &found);
  return found;
}

static BurnTensor *numbers(BurnDevice *device, BurnDType dtype, uint32_t seed) {
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
  }
  return burn_cast(burn_tensor_f32(device, values, BURN_SHAPE(ROWS, COLUMNS)), dtype);
}

/* -- steps ------------------------------------------------------------------------------------ */

/* What stays from round to round, and what a round shows. */
typedef struct State {
  BurnDevice *device;
  BurnTensor *x, *m, *v;
  BurnTensor *shown[4];
  int round;
} State;

/* Views, results over inputs, a result with another dtype in the same memory, several results of one op. */
static void mixed_step(State *s) {
  BurnTensor *turned = burn_transpose(burn_clone(s->x)), *part = burn_narrow(burn_clone(s->x), 0, 1, 3);
  BurnTensor *product = burn_matmul(burn_clone(s->x), turned);
  BurnTensor *mask = burn_greater_scalar(burn_clone(product), 0.1 * s->round);
  s->shown[0] = burn_sum_dim(burn_cast(mask, BURN_DTYPE_F32), 1);
  s->shown[1] = burn_cumsum(part, 1);
  s->shown[2] = burn_reshape(burn_exp(burn_mul_scalar(product, 1.0 / (1 + s->round))), BURN_SHAPE(ROWS * ROWS));
  s->shown[3] = burn_flip(burn_clone(s->x), (const int[]){1}, 1);
}

/* Parameters are written over, together; a gradient is new in each round. */
static void optimizer_step(State *s) {
  BurnTensor *out[3], *gradient = numbers(s->device, BURN_DTYPE_F32, 5u + (uint32_t)s->round);
  gradient = burn_add(gradient, burn_mul_scalar(burn_clone(s->x), 0.1));
  burn_adam_step(s->x, gradient, s->m, s->v, 0.9, 0.999, 0.01 / (1 + s->round), 1e-8, 0.999, 0, out);
  s->x = out[0], s->m = out[1], s->v = out[2];
  s->shown[0] = burn_sum_dim(burn_clone(s->x), 0);
}

/* Halves are widened around calls; the state is another tensor in each round, in bf16 memory. */
static void narrow_step(State *s) {
  BurnTensor *x = burn_cast(burn_clone(s->x), BURN_DTYPE_BF16);
  BurnTensor *kept = burn_clone(x), *y = burn_sort(burn_mul(kept, burn_sin(x)), 1);
  s->shown[0] = burn_cast(burn_clone(y), BURN_DTYPE_F32);
  s->x = burn_tanh(burn_add(burn_cast(y, BURN_DTYPE_F32), s->x));
}

/* Other random numbers in each round. */
static void random_step(State *s) {
  BurnTensor *noise = burn_random_normal(s->device, BURN_SHAPE(ROWS, COLUMNS), BURN_DTYPE_F32, 0, 0.1 * (1 + s->round));
  s->shown[0] = burn_clone(noise);
  s->x = burn_cumsum(burn_mul(s->x, noise), 0);
}

/* The result of the round before is held, and so is a view of it. */
static void held_step(State *s) {
  BurnTensor *y = burn_cumsum(burn_mul_scalar(burn_clone(s->m), 0.5), 1);
  s->shown[0] = burn_add(burn_clone(y), burn_clone(s->x));
  burn_drop(s->x);
  s->x = burn_transpose(burn_transpose(y));
}

static const struct {
  const char *name;
  void (*step)(State *s);
} steps[] = {{"mixed", mixed_step},
             {"optimizer", optimizer_step},
             {"narrow", narrow_step},
             {"random", random_step},
             {"held", held_step}};

/* -- the same bits ---------------------------------------------------------------------------- */

typedef struct Result {
  float values[ROUNDS][MAX_VALUES];
  uint64_t replays, recordings, runs;
} Result;

static void show(State *s, float *values) {
  size_t used = 0;
  for (int i = 0; i < 4; i++) {
    if (!s->shown[i]) continue;
    const size_t count = (size_t)burn_element_count(s->shown[i]);
    assert_true(used + count <= MAX_VALUES);
    check_status(burn_read_f32(s->shown[i], values + used, count));
    s->shown[i] = NULL;
    used += count;
  }
}

static void run_rounds(const char *stack, void (*step)(State *s), Result *result) {
  BurnDevice *device = open_stack(stack);
  State s = {.device = device,
             .x = numbers(device, BURN_DTYPE_F32, 1),
             .m = numbers(device, BURN_DTYPE_F32, 2),
             .v = burn_abs(numbers(device, BURN_DTYPE_F32, 3))};
  check_status(burn_device_sync(device));
  memset(result, 0, sizeof *result);
  for (; s.round < ROUNDS; s.round++) {
    step(&s);
    check_status(burn_device_sync(device));
    show(&s, result->values[s.round]);
  }
  check_status(burn_read_f32(s.x, result->values[0], COUNT));
  burn_drop(s.m);
  burn_drop(s.v);
  BurnFusionStatistics fusion = {.struct_size = sizeof fusion};
  BurnReplayStatistics replay = {.struct_size = sizeof replay};
  BurnInterface found = find(device, BURN_FUSION_INTERFACE);
  ((const BurnFusionInterface *)found.table)->statistics(found.self, &fusion);
  found = find(device, BURN_REPLAY_INTERFACE);
  if (found.table) ((const BurnReplayInterface *)found.table)->statistics(found.self, &replay);
  result->replays = fusion.replays, result->recordings = replay.recordings, result->runs = replay.runs;
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  assert_int_equal(burn_device_memory(device).bytes_in_use, 0);
  burn_device_close(device);
}

static void test_the_same_bits(void **state) {
  static Result eager, replayed;
  (void)state;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    run_rounds("fusion<ndarray>", steps[i].step, &eager);
    run_rounds("fusion<ndarray:replay=true>", steps[i].step, &replayed);
    if (memcmp(eager.values, replayed.values, sizeof eager.values) != 0) fail_msg("%s: other bits", steps[i].name);
    assert_int_equal(eager.replays, 0);
    if (replayed.replays < ROUNDS / 2 || replayed.runs != replayed.replays || replayed.recordings == 0)
      fail_msg("%s: %d rounds are replayed, by %d recordings", steps[i].name, (int)replayed.replays,
               (int)replayed.recordings);
  }
}

/* -- failures --------------------------------------------------------------------------------- */

/* A failure in the middle of a replayed step is told where its result is read, and nothing else fails. */
static void test_a_failure_in_a_run(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<ndarray:replay=true>");
  for (int round = 0; round < 10; round++) {
    const int64_t places[] = {0, round == 8 ? 99 : 3};
    BurnTensor *x = numbers(device, BURN_DTYPE_F32, 1);
    BurnTensor *picked = burn_exp(burn_select(burn_clone(x), 0, burn_tensor_i64(device, places, BURN_SHAPE(2))));
    BurnTensor *other = burn_cumsum(burn_cumsum(x, 0), 1);
    float values[COUNT];
    const BurnStatus status = burn_read_f32(picked, values, 2 * COLUMNS);
    if (round == 8) {
      assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
      assert_non_null(strstr(burn_status_message(status), "99"));
      assert_int_equal(burn_status_code(burn_device_sync(device)), BURN_STATUS_OUT_OF_RANGE);
    } else {
      check_status(status);
    }
    check_status(burn_read_f32(other, values, COUNT));
  }
  BurnReplayStatistics replay = {.struct_size = sizeof replay};
  const BurnInterface found = find(device, BURN_REPLAY_INTERFACE);
  ((const BurnReplayInterface *)found.table)->statistics(found.self, &replay);
  assert_true(replay.runs >= 5);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

static void test_only_who_asks_gets_it(void **state) {
  (void)state;
  BurnDevice *device = open_stack("ndarray");
  assert_null(find(device, BURN_REPLAY_INTERFACE).table);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_same_bits), cmocka_unit_test(test_a_failure_in_a_run),
                                     cmocka_unit_test(test_only_who_asks_gets_it)};
  return cmocka_run_group_tests_name("replays of ndarray", tests, NULL, NULL);
}
