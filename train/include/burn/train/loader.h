/* loader.h - batches of a dataset as tensors on a device, made by worker threads ahead of time.
 *
 * The order depends on seed and epoch only, never on the number of workers, and an epoch can be entered at any batch:
 * so a resumed run sees the very batches that an uninterrupted one would have seen.
 *
 *   BurnBatches *batches = burn_loader_start(loader, device, epoch, 0);
 *   for (BurnBatch batch; burn_batches_next(batches, &batch);) {
 *     BurnTensor *image = burn_batch_take(&batch, "image");
 *     ...
 *   }
 *   status = burn_batches_stop(batches); */
#ifndef BURN_TRAIN_LOADER_H
#define BURN_TRAIN_LOADER_H

#include <burn/train/dataset.h>

BURN_EXTERN_C_BEGIN

/* How a loader makes batches. */
typedef struct BurnLoaderConfig {
  size_t batch_size; /* at least 1; the last batch of an epoch may be smaller, see drop_last */
  bool shuffle;      /* a new order every epoch */
  uint64_t seed;     /* of the order */
  size_t workers;    /* threads that read items; 0: the caller's thread, at the time of next */
  size_t prefetch;   /* batches kept ready, with workers; 0 means 4 */
  bool drop_last;    /* leave out a last batch that is smaller; shuffled, each epoch leaves out other items */
  /* For items that cannot be read (CORRUPT_DATA), such as a picture that is damaged in the middle: zero-initialised,
   * the iteration ends at the first. With skip_bad their batches have fewer items, and one that would have none ends
   * it. burn_batches_stop tells how many of the batches handed out were without some. */
  BurnReadConfig read;
} BurnLoaderConfig;

typedef struct BurnLoader BurnLoader;

/* Takes the dataset. NULL with the reason in *status, by the rules of dataset.h. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnLoader *burn_loader_create(BurnDataset *dataset,
                                                                       const BurnLoaderConfig *config,
                                                                       BurnStatus *status);
BURN_API void burn_loader_destroy(BurnLoader *loader); /* NULL is allowed; no iteration is running */
/* Batches, and items in them, of an epoch; 0 of NULL. */
BURN_API size_t burn_loader_batch_count(const BurnLoader *loader);
BURN_API size_t burn_loader_item_count(const BurnLoader *loader);

/* Tensors of one batch by column name. Untaken ones are dropped by the next call of burn_batches_next or _stop. */
typedef struct BurnBatch {
  size_t index;      /* of the batch within the epoch */
  size_t item_count; /* items in it */
  size_t column_count;
  const char *names[BURN_MAX_COLUMNS];
  BurnTensor *tensors[BURN_MAX_COLUMNS];
} BurnBatch;

/* The tensor of a column, [batch, ...]; it is the caller's. A failed tensor if there is no such column or it was taken.
 */
BURN_API BURN_GIVES BurnTensor *burn_batch_take(BurnBatch *batch, const char *column);

typedef struct BurnBatches BurnBatches;

/* Begins epoch `epoch` (from 1) at batch `first_batch`. Never NULL: a failure to start is reported by
 * burn_batches_stop, also that there is no loader. The loader and the device are borrowed until that call. */
BURN_API BURN_USE_RESULT BurnBatches *burn_loader_start(BurnLoader *loader, BurnDevice *device, size_t epoch,
                                                        size_t first_batch);
/* The next batch; false at the end of the epoch, after a failure, and for batches that are NULL. */
BURN_API bool burn_batches_next(BurnBatches *batches, BurnBatch *batch);
/* Ends the iteration, early or not, and tells the first failure of the dataset. */
BURN_API BURN_USE_RESULT BurnStatus burn_batches_stop(BurnBatches *batches);

BURN_EXTERN_C_END

#endif
