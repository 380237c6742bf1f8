/* gpu_device.c - elements that come from the host and go there, and slots of "burn.device": transfers that nobody waits
 * for, events, kernels of packs. */
#include "gpu_backend.h"

#include <string.h>

/* -- to the device ----------------------------------------------------------------------------- */

static BurnStatus write_elements(Gpu *gpu, const BurnPrimitive *x, const void *data, uint64_t bytes) {
  const BurnStatus refused = burn__gpu_refuse_recording(gpu, "a copy from the host");
  return refused == BURN_OK ? gpu->backend->write(gpu, x, data, bytes) : refused;
}

/* A bool is any byte but 0 in memory of others, and 1 in ours. */
static BurnStatus make_true(Gpu *gpu, BurnPrimitive **x) {
  BurnPrimitive *bytes = *x;
  bytes->dtype = BURN_DTYPE_U8;
  *x = NULL;
  const BurnStatus status = burn__gpu_cast(gpu, bytes, BURN_DTYPE_BOOL, x);
  burn__gpu_release(gpu, bytes);
  return status;
}

/* A new tensor with the elements at `data`, in the queue; with undefined ones where there is no data. */
static BurnStatus upload(Gpu *gpu, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out) {
  const uint64_t bytes = (uint64_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  BurnPrimitive *x = NULL;
  BurnStatus status = data ? burn__gpu_refuse_recording(gpu, "a copy from the host") : BURN_OK;
  if (status == BURN_OK) status = burn__gpu_new(gpu, desc, &x);
  if (status == BURN_OK && data && bytes > 0) status = write_elements(gpu, x, data, bytes);
  if (status == BURN_OK && data && desc->dtype == BURN_DTYPE_BOOL && bytes > 0) status = make_true(gpu, &x);
  if (status == BURN_OK) *out = x;
  if (status != BURN_OK) burn__gpu_release(gpu, x);
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_create(void *self, const BurnTensorDesc *desc, const void *data,
                                          BurnPrimitive **out) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = upload(gpu, desc, data, out);
  burn__gpu_leave(gpu);
  return status;
}

static BurnStatus record(Gpu *gpu, bool is_timed, BurnEvent **out) {
  const BurnStatus refused = burn__gpu_refuse_recording(gpu, "an event");
  return refused == BURN_OK ? gpu->backend->event_new(gpu, is_timed, out) : refused;
}

BurnStatus BURN_API_CALL burn__gpu_create_async(void *self, const BurnTensorDesc *desc, const void *data,
                                                BurnPrimitive **out, BurnEvent **done) {
  Gpu *gpu = self;
  BurnPrimitive *x = NULL;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = upload(gpu, desc, data, &x);
  if (status == BURN_OK) status = record(gpu, false, done);
  if (status == BURN_OK) *out = x;
  if (status != BURN_OK) burn__gpu_release(gpu, x);
  burn__gpu_leave(gpu);
  return status;
}

/* Any byte but 0 is true: they go through a tensor that has them as 0 and 1. */
static BurnStatus write_bools(Gpu *gpu, BurnPrimitive *x, const void *data) {
  const BurnTensorDesc desc = burn_primitive_desc(x);
  BurnPrimitive *bools = NULL;
  BurnStatus status = upload(gpu, &desc, data, &bools);
  if (status == BURN_OK) status = burn__gpu_copy(gpu, x, bools);
  burn__gpu_release(gpu, bools);
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_write_async(void *self, BurnPrimitive *x, const void *data, uint64_t bytes,
                                               BurnEvent **done) {
  Gpu *gpu = self;
  GpuTensor *tensor = gpu_tensor(x);
  if (atomic_load(&tensor->references) != 1 || atomic_load(&tensor->storage->references) != 1 ||
      tensor->storage->is_shared)
    return GPU_FAIL(gpu, FAILED_PRECONDITION, "write: the tensor has other users: its elements stay");
  if (!burn__gpu_is_row_major(x)) return GPU_FAIL(gpu, FAILED_PRECONDITION, "write: the tensor is not row-major");
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  if (x->dtype == BURN_DTYPE_BOOL) {
    status = write_bools(gpu, x, data);
  } else if (bytes > 0) {
    status = write_elements(gpu, x, data, bytes);
  }
  if (status == BURN_OK) status = record(gpu, false, done);
  burn__gpu_leave(gpu);
  return status;
}

/* -- to the host ------------------------------------------------------------------------------- */

static BurnStatus download(Gpu *gpu, BurnPrimitive *x, void *data, uint64_t bytes) {
  BurnPrimitive *rows = NULL;
  BurnStatus status = burn__gpu_refuse_recording(gpu, "a copy to the host");
  if (status == BURN_OK) status = burn__gpu_row_major(gpu, x, &rows);
  if (status == BURN_OK && bytes > 0) status = gpu->backend->read(gpu, data, rows, bytes);
  burn__gpu_release(gpu, rows);
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = download(gpu, x, data, bytes);
  if (status == BURN_OK) status = burn__gpu_wait(gpu);
  burn__gpu_leave(gpu);
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_read_async(void *self, BurnPrimitive *x, void *data, uint64_t bytes,
                                              BurnEvent **done) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = download(gpu, x, data, bytes);
  if (status == BURN_OK) status = record(gpu, false, done);
  burn__gpu_leave(gpu);
  return status;
}

/* -- events ------------------------------------------------------------------------------------ */

static BurnStatus enter_and_record(Gpu *gpu, bool is_timed, BurnEvent **out) {
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = record(gpu, is_timed, out);
  burn__gpu_leave(gpu);
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_event_record(void *self, BurnEvent **out) {
  return enter_and_record(self, false, out);
}

BurnStatus BURN_API_CALL burn__gpu_timed_event_record(void *self, BurnEvent **out) {
  return enter_and_record(self, true, out);
}

BurnStatus BURN_API_CALL burn__gpu_event_query(void *self, BurnEvent *event, int32_t *done) {
  Gpu *gpu = self;
  bool is_done = false;
  const BurnStatus status = gpu->backend->event_query(gpu, event, &is_done);
  *done = is_done;
  return status;
}

BurnStatus BURN_API_CALL burn__gpu_event_wait(void *self, BurnEvent *event) {
  Gpu *gpu = self;
  bool is_done = false;
  BurnStatus status = gpu->backend->event_query(gpu, event, &is_done);
  if (status == BURN_OK && !is_done) {
    atomic_fetch_add(&gpu->host_waits, 1);
    status = gpu->backend->event_wait(gpu, event);
  }
  return status == BURN_OK ? burn__gpu_complaint(gpu) : status;
}

BurnStatus BURN_API_CALL burn__gpu_event_elapsed(void *self, BurnEvent *first, BurnEvent *second, double *seconds) {
  Gpu *gpu = self;
  BurnEvent *const both[] = {first, second};
  bool is_done = true;
  BurnStatus status = BURN_OK;
  for (int i = 0; i < 2 && status == BURN_OK && is_done; i++)
    status = gpu->backend->event_query(gpu, both[i], &is_done);
  if (status != BURN_OK) return status;
  if (!is_done) return GPU_FAIL(gpu, FAILED_PRECONDITION, "event_elapsed: the work before an event is not done");
  return gpu->backend->event_elapsed(gpu, first, second, seconds);
}

void BURN_API_CALL burn__gpu_event_release(void *self, BurnEvent *event) {
  Gpu *gpu = self;
  if (event) gpu->backend->event_release(gpu, event);
}

/* -- kernels of packs -------------------------------------------------------------------------- */

/* The arguments of a kernel as they lie in the memory of its parameters, and the tensors that they name. */
typedef struct Arguments {
  uint64_t words[BURN_MAX_FIXED_INPUTS + BURN_MAX_OUTPUTS + BURN_MAX_PARAMETER_BYTES / 8];
  uint32_t count;
  BurnPrimitive *rows[BURN_MAX_FIXED_INPUTS], *out[BURN_MAX_OUTPUTS];
} Arguments;

static BurnStatus add_tensors(Gpu *gpu, const BurnOpCall *call, const BurnDeviceLaunch *launch, Arguments *a) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->input_count && status == BURN_OK; i++) {
    BurnPrimitive *x = call->inputs[i];
    if (x && launch->row_major >> i & 1u) status = burn__gpu_row_major(gpu, x, &a->rows[i]);
    if (a->rows[i]) x = a->rows[i];
    a->words[a->count++] = x ? gpu_address(x) : 0;
  }
  for (uint32_t i = 0; i < call->output_count && status == BURN_OK; i++) {
    status = burn__gpu_new(gpu, &call->output_descs[i], &a->out[i]);
    if (status == BURN_OK) a->words[a->count++] = gpu_address(a->out[i]);
  }
  return status;
}

static BurnStatus start_pack(Gpu *gpu, BurnLoadedKernel *kernel, const BurnDeviceLaunch *launch, Arguments *a) {
  if (launch->groups[0] == 0 || launch->groups[1] == 0 || launch->groups[2] == 0) return BURN_OK;
  memcpy(a->words + a->count, launch->parameters, launch->parameter_bytes);
  return gpu->backend->pack_start(gpu, kernel, launch, a->words, 8 * (size_t)a->count + launch->parameter_bytes);
}

BurnStatus BURN_API_CALL burn__gpu_pack_launch(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                               const BurnDeviceLaunch *launch) {
  Gpu *gpu = self;
  Arguments a = {.count = 0};
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = add_tensors(gpu, call, launch, &a);
  if (status == BURN_OK) status = start_pack(gpu, kernel, launch, &a);
  for (uint32_t i = 0; i < BURN_MAX_FIXED_INPUTS; i++) burn__gpu_release(gpu, a.rows[i]);
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (status == BURN_OK) call->outputs[i] = a.out[i];
    if (status != BURN_OK) burn__gpu_release(gpu, a.out[i]);
  }
  burn__gpu_leave(gpu);
  return status;
}
