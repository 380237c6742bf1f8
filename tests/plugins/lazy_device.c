/* lazy_device.c - the interface "burn.device" of the backend "lazy". */
#include "lazy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For tests of what the caller does with it, other bytes than those promised where the option wrong= says so. */
static BurnStatus BURN_API_CALL describe(void *state, BurnDeviceDescription *out) {
  const Lazy *self = state;
  BurnDeviceDescription about = {.struct_size = out->struct_size, .kind = BURN_DEVICE_KIND_ACCELERATOR, .uuid[15] = 7};
  (void)snprintf(about.name, sizeof about.name, self->wrong == LAZY_NO_TEXT ? "\xff\xfe" : "a lazy thread");
  if (self->wrong == LAZY_ENDLESS_TEXT) memset(about.name, 'x', sizeof about.name);
  const size_t room = self->wrong == LAZY_DESCRIBES_BEYOND ? sizeof about : out->struct_size;
  memcpy(out, &about, room < sizeof about ? room : sizeof about);
  return BURN_OK;
}

/* An event when the first `number` pieces are done. */
static BurnStatus event_at(const Lazy *self, uint64_t number, BurnEvent **out) {
  BurnEvent *event = calloc(1, sizeof *event);
  if (!event) return lazy_fail(self, BURN_STATUS_OUT_OF_MEMORY, "lazy: no memory for an event");
  event->number = number;
  *out = event;
  return BURN_OK;
}

static BurnStatus done_event(const Lazy *self, BurnStatus status, BurnEvent **done) {
  return status == BURN_OK ? event_at(self, self->submitted, done) : status;
}

static BurnStatus BURN_API_CALL create_async(void *state, const BurnTensorDesc *desc, const void *data,
                                             BurnPrimitive **out, BurnEvent **done) {
  Lazy *self = state;
  if (self->wrong == LAZY_UPLOADS_UNTOLD) return lazy_create(self, desc, data, out);
  pthread_mutex_lock(&self->mutex);
  if (self->wrong == LAZY_UPLOADS_NOTHING) {
    const BurnStatus nothing = event_at(self, self->submitted, done);
    pthread_mutex_unlock(&self->mutex);
    return nothing;
  }
  Piece *piece = lazy_piece_new(self, CREATE, NULL, desc);
  if (piece) piece->from = data; /* read when its turn comes: the caller has promised to leave it alone */
  BurnStatus status = lazy_submit_piece(self, piece, piece != NULL, out);
  if (status == BURN_OK) status = event_at(self, self->submitted - (self->wrong == LAZY_NEEDS_DATA), done);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

static BurnStatus BURN_API_CALL read_async(void *state, BurnPrimitive *x, void *data, uint64_t bytes,
                                           BurnEvent **done) {
  Lazy *self = state;
  if (self->wrong == LAZY_READS_NOTHING) return BURN_OK;
  pthread_mutex_lock(&self->mutex);
  const BurnStatus status = done_event(self, lazy_read_piece(self, x, data, bytes), done);
  if (self->wrong == LAZY_LEAKS) lazy(x)->references++;
  pthread_mutex_unlock(&self->mutex);
  return status;
}

static BurnStatus BURN_API_CALL write_async(void *state, BurnPrimitive *x, const void *data, uint64_t bytes,
                                            BurnEvent **done) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  BurnStatus status = BURN_OK;
  if (lazy(x)->callers != 1 && self->wrong != LAZY_WRITES_SHARED) {
    status = lazy_fail(self, BURN_STATUS_FAILED_PRECONDITION, "lazy: write_async: others hold the tensor");
  } else {
    Piece *piece = lazy_piece_new(self, WRITE, x, NULL);
    if (piece) piece->from = data;
    if (piece) piece->bytes = bytes;
    status = lazy_submit_piece(self, piece, piece != NULL, NULL);
  }
  status = done_event(self, status, done);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

/* The host waits for the source's queue: its tensors are plain memory of the reference then. */
static BurnStatus BURN_API_CALL copy_from(void *state, const BurnBackend *source, BurnPrimitive *x,
                                          BurnPrimitive **out) {
  Lazy *self = state, *from = source->self;
  if (self->wrong == LAZY_COPIES_NOTHING) return BURN_OK;
  pthread_mutex_lock(&from->mutex);
  const BurnTensorDesc desc = lazy_desc_of(lazy(x));
  const bool is_early = self->wrong == LAZY_COPIES_EARLY;
  const BurnStatus status = is_early ? BURN_OK : lazy_wait_for(from, from->submitted);
  const void *data = lazy(x)->inner ? lazy(x)->inner->buffer : NULL;
  pthread_mutex_unlock(&from->mutex);
  if (status != BURN_OK) return status;
  if (data) return lazy_create(self, &desc, data, out);
  if (!is_early) return lazy_fail(self, BURN_STATUS_INTERNAL, "lazy: copy_from: the work of the source has failed");
  void *zeros = calloc((size_t)burn_desc_count(&desc) + 1, burn_dtype_bytes(desc.dtype));
  const BurnStatus early = zeros ? lazy_create(self, &desc, zeros, out) : BURN_STATUS_OUT_OF_MEMORY;
  free(zeros);
  return early;
}

static BurnStatus BURN_API_CALL event_record(void *state, BurnEvent **out) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  const BurnStatus status = done_event(self, BURN_OK, out);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

static BurnStatus BURN_API_CALL event_query(void *state, BurnEvent *event, int32_t *done) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  *done = self->wrong == LAZY_DONE_AT_ONCE || self->finished >= event->number;
  pthread_mutex_unlock(&self->mutex);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL event_wait(void *state, BurnEvent *event) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  BurnStatus status = self->wrong == LAZY_WAITS_NOT ? BURN_OK : lazy_wait_for(self, event->number);
  if (event->waited && self->wrong == LAZY_WAITS_ONCE)
    status = lazy_fail(self, BURN_STATUS_INVALID_ARGUMENT, "lazy: the event was waited for before");
  event->waited = true;
  pthread_mutex_unlock(&self->mutex);
  return status;
}

static void BURN_API_CALL event_release(void *state, BurnEvent *event) {
  (void)state;
  free(event);
}

static BurnStatus BURN_API_CALL native_memory(void *state, BurnPrimitive *x, BurnNativeMemory *out) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  const BurnStatus status = lazy_wait_for(self, self->submitted);
  const BurnTensorDesc desc = lazy_desc_of(lazy(x));
  out->api = "host";
  out->handle = lazy(x)->inner ? lazy(x)->inner->buffer : NULL;
  out->byte_offset = 0;
  out->bytes = (uint64_t)burn_desc_count(&desc) * burn_dtype_bytes(desc.dtype);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

const BurnDeviceInterface lazy_device_interface = {.struct_size = (uint32_t)sizeof(BurnDeviceInterface),
                                                   .version = 1,
                                                   .describe = describe,
                                                   .create_async = create_async,
                                                   .read_async = read_async,
                                                   .write_async = write_async,
                                                   .copy_from = copy_from,
                                                   .event_record = event_record,
                                                   .event_query = event_query,
                                                   .event_wait = event_wait,
                                                   .event_release = event_release,
                                                   .native_memory = native_memory,
                                                   .kernel_takes_code = lazy_kernel_takes_code,
                                                   .kernel_load = lazy_kernel_load,
                                                   .kernel_unload = lazy_kernel_unload,
                                                   .kernel_launch = lazy_kernel_launch};
