/* reference_plugin.c - the reference backend as a plugin: descriptor, probe, open, and the backend table. Start here.
 *
 * It has a kernel for every primitive op and for nothing else, and no options. */
#include "reference_internal.h"

#include <burn/common/descriptor.h>
#include <burn/plugin/options.h>

#include <stdio.h>
#include <string.h>

/* -- calls ------------------------------------------------------------------------------------ */

static uint32_t BURN_API_CALL op_support(void *self, uint32_t op) {
  const Reference *reference = self;
  return op < BURN_OP_LIMIT && reference->rows[op] ? BURN_SUPPORT_YES : BURN_SUPPORT_NO;
}

static BurnStatus BURN_API_CALL submit(void *self, const BurnOpCall *call) {
  Reference *reference = self;
  BurnPrimitive *out[BURN_MAX_OUTPUTS] = {NULL};
  const ReferenceRun run = {reference, reference->rows[call->op], call, out};
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->output_count && status == BURN_OK; i++) {
    out[i] = reference_new(reference, &call->output_descs[i]);
    if (!out[i]) status = reference_fail(&run, BURN_STATUS_OUT_OF_MEMORY, "reference: no memory for the result");
  }
  if (status == BURN_OK) status = run.row->kernel(&run);
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (status == BURN_OK) {
      call->outputs[i] = out[i];
    } else {
      reference_release(reference, out[i]);
    }
  }
  return status;
}

/* -- tensors ---------------------------------------------------------------------------------- */

static BurnStatus BURN_API_CALL create(void *self, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out) {
  Reference *reference = self;
  BurnPrimitive *x = reference_new(reference, desc);
  if (!x) return BURN_COMMON_FAIL(reference->host, OUT_OF_MEMORY, "reference", "no memory for a tensor");
  const size_t bytes = (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  if (data && bytes > 0) memcpy(x->buffer, data, bytes);
  *out = x;
  return BURN_OK;
}

static BurnStatus BURN_API_CALL read_data(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  (void)self;
  if (bytes > 0) memcpy(data, x->buffer, (size_t)bytes);
  return BURN_OK;
}

static void BURN_API_CALL retain(void *self, BurnPrimitive *x) {
  (void)self;
  reference_retain(x);
}

static void BURN_API_CALL release(void *self, BurnPrimitive *x) { reference_release(self, x); }

/* -- questions -------------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL dtype_usage(void *self, BurnDType dtype) {
  (void)self;
  return burn_dtype_bytes(dtype) ? BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC : 0;
}

static BurnStatus BURN_API_CALL query(void *self, uint32_t key, int64_t *out) {
  Reference *reference = self;
  switch (key) {
    case BURN_QUERY_BYTES_IN_USE:
    case BURN_QUERY_BYTES_RESERVED:
      *out = atomic_load(&reference->live_bytes);
      return BURN_OK;
    case BURN_QUERY_BYTES_PEAK:
      *out = atomic_load(&reference->peak_bytes);
      return BURN_OK;
    case BURN_QUERY_LIVE_TENSORS:
      *out = atomic_load(&reference->live_tensors);
      return BURN_OK;
    default:
      return BURN_COMMON_FAIL(reference->host, NOT_FOUND, "reference", "unknown query");
  }
}

/* -- the plugin ------------------------------------------------------------------------------- */

static void BURN_API_CALL close_device(void *self) {
  Reference *reference = self;
  reference->host->free(reference, sizeof *reference);
}

static void fill_rows(Reference *reference) {
  static const ReferenceRow *const lists[] = {reference_conv_rows,  reference_create_rows, reference_elementwise_rows,
                                              reference_index_rows, reference_linalg_rows, reference_move_rows,
                                              reference_pool_rows,  reference_reduce_rows, reference_scan_rows,
                                              reference_sort_rows,  reference_view_rows};
  for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++) {
    for (const ReferenceRow *row = lists[list]; row->op; row++) reference->rows[row->op] = row;
  }
}

static BurnStatus BURN_API_CALL open_device(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                            uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, "reference");
  if (checked != BURN_OK) return checked;
  (void)options; /* there are none: the host refuses options that are never read */
  if (index != 0) return BURN_COMMON_FAIL(host, NOT_FOUND, "reference", "there is no device %u, only 0", index);
  Reference *reference = host->allocate(sizeof *reference);
  if (!reference) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "reference", "no memory");
  memset(reference, 0, sizeof *reference);
  reference->host = host;
  reference->owner = owner;
  fill_rows(reference);
  out->self = reference;
  out->name = "reference";
  out->close = close_device;
  out->op_support = op_support;
  out->submit = submit;
  out->create = create;
  out->read = read_data;
  out->retain = retain;
  out->release = release;
  out->dtype_usage = dtype_usage;
  out->query = query;
  return BURN_OK;
}

/* Score 1: it works everywhere and is nobody's first choice. */
static void BURN_API_CALL probe(const BurnHost *host, BurnProbe *out) {
  (void)host;
  out->score = 1;
  snprintf(out->reason, sizeof out->reason, "always here, slow on purpose");
  burn_probe_add(out, 0, "any processor, one thread, f64", 0);
}

static const BurnBackendInterface backend = {sizeof(BurnBackendInterface), 1, probe, open_device};

static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(0, NULL);

BURN_COMMON_PLUGIN(BACKEND, "reference", "0.1.0", "MIT OR Apache-2.0",
                   "every op by its definition in f64, every dtype, primitives only; slow", {"burn.backend", &backend},
                   {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
