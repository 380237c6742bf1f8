/* gpu_backend.h - what a backend gets: the life of a Gpu, the slots of its table and of "burn.device" that ask for no
 * device of a certain make, words for failures. */
#ifndef BURN_GPU_BACKEND_H
#define BURN_GPU_BACKEND_H

#include "gpu.h"

#include <burn/plugin/fused.h>
#include <burn/plugin/mixed.h>

/* -- gpu_backend.c ----------------------------------------------------------------------------- */

/* Begins a Gpu that is cleared but for what the backend sets: its ops and where kernels are kept. `primitives_only`:
 * composite ops are left to the host. Needs no device. */
BurnStatus burn__gpu_begin(Gpu *gpu, bool primitives_only);
/* Ends it: all kernels go. Between enter and leave with nothing in the queue, or where nothing has been loaded. What is
 * not begun, or ended, stays so. */
void burn__gpu_end(Gpu *gpu);

/* Fills all slots of the table but close and get_interface; self is the Gpu, with which the instance begins. */
void burn__gpu_fill_table(Gpu *gpu, BurnBackend *out);

/* What get_interface offers beside burn.device and what is the backend's own: BURN_CALLS_INTERFACE,
 * BURN_FUSED_INTERFACE and BURN_MIXED_INTERFACE. */
extern const BurnCallsInterface burn__gpu_calls_interface;
extern const BurnFusedInterface burn__gpu_fused_interface;
extern const BurnMixedInterface burn__gpu_mixed_interface;

/* -- gpu_queue.c ------------------------------------------------------------------------------- */

/* What a kernel wrote into gpu->complaint, once; BURN_OK if there is nothing. */
BurnStatus burn__gpu_tell_complaint(Gpu *gpu);
/* "relu, matmul, add": the last ops, newest first, for the failure of work that was accepted earlier. */
void burn__gpu_list_recent(Gpu *gpu, char *text, size_t bytes);

/* -- gpu_device.c: slots of "burn.device" ------------------------------------------------------ */

BurnStatus BURN_API_CALL burn__gpu_create(void *self, const BurnTensorDesc *desc, const void *data,
                                          BurnPrimitive **out);
BurnStatus BURN_API_CALL burn__gpu_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes);
BurnStatus BURN_API_CALL burn__gpu_create_async(void *self, const BurnTensorDesc *desc, const void *data,
                                                BurnPrimitive **out, BurnEvent **done);
BurnStatus BURN_API_CALL burn__gpu_read_async(void *self, BurnPrimitive *x, void *data, uint64_t bytes,
                                              BurnEvent **done);
BurnStatus BURN_API_CALL burn__gpu_write_async(void *self, BurnPrimitive *x, const void *data, uint64_t bytes,
                                               BurnEvent **done);
BurnStatus BURN_API_CALL burn__gpu_event_record(void *self, BurnEvent **out);
BurnStatus BURN_API_CALL burn__gpu_timed_event_record(void *self, BurnEvent **out);
BurnStatus BURN_API_CALL burn__gpu_event_query(void *self, BurnEvent *event, int32_t *done);
BurnStatus BURN_API_CALL burn__gpu_event_wait(void *self, BurnEvent *event);
void BURN_API_CALL burn__gpu_event_release(void *self, BurnEvent *event);
BurnStatus BURN_API_CALL burn__gpu_event_elapsed(void *self, BurnEvent *first, BurnEvent *second, double *seconds);
BurnStatus BURN_API_CALL burn__gpu_pack_launch(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                               const BurnDeviceLaunch *launch);

/* These slots, in a list of initialisers. The backend adds describe, and of the optional ones what it has: staging,
 * copy_from, native_memory, native_queue; kernel_takes_code, kernel_load and kernel_unload with .kernel_launch =
 * burn__gpu_pack_launch; .timed_event_record = burn__gpu_timed_event_record with .event_elapsed =
 * burn__gpu_event_elapsed. */
#define GPU_DEVICE_SLOTS                                                                                            \
  .create_async = burn__gpu_create_async, .read_async = burn__gpu_read_async, .write_async = burn__gpu_write_async, \
  .event_record = burn__gpu_event_record, .event_query = burn__gpu_event_query, .event_wait = burn__gpu_event_wait, \
  .event_release = burn__gpu_event_release

#endif
