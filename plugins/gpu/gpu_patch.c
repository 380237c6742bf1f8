/* gpu_patch.c - calls made once more with other numbers, to change what a recording starts: see gpu_replay.c. */
#include "gpu_recording.h"

#include <string.h>

static BurnStatus differ(Gpu *gpu, const char *what) {
  gpu->replays.recording->differs = true;
  return GPU_FAIL(gpu, FAILED_PRECONDITION, "with other numbers a recorded call %s", what);
}

BurnStatus burn__gpu_replay_change(Gpu *gpu, const GpuStart *start) {
  GpuRecording *r = gpu->replays.recording;
  if (r->next_started == r->last_started) return differ(gpu, "starts more kernels");
  const Started *started = &r->started.items[r->next_started++];
  char *recorded = r->parameters.items + started->first;
  if (started->function != start->function || started->groups != start->groups || started->threads != start->threads ||
      started->shared_bytes != start->shared_bytes || started->bytes != start->bytes)
    return differ(gpu, "starts another kernel");
  if (memcmp(recorded, start->parameters, start->bytes) == 0) return BURN_OK;
  const BurnStatus status = gpu->backend->replay->change(gpu, r->work, started->node, start);
  atomic_fetch_add_explicit(&gpu->replays.patches, 1, memory_order_relaxed);
  if (status == BURN_OK) memcpy(recorded, start->parameters, start->bytes);
  if (status != BURN_OK) r->differs = true;
  return status;
}

BurnStatus burn__gpu_patch_take_again(Gpu *gpu, uint64_t bytes, GpuAddress *out) {
  GpuRecording *r = gpu->replays.recording;
  if (r->next_taken == r->last_taken || r->taken.items[r->next_taken].bytes != bytes)
    return differ(gpu, "takes other memory");
  *out = r->taken.items[r->next_taken++].address;
  return BURN_OK;
}

static void check_call_is_whole(GpuRecording *r) {
  if (r->next_started != r->last_started || r->next_taken != r->last_taken) r->differs = true;
}

BurnStatus burn__gpu_patch_call(Gpu *gpu, GpuRecording *r, uint32_t index) {
  uint32_t low = 0, high = r->marks.count;
  check_call_is_whole(r);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2u;
    if (r->marks.items[middle].index < index) low = middle + 1u;
    if (r->marks.items[middle].index >= index) high = middle;
  }
  if (low == r->marks.count || r->marks.items[low].index != index)
    return GPU_FAIL(gpu, INVALID_ARGUMENT, "mark: there is no call %u in the recording", index);
  const Mark *mark = &r->marks.items[low];
  const bool is_last = low + 1u == r->marks.count;
  r->next_started = mark->started;
  r->next_taken = mark->taken;
  r->last_started = is_last ? r->started.count : mark[1].started;
  r->last_taken = is_last ? r->taken.count : mark[1].taken;
  return BURN_OK;
}

static BurnStatus begin_patch(Gpu *gpu, GpuRecording *r) {
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = gpu->backend->replay->patch_begin(gpu, r->work);
  burn__gpu_leave(gpu);
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_patch_begin(void *self, BurnRecording *recording) {
  Gpu *gpu = self;
  GpuRecording *r = inside(recording);
  burn__gpu_shut_out(gpu);
  const BurnStatus status = begin_patch(gpu, r);
  if (status != BURN_OK) {
    burn__gpu_let_in(gpu);
    return status;
  }
  r->next_started = r->last_started = r->next_taken = r->last_taken = 0;
  r->differs = false;
  gpu->replays.recording = r;
  gpu->is_recorded = true;
  gpu->replays.is_patching = true;
  return BURN_OK;
}

static BurnStatus end_patch(Gpu *gpu, GpuRecording *r, bool *is_empty) {
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = gpu->backend->replay->patch_end(gpu, r->work, is_empty);
  burn__gpu_leave(gpu);
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_patch_end(void *self, BurnRecording *recording) {
  Gpu *gpu = self;
  GpuRecording *r = inside(recording);
  bool is_empty = false;
  check_call_is_whole(r);
  BurnStatus status = end_patch(gpu, r, &is_empty);
  gpu->replays.is_patching = false;
  gpu->replays.recording = NULL;
  gpu->is_recorded = false;
  burn__gpu_let_in(gpu);
  if (status == BURN_OK && !is_empty)
    status = GPU_FAIL(gpu, FAILED_PRECONDITION, "a call with other numbers does work that cannot be patched");
  if (status == BURN_OK && r->differs)
    status = GPU_FAIL(gpu, FAILED_PRECONDITION, "with other numbers a recorded call does other work");
  return status;
}
