/* calls.h - the interface "burn.calls" of a backend: several calls of one op as one.
 *
 * An optimizer steps every parameter of a model by the same op, and most parameters are small: what their calls cost is
 * not the work but the start of it, of threads or of a kernel. A backend that can do the work of many calls in one
 * sweep, or one kernel, over all their tensors offers this interface; the host otherwise makes the calls one by one.
 *
 * The host uses it only where the top of a stack offers it by itself. A decorator that passes the question on to the
 * level below goes on seeing every call through its submit. */
#ifndef BURN_PLUGIN_CALLS_H
#define BURN_PLUGIN_CALLS_H

#include <burn/plugin/backend.h>

/* The name to ask get_interface for. */
#define BURN_CALLS_INTERFACE "burn.calls"

/* What get_interface(BURN_CALLS_INTERFACE) gives, version 1. Functions may be called from any thread at any time. */
typedef struct BurnCallsInterface {
  uint32_t struct_size;
  uint32_t version;

  /* 1: calls of this op are better made together; 0: they gain nothing. */
  uint32_t(BURN_API_CALL *joins)(void *self, uint32_t op);

  /* Makes calls [count], at least one, of one op that `joins` names. Each is as submit gets it, with attributes of its
   * own; shapes and dtypes differ from call to call. What a call donates is not an input of another. Results have the
   * very bits that the calls give when they are made one by one. A failure is that of all: it has set no output and
   * changed no input, and the host then makes the calls one by one, which tells whose failure it was. As in a fused run
   * (fused.h) that holds for what is found before the work is queued. */
  BurnStatus(BURN_API_CALL *submit_many)(void *self, const BurnOpCall *const *calls, uint64_t count);
} BurnCallsInterface;
#define BURN_CALLS_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnCallsInterface, submit_many)

#endif
