/* transfer.h - data that moves while the program goes on: reads that are finished later, uploads through a ring of
 * staging memory, and what a device is.
 *
 * All of it works on every stack. Where the backend has the interface "burn.device" (burn/plugin/device.h) nothing here
 * waits unless it says so; elsewhere the same calls copy at once or read at the end. */
#ifndef BURN_TRANSFER_H
#define BURN_TRANSFER_H

#include <burn/plugin/device.h>
#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* -- reads ------------------------------------------------------------------------------------ */

/* A read on its way. It belongs to whoever started it until a finish function or burn_read_drop takes it. It may move
 * to another thread, but only one thread at a time uses it. Its device stays open until then. */
typedef struct BurnPendingRead BurnPendingRead;

/* Takes x and starts to copy its elements to the host; does not wait. With decorators that queue ops (fusion) this is
 * where they are submitted. A failed tensor, too, gives a read, which fails at the end with the same message. NULL only
 * when out of memory, which the functions below report.
 *
 * Without "burn.device" the read keeps the tensor's values and copies them when it is finished. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnPendingRead *burn_read_start(BurnTensor *x);

/* True if the finish functions will not wait; also for a read that has failed. At once. */
BURN_API bool burn_read_ready(BurnPendingRead *read);

/* The same rules as burn_read and burn_read_f32, f64 and i64 for sizes and dtypes. Waits for the elements; takes
 * `read`, whatever it returns. A failure of the ops before is reported here if no call has reported it before. */
BURN_API BURN_USE_RESULT BurnStatus burn_read_finish(BurnPendingRead *read, void *data, size_t bytes);
BURN_API BURN_USE_RESULT BurnStatus burn_read_finish_f32(BurnPendingRead *read, float *data, size_t count);
BURN_API BURN_USE_RESULT BurnStatus burn_read_finish_f64(BurnPendingRead *read, double *data, size_t count);
BURN_API BURN_USE_RESULT BurnStatus burn_read_finish_i64(BurnPendingRead *read, int64_t *data, size_t count);

/* Takes `read` without looking at the values; waits until the device no longer writes them. NULL is allowed. */
BURN_API void burn_read_drop(BurnPendingRead *read);

/* -- uploads ---------------------------------------------------------------------------------- */

/* A ring of memory that a device copies from without a detour (pinned where the backend has such memory), for loaders:
 * fill a slot, make tensors of it, give it back, go on with the next one while the copies run. */
typedef struct BurnStaging BurnStaging;
typedef struct BurnStagingSlot BurnStagingSlot;

/* Opens a ring of `slots` (1 .. 1024) slots of `bytes` each for tensors of `device`, which stays open until
 * burn_staging_close. INVALID_ARGUMENT for other numbers. */
BURN_API BURN_USE_RESULT BurnStatus burn_staging_open(BurnDevice *device, size_t bytes, size_t slots,
                                                      BurnStaging **out);

/* The next free slot, which is the caller's until burn_staging_give. Waits only if no slot is free: for the uploads of
 * the one that was given back first, or for another thread that holds it. Any number of threads may take slots. A
 * failure of the device during these uploads is reported here. */
BURN_API BURN_USE_RESULT BurnStatus burn_staging_take(BurnStaging *staging, BurnStagingSlot **out);

/* The memory of a slot: `bytes` as opened, aligned to 64. NULL for a slot that is NULL. */
BURN_API void *burn_staging_memory(const BurnStagingSlot *slot);

/* A tensor of `shape` of the slot's bytes from `offset` on, which are the elements in row-major order; `offset` is a
 * multiple of the element's size. The bytes must stay as they are until the slot is taken again; the copy is not waited
 * for. dtype DEFAULT is the device's float dtype. Several tensors may be made of one slot. */
BURN_API BURN_GIVES BurnTensor *burn_staging_tensor(BurnStagingSlot *slot, size_t offset, BurnDType dtype,
                                                    BurnShape shape);

/* The slot may be taken again, once the uploads that were started from it are done. NULL is allowed. */
BURN_API void burn_staging_give(BurnStagingSlot *slot);

/* Waits for uploads and ends the ring. All slots have been given back. NULL is allowed. */
BURN_API void burn_staging_close(BurnStaging *staging);

/* -- devices ---------------------------------------------------------------------------------- */

/* What there is to know of the device at the bottom of the stack; see BurnDeviceDescription. `out` is filled as far as
 * it is known; a backend that does not describe itself leaves its name and BURN_DEVICE_KIND_OTHER. */
BURN_API BURN_USE_RESULT BurnStatus burn_device_describe(BurnDevice *device, BurnDeviceDescription *out);

/* How often a function has waited for work of the device since it was opened; -1 where the backend does not count. */
BURN_API int64_t burn_device_host_waits(BurnDevice *device);

BURN_EXTERN_C_END

#endif
