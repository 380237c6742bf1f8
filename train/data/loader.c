/* loader.c - batches of a dataset, read ahead by worker threads.
 *
 * The batches of an epoch are numbered; which items are in a batch follows from seed and epoch alone. Workers draw the
 * next number, read the items and put the tensors into a ring of `prefetch` slots, slot = number modulo prefetch; a
 * number is drawn only when its slot is free. The consumer takes the slots in turn. So the order never depends on the
 * workers, at most `prefetch` batches exist ahead, and a failure is met exactly where it lies in the order.
 *
 * Items are gathered in a slot of a staging ring, and the tensors are made of it: a device that works on its own copies
 * them while the slots after it are filled. Nobody waits for such a copy before its slot's turn comes round again.
 *
 * The iteration keeps the tensors of the batch that it handed out and burn_batch_take gives clones of them: so it can
 * drop untaken ones without touching the user's BurnBatch, which may be gone by then. */
#include <burn/train/loader.h>
#include <burn/transfer.h>

#include "dataset_private.h"
#include "learner_internal.h"
#include "null_check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { DEFAULT_PREFETCH = 4, MAX_WORKERS = 1024, MAX_PREFETCH = 65536, COLUMN_ALIGNMENT = 64 };

/* The ring on a device that works on its own. Uploads are done in the order of the work, so the ring is as long as the
 * learner lets the host be ahead: two windows of metrics and some batches. Large batches are few, as pinned memory is
 * dear, and take long on the device. */
enum { RING_SLOTS = 40, RING_BYTES = 64 << 20, MAX_SLOTS = 1024 /* of burn_staging_open */ };

struct BurnLoader {
  BurnDataset *dataset;
  BurnLoaderConfig config;
  size_t item_count; /* of the dataset */
  size_t column_count;
  size_t bytes[BURN_MAX_COLUMNS]; /* of one item */
};

/* The tensors of one batch, or why there are none. */
typedef struct Made {
  BurnStatus status;
  BurnTensor *tensors[BURN_MAX_COLUMNS];
  size_t item_count;
  BurnSkips skips; /* items that it is without */
} Made;

typedef struct Slot {
  bool ready;
  Made made;
} Slot;

struct BurnBatches {
  const BurnLoader *loader;
  BurnDevice *device;
  size_t epoch;
  size_t *order; /* items in the order of the epoch; NULL: as they are */
  size_t next;   /* batch that the consumer takes next */
  size_t batch_count;
  bool ended;        /* nothing more will be handed out */
  BurnStatus status; /* the first failure that the consumer met */
  BurnSkips skips;   /* what the batches handed out are without */
  Made handed_out;
  BurnStaging *staging; /* NULL: there is nothing to make */
  size_t worker_count;
  pthread_t *workers;
  size_t slot_count;
  /* the rest is shared with the workers, under the mutex */
  pthread_mutex_t mutex;
  pthread_cond_t slot_ready, slot_free;
  bool stopping;
  size_t drawn; /* batch that a worker draws next */
  size_t freed; /* batches below this have left their slots */
  Slot *slots;
};

/* -- the loader ------------------------------------------------------------------------------- */

/* Sizes that the loader will multiply, checked once. */
static BurnStatus loader_check(const BurnDataset *dataset, const BurnLoaderConfig *config) {
  if (config == NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "loader: config is NULL: a BurnLoaderConfig with a batch_size expected");
  if (config->batch_size < 1)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "loader: batch size 0, at least 1 expected");
  if (config->workers > MAX_WORKERS || config->prefetch > MAX_PREFETCH)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "loader: %zu workers and prefetch %zu, at most %d and %d expected", config->workers,
                            config->prefetch, MAX_WORKERS, MAX_PREFETCH);
  const size_t count = burn_dataset_count(dataset);
  const size_t most = config->batch_size < count ? config->batch_size : count;
  size_t left = (size_t)PTRDIFF_MAX; /* of what the columns of a batch may have together */
  for (size_t i = 0; i < burn_dataset_column_count(dataset); i++) {
    const size_t bytes = burn_dataset_column_bytes(dataset, i);
    if (left < COLUMN_ALIGNMENT || most > (left - COLUMN_ALIGNMENT) / bytes)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "loader: a batch of %zu items of %zu bytes is too large",
                              most, bytes);
    left -= most * bytes + COLUMN_ALIGNMENT;
  }
  return BURN_OK;
}

BurnLoader *burn_loader_create(BurnDataset *dataset, const BurnLoaderConfig *config, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK && dataset == NULL)
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "loader: no dataset");
  if (result == BURN_OK) result = loader_check(dataset, config);
  BurnLoader *loader = result == BURN_OK ? calloc(1, sizeof *loader) : NULL;
  if (result == BURN_OK && loader == NULL)
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "loader: out of memory");
  burn__store_status(status, result);
  if (result != BURN_OK) {
    burn_dataset_drop(dataset);
    return NULL;
  }
  loader->dataset = dataset;
  loader->config = *config;
  if (loader->config.prefetch == 0) loader->config.prefetch = DEFAULT_PREFETCH;
  loader->item_count = burn_dataset_count(dataset);
  loader->column_count = burn_dataset_column_count(dataset);
  for (size_t i = 0; i < loader->column_count; i++) loader->bytes[i] = burn_dataset_column_bytes(dataset, i);
  return loader;
}

const BurnLoaderConfig *burn__loader_config(const BurnLoader *loader) { return &loader->config; }

BurnStatus burn__loader_has_batches(const BurnLoader *loader, const char *who) {
  if (burn_loader_batch_count(loader) > 0) return BURN_OK;
  if (loader->item_count == 0) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s has no items", who);
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "%s has no batches: drop_last leaves out its %zu items, which are less than batch_size %zu",
                          who, loader->item_count, loader->config.batch_size);
}

bool burn__loader_checksum(const BurnLoader *loader, uint32_t *checksum) {
  void *columns[BURN_MAX_COLUMNS] = {NULL};
  bool good = loader->item_count > 0;
  uLong sum = 0;
  for (size_t i = 0; i < loader->column_count; i++) {
    columns[i] = calloc(1, loader->bytes[i]);
    good = good && columns[i];
  }
  for (int which = 0; which < 2 && good; which++) {
    good = burn_dataset_get(loader->dataset, which ? loader->item_count - 1 : 0, columns) == BURN_OK;
    for (size_t i = 0; i < loader->column_count && good; i++) sum = crc32_z(sum, columns[i], loader->bytes[i]);
  }
  for (size_t i = 0; i < loader->column_count; i++) free(columns[i]);
  *checksum = (uint32_t)sum;
  return good;
}

void burn_loader_destroy(BurnLoader *loader) {
  if (loader == NULL) return;
  burn_dataset_drop(loader->dataset);
  free(loader);
}

size_t burn_loader_batch_count(const BurnLoader *loader) {
  if (loader == NULL) return 0;
  const bool rest = loader->item_count % loader->config.batch_size != 0 && !loader->config.drop_last;
  return loader->item_count / loader->config.batch_size + rest;
}

size_t burn_loader_item_count(const BurnLoader *loader) {
  if (loader == NULL) return 0;
  const bool whole = loader->config.drop_last;
  return whole ? burn_loader_batch_count(loader) * loader->config.batch_size : loader->item_count;
}

/* Items in batch `index`: the last one may be short. */
static size_t batch_item_count(const BurnLoader *loader, size_t index) {
  const size_t left = loader->item_count - index * loader->config.batch_size;
  return left < loader->config.batch_size ? left : loader->config.batch_size;
}

/* -- making one batch ------------------------------------------------------------------------- */

/* Where a column begins in a slot; for the number of columns: the bytes of a slot. */
static size_t column_offset(const BurnLoader *loader, size_t column) {
  const size_t items = batch_item_count(loader, 0);
  size_t offset = 0;
  for (size_t i = 0; i < column; i++) {
    const size_t bytes = items * loader->bytes[i];
    offset += bytes + (COLUMN_ALIGNMENT - bytes % COLUMN_ALIGNMENT) % COLUMN_ALIGNMENT;
  }
  return offset;
}

/* Where the work is done at once a slot is free again at once: each thread fills one. */
static BurnStatus staging_open(BurnBatches *batches) {
  const BurnLoader *loader = batches->loader;
  const size_t bytes = column_offset(loader, loader->column_count);
  const size_t threads = loader->config.workers > 0 ? loader->config.workers : 1;
  const bool works_alone = burn_device_host_waits(batches->device) >= 0; /* it counts the waits for it */
  size_t slots = threads;
  if (works_alone) {
    const size_t fitting = bytes > 0 ? RING_BYTES / bytes : RING_SLOTS;
    slots = fitting < RING_SLOTS ? fitting : RING_SLOTS;
    if (slots < threads + 2) slots = threads + 2;
  }
  const size_t left = batches->batch_count - batches->next;
  if (slots > left) slots = left;
  if (slots > MAX_SLOTS) slots = MAX_SLOTS;
  return burn_status_annotate(burn_staging_open(batches->device, bytes, slots, &batches->staging),
                              "loader: a batch of %zu items", batch_item_count(loader, 0));
}

static void made_release(Made *made) {
  for (size_t i = 0; i < BURN_MAX_COLUMNS; i++) burn_drop(made->tensors[i]);
  memset(made, 0, sizeof *made);
}

/* The shape of a batch of a column: [count, ...]. */
static BurnShape batch_shape(const BurnColumn *column, size_t count) {
  BurnShape shape = {column->shape.rank + 1, {(int64_t)count}};
  for (uint32_t i = 0; i < column->shape.rank; i++) shape.dims[i + 1] = column->shape.dims[i];
  return shape;
}

/* True if an item that failed so is left out. */
static bool item_skips(const BurnLoader *loader, BurnStatus status, BurnSkips *skips) {
  if (!loader->config.read.skip_bad || burn_status_code(status) != BURN_STATUS_CORRUPT_DATA) return false;
  burn__skip(skips, burn_status_message(status));
  return true;
}

/* Reads the items of batch `index` into the memory of a slot, one after the other. */
static BurnStatus items_gather(const BurnBatches *batches, size_t index, unsigned char *memory, Made *made) {
  const BurnLoader *loader = batches->loader;
  const size_t first = index * loader->config.batch_size, count = batch_item_count(loader, index);
  unsigned char *starts[BURN_MAX_COLUMNS];
  for (size_t j = 0; j < loader->column_count; j++) starts[j] = memory + column_offset(loader, j);
  for (size_t i = 0; i < count; i++) {
    void *columns[BURN_MAX_COLUMNS] = {NULL};
    for (size_t j = 0; j < loader->column_count; j++) columns[j] = starts[j] + made->item_count * loader->bytes[j];
    const size_t item = batches->order != NULL ? batches->order[first + i] : first + i;
    BurnStatus status = burn_dataset_get_in_epoch(loader->dataset, batches->epoch, item, columns);
    if (status != BURN_OK) status = burn_status_annotate(status, "loader: item %zu, in batch %zu", item, index);
    if (status == BURN_OK)
      made->item_count++;
    else if (!item_skips(loader, status, &made->skips))
      return status;
  }
  if (made->item_count > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                          "loader: batch %zu: none of its %zu items can be read, the first: %s", index, count,
                          made->skips.first);
}

/* Gathers batch `index` in a slot and makes its tensors, as far as that goes. */
static void slot_fill(const BurnBatches *batches, size_t index, BurnStagingSlot *slot, Made *made) {
  const BurnLoader *loader = batches->loader;
  made->status = items_gather(batches, index, burn_staging_memory(slot), made);
  for (size_t i = 0; made->status == BURN_OK && i < loader->column_count; i++) {
    const BurnColumn *column = burn_dataset_column(loader->dataset, i);
    const BurnShape shape = batch_shape(column, made->item_count);
    made->tensors[i] = burn_scope_keep(NULL, burn_staging_tensor(slot, column_offset(loader, i), column->dtype, shape));
    made->status = burn_tensor_status(made->tensors[i]);
  }
}

/* Makes batch `index`. A failure leaves no tensors. */
static Made batch_make(const BurnBatches *batches, size_t index) {
  Made made = {.status = BURN_OK};
  BurnStagingSlot *slot = NULL;
  made.status = burn_status_annotate(burn_staging_take(batches->staging, &slot), "loader: batch %zu", index);
  if (made.status == BURN_OK) slot_fill(batches, index, slot, &made);
  burn_staging_give(slot);
  if (made.status == BURN_OK) return made;
  const BurnStatus status = made.status;
  made_release(&made);
  made.status = status;
  return made;
}

/* -- workers ---------------------------------------------------------------------------------- */

/* Draws the number of the next batch once its slot is free; false when there is no more to do. */
static bool batch_draw(BurnBatches *batches, size_t *index) {
  pthread_mutex_lock(&batches->mutex);
  while (!batches->stopping && batches->drawn < batches->batch_count &&
         batches->drawn - batches->freed >= batches->slot_count)
    pthread_cond_wait(&batches->slot_free, &batches->mutex);
  const bool any = !batches->stopping && batches->drawn < batches->batch_count;
  if (any) *index = batches->drawn++;
  pthread_mutex_unlock(&batches->mutex);
  return any;
}

/* Puts a batch into its slot. After a failure no further batches are drawn: nobody would get them. */
static void batch_deliver(BurnBatches *batches, size_t index, Made made) {
  pthread_mutex_lock(&batches->mutex);
  batches->slots[index % batches->slot_count] = (Slot){true, made};
  if (made.status != BURN_OK) batches->stopping = true;
  pthread_cond_broadcast(&batches->slot_ready);
  if (batches->stopping) pthread_cond_broadcast(&batches->slot_free);
  pthread_mutex_unlock(&batches->mutex);
}

static void *worker_run(void *argument) {
  BurnBatches *batches = argument;
  for (size_t index = 0; batch_draw(batches, &index);) batch_deliver(batches, index, batch_make(batches, index));
  return NULL;
}

/* Waits for the slot of batches->next and empties it. Every drawn number is delivered, and numbers are drawn in order:
 * so the batch waited for comes, or an earlier one has failed and has ended the iteration. */
static Made batch_receive(BurnBatches *batches) {
  pthread_mutex_lock(&batches->mutex);
  Slot *slot = &batches->slots[batches->next % batches->slot_count];
  while (!slot->ready) pthread_cond_wait(&batches->slot_ready, &batches->mutex);
  const Made made = slot->made;
  memset(slot, 0, sizeof *slot);
  batches->freed = batches->next + 1;
  pthread_cond_signal(&batches->slot_free);
  pthread_mutex_unlock(&batches->mutex);
  return made;
}

/* -- starting --------------------------------------------------------------------------------- */

/* Handed out when there is no memory even for an iteration. */
static const BurnBatches nothing_started = {.ended = true};

static BurnStatus order_create(BurnBatches *batches, size_t epoch) {
  const BurnLoader *loader = batches->loader;
  if (!loader->config.shuffle || loader->item_count == 0) return BURN_OK;
  const bool fits = loader->item_count <= (size_t)PTRDIFF_MAX / sizeof(size_t);
  batches->order = fits ? malloc(loader->item_count * sizeof(size_t)) : NULL;
  if (batches->order == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "loader: no memory to shuffle %zu items", loader->item_count);
  burn__permutation(burn__seed_of_part(loader->config.seed, epoch), batches->order, loader->item_count);
  return BURN_OK;
}

/* Starts the workers; those that run when one fails to are joined by burn_batches_stop. */
static BurnStatus workers_start(BurnBatches *batches) {
  const size_t left = batches->batch_count - batches->next;
  const size_t wanted = batches->loader->config.workers < left ? batches->loader->config.workers : left;
  batches->slot_count = batches->loader->config.prefetch < left ? batches->loader->config.prefetch : left;
  batches->slots = calloc(batches->slot_count, sizeof *batches->slots);
  batches->workers = calloc(wanted, sizeof *batches->workers);
  if (batches->slots == NULL || batches->workers == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "loader: no memory for %zu workers", wanted);
  for (; batches->worker_count < wanted; batches->worker_count++) {
    const int failure = pthread_create(&batches->workers[batches->worker_count], NULL, worker_run, batches);
    if (failure != 0) {
      char text[128];
      return burn_status_make(BURN_STATUS_INTERNAL,
                              "loader: worker %zu of %zu could not be started: %s; fewer workers need fewer threads and"
                              " less memory",
                              batches->worker_count + 1, wanted, burn__train_errno_text(failure, text, sizeof text));
    }
  }
  return BURN_OK;
}

static BurnStatus batches_start(BurnBatches *batches, size_t epoch, size_t first_batch) {
  if (batches->loader == NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "loader: there is none; the status of the call that should have made it says why");
  const BurnStatus device = burn_device_status(batches->device);
  if (device != BURN_OK) return device;
  if (epoch < 1) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "loader: epoch 0, epochs count from 1");
  if (first_batch > batches->batch_count)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "loader: first batch %zu asked for, the epoch has %zu",
                            first_batch, batches->batch_count);
  batches->next = batches->drawn = batches->freed = first_batch;
  const BurnStatus status = order_create(batches, epoch);
  if (status != BURN_OK || first_batch == batches->batch_count) return status;
  const BurnStatus staging = staging_open(batches);
  return staging == BURN_OK && batches->loader->config.workers > 0 ? workers_start(batches) : staging;
}

BurnBatches *burn_loader_start(BurnLoader *loader, BurnDevice *device, size_t epoch, size_t first_batch) {
  BurnBatches *batches = calloc(1, sizeof *batches);
  if (batches == NULL) return (BurnBatches *)&nothing_started;
  batches->loader = loader;
  batches->device = device;
  batches->epoch = epoch;
  batches->batch_count = burn_loader_batch_count(loader);
  pthread_mutex_init(&batches->mutex, NULL);
  pthread_cond_init(&batches->slot_ready, NULL);
  pthread_cond_init(&batches->slot_free, NULL);
  batches->status = batches_start(batches, epoch, first_batch);
  batches->ended = batches->status != BURN_OK;
  return batches;
}

/* -- consuming -------------------------------------------------------------------------------- */

bool burn_batches_next(BurnBatches *batches, BurnBatch *batch) {
  if (batch != NULL) memset(batch, 0, sizeof *batch);
  if (batches == NULL || batches == &nothing_started) return false;
  made_release(&batches->handed_out);
  if (batch == NULL && !batches->ended) {
    batches->status = BURN_REQUIRED(batch, "a BurnBatch");
    batches->ended = true;
  }
  if (batches->ended || batches->next == batches->batch_count) return false;
  const Made made = batches->worker_count > 0 ? batch_receive(batches) : batch_make(batches, batches->next);
  if (made.status != BURN_OK) {
    batches->status = made.status;
    batches->ended = true;
    return false;
  }
  batches->handed_out = made;
  if (batches->skips.count == 0) memcpy(batches->skips.first, made.skips.first, sizeof made.skips.first);
  batches->skips.count += made.skips.count;
  batch->index = batches->next++;
  batch->item_count = made.item_count;
  batch->column_count = batches->loader->column_count;
  for (size_t i = 0; i < batch->column_count; i++) {
    batch->names[i] = burn_dataset_column(batches->loader->dataset, i)->name;
    batch->tensors[i] = made.tensors[i];
  }
  return true;
}

/* Tells the workers to end and waits for them. */
static void workers_stop(BurnBatches *batches) {
  pthread_mutex_lock(&batches->mutex);
  batches->stopping = true;
  pthread_cond_broadcast(&batches->slot_free);
  pthread_mutex_unlock(&batches->mutex);
  for (size_t i = 0; i < batches->worker_count; i++) pthread_join(batches->workers[i], NULL);
}

BurnStatus burn_batches_stop(BurnBatches *batches) {
  if (batches == NULL) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "loader: the batches are NULL");
  if (batches == &nothing_started)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "loader: no memory to start an epoch");
  workers_stop(batches);
  const BurnStatus status = batches->status;
  if (batches->loader != NULL) burn__skips_end(&batches->skips, &batches->loader->config.read);
  for (size_t i = 0; batches->slots != NULL && i < batches->slot_count; i++) made_release(&batches->slots[i].made);
  made_release(&batches->handed_out);
  burn_staging_close(batches->staging);
  pthread_cond_destroy(&batches->slot_free);
  pthread_cond_destroy(&batches->slot_ready);
  pthread_mutex_destroy(&batches->mutex);
  free(batches->workers);
  free(batches->slots);
  free(batches->order);
  free(batches);
  return status;
}

/* "a", "b": the columns of a batch, for messages; cut to the room there is. */
static void names_list(const BurnBatch *batch, char *text, size_t bytes) {
  text[0] = '\0';
  for (size_t i = 0, used = 0; i < batch->column_count && used < bytes; i++) {
    const int length = snprintf(text + used, bytes - used, "%s\"%s\"", i > 0 ? ", " : "", batch->names[i]);
    if (length < 0) return;
    used += (size_t)length;
  }
}

BurnTensor *burn_batch_take(BurnBatch *batch, const char *column) {
  if (column == NULL)
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "batch: the name of the column is NULL"));
  if (batch == NULL) return burn_tensor_failed(BURN_REQUIRED(batch, "a BurnBatch"));
  for (size_t i = 0; i < batch->column_count; i++) {
    if (strcmp(batch->names[i], column) != 0) continue;
    const BurnTensor *tensor = batch->tensors[i];
    batch->tensors[i] = NULL;
    if (tensor != NULL) return burn_clone(tensor);
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_TENSOR_TAKEN, "batch: column \"%s\" was taken already", column));
  }
  char names[256];
  names_list(batch, names, sizeof names);
  return burn_tensor_failed(burn_status_make(BURN_STATUS_NOT_FOUND, "batch: no column \"%s\"; it has %s", column,
                                             batch->column_count > 0 ? names : "none"));
}
