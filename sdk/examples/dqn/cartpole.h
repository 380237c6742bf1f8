/* cartpole.h - a pole on a cart, to be held upright by pushing the cart left or
 * right: CartPole-v1 of Gym, with its dynamics, limits and rewards. */
#ifndef DQN_CARTPOLE_H
#define DQN_CARTPOLE_H

#include <burn/train.h>

enum { CARTPOLE_STATE = 4, CARTPOLE_ACTIONS = 2, CARTPOLE_STEPS = 500 };

typedef struct CartPole {
  double state[CARTPOLE_STATE]; /* m, m/s, radians, radians/s */
  size_t steps;                 /* of the episode */
  uint64_t random;              /* what first states are drawn from: a seed */
} CartPole;

/* As an environment: a reward of 1 for every step, until the pole leans more
 * than 12 degrees or the cart is 2.4 m away (terminated), or for 500 steps
 * (truncated). The cart outlives it. */
BurnEnvironment cartpole_environment(CartPole *cart);

#endif
