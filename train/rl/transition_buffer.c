/* transition_buffer.c - a ring in the host's memory. */
#include <burn/train/rl.h>

#include <stdlib.h>
#include <string.h>

#include "dataset_private.h"
#include "null_check.h"
#include "rl_random.h"

struct BurnTransitionBuffer {
  size_t capacity, count, next; /* the place that is written next */
  BurnShape shape;
  size_t elements; /* of a state */
  float *states, *next_states;
  float *rewards, *terminated;
  int64_t *actions;
  uint64_t random;
};

void burn_transitions_drop(BurnTransitions *transitions) {
  if (!transitions) return;
  BurnTensor *const tensors[] = {transitions->states, transitions->actions, transitions->rewards,
                                 transitions->next_states, transitions->terminated};
  for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) burn_drop(tensors[i]);
  *transitions = (BurnTransitions){NULL, NULL, NULL, NULL, NULL};
}

/* Elements of a state; 0 for a shape that makes no sense, or is too large for `capacity` of them. */
static size_t elements_of(BurnShape shape, size_t capacity) {
  size_t count = 1;
  const size_t most = (size_t)PTRDIFF_MAX / sizeof(float) / (capacity ? capacity : 1);
  if (shape.rank >= BURN_MAX_RANK) return 0; /* batches have one more */
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (shape.dims[i] < 1 || (uint64_t)shape.dims[i] > most / count) return 0;
    count *= (size_t)shape.dims[i];
  }
  return count;
}

BurnTransitionBuffer *burn_transition_buffer_create(size_t capacity, BurnShape state_shape, uint64_t seed,
                                                    BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  const size_t elements = elements_of(state_shape, capacity);
  if (result != BURN_OK) return NULL;
  if (capacity == 0 || capacity > SIZE_MAX / sizeof(int64_t) || elements == 0) {
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "transition buffer: %zu transitions of states of rank %u make no sense", capacity,
                              (unsigned)state_shape.rank);
    burn__store_status(status, result);
    return NULL;
  }
  BurnTransitionBuffer *buffer = calloc(1, sizeof *buffer);
  if (buffer) {
    *buffer = (BurnTransitionBuffer){.capacity = capacity, .shape = state_shape, .elements = elements, .random = seed};
    buffer->states = calloc(capacity * elements, sizeof *buffer->states);
    buffer->next_states = calloc(capacity * elements, sizeof *buffer->next_states);
    buffer->rewards = calloc(capacity, sizeof *buffer->rewards);
    buffer->terminated = calloc(capacity, sizeof *buffer->terminated);
    buffer->actions = calloc(capacity, sizeof *buffer->actions);
    if (buffer->states && buffer->next_states && buffer->rewards && buffer->terminated && buffer->actions)
      return buffer;
  }
  burn_transition_buffer_destroy(buffer);
  result =
      burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "transition buffer: out of memory for %zu transitions", capacity);
  burn__store_status(status, result);
  return NULL;
}

void burn_transition_buffer_destroy(BurnTransitionBuffer *buffer) {
  if (!buffer) return;
  free(buffer->states);
  free(buffer->next_states);
  free(buffer->rewards);
  free(buffer->terminated);
  free(buffer->actions);
  free(buffer);
}

void burn_transition_buffer_add(BurnTransitionBuffer *buffer, const float *state, size_t action, float reward,
                                const float *next_state, bool terminated) {
  if (!buffer) return; /* its create has told why */
  const size_t at = buffer->next, bytes = buffer->elements * sizeof *state;
  memcpy(buffer->states + at * buffer->elements, state, bytes);
  memcpy(buffer->next_states + at * buffer->elements, next_state, bytes);
  buffer->rewards[at] = reward;
  buffer->terminated[at] = terminated ? 1.0f : 0.0f;
  buffer->actions[at] = (int64_t)action;
  buffer->next = (at + 1) % buffer->capacity;
  if (buffer->count < buffer->capacity) buffer->count++;
}

size_t burn_transition_buffer_count(const BurnTransitionBuffer *buffer) { return buffer ? buffer->count : 0; }

/* Rows of `width` floats, gathered. */
static BurnTensor *rows_of(BurnDevice *device, const float *from, const size_t *rows, size_t count, size_t width,
                           BurnShape shape, float *scratch) {
  for (size_t i = 0; i < count; i++) memcpy(scratch + i * width, from + rows[i] * width, width * sizeof *from);
  return burn_tensor_f32(device, scratch, shape);
}

static BurnTensor *actions_of(const BurnTransitionBuffer *buffer, BurnDevice *device, const size_t *rows, size_t count,
                              int64_t *scratch) {
  for (size_t i = 0; i < count; i++) scratch[i] = buffer->actions[rows[i]];
  return burn_tensor_i64(device, scratch, BURN_SHAPE((int64_t)count));
}

static void gather(BurnTransitionBuffer *buffer, BurnDevice *device, const size_t *rows, size_t count, void *scratch,
                   BurnTransitions *out) {
  const BurnShape flat = BURN_SHAPE((int64_t)count);
  BurnShape shape = {buffer->shape.rank + 1, {(int64_t)count}};
  for (uint32_t i = 0; i < buffer->shape.rank; i++) shape.dims[i + 1] = buffer->shape.dims[i];
  out->states = rows_of(device, buffer->states, rows, count, buffer->elements, shape, scratch);
  out->next_states = rows_of(device, buffer->next_states, rows, count, buffer->elements, shape, scratch);
  out->rewards = rows_of(device, buffer->rewards, rows, count, 1, flat, scratch);
  out->terminated = rows_of(device, buffer->terminated, rows, count, 1, flat, scratch);
  out->actions = actions_of(buffer, device, rows, count, scratch);
}

BurnStatus burn_transition_buffer_sample(BurnTransitionBuffer *buffer, BurnDevice *device, size_t count,
                                         BurnTransitions *transitions) {
  BurnStatus status = BURN_REQUIRED(transitions, "a BurnTransitions");
  if (status != BURN_OK) return status;
  *transitions = (BurnTransitions){NULL, NULL, NULL, NULL, NULL};
  if (burn_transition_buffer_count(buffer) == 0) {
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "transition buffer: there is nothing to draw from");
  }
  const size_t width =
      buffer->elements * sizeof(float) > sizeof(int64_t) ? buffer->elements * sizeof(float) : sizeof(int64_t);
  const bool fits = count > 0 && count < (size_t)PTRDIFF_MAX / width;
  size_t *rows = fits ? calloc(count, sizeof *rows) : NULL;
  void *scratch = fits ? calloc(count, width) : NULL;
  if (rows && scratch) {
    for (size_t i = 0; i < count; i++) rows[i] = burn__rl_below(&buffer->random, buffer->count);
    gather(buffer, device, rows, count, scratch, transitions);
  } else {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "transition buffer: out of memory for %zu transitions", count);
  }
  free(rows);
  free(scratch);
  return status;
}
