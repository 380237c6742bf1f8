/* fused.h - the interface "burn.fused": a backend that runs a group of ops as one kernel.
 *
 * A decorator that queues calls (burn_fusion.so) cuts the queue into groups, describes each as a body, and has it
 * compiled once and run often. A body means exactly what its steps mean, done one after the other as ordinary calls; a
 * backend that cannot run a body better than that refuses it with a reason, and the decorator makes the ordinary calls.
 * Nothing else changes for the backend: it never needs to know what a queue is.
 *
 * Numbers: element-wise steps give the very bits that the backend's own kernels give for the single ops. Reductions may
 * add in another order, but always in the same one, whatever the number of threads. */
#ifndef BURN_PLUGIN_FUSED_H
#define BURN_PLUGIN_FUSED_H

#include <burn/plugin/backend.h>

/* The name to ask get_interface for. */
#define BURN_FUSED_INTERFACE "burn.fused"
#define BURN_FUSED_ABSENT UINT32_MAX /* the value number of an optional input that is not there */

/* The part an op may play in a body: answers of BurnFusedInterface.role. */
enum BurnFusedRole {
  BURN_FUSED_NO = 0, /* none: it is always a call of its own */
  /* Element i of the result is a function of the elements i of its inputs, which broadcast. */
  BURN_FUSED_ELEMENTWISE = 1,
  BURN_FUSED_REDUCE = 2, /* one axis becomes 1 */
  BURN_FUSED_EXPAND = 3  /* axes of its input stretch: that may be read through an index */
};

/* An op of a body. Frozen layout. Its results are numbered one after the other, after those of the steps before it. No
 * fusing decorator makes steps with several results yet; a backend that cannot have them answers BURN_FUSED_NO. */
typedef struct BurnFusedStep {
  uint32_t op;
  uint32_t input_count;
  uint32_t attr_count;
  uint32_t output_count;  /* 1 or more */
  const uint32_t *inputs; /* [input_count] value numbers, smaller than that of the result; or BURN_FUSED_ABSENT */
  const BurnAttr *attrs;  /* [attr_count], in the order of ops.def. A decorator of an older version gives those that it
                             knows: the others are at their defaults */
} BurnFusedStep;

/* A group of ops. Values 0 .. input_count-1 are the inputs; those of the steps follow, in order. Only the values in
 * `outputs` leave the body. At most 64 inputs. Shapes are exact; strides are not part of a body: inputs come with any.
 */
typedef struct BurnFusedBody {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t step_count;
  uint32_t output_count;
  const BurnTensorDesc *values; /* [input_count + results of all steps] */
  const BurnFusedStep *steps;   /* [step_count] */
  const uint32_t *outputs;      /* [output_count] value numbers of steps */
} BurnFusedBody;

/* A compiled body; belongs to the backend that made it and is never changed by a run, so many threads may run it at
 * once. */
typedef struct BurnFusedKernel BurnFusedKernel;

/* One run. Inputs are borrowed, have the shapes and dtypes of the body and belong to this backend; each output is one
 * new reference for the caller. Bit i of `donate` says that the caller drops its reference to input i after the call.
 * `attrs[i]` are the attributes of step i: those with the tag F64, numbers (BURN_ATTR_NUMBER; they keep the tag they
 * were compiled with), and those with the tag I64 of ops with the trait RANDOM, may differ from the body's; everything
 * else is as it was compiled.  A run that fails has stored nothing and changed no input: the steps may then be called
 * one by one. That holds for what is found before the work is queued. Where work is done later, a failure of it is one
 * of late work (device.h): run has returned BURN_OK, the contents of the outputs are undefined, the next verb reports
 * it with the ops of the body, and the steps are not called again. */
typedef struct BurnFusedCall {
  uint32_t struct_size;
  uint32_t reserved;
  const BurnFusedKernel *kernel;
  BurnPrimitive *const *inputs;
  const BurnAttr *const *attrs;
  BurnPrimitive **outputs;
  uint64_t donate;
  const BurnExtension *next; /* extensions; NULL: none */
} BurnFusedCall;

/* What get_interface(BURN_FUSED_INTERFACE) gives; all functions may be called from any thread at any time. */
typedef struct BurnFusedInterface {
  uint32_t struct_size;
  uint32_t version;
  uint32_t max_inputs; /* of a body; at most 64 */
  uint32_t max_steps;
  uint32_t max_outputs;
  uint32_t reserved;

  /* BURN_FUSED_*: what part may this step play, with values of these shapes and dtypes? `inputs[i].rank` is 0 for an
   * absent input. */
  uint32_t(BURN_API_CALL *role)(void *self, const BurnFusedStep *step, const BurnTensorDesc *inputs,
                                const BurnTensorDesc *output);

  /* Compiles a body, which is not needed any more afterwards. Shapes differ from call to call in real programs: a
   * backend that compiles slowly keeps its code by structure (ops, dtypes, ranks, which axes are 1), takes sizes as
   * arguments of the run, and finds here what it already has. *out stays NULL, and `why` (terminated) says the reason,
   * if the steps should rather be called one by one; that is not a failure. */
  BurnStatus(BURN_API_CALL *compile)(void *self, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                     uint64_t why_bytes);

  BurnStatus(BURN_API_CALL *run)(void *self, const BurnFusedCall *call);

  /* Frees a kernel that no run and no recording (replay.h) uses; NULL is allowed. */
  void(BURN_API_CALL *release)(void *self, BurnFusedKernel *kernel);

  /* One line about a kernel for logs ("3 loads, 11 instructions, 1 store, rows of 1024"). */
  void(BURN_API_CALL *describe)(void *self, const BurnFusedKernel *kernel, char *text, uint64_t text_bytes);
} BurnFusedInterface;
#define BURN_FUSED_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnFusedInterface, describe)

#endif
