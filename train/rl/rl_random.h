/* rl_random.h - the random numbers of agents and buffers: splitmix64, whose state is one number. */
#ifndef BURN_TRAIN_RL_RANDOM_H
#define BURN_TRAIN_RL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t burn__rl_next(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/* In [0, 1). */
static inline double burn__rl_unit(uint64_t *state) { return (double)(burn__rl_next(state) >> 11) * 0x1p-53; }

/* 0 .. below - 1, for `below` up to 2^53. */
static inline size_t burn__rl_below(uint64_t *state, size_t below) {
  return (size_t)(burn__rl_unit(state) * (double)below);
}

#endif
