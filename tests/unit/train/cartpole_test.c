/* cartpole_test.c - the world of the example dqn against CartPole-v1 of Gymnasium 1.4.0, whose states are the numbers
 * below (`env.unwrapped.state` after each step, from a state that was set). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cartpole.h"

static void place(CartPole *cart, const double *state) {
  float unused[CARTPOLE_STATE];
  const BurnEnvironment environment = cartpole_environment(cart);
  assert_int_equal(environment.reset(cart, unused), BURN_OK);
  for (int i = 0; i < CARTPOLE_STATE; i++) cart->state[i] = state[i];
}

static BurnEnvironmentStep push(CartPole *cart, size_t action, float *state) {
  BurnEnvironmentStep step = {0};
  const BurnEnvironment environment = cartpole_environment(cart);
  assert_int_equal(environment.step(cart, action, state, &step), BURN_OK);
  assert_true(step.reward == 1);
  return step;
}

static void moves_as_gymnasium_does(void **state) {
  (void)state;
  static const double begin[] = {0.01, -0.02, 0.03, 0.04};
  static const size_t actions[] = {1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  static const struct {
    size_t step;
    double state[CARTPOLE_STATE];
  } known[] = {
      {0, {0.009600000000000001, 0.17467919574755525, 0.030799999999999998, -0.2430687179600081}},
      {1, {0.013093583914951107, 0.3693479760579556, 0.025938625640799837, -0.5258796280501483}},
      {8, {0.02960534435758564, 0.17349411900528805, 0.0066819900692882345, -0.21680127946381111}},
      {17, {-0.07980232735996796, -1.5865238288974064, 0.18216439721799765, 2.535372720980399}},
      {18, {-0.1115328, -1.78259393, 0.23287185, 2.87787221}},
  };
  CartPole cart = {.random = 1};
  float shown[CARTPOLE_STATE];
  size_t next = 0;
  place(&cart, begin);
  for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
    const BurnEnvironmentStep step = push(&cart, actions[i], shown);
    assert_true(step.terminated == (i == 18) && !step.truncated);
    if (known[next].step != i) continue;
    for (int k = 0; k < CARTPOLE_STATE; k++) {
      const double tolerance = i < 18 ? 1e-12 : 1e-8; /* the last one was printed with eight digits */
      assert_true(fabs(cart.state[k] - known[next].state[k]) < tolerance);
      assert_true(shown[k] == (float)cart.state[k]);
    }
    next++;
  }
  assert_int_equal(next, 5);
}

static void ends_where_gymnasium_does(void **state) {
  (void)state;
  static const double edge[] = {2.38, 1.5, 0, 0}, after[] = {2.41, 1.69512195, 0, -0.29268293};
  CartPole cart = {.random = 1};
  float shown[CARTPOLE_STATE];
  place(&cart, edge);
  assert_true(push(&cart, 1, shown).terminated);
  for (int k = 0; k < CARTPOLE_STATE; k++) assert_true(fabs(cart.state[k] - after[k]) < 1e-8);
  /* Upright for 500 steps, by being put there: cut off, which is not an end. */
  static const double upright[] = {0, 0, 0, 0};
  place(&cart, upright);
  for (size_t i = 1; i <= CARTPOLE_STEPS; i++) {
    for (int k = 0; k < CARTPOLE_STATE; k++) cart.state[k] = 0;
    const BurnEnvironmentStep step = push(&cart, i % 2, shown);
    assert_true(!step.terminated && step.truncated == (i == CARTPOLE_STEPS));
  }
}

static void first_states_are_drawn_by_seed(void **state) {
  (void)state;
  double sums[CARTPOLE_STATE] = {0}, first[CARTPOLE_STATE];
  CartPole cart = {.random = 7}, again = {.random = 7};
  float shown[CARTPOLE_STATE];
  const BurnEnvironment one = cartpole_environment(&cart), other = cartpole_environment(&again);
  for (int i = 0; i < 4000; i++) {
    assert_int_equal(one.reset(&cart, shown), BURN_OK);
    assert_int_equal(other.reset(&again, shown), BURN_OK);
    for (int k = 0; k < CARTPOLE_STATE; k++) {
      assert_true(fabs(cart.state[k]) <= 0.05 && cart.state[k] == again.state[k]);
      if (i == 0) first[k] = cart.state[k];
      sums[k] += cart.state[k];
    }
  }
  /* Uniform on -0.05 .. 0.05: the deviation of a mean of 4000 is 0.000456; five of them. */
  for (int k = 0; k < CARTPOLE_STATE; k++) assert_true(fabs(sums[k] / 4000) < 0.0023 && fabs(first[k]) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moves_as_gymnasium_does),
      cmocka_unit_test(ends_where_gymnasium_does),
      cmocka_unit_test(first_states_are_drawn_by_seed),
  };
  return cmocka_run_group_tests_name("cartpole", tests, NULL, NULL);
}
