/* gpu_transpose.c - tensors whose channels come last in memory: what they are, new ones, and the way there and back,
 * where lines become columns. */
#include "gpu.h"

#include <string.h>

enum { THREADS = 256, SIDE = 32 };

static int64_t tiles_of(int64_t count, int64_t side) { return (count + side - 1) / side; }

/* True if all lines of both are made of whole pairs of halves. */
static bool is_paired(BurnDType dtype, const GpuTranspose *p) {
  const uint64_t steps = (uint64_t)(p->in_batch | p->out_batch | p->in_line | p->out_line | p->lines | p->length);
  return burn_dtype_bytes(dtype) == 2 && steps % 2 == 0 && (p->in | p->out) % 4 == 0;
}

BurnStatus burn__gpu_transpose(Gpu *gpu, BurnDType dtype, const GpuTranspose *p) {
  const bool paired = is_paired(dtype, p);
  const int64_t side = paired ? 2 * SIDE : SIDE;
  const GpuKernelKey key = {
      .text = GPU_TEXT_TRANSPOSE, .out = dtype, .in = {dtype, dtype, dtype}, .variant = paired ? 1 : 0};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const int64_t groups = p->batch * tiles_of(p->lines, side) * tiles_of(p->length, side);
  return burn__gpu_launch(gpu, function, (uint64_t)groups, THREADS, p, sizeof *p);
}

/* -- channels last ------------------------------------------------------------------------------ */

/* Of planes and volumes alone: elsewhere such an order is an accident of a program's views. */
enum { MIN_RANK = 4 };

static int64_t places_of(const int64_t *shape, uint32_t rank) {
  int64_t places = 1;
  for (uint32_t axis = 2; axis < rank; axis++) places *= shape[axis];
  return places;
}

uint32_t burn__gpu_axis_of_channels_last(uint32_t rank, uint32_t i) { return i == 0 ? 0 : i + 1 < rank ? i + 1 : 1; }

bool burn__gpu_has_two_orders(const int64_t *shape, uint32_t rank) {
  return rank >= MIN_RANK && shape[1] > 1 && places_of(shape, rank) > 1;
}

bool burn__gpu_is_channels_last(const BurnPrimitive *x) {
  int64_t stride = 1;
  if (!burn__gpu_has_two_orders(x->shape, x->rank)) return false;
  for (uint32_t i = x->rank; i-- > 0;) {
    const uint32_t axis = burn__gpu_axis_of_channels_last(x->rank, i);
    if (x->shape[axis] != 1 && x->strides[axis] != stride) return false;
    stride *= x->shape[axis];
  }
  return true;
}

BurnStatus burn__gpu_new_channels_last(Gpu *gpu, const BurnTensorDesc *desc, BurnPrimitive **out) {
  BurnStatus status = burn__gpu_new(gpu, desc, out);
  int64_t stride = 1;
  for (uint32_t i = desc->rank; i-- > 0 && status == BURN_OK;) {
    const uint32_t axis = burn__gpu_axis_of_channels_last(desc->rank, i);
    gpu_tensor(*out)->strides[axis] = stride;
    stride *= desc->shape[axis] > 0 ? desc->shape[axis] : 1;
  }
  return status;
}

bool burn__gpu_keeps_channels_last(BurnPrimitive *const *inputs, uint32_t count, const BurnTensorDesc *desc) {
  for (uint32_t k = 0; k < count; k++) {
    const BurnPrimitive *x = inputs[k];
    if (!x || x->rank != desc->rank || !burn__gpu_is_channels_last(x)) continue;
    if (memcmp(x->shape, desc->shape, desc->rank * sizeof *desc->shape) == 0) return true;
  }
  return false;
}

/* Matrices [lines, length] of `from`, one after the other, become [length, lines]. */
static BurnStatus turn(Gpu *gpu, const BurnPrimitive *from, const BurnPrimitive *to, int64_t lines, int64_t length) {
  const GpuTranspose p = {.out = gpu_address(to),
                          .in = gpu_address(from),
                          .batch = from->shape[0],
                          .lines = lines,
                          .length = length,
                          .in_batch = lines * length,
                          .in_line = length,
                          .out_batch = lines * length,
                          .out_line = lines};
  return burn__gpu_transpose(gpu, from->dtype, &p);
}

BurnStatus burn__gpu_copy_channels(Gpu *gpu, BurnPrimitive *to, BurnPrimitive *from) {
  const int64_t channels = from->shape[1], places = places_of(from->shape, from->rank);
  if (burn__gpu_is_channels_last(from) && burn__gpu_is_row_major(to)) return turn(gpu, from, to, places, channels);
  if (burn__gpu_is_row_major(from) && burn__gpu_is_channels_last(to)) return turn(gpu, from, to, channels, places);
  return burn__gpu_copy(gpu, to, from);
}

BurnStatus burn__gpu_channels_last(Gpu *gpu, BurnPrimitive *x, BurnPrimitive **out) {
  if (!burn__gpu_has_two_orders(x->shape, x->rank)) return burn__gpu_row_major(gpu, x, out);
  if (burn__gpu_is_channels_last(x)) {
    burn__gpu_retain(x);
    *out = x;
    return BURN_OK;
  }
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnStatus status = burn__gpu_new_channels_last(gpu, &desc, out);
  if (status == BURN_OK) status = burn__gpu_copy_channels(gpu, *out, x);
  if (status == BURN_OK || !*out) return status;
  burn__gpu_release(gpu, *out);
  *out = NULL;
  return status;
}
