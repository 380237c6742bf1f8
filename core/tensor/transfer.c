/* transfer.c - reads that are finished later, uploads through staging memory, what a device is. */
#include "null_check.h"
#include "transfer.h"
#include "core_internal.h"
#include "platform.h"

#include <burn/transfer.h>

#include <stdlib.h>
#include <string.h>

/* -- the bottom of a stack -------------------------------------------------------------------- */

BurnInstance *burn__bottom(const BurnDevice *device) {
  BurnInstance *bottom = device->top;
  while (bottom->next) bottom = bottom->next;
  return bottom;
}

BurnPrimitive *burn__lowered(const BurnTensor *x) {
  BurnPrimitive *primitive = x->primitive;
  for (BurnInstance *instance = x->device->top; instance->next && primitive; instance = instance->next) {
    if (instance->wraps_tensors) primitive = instance->backend.unwrap(instance->backend.self, primitive);
  }
  return primitive;
}

BurnStatus burn__raised(BurnInstance *instance, BurnPrimitive *bottom, BurnPrimitive **out) {
  if (!instance->next) {
    *out = bottom;
    return BURN_OK;
  }
  BurnPrimitive *below = NULL;
  BurnStatus status = burn__raised(instance->next, bottom, &below);
  *out = below;
  if (status != BURN_OK || !instance->wraps_tensors) return status;
  status = burn__backend_adopt(&instance->backend, below, out); /* retains what it wraps */
  instance->next->backend.release(instance->next->backend.self, below);
  return status;
}

const BurnDeviceInterface *burn__device_interface(const BurnDevice *device, void **self) {
  return burn__backend_device(&burn__bottom(device)->backend, self);
}

const BurnDeviceInterface *burn__backend_device(const BurnBackend *backend, void **self) {
  BurnInterface found;
  if (!burn__backend_ask(backend, BURN_DEVICE_INTERFACE_NAME, &found)) return NULL;
  const BurnDeviceInterface *table = found.table;
  const bool is_whole = table->struct_size >= BURN_DEVICE_INTERFACE_MIN_BYTES && table->describe &&
                        table->create_async && table->read_async && table->event_record && table->event_query &&
                        table->event_wait && table->event_release;
  if (!is_whole) return NULL;
  *self = found.self;
  return table;
}

/* Memory for transfers of a device; *pinned says whose it is. */
static void *staging_allocate(const BurnDeviceInterface *table, void *self, size_t bytes, bool *pinned) {
  void *memory = NULL;
  *pinned = table && table->staging_allocate && table->staging_allocate(self, bytes, &memory) == BURN_OK;
  return *pinned ? memory : burn__aligned_allocate(bytes);
}

static void staging_free(const BurnDeviceInterface *table, void *self, void *memory, size_t bytes, bool pinned) {
  if (!memory) return;
  if (pinned) {
    table->staging_free(self, memory, bytes);
  } else {
    burn__aligned_free(memory);
  }
}

/* -- reads ------------------------------------------------------------------------------------ */

/* What was started: a copy into `memory` that is done when `event` is; or, where that is not to be had, the primitive
 * of the top, which is read at the end; or a failure. */
struct BurnPendingRead {
  BurnDevice *device; /* one reference; NULL: failed */
  const BurnDeviceInterface *table;
  void *self; /* of table */
  BurnEvent *event;
  BurnPrimitive *kept; /* one reference; NULL once the copy was started */
  void *memory;
  size_t bytes, count;
  BurnDType dtype;
  bool pinned;
  BurnStatus status;
  char *message; /* of status, owned; NULL: as it is */
  int64_t dims[BURN_MAX_RANK];
  uint32_t rank;
};

/* Without an event nobody could say when the copy is done. */
static BurnStatus check_event(const BurnInstance *bottom, const char *asked, const BurnEvent *event) {
  if (event) return BURN_OK;
  return BURN_FAIL(INTERNAL, "%s: '%s' reports success, but gave no event", asked, bottom->backend.name);
}

/* Starts the copy; false: the read is done at the end, which also tells why an op has failed. */
static bool copy_start(BurnPendingRead *read, const BurnTensor *x) {
  if (!read->table || read->bytes == 0) return false;
  BurnPrimitive *lowered = burn__lowered(x);
  if (!lowered) return false;
  read->memory = staging_allocate(read->table, read->self, read->bytes, &read->pinned);
  if (!read->memory) {
    read->status = BURN_FAIL(OUT_OF_MEMORY, "read: no memory for %zu bytes", read->bytes);
  } else {
    read->status = read->table->read_async(read->self, lowered, read->memory, read->bytes, &read->event);
    if (read->status == BURN_OK) read->status = check_event(burn__bottom(read->device), "read_async", read->event);
  }
  return true;
}

static void read_begin(BurnPendingRead *read, const BurnTensor *x) {
  const BurnPrimitive *primitive = x->primitive;
  const BurnBackend *top = &x->device->top->backend;
  read->dtype = primitive->dtype;
  read->rank = primitive->rank;
  for (uint32_t i = 0; i < primitive->rank; i++) read->dims[i] = primitive->shape[i];
  read->count = (size_t)burn_primitive_count(primitive);
  read->bytes = read->count * burn_dtype_bytes(read->dtype);
  read->device = x->device;
  burn__device_retain(x->device);
  read->table = burn__device_interface(x->device, &read->self);
  if (copy_start(read, x)) return;
  top->retain(top->self, x->primitive);
  read->kept = x->primitive;
}

/* Of a tensor that stays. */
static BurnPendingRead *start(const BurnTensor *x) {
  BurnPendingRead *read = calloc(1, sizeof *read);
  if (!read) return NULL;
  read->status = burn__tensor_check(x, "read");
  const bool usable = read->status == BURN_OK, entered = usable && burn__work_enter();
  if (entered) read_begin(read, x);
  if (usable && !entered) read->status = burn__fork_failure();
  if (entered) burn__work_leave();
  if (read->status != BURN_OK) read->message = burn__text_copy(burn_status_message(read->status));
  return read;
}

BurnPendingRead *burn_read_start(BurnTensor *x) {
  BurnPendingRead *read = start(x);
  burn__tensor_take(x, "read");
  return read;
}

bool burn_read_ready(BurnPendingRead *read) {
  if (!read || !read->event || !burn__work_enter()) return true;
  int32_t done = 0;
  const BurnStatus status = read->table->event_query(read->self, read->event, &done);
  burn__work_leave();
  return status != BURN_OK || done; /* a failure is reported at the end */
}

/* Waits for the copy. */
static BurnStatus read_wait(BurnPendingRead *read) {
  if (!read) return BURN_FAIL(OUT_OF_MEMORY, "read: no memory to start it");
  if (read->status != BURN_OK)
    return burn__status_again(burn_status_code(read->status),
                              read->message ? read->message : burn_status_text(read->status));
  return read->event ? read->table->event_wait(read->self, read->event) : BURN_OK;
}

static void read_free(BurnPendingRead *read) {
  if (!read) return;
  if (read->event) read->table->event_release(read->self, read->event);
  staging_free(read->table, read->self, read->memory, read->bytes, read->pinned);
  if (read->kept) {
    const BurnBackend *top = &read->device->top->backend;
    top->release(top->self, read->kept);
  }
  burn__device_release(read->device);
  free(read->message);
  free(read);
}

/* A copy in chunks, by all threads where it is long. */
typedef struct Copy {
  char *to;
  const char *from;
  size_t bytes;
} Copy;
enum { CHUNK_BYTES = 1 << 20 };

static void BURN_API_CALL copy_chunks(void *context, int64_t begin, int64_t end) {
  const Copy *copy = context;
  const size_t first = (size_t)begin * CHUNK_BYTES, last = (size_t)end * CHUNK_BYTES;
  memcpy(copy->to + first, copy->from + first, (last < copy->bytes ? last : copy->bytes) - first);
}

static void copy_out(void *to, const void *from, size_t bytes) {
  Copy copy = {to, from, bytes};
  burn__parallel_for((int64_t)((bytes + CHUNK_BYTES - 1) / CHUNK_BYTES), 2, copy_chunks, &copy);
}

/* All elements, in their own dtype. */
static BurnStatus read_elements(BurnPendingRead *read, void *data) {
  char nothing;
  if (!read->kept) {
    copy_out(data, read->memory, read->bytes);
    return BURN_OK;
  }
  const BurnBackend *top = &read->device->top->backend;
  return top->read(top->self, read->kept, read->bytes ? data : &nothing, read->bytes);
}

static BurnStatus read_converted(BurnPendingRead *read, void *data, BurnDType dtype) {
  if (dtype == read->dtype) return read_elements(read, data);
  if (!read->kept) return burn__convert(read->memory, read->dtype, data, dtype, read->count);
  void *raw = malloc(read->bytes ? read->bytes : 1);
  if (!raw) return BURN_FAIL(OUT_OF_MEMORY, "read: no memory for %zu bytes", read->bytes);
  BurnStatus status = read_elements(read, raw);
  if (status == BURN_OK) status = burn__convert(raw, read->dtype, data, dtype, read->count);
  free(raw);
  return status;
}

/* The sizes fit; `unit` is "bytes" or "elements". */
static BurnStatus check_size(const BurnPendingRead *read, size_t given, size_t has, const char *unit) {
  BurnShapeText text;
  if (given == has) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "read: the buffer holds %zu %s, a %s tensor of shape %s has %zu", given, unit,
                   burn_dtype_name(read->dtype), burn__shape_text(&text, read->rank, read->dims), has);
}

/* DEFAULT for the dtype: the size is in bytes. The wait comes first: memory that the device may write is not freed. */
static BurnStatus finish(BurnPendingRead *read, void *data, BurnDType dtype, size_t size) {
  const bool in_bytes = dtype == BURN_DTYPE_DEFAULT;
  if (!burn__work_enter()) return burn__fork_failure();
  BurnStatus status = read_wait(read);
  if (status == BURN_OK)
    status = check_size(read, size, in_bytes ? read->bytes : read->count, in_bytes ? "bytes" : "elements");
  if (status == BURN_OK) status = burn__check_target(data, size, "read");
  if (status == BURN_OK) status = read_converted(read, data, in_bytes ? read->dtype : dtype);
  read_free(read);
  burn__work_leave();
  return status;
}

BurnStatus burn_read_finish(BurnPendingRead *read, void *data, size_t bytes) {
  return finish(read, data, BURN_DTYPE_DEFAULT, bytes);
}
BurnStatus burn_read_finish_f32(BurnPendingRead *read, float *data, size_t count) {
  return finish(read, data, BURN_DTYPE_F32, count);
}
BurnStatus burn_read_finish_f64(BurnPendingRead *read, double *data, size_t count) {
  return finish(read, data, BURN_DTYPE_F64, count);
}
BurnStatus burn_read_finish_i64(BurnPendingRead *read, int64_t *data, size_t count) {
  return finish(read, data, BURN_DTYPE_I64, count);
}

void burn_read_drop(BurnPendingRead *read) {
  if (!read || !burn__work_enter()) return;
  if (read->event) (void)read->table->event_wait(read->self, read->event); /* nobody asked how it went */
  read_free(read);
  burn__work_leave();
}

BurnStatus burn__read_all(BurnTensor *const *tensors, void *const *data, const size_t *bytes, size_t count) {
  BurnPendingRead **reads = calloc(count ? count : 1, sizeof *reads);
  if (!reads) return BURN_FAIL(OUT_OF_MEMORY, "read_all: no memory for %zu reads", count);
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count; i++) reads[i] = start(tensors[i]);
  /* The last one first: when it is there, so are the others of its device. */
  for (size_t i = count; i-- > 0;) {
    const BurnStatus one = status == BURN_OK ? burn_read_finish(reads[i], data[i], bytes[i]) : BURN_OK;
    if (status != BURN_OK) burn_read_drop(reads[i]);
    if (status == BURN_OK) status = one;
  }
  free(reads);
  return status;
}

/* -- from device to device -------------------------------------------------------------------- */

BurnTensor *burn__copy_between(const BurnTensor *x, BurnDevice *device) {
  void *self = NULL;
  const BurnInstance *from = burn__bottom(x->device), *to = burn__bottom(device);
  const BurnDeviceInterface *table = from->plugin == to->plugin ? burn__device_interface(device, &self) : NULL;
  if (!table || !table->copy_from || !burn__work_enter()) return NULL;
  BurnPrimitive *lowered = burn__lowered(x), *bottom = NULL, *top = NULL;
  BurnStatus status = BURN_STATUS_UNIMPLEMENTED; /* an op has failed: reading says which */
  if (lowered) status = table->copy_from(self, &from->backend, lowered, &bottom);
  if (status == BURN_OK) status = burn__check_given(&to->backend, "copy_from", NULL, &bottom);
  const bool elsewhere = burn_status_code(status) == BURN_STATUS_UNIMPLEMENTED;
  if (status == BURN_OK) status = burn__raised(device->top, bottom, &top);
  BurnTensor *copy = NULL;
  if (!elsewhere)
    copy = status == BURN_OK ? burn__tensor_new(device, top, BURN_OP_INVALID) : burn__tensor_failed(status);
  burn__work_leave();
  return copy;
}

/* -- uploads ---------------------------------------------------------------------------------- */

enum { SLOT_UPLOADS = 16, SLOTS_MAX = 1024 };

struct BurnStagingSlot {
  BurnStaging *staging;
  void *memory;
  BurnEvent *events[SLOT_UPLOADS]; /* of the uploads that were started; more than these are waited for at once */
  size_t event_count;
  bool pinned, taken;
  uint64_t given; /* when it was given back, by the ring's count */
};

struct BurnStaging {
  BurnDevice *device; /* one reference */
  const BurnDeviceInterface *table;
  void *self;
  size_t bytes, slot_count;
  pthread_mutex_t mutex;
  pthread_cond_t given_back;
  uint64_t clock;
  BurnStagingSlot slots[];
};

static void slots_free(BurnStaging *staging) {
  for (size_t i = 0; i < staging->slot_count; i++) {
    const BurnStagingSlot *slot = &staging->slots[i];
    staging_free(staging->table, staging->self, slot->memory, staging->bytes, slot->pinned);
  }
}

static BurnStatus slots_allocate(BurnStaging *staging, size_t count) {
  for (size_t i = 0; i < count; i++) {
    BurnStagingSlot *slot = &staging->slots[i];
    slot->staging = staging;
    slot->memory = staging_allocate(staging->table, staging->self, staging->bytes, &slot->pinned);
    if (!slot->memory)
      return BURN_FAIL(OUT_OF_MEMORY, "staging: no memory for slot %zu of %zu bytes", i, staging->bytes);
    staging->slot_count = i + 1;
  }
  return BURN_OK;
}

BurnStatus burn_staging_open(BurnDevice *device, size_t bytes, size_t slots, BurnStaging **out) {
  BurnStatus status = BURN_REQUIRED(out, "a BurnStaging *");
  if (status != BURN_OK) return status;
  *out = NULL;
  status = burn__device_status(device);
  if (status != BURN_OK) return status;
  if (bytes == 0 || slots == 0 || slots > SLOTS_MAX)
    return BURN_FAIL(INVALID_ARGUMENT, "staging: %zu slots of %zu bytes; 1 to %d of at least 1 byte are possible",
                     slots, bytes, SLOTS_MAX);
  BurnStaging *staging = calloc(1, sizeof *staging + slots * sizeof staging->slots[0]);
  if (!staging) return BURN_FAIL(OUT_OF_MEMORY, "staging: no memory for %zu slots", slots);
  if (!burn__work_enter()) {
    free(staging);
    return burn__fork_failure();
  }
  staging->bytes = bytes;
  staging->table = burn__device_interface(device, &staging->self);
  status = slots_allocate(staging, slots);
  if (status == BURN_OK) {
    staging->device = device;
    burn__device_retain(device);
    pthread_mutex_init(&staging->mutex, NULL);
    pthread_cond_init(&staging->given_back, NULL);
    *out = staging;
  } else {
    slots_free(staging);
    free(staging);
  }
  burn__work_leave();
  return status;
}

/* Slot a, rather than b, is the next one: of those without uploads, as they all are where the work is done at once, the
 * last one given back, which is still in the caches; else the first one, whose uploads are done first. */
static bool comes_before(const BurnStagingSlot *a, const BurnStagingSlot *b) {
  if ((a->event_count == 0) != (b->event_count == 0)) return a->event_count == 0;
  return a->event_count == 0 ? a->given > b->given : a->given < b->given;
}

/* Under the lock: the next slot; NULL if all are taken. */
static BurnStagingSlot *next_free(BurnStaging *staging) {
  BurnStagingSlot *next = NULL;
  for (size_t i = 0; i < staging->slot_count; i++) {
    BurnStagingSlot *slot = &staging->slots[i];
    if (!slot->taken && (!next || comes_before(slot, next))) next = slot;
  }
  return next;
}

/* Waits for the uploads of a slot that the caller alone holds. */
static BurnStatus uploads_wait(BurnStagingSlot *slot) {
  const BurnStaging *staging = slot->staging;
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < slot->event_count; i++) {
    const BurnStatus one = staging->table->event_wait(staging->self, slot->events[i]);
    if (status == BURN_OK) status = one;
    staging->table->event_release(staging->self, slot->events[i]);
  }
  slot->event_count = 0;
  return status;
}

BurnStatus burn_staging_take(BurnStaging *staging, BurnStagingSlot **out) {
  const BurnStatus given = BURN_REQUIRED(out, "a BurnStagingSlot *");
  if (given != BURN_OK) return given;
  *out = NULL;
  if (!staging) return BURN_FAIL(INVALID_ARGUMENT, "staging: the staging memory is NULL");
  BurnStagingSlot *slot;
  pthread_mutex_lock(&staging->mutex);
  while (!(slot = next_free(staging))) pthread_cond_wait(&staging->given_back, &staging->mutex);
  slot->taken = true;
  pthread_mutex_unlock(&staging->mutex);
  const bool entered = burn__work_enter();
  const BurnStatus status = entered ? uploads_wait(slot) : burn__fork_failure();
  if (entered) burn__work_leave();
  if (status == BURN_OK) {
    *out = slot;
  } else {
    burn_staging_give(slot);
  }
  return status;
}

void *burn_staging_memory(const BurnStagingSlot *slot) { return slot ? slot->memory : NULL; }

/* The event of an upload: kept, or waited for where the slot has no room. */
static BurnStatus upload_note(BurnStagingSlot *slot, BurnEvent *event) {
  if (slot->event_count == SLOT_UPLOADS) {
    const BurnStatus status = uploads_wait(slot);
    slot->events[slot->event_count++] = event;
    return status;
  }
  slot->events[slot->event_count++] = event;
  return BURN_OK;
}

/* An upload through the interface; the desc is valid and lies within the slot. */
static BurnStatus upload(BurnStagingSlot *slot, const BurnTensorDesc *desc, const char *data, BurnPrimitive **top) {
  const BurnStaging *staging = slot->staging;
  BurnPrimitive *bottom = NULL;
  BurnEvent *event = NULL;
  const BurnInstance *level = burn__bottom(staging->device);
  const BurnBackend *backend = &level->backend;
  BurnStatus status = staging->table->create_async(staging->self, desc, data, &bottom, &event);
  if (status != BURN_OK) return status;
  status = check_event(level, "create_async", event);
  if (status == BURN_OK) status = upload_note(slot, event);
  if (status == BURN_OK) status = burn__check_given(backend, "create_async", desc, &bottom);
  if (status == BURN_OK) return burn__raised(staging->device->top, bottom, top);
  if (bottom) backend->release(backend->self, bottom);
  return status;
}

static BurnStatus check_upload(const BurnStagingSlot *slot, size_t offset, const BurnTensorDesc *desc) {
  BurnShapeText text;
  const size_t element = burn_dtype_bytes(desc->dtype), bytes = (size_t)burn_desc_count(desc) * element;
  if (offset % element == 0 && offset <= slot->staging->bytes && bytes <= slot->staging->bytes - offset) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "staging: %s elements of shape %s at byte %zu do not fit into a slot of %zu bytes",
                   burn_dtype_name(desc->dtype), burn__shape_text(&text, desc->rank, desc->shape), offset,
                   slot->staging->bytes);
}

BurnTensor *burn_staging_tensor(BurnStagingSlot *slot, size_t offset, BurnDType dtype, BurnShape shape) {
  if (!slot) return burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "staging: the slot is NULL"));
  const BurnStaging *staging = slot->staging;
  BurnTensorDesc desc;
  const BurnDType actual = dtype == BURN_DTYPE_DEFAULT ? staging->device->float_dtype : dtype;
  BurnStatus status = burn__tensor_desc(staging->device, actual, shape, &desc);
  if (status == BURN_OK) status = check_upload(slot, offset, &desc);
  if (status != BURN_OK) return burn__tensor_failed(status);
  const char *data = (const char *)slot->memory + offset;
  if (!staging->table || burn_desc_count(&desc) == 0) return burn_tensor_from(staging->device, data, actual, shape);
  if (!burn__work_enter()) return burn__tensor_failed(burn__fork_failure());
  BurnPrimitive *top = NULL;
  status = upload(slot, &desc, data, &top);
  BurnTensor *x =
      status == BURN_OK ? burn__tensor_new(staging->device, top, BURN_OP_INVALID) : burn__tensor_failed(status);
  burn__work_leave();
  return x;
}

void burn_staging_give(BurnStagingSlot *slot) {
  if (!slot) return;
  BurnStaging *staging = slot->staging;
  pthread_mutex_lock(&staging->mutex);
  slot->taken = false;
  slot->given = ++staging->clock;
  pthread_cond_signal(&staging->given_back);
  pthread_mutex_unlock(&staging->mutex);
}

void burn_staging_close(BurnStaging *staging) {
  if (!staging || !burn__work_enter()) return;
  for (size_t i = 0; i < staging->slot_count; i++) {
    const BurnStatus status = uploads_wait(&staging->slots[i]);
    if (status != BURN_OK) burn__log(BURN_LOG_WARN, "staging", "%s", burn_status_message(status));
  }
  slots_free(staging);
  pthread_cond_destroy(&staging->given_back);
  pthread_mutex_destroy(&staging->mutex);
  burn__device_release(staging->device);
  free(staging);
  burn__work_leave();
}

/* -- devices ---------------------------------------------------------------------------------- */

BurnStatus burn_device_describe(BurnDevice *device, BurnDeviceDescription *out) {
  BurnStatus status = BURN_REQUIRED(out, "a BurnDeviceDescription");
  if (status != BURN_OK) return status;
  *out = (BurnDeviceDescription){.struct_size = sizeof *out};
  status = burn__device_status(device);
  if (status != BURN_OK) return status;
  if (!burn__work_enter()) return burn__fork_failure();
  void *self = NULL;
  const BurnDeviceInterface *table = burn__device_interface(device, &self);
  if (table) {
    status = table->describe(self, out);
    out->name[sizeof out->name - 1] = out->driver[sizeof out->driver - 1] = '\0';
    out->architecture[sizeof out->architecture - 1] = out->pci_address[sizeof out->pci_address - 1] = '\0';
  } else {
    const char *label = burn__bottom(device)->label;
    const size_t length = strlen(label) < sizeof out->name ? strlen(label) : sizeof out->name - 1;
    memcpy(out->name, label, length);
  }
  burn__work_leave();
  return status;
}

int64_t burn_device_host_waits(BurnDevice *device) {
  int64_t waits = -1;
  if (!device || !device->top || !burn__work_enter()) return -1;
  const BurnBackend *bottom = &burn__bottom(device)->backend;
  if (bottom->query(bottom->self, BURN_QUERY_HOST_WAITS, &waits) != BURN_OK) waits = -1;
  burn__work_leave();
  return waits;
}
