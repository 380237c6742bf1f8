/* capture.h - a step of training, or of anything that repeats, as one piece of work for the device.
 *
 *   for (int step = 0; step < steps; step++) {
 *     status = burn_capture_begin(device);
 *     BurnTensor *loss = train_step(model, batch(step));
 *     if (status == BURN_OK) status = burn_capture_end(device, NULL);
 *     printf("%g\n", read(loss));
 *   }
 *
 * The calls of a region are queued, and submitted as one at its end. A region that comes again - the same calls with
 * the same shapes and attributes, but for numbers such as a learning rate, and seeds - is recorded by the backend the
 * second time and replayed from the third time on: a GPU then starts all of its kernels at once. The results are the
 * same to the bit, replayed or not.
 *
 * The decorator fusion must be on the stack; a backend that can record has the interface burn.replay, and on others
 * regions run call by call. Fusion finds what repeats by itself, too; a region says where a round begins and ends, is
 * replayed earlier, and its report tells why it was not.
 *
 * What a region should keep to:
 * - Results are read after it has ended. A read, burn_device_sync or a question about memory inside is allowed, but
 *   splits the region: what was called so far is run then.
 * - What it updates lies where it lay: parameters and states of an optimizer do. Other inputs, such as a batch, may be
 *   new tensors each time; they are copied.
 * - Its results are dropped before it ends the next time. One that is still held keeps its contents, and costs a copy
 *   in each run from then on.
 * - It is a step, not an epoch: the first time, a region is planned as a whole, which takes some 20 ms for 1,000 calls,
 *   0.2 s for 4,000 and 3 s for 16,000, on one processor.
 *
 * Regions do not nest. A region belongs to the thread that began it, which ends it; other threads go on as ever, or
 * have regions of their own. A thread that ends inside a region loses it: what it has called is run when somebody
 * asks. */
#ifndef BURN_CAPTURE_H
#define BURN_CAPTURE_H

#include <burn/device.h>

BURN_EXTERN_C_BEGIN

/* How a region was run. */
typedef enum BurnCaptureOutcome {
  BURN_CAPTURE_SINGLE = 0,   /* launch by launch */
  BURN_CAPTURE_RECORDED = 1, /* it was recorded, and the recording was run */
  BURN_CAPTURE_REPLAYED = 2  /* the recording of an earlier time was run */
} BurnCaptureOutcome;

/* What became of a region. */
typedef struct BurnCaptureReport {
  uint32_t struct_size; /* set by the caller: no more than that is filled */
  uint32_t outcome;     /* BurnCaptureOutcome; of a region in parts the least of them */
  uint32_t parts;       /* 1; more if it was split, 0 if nothing was called */
  uint32_t reserved;
  uint64_t calls;    /* ops that were called, those of composite ops and of a backward pass one by one */
  uint64_t launches; /* pieces of work that they became: kernels for several, and single calls */
  uint64_t replays;  /* times that the region was replayed so far; of its last part if it was split */
  char reason[256];  /* why it was not replayed as one, a sentence without a full stop; "": it was */
} BurnCaptureReport;

/* Runs what this thread has queued on the device; from now on its calls there are a region. FAILED_PRECONDITION inside
 * a region, and where the stack has no fusion; UNIMPLEMENTED where its fusion is too old for regions. */
BURN_API BURN_USE_RESULT BurnStatus burn_capture_begin(BurnDevice *device);

/* Ends the region and submits it; *report says what became of it (NULL: nobody wants to know). A call that fails is
 * reported where its result is read, or by burn_device_sync. FAILED_PRECONDITION without a region of this thread. */
BURN_API BURN_USE_RESULT BurnStatus burn_capture_end(BurnDevice *device, BurnCaptureReport *report);

BURN_EXTERN_C_END

#endif
