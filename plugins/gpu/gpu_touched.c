/* gpu_touched.c - which storages the launches of a call read and write, for backends that order them by barriers.
 * Kernels get addresses, so it is not their arguments that tell: it is what the call was given and what it has made so
 * far. */
#include "gpu.h"

static _Thread_local GpuTouched touched;

void burn__gpu_touch_begin(Gpu *gpu, BurnPrimitive *const *inputs, uint32_t count) {
  if (!gpu->tracks_memory || touched.gpu) return;
  touched.gpu = count <= GPU_MAX_TOUCHED ? gpu : NULL;
  touched.count = 0;
  for (uint32_t i = 0; i < count && touched.gpu; i++) {
    if (!inputs[i]) continue;
    touched.items[touched.count].storage = gpu_tensor(inputs[i])->storage;
    touched.items[touched.count++].is_written = false;
  }
}

void burn__gpu_touch_end(const Gpu *gpu) {
  if (touched.gpu == gpu) touched.gpu = NULL;
}

/* With more than there is room for, nothing is known any more. */
void burn__gpu_touch_made(const Gpu *gpu, GpuStorage *storage) {
  if (touched.gpu != gpu) return;
  if (touched.count == GPU_MAX_TOUCHED) {
    touched.gpu = NULL;
    return;
  }
  touched.items[touched.count].storage = storage;
  touched.items[touched.count++].is_written = true;
}

void burn__gpu_touch_writes(const GpuStorage *storage) {
  for (uint32_t i = 0; i < touched.count && touched.gpu; i++)
    if (touched.items[i].storage == storage) touched.items[i].is_written = true;
}

void burn__gpu_touch_gone(const GpuStorage *storage) {
  for (uint32_t i = 0; i < touched.count && touched.gpu; i++)
    if (touched.items[i].storage == storage) touched.items[i--] = touched.items[--touched.count];
}

const GpuTouched *burn__gpu_touched(const Gpu *gpu) { return touched.gpu == gpu ? &touched : NULL; }
