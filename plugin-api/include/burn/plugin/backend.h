/* backend.h - an opened backend or decorator instance: one table of functions, none of them per op.
 *
 * The plugin fills the table when it is opened. The host copies it into a table of its own, puts defaults where the
 * plugin left NULL (marked "optional"), and hands only that copy to others, so nobody tests for NULL or size in a call.
 * All functions may be called from any thread at the same time. Nothing here may abort, print, or change process state.
 */
#ifndef BURN_PLUGIN_BACKEND_H
#define BURN_PLUGIN_BACKEND_H

#include <burn/plugin/host.h>

/* Answers of op_support; another one is refused when the plugin is opened. */
enum BurnSupport {
  BURN_SUPPORT_NO = 0,  /* never: the host decomposes the op */
  BURN_SUPPORT_YES = 1, /* always */
  BURN_SUPPORT_ASK = 2  /* it depends: ask supports() with the call */
};

/* Bits of dtype_usage. */
enum BurnUsage {
  BURN_USAGE_STORE = 1,     /* create, read, views, moves */
  BURN_USAGE_ARITHMETIC = 2 /* everything that ops.def allows for its kind */
};

/* Keys of query(); values are written to out. */
enum BurnQueryKey {
  BURN_QUERY_BYTES_IN_USE = 1,   /* bytes of live tensors */
  BURN_QUERY_BYTES_RESERVED = 2, /* bytes held, caches included */
  BURN_QUERY_BYTES_PEAK = 3,     /* the highest BURN_QUERY_BYTES_IN_USE so far */
  BURN_QUERY_LIVE_TENSORS = 4,   /* primitives alive */
  BURN_QUERY_HOST_WAITS = 5      /* times that a function waited for work of the device, since open */
};

/* An interface found by name: a table and the object to call it with. Frozen layout. The table starts with its size and
 * version; burn_struct_copy makes one of a known length of it. */
typedef struct BurnInterface {
  const void *table;
  void *self;
} BurnInterface;

/* The table of an instance. A function that is not called optional must be there. The host fills optional ones that are
 * NULL. */
struct BurnBackend {
  uint32_t struct_size;
  uint32_t owner;   /* set by the host: number that primitives accepted here carry (for a decorator that does not wrap
                       tensors, the number of the decorator below) */
  void *self;       /* first argument of every function */
  const char *name; /* "ndarray", "cuda:0"; lives as long as the instance */

  /* Ends the instance. No primitive of it is alive and no call is running. */
  void(BURN_API_CALL *close)(void *self);

  /* BURN_SUPPORT_*: does this instance itself run the op? Asked once per op when the stack is built. */
  uint32_t(BURN_API_CALL *op_support)(void *self, uint32_t op);

  /* Optional. For ops answered with ASK: 1 if this very call can run, else 0 with a reason in `why` (terminated). */
  int32_t(BURN_API_CALL *supports)(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes);

  /* Runs a call whose op is supported. `output_descs` is filled and true; the callee need not check shapes again. */
  BurnStatus(BURN_API_CALL *submit)(void *self, const BurnOpCall *call);

  /* A new primitive with one reference. `data` is row-major and copied before the function returns; NULL leaves the
   * contents undefined. */
  BurnStatus(BURN_API_CALL *create)(void *self, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out);

  /* Copies the elements to host memory in row-major order; `bytes` is exactly count * element size. Waits for the
   * device. */
  BurnStatus(BURN_API_CALL *read)(void *self, BurnPrimitive *x, void *data, uint64_t bytes);

  /* One reference more or less; release: NULL is allowed. */
  void(BURN_API_CALL *retain)(void *self, BurnPrimitive *x);
  void(BURN_API_CALL *release)(void *self, BurnPrimitive *x);

  /* Optional (default: nothing to wait for). Waits until all work submitted so far is done; reports its first failure.
   */
  BurnStatus(BURN_API_CALL *sync)(void *self);

  /* BURN_USAGE_* bits for a dtype. bool, i64 and f32 have both: decompositions compute in them. */
  uint32_t(BURN_API_CALL *dtype_usage)(void *self, BurnDType dtype);

  /* Optional (default: NOT_FOUND). */
  BurnStatus(BURN_API_CALL *query)(void *self, uint32_t key, int64_t *out);

  /* Optional (default: nothing). Gives cached memory back to the system. */
  BurnStatus(BURN_API_CALL *trim)(void *self);

  /* Optional (default: none). A further interface of this instance by name, such as "burn.autodiff". Returns 1 and
   * fills out, or 0. A decorator that does not wrap tensors and offers interfaces of its own passes other names on to
   * `next`, but those by which ops run past its submit (pass_on.h). */
  int32_t(BURN_API_CALL *get_interface)(void *self, const char *name, uint32_t min_version, BurnInterface *out);

  /* Decorators that wrap tensors only (else NULL): the primitive below (borrowed), and a new wrapper with one reference
   * around a primitive of the decorator below (which it retains). */
  BurnPrimitive *(BURN_API_CALL *unwrap)(void *self, BurnPrimitive *x);
  BurnStatus(BURN_API_CALL *adopt)(void *self, BurnPrimitive *inner, BurnPrimitive **out);
};
#define BURN_BACKEND_MIN_BYTES BURN_BYTES_THROUGH(BurnBackend, adopt)

#endif
