/* device.h - the interface "burn.device" of a backend: what a device is, work that the host does not wait for, memory
 * and queue as the device's own API knows them.
 *
 * A backend without it is complete: the host then uses create, read and sync of the table, which wait. A backend whose
 * submit returns before the work is done should have it. Decorators do not forward it: the host walks down the stack,
 * unwrapping tensors, and talks to the backend itself.
 *
 * One queue per instance: whatever is submitted, created, read, written or copied through one instance takes effect in
 * that order. A failure of work that was accepted earlier is reported by the next function that can report one (submit,
 * sync, event_wait, read_async, ..), with the names of the ops that may have caused it; later calls of the instance may
 * fail with the same cause, other instances and the process go on. */
#ifndef BURN_PLUGIN_DEVICE_H
#define BURN_PLUGIN_DEVICE_H

#include <burn/plugin/backend.h>

/* The name to ask get_interface for. */
#define BURN_DEVICE_INTERFACE_NAME "burn.device"

/* Kinds of a device. */
enum BurnDeviceKind {
  BURN_DEVICE_KIND_OTHER = 0,
  BURN_DEVICE_KIND_CPU = 1,
  BURN_DEVICE_KIND_DISCRETE_GPU = 2,
  BURN_DEVICE_KIND_INTEGRATED_GPU = 3,
  BURN_DEVICE_KIND_ACCELERATOR = 4
};

/* What there is to know of a device. The caller sets struct_size and clears the rest; the callee fills what it knows
 * and what lies within struct_size. Texts end with a zero and are UTF-8. */
typedef struct BurnDeviceDescription {
  uint32_t struct_size;
  uint32_t kind;         /* BURN_DEVICE_KIND_* */
  uint32_t index;        /* the number after the colon in "cuda:0" */
  uint32_t unit_count;   /* multiprocessors, compute units, cores; 0 if unknown */
  int64_t memory_bytes;  /* total; 0 if unknown */
  int64_t free_bytes;    /* not used by anybody now; 0 if unknown */
  uint8_t uuid[16];      /* as the driver gives it, the same in every API; zeros if unknown */
  char pci_address[16];  /* "0000:3b:00.0"; "" if unknown or none */
  char name[128];        /* "NVIDIA H200" */
  char driver[64];       /* "CUDA 13.0, driver 580.159" */
  char architecture[64]; /* "sm_90", "gfx942", "x86-64 avx512" */
} BurnDeviceDescription;

/* A point in the queue of the instance that made it; opaque. It is done when all work submitted before it is. Belongs
 * to the caller of the function that made it, until event_release. */
typedef struct BurnEvent BurnEvent;

/* Where the elements of a tensor lie, for whoever calls the device's own API. Borrowed: valid while the tensor is. */
typedef struct BurnNativeMemory {
  uint32_t struct_size;
  uint32_t reserved;
  const char *api;      /* "cuda", "vulkan", "metal", "host": says what the handle is */
  void *handle;         /* cuda: CUdeviceptr of the allocation as a pointer; vulkan: VkBuffer; host: an address */
  uint64_t byte_offset; /* of the first element */
  uint64_t bytes;       /* from there to the end of the last element */
} BurnNativeMemory;

/* The queue of an instance. Whoever puts work of its own there must leave the context as it was. */
typedef struct BurnNativeQueue {
  uint32_t struct_size;
  uint32_t reserved;
  const char *api; /* as above */
  void *queue;     /* cuda: CUstream; vulkan: VkQueue; NULL is the default stream of cuda */
  void *context;   /* cuda: CUcontext; vulkan: VkDevice */
} BurnNativeQueue;

/* -- kernels of packs (kernels.h) -------------------------------------------------------------- */

/* What the code of a kernel is. A backend and its packs may agree on forms of their own, from BURN_CODE_FIRST_PRIVATE
 * up. */
enum BurnCodeFormat {
  BURN_CODE_CUDA_C = 1, /* CUDA C++ text, which the backend compiles for its device; the function is extern "C" */
  BURN_CODE_PTX = 2,    /* text */
  BURN_CODE_CUBIN = 3,  /* an image for one architecture, or a fatbin */
  BURN_CODE_SPIRV = 4,  /* words of a compute shader */
  BURN_CODE_FIRST_PRIVATE = 65536
};

/* Code that a device may run. Lives in read-only data as long as the process. */
typedef struct BurnDeviceCode {
  uint32_t struct_size;
  uint32_t format;          /* BURN_CODE_* */
  const char *architecture; /* only for devices whose description says so ("sm_90"); NULL: any that takes the format */
  const void *data;
  uint64_t bytes; /* of data; texts without their terminating zero */
} BurnDeviceCode;
#define BURN_DEVICE_CODE_MIN_BYTES BURN_BYTES_THROUGH(BurnDeviceCode, bytes)

/* What the least of devices has room for (Vulkan's push constants). */
#define BURN_MAX_PARAMETER_BYTES 128

/* One start of a kernel. Its arguments are, in this order and 8 bytes each, the addresses of the first elements of all
 * inputs (0 for one that is absent) and of all outputs; then the parameters. In CUDA they are the parameters of the
 * function, the parameters one struct by value (left out where parameter_bytes is 0). In SPIR-V they are the push
 * constants, from byte 0; the device may have room for 128 bytes. */
typedef struct BurnDeviceLaunch {
  uint32_t struct_size;
  uint32_t groups[3];       /* blocks, workgroups; 0 in any: nothing is started */
  uint32_t threads[3];      /* in a group; of SPIR-V the specialisation constants 0 to 2 */
  uint32_t shared_bytes;    /* of memory that a group shares, beyond what the code declares */
  uint32_t parameter_bytes; /* used of parameters, a multiple of 8 where a member needs that */
  uint32_t row_major;       /* bit i: input i is handed over row-major, as a copy where it is not */
  uint64_t parameters[BURN_MAX_PARAMETER_BYTES / 8];
} BurnDeviceLaunch;

/* A kernel that a backend has made ready; opaque. */
typedef struct BurnLoadedKernel BurnLoadedKernel;

/* What get_interface(BURN_DEVICE_INTERFACE_NAME) gives, version 1. All functions may be called from any thread. Slots
 * marked optional may be NULL. */
typedef struct BurnDeviceInterface {
  uint32_t struct_size;
  uint32_t version;

  /* Fills out; see BurnDeviceDescription. */
  BurnStatus(BURN_API_CALL *describe)(void *self, BurnDeviceDescription *out);

  /* Optional. Memory of the host that the device copies from and to without a detour (pinned); `bytes` is at least 1.
   * The caller frees it with staging_free, after the last copy from or to it is done. Without these slots any memory
   * will do. */
  BurnStatus(BURN_API_CALL *staging_allocate)(void *self, uint64_t bytes, void **out);
  void(BURN_API_CALL *staging_free)(void *self, void *memory, uint64_t bytes);

  /* As create of the table, but `data` (not NULL, row-major) is copied in the queue: it stays unchanged until *done is.
   * On failure neither output is set. */
  BurnStatus(BURN_API_CALL *create_async)(void *self, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out,
                                          BurnEvent **done);

  /* As read of the table, but `data` is filled when *done is. x is borrowed for the call: the backend keeps what it
   * needs, and later work cannot change the values that arrive. */
  BurnStatus(BURN_API_CALL *read_async)(void *self, BurnPrimitive *x, void *data, uint64_t bytes, BurnEvent **done);

  /* Optional. Puts new elements into x, whose storage the caller alone holds (else FAILED_PRECONDITION); otherwise as
   * create_async. The address of x stays: a captured graph reads the new values. */
  BurnStatus(BURN_API_CALL *write_async)(void *self, BurnPrimitive *x, const void *data, uint64_t bytes,
                                         BurnEvent **done);

  /* Optional. A copy of x, a tensor of `source`, which is another instance of this plugin on any device; without host
   * memory. UNIMPLEMENTED if these two devices cannot: the caller goes through the host. Work on x that is in the queue
   * of `source` comes first, without a wait of the host. */
  BurnStatus(BURN_API_CALL *copy_from)(void *self, const BurnBackend *source, BurnPrimitive *x, BurnPrimitive **out);

  /* An event at the end of the queue. */
  BurnStatus(BURN_API_CALL *event_record)(void *self, BurnEvent **out);
  /* *done becomes 1 or 0, at once. */
  BurnStatus(BURN_API_CALL *event_query)(void *self, BurnEvent *event, int32_t *done);
  /* The host waits. Reports a failure of the work before the event. May be called again. */
  BurnStatus(BURN_API_CALL *event_wait)(void *self, BurnEvent *event);
  /* Ends an event, done or not; the work goes on. NULL is allowed. */
  void(BURN_API_CALL *event_release)(void *self, BurnEvent *event);

  /* Optional. For packs and programs with kernels of their own, see the structs. The caller sets struct_size; work on x
   * that was submitted comes before work put into the native queue afterwards. */
  BurnStatus(BURN_API_CALL *native_memory)(void *self, BurnPrimitive *x, BurnNativeMemory *out);
  BurnStatus(BURN_API_CALL *native_queue)(void *self, BurnNativeQueue *out);

  /* Optional, all four or none: kernels of packs on this device. kernel_takes_code answers at once, from format and
   * architecture alone: 1 or 0. kernel_load makes the function `entry` ready; a failure has the compiler's words.
   * kernel_launch makes call->outputs by call->output_descs and puts the kernel into the queue; the inputs are
   * borrowed, as in submit. A loaded kernel belongs to the caller, who unloads it before the instance is closed. */
  int32_t(BURN_API_CALL *kernel_takes_code)(void *self, const BurnDeviceCode *code);
  BurnStatus(BURN_API_CALL *kernel_load)(void *self, const BurnDeviceCode *code, const char *entry,
                                         BurnLoadedKernel **out);
  void(BURN_API_CALL *kernel_unload)(void *self, BurnLoadedKernel *kernel);
  BurnStatus(BURN_API_CALL *kernel_launch)(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                           const BurnDeviceLaunch *launch);

#if BURN_TARGET_MINOR >= 5
  /* Optional, both or none: an event at the end of the queue that keeps the time at which it was reached, and
   * the seconds from one such event to another. Both are done, else FAILED_PRECONDITION: nothing is waited for. */
  BurnStatus(BURN_API_CALL *timed_event_record)(void *self, BurnEvent **out);
  BurnStatus(BURN_API_CALL *event_elapsed)(void *self, BurnEvent *first, BurnEvent *second, double *seconds);
#endif
} BurnDeviceInterface;
#define BURN_DEVICE_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnDeviceInterface, kernel_launch)

#endif
