/* kernels.h - kernel packs: ops of one's own, usable on every backend.
 *
 * A plugin of kind BURN_PLUGIN_KERNELS offers "burn.kernels": op definitions, kernels that run them on memory which the
 * process can read, and kernels for devices, as code in the forms that backends take (CUDA C, PTX, SPIR-V). An op of
 * the pack `acme` is called "acme.gelu"; naming it (burn_op, burn_op_find) loads burn_acme.so. Where no kernel suits
 * the backend or accepts the call, the op's decomposition runs, so it works everywhere, under every decorator. Its
 * gradient is `backward`, else that of the decomposition. */
#ifndef BURN_PLUGIN_KERNELS_H
#define BURN_PLUGIN_KERNELS_H

#include <burn/plugin/build.h>
#include <burn/plugin/device.h>
#include <burn/plugin/plugin.h>

/* What a backward rule gets and gives; primitives belong to `backend`. */
typedef struct BurnBackwardCall {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attr_count;
  BurnPrimitive *const *inputs;       /* [input_count]: those in saved_inputs, else NULL */
  BurnPrimitive *const *outputs;      /* [output_count]: those in saved_outputs, else NULL */
  BurnPrimitive *const *output_grads; /* [output_count]: gradients that arrived; NULL where none did */
  const BurnTensorDesc *input_descs;  /* [input_count] of all inputs; rank 0 for an absent optional one */
  const BurnTensorDesc *output_descs; /* [output_count] */
  const BurnAttr *attrs;              /* [attr_count], as in the forward call */
  uint64_t needed;                    /* bit i: the gradient of input i is asked for */
  BurnPrimitive **input_grads; /* [input_count], all NULL: one new reference each, with the input's shape and dtype;
                                  one that stays NULL lets no gradient through */
  const BurnExtension *next;   /* extensions; NULL: none */
} BurnBackwardCall;

/* An op of a pack. Lives in read-only data as long as the process. */
struct BurnOpDefinition {
  uint32_t struct_size;
  uint32_t reserved;

  /* Name "pack.op", kinds, inputs, attributes, outputs, traits, doc; the host sets `op`, `is_composite` and `gradient`
   * in a copy of its own: RULE with backward, else VIA with a decomposition, else CONSTANT. */
  const BurnOpInfo *info;

  /* Shape and dtype of every output, or a failure that says what is wrong, with the shapes. Counts, presence of inputs,
   * kind of the first input and tags of attributes have been checked. */
  BurnStatus(BURN_API_CALL *infer)(const BurnHost *host, const BurnOpCall *call, BurnTensorDesc *out);

  /* The op written with other ops, on any backend (build.h); ends with burn_builder_finish. NULL only if there is a
   * kernel for every backend that is to run it. */
  BurnStatus(BURN_API_CALL *decompose)(const BurnHost *host, const BurnBackend *backend, const BurnOpCall *call);

  /* The gradient, written with other ops; NULL: that of the decomposition. On failure input_grads are all NULL. */
  BurnStatus(BURN_API_CALL *backward)(const BurnHost *host, const BurnBackend *backend, const BurnBackwardCall *call);

  uint32_t saved_inputs;  /* bit i: backward reads input i */
  uint32_t saved_outputs; /* bit i: backward reads output i */

  /* Bit i: no gradient flows to input i, whatever its dtype is: a float target, a mask, running statistics. It is not
   * asked for. */
  uint32_t constant_inputs;
  uint32_t reserved_end;
};
#define BURN_OP_DEFINITION_MIN_BYTES BURN_BYTES_THROUGH(BurnOpDefinition, reserved_end)

/* A tensor in memory that this process can read. Frozen layout. Element [i, j] is at data + (i * strides[0] + j *
 * strides[1]) elements. */
typedef struct BurnTensorView {
  void *data;             /* first element; NULL for an absent optional input */
  const int64_t *shape;   /* [rank] */
  const int64_t *strides; /* [rank], in elements; 0 and negative ones occur in inputs */
  BurnDType dtype;
  uint32_t rank;
} BurnTensorView;

/* One call of a kernel. Inputs must not be written; outputs are new, row-major, uninitialised. */
typedef struct BurnKernelCall {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attr_count;
  const BurnTensorView *inputs;  /* [input_count] */
  const BurnTensorView *outputs; /* [output_count] */
  const BurnAttr *attrs;         /* [attr_count] */
  const BurnHost *host;          /* parallel_for, fail, allocate ... */
  const BurnExtension *next;     /* extensions; NULL: none */
} BurnKernelCall;

/* A kernel for host memory. Of several for one op the one with the highest priority that accepts runs. A priority below
 * 0 says that the op's parts, fused with their neighbours, are the better choice where a decorator can do that. */
typedef struct BurnKernel {
  uint32_t struct_size;
  int32_t priority;
  const char *op; /* "pack.op" of this pack */

  /* Optional. 1 if this very call (shapes, dtypes, strides, attributes) can be run, else 0 with a reason in `why`. */
  int32_t(BURN_API_CALL *accept)(const BurnOpCall *call, char *why, uint64_t why_bytes);

  BurnStatus(BURN_API_CALL *run)(const BurnKernelCall *call);
} BurnKernel;
#define BURN_KERNEL_MIN_BYTES BURN_BYTES_THROUGH(BurnKernel, run)

/* A kernel for devices. It runs where the backend has "burn.device" with the slots for kernels and takes one of the
 * codes; the first that it takes is loaded, once per instance. Otherwise as BurnKernel; where both are possible, the
 * device's comes first. One that cannot be loaded (a mistake in the code, no compiler) is told once, as a warning with
 * the compiler's words, and counts as absent. */
typedef struct BurnDeviceKernel {
  uint32_t struct_size;
  int32_t priority;
  const char *op;                     /* "pack.op" of this pack */
  const char *entry;                  /* the function in the code */
  const BurnDeviceCode *const *codes; /* [code_count], the best first */
  uint32_t code_count;
  uint32_t row_major; /* bit i: input i is wanted row-major. Of one that is not and whose strides nobody knows, the
                         kernel cannot run */

  /* Optional, as of BurnKernel. */
  int32_t(BURN_API_CALL *accept)(const BurnOpCall *call, char *why, uint64_t why_bytes);

  /* How this call is started: groups, threads, parameters. `views` has call->input_count inputs and then
   * call->output_count outputs, with shapes and strides, as the kernel will find them, and without data. *out comes
   * with struct_size and row_major set, the rest cleared. */
  BurnStatus(BURN_API_CALL *plan)(const BurnHost *host, const BurnOpCall *call, const BurnTensorView *views,
                                  BurnDeviceLaunch *out);
} BurnDeviceKernel;
#define BURN_DEVICE_KERNEL_MIN_BYTES BURN_BYTES_THROUGH(BurnDeviceKernel, plan)

/* Interface "burn.kernels", version 1. */
typedef struct BurnKernelsInterface {
  uint32_t struct_size;
  uint32_t version;
  uint32_t op_count;
  uint32_t kernel_count;
  const BurnOpDefinition *const *ops;
  const BurnKernel *const *kernels;
  /* Optional. Tells the numbers that the host gave to the pack's ops, numbers[i] to ops[i], before any of them is
   * called: for rules that call them. They stay the same for the life of the process. Where a process has two copies of
   * libburn (two programs' bundles in one Python, say), both load the pack, which is there once, and each tells numbers
   * of its own: a rule that is to be right there asks `host->op_find("pack.op")->op` instead. */
  void(BURN_API_CALL *registered)(const uint32_t *numbers);
  const BurnDeviceKernel *const *device_kernels; /* [device_kernel_count] */
  uint32_t device_kernel_count;
  uint32_t reserved;
} BurnKernelsInterface;
#define BURN_KERNELS_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnKernelsInterface, reserved)

#endif
