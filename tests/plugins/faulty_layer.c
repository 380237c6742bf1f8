/* faulty_layer.c - a decorator that makes a good backend wrong in one way: faulty:op=exp,fault=nan<ndarray>. For
 * validate_test and fuzz_test.
 *
 * Faults, each in calls of the op `op`:
 *   shape dtype owner small missing   the result has another shape, dtype, owner, header size, or is not there
 *   strides before                    strides that give other elements, or reach before the buffer
 *   nan infinity                      the first element becomes one
 *   random                            the first element counts up from call to call
 *   described rank                    passes on another input, f64 or of one axis, and the descriptions as they were
 *   again                             makes the call on itself
 *   code                              returns a status that host->fail did not make
 *   number                            returns an error number of a driver's
 *   inputs outputs attributes         the call that it passes on lacks the list
 *   write                             writes into input 0 whoever holds it
 *   donated                           writes into input 0 if it is donated, without looking who holds it
 *   storage                           likewise, but not while somebody else holds the primitive itself
 *   leak                              keeps a reference to the result
 *   stored                            fails, but stores a result
 *   add slight                        adds one, or a thousandth of itself, to the first element of the result, or flips
 * a bit gift strided                      likewise, but only if input 0 is donated, or does not lie in row-major order
 *   after                             likewise, only if input 0 is not in row-major order, right after a call of cat
 *   abort hang exit                   if input 0 is donated: the process ends so, or does not */
#include "decorator_entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 64 };

typedef struct Faulty {
  const BurnHost *host;
  const BurnBackend *next, *own; /* own: the table that the host calls */
  uint32_t op, previous;         /* op of the last call */
  char fault[32];
  float calls;
  uint32_t kept_count;
  BurnPrimitive *kept[MAX_KEPT]; /* references to release at the end */
  BurnPrimitive *retained;       /* the primitive that somebody retained last and has not released */
} Faulty;

static int is(const Faulty *faulty, const char *fault) { return strcmp(faulty->fault, fault) == 0; }

static BurnStatus fail(const Faulty *faulty, const char *message) {
  return faulty->host->fail(BURN_STATUS_INTERNAL, __FILE__, __LINE__, message);
}

/* Puts another tensor in the place of an f32 result: its elements with the first one changed, in a description. */
static BurnStatus replace(Faulty *faulty, BurnPrimitive **x, const BurnTensorDesc *desc, float first) {
  const BurnBackend *next = faulty->next;
  BurnPrimitive *other = NULL;
  float data[256] = {0};
  const uint64_t bytes = (uint64_t)burn_primitive_count(*x) * sizeof(float);
  if (bytes > sizeof data || burn_desc_count(desc) > 128) return fail(faulty, "faulty: too many elements");
  BurnStatus status = next->read(next->self, *x, data, bytes);
  data[0] = first;
  if (status == BURN_OK) status = next->create(next->self, desc, data, &other);
  if (status != BURN_OK) return status;
  next->release(next->self, *x);
  *x = other;
  return BURN_OK;
}

static BurnStatus spoil_value(Faulty *faulty, BurnPrimitive **x) {
  BurnTensorDesc desc = burn_primitive_desc(*x);
  if (is(faulty, "shape")) desc.shape[0]++;
  if (is(faulty, "dtype")) desc.dtype = BURN_DTYPE_F64;
  const float first = is(faulty, "nan") ? (float)NAN : is(faulty, "infinity") ? (float)INFINITY : faulty->calls++;
  return replace(faulty, x, &desc, first);
}

static BurnStatus spoil_header(Faulty *faulty, BurnPrimitive *x) {
  static const int64_t other[BURN_MAX_RANK] = {1, 2}, before[BURN_MAX_RANK] = {-2, 1};
  if (is(faulty, "owner")) x->owner++;
  if (is(faulty, "small")) x->struct_size = 8;
  if (is(faulty, "strides")) x->strides = other;
  if (is(faulty, "before")) x->strides = before;
  return BURN_OK;
}

static BurnStatus keep(Faulty *faulty, BurnPrimitive *x) {
  if (faulty->kept_count == MAX_KEPT) return fail(faulty, "faulty: too many tensors kept");
  faulty->next->retain(faulty->next->self, x);
  faulty->kept[faulty->kept_count++] = x;
  return BURN_OK;
}

/* Changes the first element: by a thousandth or by one; in dtypes other than f32 and f64 by a bit. */
static void change(const BurnPrimitive *x, int is_slight) {
  if (burn_primitive_count(x) == 0) return;
  char *first = (char *)x->buffer + x->byte_offset;
  float *number = (float *)(void *)first;
  double *large = (double *)(void *)first;
  switch (x->dtype) {
    case BURN_DTYPE_F32:
      *number += is_slight ? *number * 1e-3f : 1.0f;
      break;
    case BURN_DTYPE_F64:
      *large += is_slight ? *large * 1e-3 : 1.0;
      break;
    default:
      first[0] ^= burn_dtype_kind(x->dtype) == BURN_KIND_FLOAT ? 0x40 : 1;
      break;
  }
}

static void write_into(const BurnPrimitive *x) { change(x, 0); }

static int is_strided(const BurnPrimitive *x) {
  int64_t stride = 1;
  for (uint32_t i = x->rank; i-- > 0; stride *= x->shape[i]) {
    if (x->strides && x->shape[i] > 1 && x->strides[i] != stride) return 1;
  }
  return 0;
}

/* Faults of the result that depend on how input 0 comes. */
static int spoils_result(const Faulty *faulty, const BurnPrimitive *x, int is_donated) {
  if (is(faulty, "add") || is(faulty, "slight")) return 1;
  if (is(faulty, "gift")) return is_donated;
  if (is(faulty, "strided")) return x && is_strided(x);
  return is(faulty, "after") && x && is_strided(x) && faulty->previous == BURN_OP_cat;
}

static void end_process(const Faulty *faulty) {
  volatile int forever = 1;
  if (is(faulty, "abort")) abort();
  if (is(faulty, "exit")) exit(0);
  while (is(faulty, "hang") && forever) continue;
}

static BurnStatus spoil(Faulty *faulty, const BurnOpCall *call) {
  const BurnBackend *next = faulty->next;
  BurnPrimitive *x = call->input_count > 0 ? call->inputs[0] : NULL;
  const int is_donated = x && call->donate & 1;
  static const char *const of_results[] = {"add", "slight", "gift", "strided", "after", "abort", "hang", "exit"};
  if (is(faulty, "write") || (is(faulty, "donated") && is_donated)) write_into(x);
  if (is(faulty, "storage") && is_donated && x != faulty->retained) write_into(x);
  if (is(faulty, "write") || is(faulty, "donated") || is(faulty, "storage")) return BURN_OK;
  for (size_t i = 0; i < sizeof of_results / sizeof of_results[0]; i++) {
    if (!is(faulty, of_results[i])) continue;
    if (spoils_result(faulty, x, is_donated)) change(call->outputs[0], is(faulty, "slight"));
    if (is_donated) end_process(faulty);
    return BURN_OK;
  }
  if (is(faulty, "leak")) return keep(faulty, call->outputs[0]);
  if (is(faulty, "missing")) {
    next->release(next->self, call->outputs[0]);
    call->outputs[0] = NULL;
    return BURN_OK;
  }
  if (is(faulty, "stored")) {
    const BurnStatus status = keep(faulty, call->outputs[0]);
    next->release(next->self, call->outputs[0]);
    return status == BURN_OK ? fail(faulty, "faulty: not today") : status;
  }
  static const char *const headers[] = {"owner", "small", "strides", "before"};
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    if (is(faulty, headers[i])) return spoil_header(faulty, call->outputs[0]);
  }
  return spoil_value(faulty, &call->outputs[0]);
}

/* What decorators forget: with another input the descriptions of the results are others, too. */
static BurnStatus pass_other_input(const Faulty *faulty, const BurnOpCall *call) {
  const BurnBackend *next = faulty->next;
  const double zeros[128] = {0};
  BurnTensorDesc desc = burn_primitive_desc(call->inputs[0]);
  desc.dtype = is(faulty, "rank") ? desc.dtype : BURN_DTYPE_F64;
  desc.rank = is(faulty, "rank") ? 1 : desc.rank;
  if (burn_desc_count(&desc) > 128) return fail(faulty, "faulty: too many elements");
  BurnOpCall other = burn_call_copy(call);
  BurnPrimitive *x = NULL;
  other.inputs = &x;
  other.donate = 0;
  BurnStatus status = next->create(next->self, &desc, zeros, &x);
  if (status == BURN_OK) status = faulty->host->invoke(next, &other);
  next->release(next->self, x);
  return status;
}

/* The call of the op as it goes on. */
static BurnOpCall call_below(const Faulty *faulty, const BurnOpCall *call) {
  BurnOpCall below = burn_call_copy(call);
  if (is(faulty, "inputs")) below.inputs = NULL;
  if (is(faulty, "outputs")) below.outputs = NULL;
  if (is(faulty, "attributes")) below.attrs = NULL, below.attr_count = 2;
  return below;
}

static BurnStatus BURN_API_CALL faulty_submit(void *self, const BurnOpCall *call) {
  Faulty *faulty = self;
  const int passes_other = is(faulty, "described") || is(faulty, "rank");
  if (passes_other && call->op == faulty->op) return pass_other_input(faulty, call);
  if (is(faulty, "again") && call->op == faulty->op) return faulty->host->invoke(faulty->own, call);
  if (is(faulty, "code") && call->op == faulty->op) return (BurnStatus)7 << 8;
  if (is(faulty, "number") && call->op == faulty->op) return 700;
  const BurnOpCall below = call_below(faulty, call);
  const BurnStatus status = faulty->host->invoke(faulty->next, call->op == faulty->op ? &below : call);
  const BurnStatus spoiled = status == BURN_OK && call->op == faulty->op ? spoil(faulty, call) : status;
  faulty->previous = call->op;
  return spoiled;
}

static void BURN_API_CALL faulty_retain(void *self, BurnPrimitive *x) {
  ((Faulty *)self)->retained = x;
  ((Faulty *)self)->next->retain(((Faulty *)self)->next->self, x);
}

static void BURN_API_CALL faulty_release(void *self, BurnPrimitive *x) {
  Faulty *faulty = self;
  if (x == faulty->retained) faulty->retained = NULL;
  faulty->next->release(faulty->next->self, x);
}

static void BURN_API_CALL faulty_close(void *self) {
  Faulty *faulty = self;
  for (uint32_t i = 0; i < faulty->kept_count; i++) faulty->next->release(faulty->next->self, faulty->kept[i]);
  free(faulty);
}

static BurnStatus BURN_API_CALL faulty_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                            uint32_t owner, BurnBackend *out) {
  const char *op = host->option(options, "op"), *fault = host->option(options, "fault");
  const BurnOpInfo *info = op ? host->op_find(op) : NULL;
  Faulty *faulty = calloc(1, sizeof *faulty);
  (void)owner;
  if (!faulty || !info || !fault || strlen(fault) >= sizeof faulty->fault) {
    free(faulty);
    return host->fail(BURN_STATUS_INVALID_ARGUMENT, __FILE__, __LINE__, "faulty: give op= and fault=");
  }
  faulty->host = host;
  faulty->next = next;
  faulty->own = out;
  faulty->op = info->op;
  memcpy(faulty->fault, fault, strlen(fault) + 1);
  out->self = faulty;
  out->name = "faulty";
  out->submit = faulty_submit;
  out->retain = faulty_retain;
  out->release = faulty_release;
  out->close = faulty_close;
  return BURN_OK;
}

TEST_DECORATOR(faulty_open, "wrong in one way, in one op")
