/* gpu_queue.c - what goes into the queue of an instance and what comes of it: launches, waits, complaints of kernels,
 * which ops were the last. */
#include "gpu_backend.h"
#include "gpu_replay.h"

#include <stdio.h>
#include <string.h>

static BurnStatus check_groups(Gpu *gpu, uint64_t groups) {
  if (groups <= INT32_MAX) return BURN_OK;
  return GPU_FAIL(gpu, INVALID_ARGUMENT, "%llu blocks are more than a kernel can have", (unsigned long long)groups);
}

/* In a patch nothing runs. */
static BurnStatus start_kernel(Gpu *gpu, const GpuStart *start) {
  const GpuBackend *backend = gpu->backend;
  if (gpu->replays.is_patching) return burn__gpu_replay_change(gpu, start);
  const GpuLaunch launch = {start->groups, start->threads, start->shared_bytes};
  const BurnStatus status =
      start->shared_bytes > 0
          ? backend->launch_sharing(gpu, start->function, &launch, start->parameters, start->bytes)
          : backend->launch(gpu, start->function, start->groups, start->threads, start->parameters, start->bytes);
  if (status != BURN_OK) return status;
  if (gpu->is_recorded) return burn__gpu_replay_started(gpu, start);
  atomic_fetch_add_explicit(&gpu->replays.launches, 1, memory_order_relaxed);
  return BURN_OK;
}

BurnStatus burn__gpu_launch(Gpu *gpu, GpuFunction *function, uint64_t groups, uint32_t threads, const void *parameters,
                            size_t bytes) {
  const GpuLaunch launch = {groups, threads, 0};
  return burn__gpu_launch_sharing(gpu, function, &launch, parameters, bytes);
}

BurnStatus burn__gpu_launch_sharing(Gpu *gpu, GpuFunction *function, const GpuLaunch *launch, const void *parameters,
                                    size_t bytes) {
  const BurnStatus status = check_groups(gpu, launch->groups);
  if (status != BURN_OK || launch->groups == 0) return status;
  const GpuStart start = {function, (uint32_t)launch->groups, launch->threads, launch->shared_bytes, parameters, bytes};
  return start_kernel(gpu, &start);
}

BurnStatus burn__gpu_check_rounds(const GpuRun *run, int64_t rounds) {
  Gpu *gpu = run->gpu;
  if (gpu->most_rounds == 0 || rounds < gpu->most_rounds) return BURN_OK;
  return GPU_FAIL(gpu, UNIMPLEMENTED, "%s: a kernel would go %lld times through its loops, which end after %lld here",
                  gpu->host->op_info(run->call->op)->name, (long long)rounds, (long long)gpu->most_rounds);
}

BurnStatus burn__gpu_refuse_recording(Gpu *gpu, const char *what) {
  if (!gpu->is_recorded) return BURN_OK;
  return GPU_FAIL(gpu, FAILED_PRECONDITION, "%s cannot be recorded", what);
}

BurnStatus burn__gpu_finish(Gpu *gpu) {
  atomic_fetch_add(&gpu->host_waits, 1);
  return gpu->backend->finish(gpu);
}

BurnStatus burn__gpu_wait(Gpu *gpu) {
  const BurnStatus refused = burn__gpu_refuse_recording(gpu, "a wait for the device");
  const BurnStatus status = refused == BURN_OK ? burn__gpu_finish(gpu) : refused;
  return status == BURN_OK ? burn__gpu_complaint(gpu) : status;
}

BurnStatus burn__gpu_tell_complaint(Gpu *gpu) {
  GpuComplaint *complaint = gpu->complaint;
  if (!*(volatile uint32_t *)&complaint->is_set) return BURN_OK;
  const GpuComplaint what = *complaint;
  memset(complaint, 0, sizeof *complaint);
  const char *op = gpu->host->op_info(what.op)->name;
  if (what.size == 0)
    return BURN_COMMON_FAIL(gpu->host, OUT_OF_RANGE, op, "index %lld at position %lld, but axis %lld is empty",
                            (long long)what.index, (long long)what.position, (long long)what.dim);
  return BURN_COMMON_FAIL(gpu->host, OUT_OF_RANGE, op, "index %lld at position %lld is outside 0..%lld (axis %lld)",
                          (long long)what.index, (long long)what.position, (long long)(what.size - 1),
                          (long long)what.dim);
}

void burn__gpu_note_op(Gpu *gpu, uint32_t op) {
  const uint32_t number = atomic_fetch_add(&gpu->submitted, 1u);
  atomic_store_explicit(&gpu->recent[number % GPU_RECENT_OPS], op, memory_order_relaxed);
}

void burn__gpu_list_recent(Gpu *gpu, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 1; i <= GPU_RECENT_OPS && used < bytes; i++) {
    const uint32_t op = atomic_load(&gpu->recent[(atomic_load(&gpu->submitted) - i) % GPU_RECENT_OPS]);
    const BurnOpInfo *info = op ? gpu->host->op_info(op) : NULL;
    if (!info) break;
    const int length = snprintf(text + used, bytes - used, "%s%s", i > 1 ? ", " : "", info->name);
    if (length > 0) used += (size_t)length;
  }
}
