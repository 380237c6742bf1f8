/* lazy_backend.c - a backend whose work really is late: a thread of its own does it, each piece after a delay, on the
 * table of the reference backend, which is compiled in. So tests see asynchronous work without a GPU: events that are
 * not done at once, reads that are on their way, failures that come after submit has returned.
 *
 * Options: delay=microseconds before each piece (default 0); fail=name of an op whose work fails; wrong=what the backend
 * does wrong (lazy.h). A failure is told by
 * the next function that can tell one, with the names of the ops since the last wait. */
#include "lazy.h"

#include <burn/plugin/options.h>
#include <burn/plugin/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The reference's plugin: its entry function is compiled under this name. */
const BurnPlugin *BURN_API_CALL reference_query(const BurnHostInfo *host);

#define WRONG_WORD(NAME, name) #name "|"
#define LAZY_OPTIONS(X)                                                                                \
  X(DELAY, "delay", "0..1000000", "0", BURN_OPTION_HARMLESS, "microseconds before each piece of work") \
  X(FAIL, "fail", "op", "", BURN_OPTION_HARMLESS, "name of an op whose work fails")                    \
  X(WRONG, "wrong", LAZY_WRONGS(WRONG_WORD) "nothing", "nothing", BURN_OPTION_HARMLESS, "what the backend does wrong")
enum { LAZY_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {LAZY_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

BurnStatus lazy_fail(const Lazy *self, uint32_t code, const char *message) {
  return (self->host->fail)(code, __FILE__, __LINE__, message); /* fail is a macro of cmocka */
}

/* -- tensors; under the mutex unless said otherwise ------------------------------------------- */

static LazyTensor *tensor_new(Lazy *self, const BurnTensorDesc *desc) {
  LazyTensor *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  x->references = 1;
  memcpy(x->shape, desc->shape, sizeof x->shape);
  x->header = (BurnPrimitive){.struct_size = sizeof(BurnPrimitive),
                              .owner = self->owner,
                              .dtype = desc->dtype,
                              .rank = desc->rank,
                              .shape = x->shape};
  self->live++;
  return x;
}

static void tensor_release(Lazy *self, LazyTensor *x) {
  if (!x || --x->references > 0) return;
  self->reference.release(self->reference.self, x->inner);
  self->live--;
  free(x);
}

BurnTensorDesc lazy_desc_of(const LazyTensor *x) {
  BurnTensorDesc desc = {.dtype = x->header.dtype, .rank = x->header.rank};
  memcpy(desc.shape, x->shape, sizeof desc.shape);
  return desc;
}

static void BURN_API_CALL lazy_retain(void *state, BurnPrimitive *x) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  lazy(x)->references++;
  lazy(x)->callers++;
  pthread_mutex_unlock(&self->mutex);
}

static void BURN_API_CALL lazy_release(void *state, BurnPrimitive *x) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  if (x) lazy(x)->callers--;
  if (x) tensor_release(self, lazy(x));
  pthread_mutex_unlock(&self->mutex);
}

/* -- pieces ----------------------------------------------------------------------------------- */

static void piece_free(Lazy *self, Piece *piece) {
  for (uint32_t i = 0; piece->inputs && i < piece->call.input_count; i++) tensor_release(self, piece->inputs[i]);
  for (uint32_t i = 0; i < piece->call.output_count; i++) tensor_release(self, piece->outputs[i]);
  free(piece->inputs);
  free(piece->attrs);
  free(piece->lists);
  free(piece->owned);
  free(piece);
}

/* Keeps the first failure that nobody has heard of, with the names of what was submitted. */
static void note_failure(Lazy *self, const char *message) {
  if (self->failure[0] || self->wrong == LAZY_LOSES_FAILURES) return;
  if (self->wrong == LAZY_NAMES_NOTHING) {
    (void)snprintf(self->failure, sizeof self->failure, "lazy: some work has failed");
  } else {
    (void)snprintf(self->failure, sizeof self->failure, "lazy: %s; one of: %s", message, self->recent);
  }
}

/* READS_LATE: results lie where donated inputs did, which reads before the op have yet to see. */
static void overwrite_input(const Lazy *self, const Piece *piece) {
  const LazyTensor *in = piece->call.input_count ? piece->inputs[0] : NULL, *out = piece->outputs[0];
  if (self->wrong != LAZY_READS_LATE || !in || !out || !(piece->call.donate & 1)) return;
  const BurnTensorDesc to = lazy_desc_of(in), from = lazy_desc_of(out);
  if (burn_desc_count(&to) != burn_desc_count(&from) || to.dtype != from.dtype) return;
  memcpy(in->inner->buffer, out->inner->buffer, (size_t)burn_desc_count(&to) * burn_dtype_bytes(to.dtype));
}

static BurnStatus run_op(Lazy *self, Piece *piece) {
  BurnPrimitive *inputs[64], *outputs[BURN_MAX_OUTPUTS] = {NULL};
  for (uint32_t i = 0; i < piece->call.input_count; i++) {
    inputs[i] = piece->inputs[i] ? piece->inputs[i]->inner : NULL;
    if (piece->inputs[i] && !inputs[i]) return BURN_STATUS_INTERNAL; /* its op failed, which was noted */
  }
  BurnOpCall call = burn_call_copy(&piece->call);
  call.inputs = inputs;
  call.outputs = outputs;
  call.donate = 0;
  if (call.op == self->failing_op)
    return lazy_fail(self, BURN_STATUS_INTERNAL, "the option fail= wants this op to fail");
  const BurnStatus status = self->reference.submit(self->reference.self, &call);
  for (uint32_t i = 0; status == BURN_OK && i < call.output_count; i++) piece->outputs[i]->inner = outputs[i];
  if (status == BURN_OK) overwrite_input(self, piece);
  return status;
}

static BurnStatus run_write(const Lazy *self, LazyTensor *x, const Piece *piece) {
  const BurnBackend *reference = &self->reference;
  BurnPrimitive *before = x->inner;
  if (!before) return BURN_STATUS_INTERNAL;
  if (self->wrong != LAZY_MOVES) {
    memcpy(before->buffer, piece->from, (size_t)piece->bytes);
    return BURN_OK;
  }
  const BurnTensorDesc desc = lazy_desc_of(x);
  const BurnStatus status = reference->create(reference->self, &desc, piece->from, &x->inner);
  if (status == BURN_OK) reference->release(reference->self, before);
  return status;
}

static BurnStatus run_piece(Lazy *self, Piece *piece) {
  LazyTensor *out = piece->outputs[0], *in = piece->inputs ? piece->inputs[0] : NULL;
  const BurnBackend *reference = &self->reference;
  if (piece->kind == RUN_OP) return run_op(self, piece);
  if (piece->kind == READ)
    return in->inner ? reference->read(reference->self, in->inner, piece->to, piece->bytes) : BURN_STATUS_INTERNAL;
  if (piece->kind == WRITE) return run_write(self, in, piece);
  const BurnTensorDesc desc = lazy_desc_of(out);
  if (piece->kind == COPY && !in->inner) return BURN_STATUS_INTERNAL;
  return reference->create(reference->self, &desc, piece->kind == COPY ? in->inner->buffer : piece->from, &out->inner);
}

/* READS_LATE: a read and the op after it change places; events for the read still come after it. */
static void exchange(Lazy *self, Piece *read, Piece *op) {
  const uint64_t number = op->number;
  op->number = read->number - 1;
  read->number = number;
  read->next = op->next;
  op->next = read;
  self->first = op;
  if (self->last == op) self->last = read;
}

static Piece *take_first(Lazy *self) {
  Piece *first = self->first;
  if (!first) return NULL;
  const bool is_late = self->wrong == LAZY_READS_LATE && first->kind == READ && first->next;
  if (is_late && first->next->kind == RUN_OP) exchange(self, first, first->next);
  first = self->first;
  self->first = first->next;
  if (!self->first) self->last = NULL;
  return first;
}

static void *work(void *state) {
  Lazy *self = state;
  const struct timespec delay = {self->delay_us / 1000000, self->delay_us % 1000000 * 1000};
  pthread_mutex_lock(&self->mutex);
  for (;;) {
    while (!self->first && !self->ending) pthread_cond_wait(&self->work, &self->mutex);
    Piece *piece = take_first(self);
    if (!piece) break;
    pthread_mutex_unlock(&self->mutex);
    if (self->delay_us > 0) (void)nanosleep(&delay, NULL);
    const BurnStatus status = run_piece(self, piece);
    char message[160] = "";
    if (status != BURN_OK) (void)self->host->status_message(status, message, sizeof message);
    pthread_mutex_lock(&self->mutex);
    if (status != BURN_OK) note_failure(self, message[0] ? message : "an op before has failed");
    self->finished = piece->number;
    piece_free(self, piece);
    pthread_cond_broadcast(&self->progress);
  }
  pthread_mutex_unlock(&self->mutex);
  return NULL;
}

/* The failure that nobody has heard of; then it is told. */
static BurnStatus told(Lazy *self) {
  if (!self->failure[0]) return BURN_OK;
  const BurnStatus status = lazy_fail(self, BURN_STATUS_INTERNAL, self->failure);
  self->failure[0] = '\0';
  return status;
}

static void enqueue(Lazy *self, Piece *piece) {
  piece->number = ++self->submitted;
  if (self->last) {
    self->last->next = piece;
  } else {
    self->first = piece;
  }
  self->last = piece;
  pthread_cond_signal(&self->work);
}

/* Until piece `number` is done; counts if it was not. */
BurnStatus lazy_wait_for(Lazy *self, uint64_t number) {
  if (self->finished < number) self->waits++;
  while (self->finished < number) pthread_cond_wait(&self->progress, &self->mutex);
  const BurnStatus status = told(self);
  if (status == BURN_OK && number == self->submitted) self->recent[0] = '\0';
  return status;
}

/* -- the table -------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL lazy_op_support(void *state, uint32_t op) {
  const Lazy *self = state;
  return self->reference.op_support(self->reference.self, op);
}

static bool copy_attrs(Piece *piece, const BurnOpCall *call) {
  size_t total = 1;
  for (uint32_t i = 0; i < call->attr_count; i++)
    total += call->attrs[i].tag == BURN_ATTR_I64S ? call->attrs[i].count : 0;
  piece->attrs = calloc(call->attr_count + 1u, sizeof *piece->attrs);
  piece->lists = calloc(total, sizeof *piece->lists);
  if (!piece->attrs || !piece->lists) return false;
  int64_t *at = piece->lists;
  for (uint32_t i = 0; i < call->attr_count; i++) {
    piece->attrs[i] = call->attrs[i];
    if (call->attrs[i].tag != BURN_ATTR_I64S || call->attrs[i].count == 0) continue;
    memcpy(at, call->attrs[i].value.i64s, call->attrs[i].count * sizeof *at);
    piece->attrs[i].value.i64s = at;
    at += call->attrs[i].count;
  }
  piece->call.attrs = piece->attrs;
  return true;
}

/* Inputs and outputs of a piece; false when out of memory. */
static bool hold_tensors(Lazy *self, Piece *piece, BurnPrimitive *const *inputs, const BurnTensorDesc *descs) {
  piece->inputs = calloc(piece->call.input_count + 1u, sizeof *piece->inputs);
  if (!piece->inputs) return false;
  for (uint32_t i = 0; i < piece->call.input_count; i++) {
    piece->inputs[i] = inputs[i] ? lazy(inputs[i]) : NULL;
    if (inputs[i]) piece->inputs[i]->references++;
  }
  for (uint32_t i = 0; i < piece->call.output_count; i++) {
    piece->descs[i] = descs[i];
    piece->outputs[i] = tensor_new(self, &descs[i]);
    if (!piece->outputs[i]) return false;
  }
  piece->call.output_descs = piece->descs;
  return true;
}

/* Puts a piece into the queue and gives its outputs out; takes it. */
BurnStatus lazy_submit_piece(Lazy *self, Piece *piece, bool complete, BurnPrimitive **outputs) {
  BurnStatus status = complete ? told(self) : lazy_fail(self, BURN_STATUS_OUT_OF_MEMORY, "lazy: no memory");
  if (status != BURN_OK) {
    if (piece) piece_free(self, piece);
    return status;
  }
  for (uint32_t i = 0; i < piece->call.output_count; i++) {
    piece->outputs[i]->references++;
    piece->outputs[i]->callers = 1;
    outputs[i] = &piece->outputs[i]->header;
  }
  enqueue(self, piece);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL lazy_submit(void *state, const BurnOpCall *call) {
  Lazy *self = state;
  if (call->input_count > 64) return lazy_fail(self, BURN_STATUS_UNIMPLEMENTED, "lazy: more than 64 inputs");
  pthread_mutex_lock(&self->mutex);
  Piece *piece = calloc(1, sizeof *piece);
  if (piece) {
    piece->call = burn_call_copy(call);
    piece->call.next = NULL;
    const size_t used = strlen(self->recent);
    (void)snprintf(self->recent + used, sizeof self->recent - used, "%s%s", used ? ", " : "",
                   self->host->op_info(call->op)->name);
  }
  const bool complete = piece && copy_attrs(piece, call) && hold_tensors(self, piece, call->inputs, call->output_descs);
  const BurnStatus status = lazy_submit_piece(self, piece, complete, call->outputs);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

/* A piece of one kind around one input or one output. */
Piece *lazy_piece_new(Lazy *self, Kind kind, BurnPrimitive *input, const BurnTensorDesc *output) {
  Piece *piece = calloc(1, sizeof *piece);
  if (!piece) return NULL;
  piece->kind = kind;
  piece->call.input_count = input ? 1 : 0;
  piece->call.output_count = output ? 1 : 0;
  if (hold_tensors(self, piece, &input, output)) return piece;
  piece_free(self, piece);
  return NULL;
}

BurnStatus BURN_API_CALL lazy_create(void *state, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out) {
  Lazy *self = state;
  const size_t bytes = (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  pthread_mutex_lock(&self->mutex);
  Piece *piece = lazy_piece_new(self, CREATE, NULL, desc);
  void *copy = data && bytes ? malloc(bytes) : NULL;
  const bool complete = piece && (copy || !data || bytes == 0);
  if (complete && copy) memcpy(copy, data, bytes);
  if (piece) piece->from = piece->owned = copy;
  if (!piece) free(copy);
  const BurnStatus status = lazy_submit_piece(self, piece, complete, out);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

BurnStatus lazy_read_piece(Lazy *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  Piece *piece = lazy_piece_new(self, READ, x, NULL);
  if (piece) piece->to = data;
  if (piece) piece->bytes = bytes;
  return lazy_submit_piece(self, piece, piece != NULL, NULL);
}

static BurnStatus BURN_API_CALL lazy_read(void *state, BurnPrimitive *x, void *data, uint64_t bytes) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  BurnStatus status = lazy_read_piece(self, x, data, bytes);
  if (status == BURN_OK) status = lazy_wait_for(self, self->submitted);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

static BurnStatus BURN_API_CALL lazy_sync(void *state) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  const BurnStatus status = lazy_wait_for(self, self->submitted);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

static uint32_t BURN_API_CALL lazy_dtype_usage(void *state, BurnDType dtype) {
  const Lazy *self = state;
  return self->reference.dtype_usage(self->reference.self, dtype);
}

static BurnStatus BURN_API_CALL lazy_query(void *state, uint32_t key, int64_t *out) {
  Lazy *self = state;
  if (key != BURN_QUERY_LIVE_TENSORS && key != BURN_QUERY_HOST_WAITS)
    return self->reference.query(self->reference.self, key, out);
  pthread_mutex_lock(&self->mutex);
  *out = key == BURN_QUERY_LIVE_TENSORS ? self->live : self->waits;
  pthread_mutex_unlock(&self->mutex);
  return BURN_OK;
}

static int32_t BURN_API_CALL lazy_interface(void *state, const char *name, uint32_t min_version, BurnInterface *out) {
  if (strcmp(name, BURN_DEVICE_INTERFACE_NAME) != 0 || min_version > 1) return 0;
  out->table = &lazy_device_interface;
  out->self = state;
  return 1;
}

/* -- the plugin ------------------------------------------------------------------------------- */

static void BURN_API_CALL lazy_close(void *state) {
  Lazy *self = state;
  pthread_mutex_lock(&self->mutex);
  self->ending = true;
  pthread_cond_signal(&self->work);
  pthread_mutex_unlock(&self->mutex);
  pthread_join(self->thread, NULL);
  self->reference.close(self->reference.self);
  pthread_cond_destroy(&self->progress);
  pthread_cond_destroy(&self->work);
  pthread_mutex_destroy(&self->mutex);
  free(self);
}

static void fill_table(Lazy *self, BurnBackend *out) {
  out->self = self;
  out->name = "lazy";
  out->close = lazy_close;
  out->op_support = lazy_op_support;
  out->submit = lazy_submit;
  out->create = lazy_create;
  out->read = lazy_read;
  out->retain = lazy_retain;
  out->release = lazy_release;
  out->sync = lazy_sync;
  out->dtype_usage = lazy_dtype_usage;
  out->query = lazy_query;
  out->get_interface = lazy_interface;
}

static uint32_t wrong_named(const char *name) {
  static const char *const names[] = {"nothing",
#define WRONG_NAME(NAME, name) #name,
                                      LAZY_WRONGS(WRONG_NAME)};
  for (uint32_t i = 0; name && i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], name) == 0) return i;
  }
  return LAZY_RIGHT;
}

static BurnStatus BURN_API_CALL lazy_open(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                          uint32_t owner, BurnBackend *out) {
  const char *values[OPTION_COUNT];
  burn_options_ask(host, options, &options_interface, values);
  Lazy *self = calloc(1, sizeof *self);
  if (!self || index > 1) {
    free(self);
    return (host->fail)(BURN_STATUS_NOT_FOUND, __FILE__, __LINE__, "lazy: no memory, or a device above 1");
  }
  self->host = host;
  self->owner = owner;
  self->delay_us = values[OPTION_DELAY] ? strtol(values[OPTION_DELAY], NULL, 10) : 0;
  const BurnOpInfo *failing = values[OPTION_FAIL] ? host->op_find(values[OPTION_FAIL]) : NULL;
  self->wrong = wrong_named(values[OPTION_WRONG]);
  self->failing_op = failing ? failing->op : BURN_OP_INVALID;
  self->reference.struct_size = sizeof self->reference;
  const BurnBackendInterface *reference = reference_query(NULL)->get_interface("burn.backend", 1);
  const BurnStatus status = reference->open(host, 0, options, owner, &self->reference);
  if (status != BURN_OK) {
    free(self);
    return status;
  }
  pthread_mutex_init(&self->mutex, NULL);
  pthread_cond_init(&self->work, NULL);
  pthread_cond_init(&self->progress, NULL);
  fill_table(self, out);
  if (pthread_create(&self->thread, NULL, work, self) == 0) return BURN_OK;
  self->reference.close(self->reference.self);
  free(self);
  return (host->fail)(BURN_STATUS_INTERNAL, __FILE__, __LINE__, "lazy: no thread");
}

static void BURN_API_CALL lazy_probe(const BurnHost *host, BurnProbe *out) {
  (void)host;
  out->score = 1;
  burn_probe_add(out, 0, "a lazy thread", 0);
  burn_probe_add(out, 1, "another one", 0);
}

static const BurnBackendInterface backend = {(uint32_t)sizeof(BurnBackendInterface), 1, lazy_probe, lazy_open};

static const void *BURN_API_CALL lazy_plugin_interface(const char *name, uint32_t min_version) {
  if (strcmp(name, BURN_OPTIONS_INTERFACE_NAME) == 0 && min_version <= 1) return &options_interface;
  return strcmp(name, "burn.backend") == 0 && min_version <= 1 ? &backend : NULL;
}

static const BurnPlugin plugin = {.struct_size = (uint32_t)sizeof(BurnPlugin),
                                  .abi_major = BURN_ABI_MAJOR,
                                  .abi_minor = BURN_ABI_MINOR,
                                  .min_host_minor = BURN_TARGET_MINOR,
                                  .kind = BURN_PLUGIN_BACKEND,
                                  .name = "lazy",
                                  .version = "0.1.0",
                                  .license = "MIT OR Apache-2.0",
                                  .description = "the reference, late: work on a thread of its own",
                                  .get_interface = lazy_plugin_interface};

#undef BURN_PLUGIN_STATIC
BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *host);
const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *host) {
  (void)host;
  return &plugin;
}
