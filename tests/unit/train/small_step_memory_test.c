/* small_step_memory_test.c - a network of 1,072 parameters asks the system for no memory once it has run a few times:
 * neither its forward pass nor its training step, with SGD and with Adam.
 *
 * The program's own malloc family stands in front of the C library's. Sanitizers bring their own: then this test has
 * nothing to do. */
#define _GNU_SOURCE
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sanitized.h"

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("small_step_memory_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"

enum { INPUT = 16, HIDDEN = 32, OUTPUT = 16, BATCH = 32, WARMUP = 20, ROUNDS = 50 };

#define MLP_FIELDS(X)              \
  X(BurnLinear, first, "16 to 32") \
  X(BurnLinear, second, "32 to 16")
BURN_MODULE(Mlp, MLP_FIELDS);

/* What a round works on. */
typedef struct Work {
  Mlp mlp;
  BurnTensor *x, *y;
  BurnOptimizer *optimizer; /* NULL: the forward pass alone */
} Work;

static BurnStatus run_round(Work *w) {
  BurnTensor *hidden = burn_relu(burn_linear_forward(&w->mlp.first, burn_clone(w->x)));
  BurnTensor *out = burn_linear_forward(&w->mlp.second, hidden);
  const BurnMseLoss mse = burn_mse_loss_init();
  if (w->optimizer) {
    BurnTensor *loss = burn_mse_loss_forward(&mse, out, burn_clone(w->y), BURN_REDUCTION_MEAN);
    return burn_train_step(w->optimizer, burn_module(Mlp, &w->mlp), loss, 0.01);
  }
  const BurnStatus status = burn_tensor_status(out);
  burn_drop(out);
  return status;
}

/* Calls of the malloc family in the rounds after the first ones. */
static long long calls_of_rounds(Work *w) {
  const long long many = INT64_C(1) << 60;
  for (int i = 0; i < WARMUP; i++) assert_int_equal(run_round(w), BURN_OK);
  atomic_store(&countdown, many);
  atomic_store(&counting, true);
  BurnStatus status = BURN_OK;
  for (int i = 0; i < ROUNDS && status == BURN_OK; i++) status = run_round(w);
  atomic_store(&counting, false);
  assert_int_equal(status, BURN_OK);
  return many - atomic_load(&countdown);
}

/* Takes the optimizer. */
static void check_rounds(BurnDevice *device, int64_t batch, BurnOptimizer *optimizer) {
  const BurnLinearConfig first = BurnLinearConfig_defaults(INPUT, HIDDEN),
                         second = BurnLinearConfig_defaults(HIDDEN, OUTPUT);
  static const float numbers[BATCH * INPUT] = {0.5f, -0.25f, 1};
  Work w = {.mlp = {burn_linear_init(&first, device), burn_linear_init(&second, device)},
            .x = burn_tensor_f32(device, numbers, BURN_SHAPE(batch, INPUT)),
            .y = burn_tensor_f32(device, numbers, BURN_SHAPE(batch, OUTPUT)),
            .optimizer = optimizer};
  assert_int_equal(calls_of_rounds(&w), 0);
  burn_drop(w.x);
  burn_drop(w.y);
  burn_optimizer_destroy(optimizer);
  Mlp_release(&w.mlp);
}

static void a_small_network_takes_no_memory(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  assert_int_equal(burn_device_status(device), BURN_OK);
  for (int64_t batch = 1; batch <= BATCH; batch += BATCH - 1) {
    check_rounds(burn_device_inner(device), batch, NULL);
    check_rounds(device, batch, burn_sgd_create(NULL));
    check_rounds(device, batch, burn_adam_create(NULL));
  }
  burn_device_close(device);
}

int main(void) {
  if (burn_set_guards(false) != BURN_OK) return 1; /* they keep what was taken */
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_network_takes_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
