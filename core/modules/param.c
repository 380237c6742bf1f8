/* param.c - learned tensors, constant ones and running state.
 *
 * A BurnParam is a plain pair: whoever holds the struct owns the tensor. A BurnBuffer points at a cell with a mutex,
 * because a forward pass, which sees its module as const and may run on several threads, replaces running statistics.
 */
#include "core_internal.h"
#include "module_internal.h"
#include "platform.h"

#include <burn/autodiff.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct BurnBufferCell {
  pthread_mutex_t mutex;
  BurnTensor *value;
  uint64_t id;
};

/* Stands for a cell that could not be allocated: its value is a failed tensor, so that the loss shows. Never changed.
 */
static BurnBufferCell out_of_memory_cell = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

/* -- ids -------------------------------------------------------------------------------------- */

pthread_mutex_t burn__random_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Time and a counter through splitmix64, for a system that gives no random bytes: ids need to be distinct, not secret.
 */
static uint64_t random_from_clock(void) {
  static uint64_t calls;
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  (void)pthread_mutex_lock(&burn__random_mutex);
  uint64_t x = ++calls;
  (void)pthread_mutex_unlock(&burn__random_mutex);
  x = x * 0x9e3779b97f4a7c15u + (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t burn__param_id(void) {
  uint64_t id = 0;
  while (id == 0) {
    if (!burn__random_bytes(&id, sizeof id)) id = random_from_clock();
  }
  return id;
}

/* -- parameters ------------------------------------------------------------------------------- */

bool burn__is_trackable(const BurnTensor *x) {
  const BurnDevice *device = burn_tensor_device(x);
  return device && burn_device_is_autodiff(device) && burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT;
}

BurnParam burn_param(BurnTensor *value) {
  if (burn__is_trackable(value) && !burn_is_require_grad(value)) value = burn_require_grad(value);
  return (BurnParam){.value = burn_scope_keep(NULL, value), .id = burn__param_id()};
}

BurnTensor *burn__as_leaf(BurnTensor *value) {
  if (burn_is_require_grad(value)) return value;
  return burn_require_grad(burn_is_tracked(value) ? burn_detach(value) : value);
}

void burn_param_set(BurnParam *param, BurnTensor *value) {
  BurnTensor *old = param->value;
  if (old && value && burn_is_require_grad(old)) value = burn__as_leaf(value);
  param->value = burn_scope_keep(NULL, value);
  burn_drop(old);
  burn__param_extra_release(param);
}

/* -- constants -------------------------------------------------------------------------------- */

/* Neither a constant nor state must drag the graph of a step along, nor end with a scope. */
static BurnTensor *without_history(BurnTensor *value) {
  return burn_scope_keep(NULL, value && burn_is_tracked(value) ? burn_detach(value) : value);
}

BurnConstant burn_constant(BurnTensor *value) { return (BurnConstant){without_history(value)}; }

BurnTensor *burn_constant_value(const BurnConstant *constant) { return burn_clone(constant->value); }

/* -- buffers ---------------------------------------------------------------------------------- */

BurnBuffer burn_buffer(BurnTensor *value) {
  BurnBufferCell *cell = malloc(sizeof *cell);
  if (!cell || pthread_mutex_init(&cell->mutex, NULL) != 0) {
    free(cell);
    burn_drop(value);
    return (BurnBuffer){&out_of_memory_cell};
  }
  cell->value = without_history(value);
  cell->id = burn__param_id();
  return (BurnBuffer){cell};
}

BurnTensor *burn_buffer_value(const BurnBuffer *buffer) {
  BurnBufferCell *cell = buffer->cell;
  if (!cell) return NULL;
  if (cell == &out_of_memory_cell) {
    return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "buffer: no memory for its cell"));
  }
  if (!burn__work_enter()) return burn_tensor_failed(burn__fork_failure());
  (void)pthread_mutex_lock(&cell->mutex);
  BurnTensor *value = burn_clone(cell->value);
  (void)pthread_mutex_unlock(&cell->mutex);
  burn__work_leave();
  return value;
}

void burn_buffer_set(const BurnBuffer *buffer, BurnTensor *value) {
  BurnBufferCell *cell = buffer->cell;
  BurnTensor *old = value;
  if (cell && cell != &out_of_memory_cell && burn__work_enter()) {
    value = without_history(value);
    (void)pthread_mutex_lock(&cell->mutex);
    old = cell->value;
    cell->value = value;
    (void)pthread_mutex_unlock(&cell->mutex);
    burn__work_leave();
  }
  burn_drop(old); /* outside the lock: it may free device memory */
}

uint64_t burn__buffer_id(const BurnBuffer *buffer) {
  BurnBufferCell *cell = buffer->cell;
  if (!cell || !burn__work_enter()) return 0;
  (void)pthread_mutex_lock(&cell->mutex);
  uint64_t id = cell->id;
  (void)pthread_mutex_unlock(&cell->mutex);
  burn__work_leave();
  return id;
}

void burn__buffer_set_id(const BurnBuffer *buffer, uint64_t id) {
  BurnBufferCell *cell = buffer->cell;
  if (!cell || cell == &out_of_memory_cell || !burn__work_enter()) return;
  (void)pthread_mutex_lock(&cell->mutex);
  cell->id = id;
  (void)pthread_mutex_unlock(&cell->mutex);
  burn__work_leave();
}

void burn__buffer_release(BurnBuffer *buffer) {
  BurnBufferCell *cell = buffer->cell;
  buffer->cell = NULL;
  if (!cell || cell == &out_of_memory_cell) return;
  burn_drop(cell->value);
  (void)pthread_mutex_destroy(&cell->mutex);
  free(cell);
}
