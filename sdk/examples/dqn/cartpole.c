/* cartpole.c - see cartpole.h. Equations of Barto, Sutton and Anderson (1983)
 * without friction, by Euler's method, as in Gym's cartpole.py. */
#include "cartpole.h"

#include <math.h>

static const double gravity = 9.8, mass_cart = 1, mass_pole = 0.1;
static const double half_length = 0.5, force = 10, seconds = 0.02;
static const double furthest = 2.4, steepest = 12 * 2 * 3.14159265358979 / 360;

static double drawn(uint64_t *random) { /* -0.05 .. 0.05 */
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return (double)(*random >> 40) / 16777216.0 * 0.1 - 0.05;
}

static void show(const CartPole *cart, float *state) {
  for (int i = 0; i < CARTPOLE_STATE; i++) state[i] = (float)cart->state[i];
}

static BurnStatus reset(void *context, float *state) {
  CartPole *cart = context;
  cart->steps = 0;
  for (int i = 0; i < CARTPOLE_STATE; i++) {
    cart->state[i] = drawn(&cart->random);
  }
  show(cart, state);
  return BURN_OK;
}

static BurnStatus step(void *context, size_t action, float *state,
                       BurnEnvironmentStep *step) {
  CartPole *cart = context;
  double *s = cart->state;
  const double mass = mass_cart + mass_pole, moment = mass_pole * half_length;
  const double push = action == 1 ? force : -force;
  const double c = cos(s[2]), n = sin(s[2]);
  const double common = (push + moment * s[3] * s[3] * n) / mass;
  const double turn = (gravity * n - c * common) /
                      (half_length * (4.0 / 3.0 - mass_pole * c * c / mass));
  const double slide = common - moment * turn * c / mass;
  s[0] += seconds * s[1];
  s[1] += seconds * slide;
  s[2] += seconds * s[3];
  s[3] += seconds * turn;
  step->reward = 1;
  step->terminated = fabs(s[0]) > furthest || fabs(s[2]) > steepest;
  step->truncated = ++cart->steps >= CARTPOLE_STEPS && !step->terminated;
  show(cart, state);
  return BURN_OK;
}

BurnEnvironment cartpole_environment(CartPole *cart) {
  return (BurnEnvironment){.state_shape = BURN_SHAPE(CARTPOLE_STATE),
                           .action_count = CARTPOLE_ACTIONS,
                           .reset = reset,
                           .step = step,
                           .context = cart};
}
