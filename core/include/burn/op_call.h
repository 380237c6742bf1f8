/* op_call.h - ops by name or number: for ops of kernel packs, which have no function of their own, and for tools that
 * handle ops in general (importers, conformance, language bindings). Programs otherwise use burn/ops.h. */
#ifndef BURN_OP_CALL_H
#define BURN_OP_CALL_H

#include <burn/plugin/host.h>
#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* The description of an op by its number; NULL if there is none. Read-only, lives as long as the process. Core ops have
 * numbers below BURN_OP_LIMIT, with gaps. */
BURN_API const BurnOpInfo *burn_op_info(uint32_t op);

/* The same by name: "matmul", or "acme.gelu" of the kernel pack burn_acme.so, which is found as all plugins are and
 * loaded the first time. Otherwise *out is NULL and the status says where was looked. */
BURN_API BurnStatus burn_op_find(const char *name, const BurnOpInfo **out) BURN_USE_RESULT;

/* Applies an op. Takes all inputs, which are all counted (NULL: an absent optional one, at the end too); puts
 * op->output_count tensors into outputs, failed ones if the call is wrong. Attributes stand in the order of
 * op->attr_names; those left out at the end, and those with tag BURN_ATTR_NONE, take their defaults. Dims must be
 * resolved: 0 .. rank-1. `device` is where ops without inputs (full, arange, random ...) make their tensor; it may be
 * NULL for others. An op that is NULL gives one output, a failed one. */
BURN_API void burn_op_call(BurnDevice *device, const BurnOpInfo *op, BurnTensor *const *inputs, size_t input_count,
                           const BurnAttr *attrs, size_t attr_count, BurnTensor **outputs);

/* `count` calls of one op with inputs and no others, as burn_op_call for each, in order: what one gives no other takes.
 * Rows of arrays: inputs [count][input_count], attrs [count][op->attr_count], none left out, outputs
 * [count][op->output_count]. The backend makes them as one where it can (burn/plugin/calls.h), with the same bits: for
 * what an optimizer does to each of many parameters, most of them small. */
BURN_API void burn_op_calls(const BurnOpInfo *op, size_t count, BurnTensor *const *inputs, size_t input_count,
                            const BurnAttr *attrs, BurnTensor **outputs);

/* One call by name, for ops with one output: burn_op("acme.gelu", &x, 1, NULL, 0). */
BURN_API BURN_GIVES BurnTensor *burn_op(const char *name, BurnTensor *const *inputs, size_t input_count,
                                        const BurnAttr *attrs, size_t attr_count);

/* -- for tools: below the tensors ------------------------------------------------------------- */

/* The table that plugins get. */
BURN_API const BurnHost *burn_host(void);

/* As burn_device_open, but the plugins of the stack get this table instead: a copy of burn_host() in which a tool has
 * replaced functions, to make allocations fail or to count them; NULL: burn_host(). Borrowed for as long as the device
 * is open.
 * Decompositions still run with the library's own table. */
BURN_API BURN_USE_RESULT BurnDevice *burn_device_open_with_host(const char *stack, const BurnHost *host);

/* The top of a device's stack; NULL if the device failed. Borrowed: valid while the device is open. */
BURN_API const BurnBackend *burn_device_backend(const BurnDevice *device);

/* The level below in a stack; NULL for a backend. Borrowed like the top. */
BURN_API const BurnBackend *burn_backend_below(const BurnBackend *level);

/* How the stack text calls a level: "autodiff", "ndarray:0". Borrowed like the level. */
BURN_API const char *burn_backend_label(const BurnBackend *level);

/* Ways in which a level can run an op, in the order in which they are tried. A layer whose way is NATIVE hands the op,
 * or others in its place, to the level below. */
enum {
  BURN_ROUTE_KERNEL_PACK = 1,  /* a pack's kernel, where it accepts the call */
  BURN_ROUTE_NATIVE = 2,       /* by itself, always */
  BURN_ROUTE_SOMETIMES = 4,    /* by itself, where it supports the very call */
  BURN_ROUTE_DECOMPOSITION = 8 /* as other ops on the same level */
};

/* The BURN_ROUTE_* bits of a level of an open stack for an op; 0 if it cannot run it, or there is no such op. */
BURN_API uint32_t burn_backend_op_routes(const BurnBackend *level, uint32_t op);

/* The primitive of a tensor; NULL if the tensor failed. Borrowed: valid while the handle is. */
BURN_API BurnPrimitive *burn_tensor_primitive(const BurnTensor *x);

/* A tensor around a primitive of the device's stack, whose reference it takes. */
BURN_API BURN_GIVES BurnTensor *burn_tensor_from_primitive(BurnDevice *device, BurnPrimitive *primitive);

BURN_EXTERN_C_END

#endif
