/* given.h - what the level below a decorator gave with success, looked at before it is used: another plugin may report
 * success and have set nothing. C99 and C++11, nothing to link. */
#ifndef BURN_COMMON_GIVEN_H
#define BURN_COMMON_GIVEN_H

#include <burn/common/failure.h>
#include <burn/plugin/fused.h>

#include <stdbool.h>

/* True where x is of this shape and dtype. */
static inline bool burn_common_is_as(const BurnPrimitive *x, const BurnTensorDesc *desc) {
  uint32_t i;
  if (x->dtype != desc->dtype || x->rank != desc->rank || !x->shape) return false;
  for (i = 0; i < desc->rank; i++) {
    if (x->shape[i] != desc->shape[i]) return false;
  }
  return true;
}

/* True where x has a shape that can be read. */
static inline bool burn_common_has_shape(const BurnPrimitive *x) { return x->shape && x->rank <= BURN_MAX_RANK; }

/* BURN_OK for a primitive of `from` as `desc` says (NULL: of any shape and dtype). Else INTERNAL, which names the level
 * and what it was asked for ("create"), and *x is released and NULL. */
static inline BurnStatus burn_common_check_given(const BurnHost *host, const BurnBackend *from, const char *asked,
                                                 const BurnTensorDesc *desc, BurnPrimitive **x) {
  if (*x && (desc ? burn_common_is_as(*x, desc) : burn_common_has_shape(*x))) return BURN_STATUS_OK;
  if (!*x) return BURN_COMMON_FAIL(host, INTERNAL, asked, "'%s' reports success, but gave no tensor", from->name);
  from->release(from->self, *x);
  *x = NULL;
  return BURN_COMMON_FAIL(host, INTERNAL, asked, "'%s' gave a tensor of another shape or dtype than it was asked for",
                          from->name);
}

/* True if the results of a call that `from` has run with success are as its output_descs say. */
static inline bool burn_common_are_as_described(const BurnOpCall *call) {
  uint32_t i;
  for (i = 0; i < call->output_count; i++) {
    const BurnPrimitive *x = call->outputs[i];
    if (!x || !(call->output_descs ? burn_common_is_as(x, &call->output_descs[i]) : burn_common_has_shape(x)))
      return false;
  }
  return true;
}

/* BURN_OK for these. Else INTERNAL, which names the op, and all of them are released and NULL. */
static inline BurnStatus burn_common_check_results(const BurnHost *host, const BurnBackend *from,
                                                   const BurnOpCall *call) {
  BurnStatus status = BURN_STATUS_OK;
  uint32_t i;
  if (burn_common_are_as_described(call)) return BURN_STATUS_OK;
  for (i = 0; i < call->output_count && status == BURN_STATUS_OK; i++)
    status = burn_common_check_given(host, from, host->op_info(call->op)->name,
                                     call->output_descs ? &call->output_descs[i] : NULL, &call->outputs[i]);
  for (i = 0; i < call->output_count; i++) {
    if (call->outputs[i]) from->release(from->self, call->outputs[i]);
    call->outputs[i] = NULL;
  }
  return status;
}

/* True if `from` offers the interface, which then is in `out`: one without a table is none. */
static inline bool burn_common_ask(const BurnBackend *from, const char *name, BurnInterface *out) {
  const BurnInterface none = {NULL, NULL};
  *out = none;
  return from->get_interface(from->self, name, 1, out) != 0 && out->table;
}

/* True if a copied table of "burn.fused" is whole. */
static inline bool burn_common_is_fused(const BurnFusedInterface *table) {
  return table->struct_size >= BURN_FUSED_INTERFACE_MIN_BYTES && table->role && table->compile && table->run &&
         table->release && table->describe;
}

#endif
