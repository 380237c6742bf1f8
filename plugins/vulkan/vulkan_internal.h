/* vulkan_internal.h - what the files of the Vulkan backend share: the instance, its device, queue and memory.
 *
 * All work of an instance goes into one queue, in the order in which it was recorded, so memory that is released may be
 * handed out again at once: whoever gets it works later. Kernels get addresses, so there are no descriptors. */
#ifndef BURN_VULKAN_INTERNAL_H
#define BURN_VULKAN_INTERNAL_H

#include "kernel.h"
#include "vulkan_caps.h"

#include <gpu_backend.h>
#include <gpu_memory.h>
#include <gpu_replay.h>

/* A buffer of its own memory. */
typedef struct VulkanBuffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
  char *mapped; /* NULL where the host does not see it */
  GpuAddress address;
  uint64_t bytes;
} VulkanBuffer;

/* A part of a buffer. */
typedef struct VulkanSpan {
  VkBuffer buffer;
  uint64_t offset;
} VulkanSpan;

typedef struct VulkanMemory VulkanMemory;       /* vulkan_memory.c */
typedef struct VulkanQueue VulkanQueue;         /* vulkan_queue.c */
typedef struct VulkanTransfers VulkanTransfers; /* vulkan_transfer.c */
typedef struct VulkanWarm VulkanWarm;           /* vulkan_warm.c */
typedef struct VulkanProfile VulkanProfile;     /* vulkan_profile.c */

/* Which products go by matrices of subgroups: none, those that gain by it, all. */
typedef enum VulkanMatrices { VULKAN_MATRICES_NEVER, VULKAN_MATRICES_AUTO, VULKAN_MATRICES_ALWAYS } VulkanMatrices;

/* Whether kernels of an earlier run are compiled in a thread: never, on GPUs, always. */
typedef enum VulkanWarmUp { VULKAN_WARM_UP_NEVER, VULKAN_WARM_UP_AUTO, VULKAN_WARM_UP_ALWAYS } VulkanWarmUp;

/* How kernels round to f16: as the self-test says; by integers where they go on with the result; always by integers. */
typedef enum VulkanHalves { VULKAN_HALVES_AUTO, VULKAN_HALVES_ROUND_TRIPS, VULKAN_HALVES_BITS } VulkanHalves;

/* What the user may say; see vulkan_plugin.c. */
typedef struct VulkanSettings {
  uint64_t memory_limit, wait_seconds;
  uint64_t shared_limit, group_limit, thread_limit, allocation_limit; /* to cut capabilities down */
  bool subgroups, float_controls;                                     /* false: not used though they are there */
  bool cache, primitives, all_barriers;
  bool kernels_of_gpus; /* on processors, too */
  uint32_t halves;      /* VulkanHalves */
  uint32_t matrices;    /* VulkanMatrices */
  uint32_t matrix_tile; /* 0: auto; else that of plugins/gpu/gpu_matrices.c + 1 */
  uint32_t precision;   /* GpuPrecision */
  uint32_t warm_up;     /* VulkanWarmUp */
  bool profile;         /* kernels are timed, and steps not replayed */
  char dump[512];       /* folder; "": none */
} VulkanSettings;

/* An opened instance. */
typedef struct Vulkan {
  Gpu gpu; /* first */
  const VulkanInstance *instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VulkanCalls calls;
  VulkanCaps caps;
  VulkanSettings settings;
  KernelTarget target;     /* what the device's arithmetic is like */
  _Atomic uint32_t broken; /* the VkResult that ended this instance; 0: it works */
  VulkanMemory *memory;
  VulkanQueue *queue;
  VulkanTransfers *transfers;
  VulkanWarm *warm;          /* NULL: kernels are compiled when they are needed */
  VulkanProfile *profile;    /* NULL: kernels are not timed */
  GpuWork *recorded;         /* of the thread that alone is inside; NULL: nobody records */
  _Atomic uint64_t barriers; /* put so far, by number */
  VulkanBuffer complaint;    /* where kernels say what was wrong */
  VkPipelineLayout layout;
  VkPipelineCache pipelines;
  _Atomic uint64_t cache_bytes;   /* of `pipelines` when it was last read or written */
  _Atomic uint32_t new_pipelines; /* since then */
  _Atomic uint32_t save_after;    /* how many new ones make it worth writing again */
} Vulkan;

static inline Vulkan *vulkan_of(Gpu *gpu) { return (Vulkan *)(void *)gpu; }

/* Why the device cannot be asked any more: the VkResult that ended this instance, or VULKAN_FORKED; 0: it works. */
#define VULKAN_FORKED VK_RESULT_MAX_ENUM
static inline VkResult vulkan_broken(const Vulkan *vulkan) {
  if (vulkan->instance->is_forked) return VULKAN_FORKED;
  return (VkResult)atomic_load_explicit(&vulkan->broken, memory_order_relaxed);
}

/* True if it may still be at work: it does not answer, or works for the process that forked. What it works with stays,
 * and no call may wait for it. */
static inline bool vulkan_is_beyond_reach(const Vulkan *vulkan) {
  const VkResult broken = vulkan_broken(vulkan);
  return broken == VK_TIMEOUT || broken == VULKAN_FORKED;
}

#define VULKAN_FAIL(vulkan, CODE, ...) GPU_FAIL(&(vulkan)->gpu, CODE, __VA_ARGS__)

/* -- vulkan_device.c -------------------------------------------------------------------------- */

/* Makes the device and what belongs to it; on failure as far as it got. */
BurnStatus burn__vulkan_device_open(Vulkan *vulkan);
/* Waits, and ends what device_open has made. */
void burn__vulkan_device_close(Vulkan *vulkan);

/* BURN_OK, or the failure of a call: "what: VK_ERROR_..". A device that is lost marks the instance, whose later calls
 * then fail with it. */
BurnStatus burn__vulkan_check(Vulkan *vulkan, VkResult result, const char *what);
/* Marks the instance, and fails with the reason and the last ops. */
BurnStatus burn__vulkan_break(Vulkan *vulkan, VkResult result, const char *why);

/* BURN_OK unless the device has failed. */
BurnStatus burn__vulkan_works(Vulkan *vulkan);

/* Of the table that the floor calls. */
BurnStatus burn__vulkan_enter(Gpu *gpu);
void burn__vulkan_leave(Gpu *gpu);
BurnStatus burn__vulkan_finish(Gpu *gpu);

/* -- vulkan_events.c: of the table, and "burn.device" ------------------------------------------ */

BurnStatus burn__vulkan_event_new(Gpu *gpu, bool is_timed, BurnEvent **out);
BurnStatus burn__vulkan_event_query(Gpu *gpu, BurnEvent *event, bool *done);
BurnStatus burn__vulkan_event_wait(Gpu *gpu, BurnEvent *event);
void burn__vulkan_event_release(Gpu *gpu, BurnEvent *event);
BurnStatus burn__vulkan_event_elapsed(Gpu *gpu, BurnEvent *first, BurnEvent *second, double *seconds);
/* From one reading of the queue's clock to another. */
double burn__vulkan_seconds(const Vulkan *vulkan, uint64_t begin, uint64_t end);

extern const BurnDeviceInterface burn__vulkan_device_interface;

/* -- vulkan_buffer.c -------------------------------------------------------------------------- */

/* A buffer with memory for a purpose. VK_ERROR_OUT_OF_DEVICE_MEMORY and the like where there is none. */
VkResult burn__vulkan_buffer_make(Vulkan *vulkan, VulkanPlace place, uint64_t bytes, VulkanBuffer *out);
/* Nothing in the queue uses it any more. One that was not made is allowed. */
void burn__vulkan_buffer_end(Vulkan *vulkan, VulkanBuffer *buffer);

/* -- vulkan_memory.c -------------------------------------------------------------------------- */

BurnStatus burn__vulkan_memory_create(Vulkan *vulkan);
/* With all work done. What is still handed out goes, too. */
void burn__vulkan_memory_destroy(Vulkan *vulkan);

/* Where an address lies, with the `memory` of its storage; and the first element of a tensor. */
VulkanSpan burn__vulkan_span_at(GpuAddress address, const void *memory);
VulkanSpan burn__vulkan_span(const BurnPrimitive *x);
/* The same as the host sees it; NULL where it does not. */
char *burn__vulkan_mapped(const BurnPrimitive *x);

/* -- vulkan_order.c --------------------------------------------------------------------------- */

/* What is recorded: a barrier knows it. */
typedef enum VulkanWork { VULKAN_KERNELS, VULKAN_COPIES, VULKAN_HOST, VULKAN_ANYTHING } VulkanWork;

/* What comes one after the other, as far as barriers have ordered it. */
typedef struct VulkanOrder {
  VulkanWork last;  /* whatever came before is ordered before it */
  bool is_unknown;  /* which memory was touched since the last barrier */
  uint64_t barrier; /* the number of that */
} VulkanOrder;

/* Adds work that touches this, or any memory (NULL). True: it needs a barrier before it, from order->last as it was. */
bool burn__vulkan_needs_barrier(Vulkan *vulkan, VulkanOrder *order, VulkanWork work, const GpuTouched *touched);
void burn__vulkan_put_barrier(Vulkan *vulkan, VkCommandBuffer commands, VulkanWork first, VulkanWork then);

/* -- vulkan_queue.c --------------------------------------------------------------------------- */

BurnStatus burn__vulkan_queue_create(Vulkan *vulkan);
void burn__vulkan_queue_destroy(Vulkan *vulkan);
VkQueue burn__vulkan_queue_handle(const Vulkan *vulkan);

/* From begin to end this thread alone records copies. begin gives the command buffer, after a barrier that orders what
 * follows after all that was recorded. */
BurnStatus burn__vulkan_record_begin(Vulkan *vulkan, VulkanWork work, VkCommandBuffer *out);
/* `weight`: what counts towards the next submission, as dispatches. */
BurnStatus burn__vulkan_record_end(Vulkan *vulkan, uint32_t weight);

/* A dispatch with a pipeline and push constants. */
typedef struct VulkanDispatch {
  VkPipeline pipeline;
  uint32_t groups[3];
  const void *parameters; /* in the push constants, or copied and given by address */
  uint32_t bytes;
  uint32_t group_count;
  bool in_push_constants;
  bool is_whole;               /* the parameters are all push constants that there are */
  const GpuTouched *touched;   /* NULL: any memory */
  const GpuFunction *function; /* NULL: of a kernel pack */
} VulkanDispatch;
/* Into the queue, or into what is recorded. */
BurnStatus burn__vulkan_dispatch(Vulkan *vulkan, const VulkanDispatch *dispatch);
/* Into a command buffer, with parameters at an address unless they are push constants; *bound: the pipeline there. */
void burn__vulkan_put_dispatch(Vulkan *vulkan, const VulkanDispatch *dispatch, GpuAddress parameters, VkPipeline *bound,
                               VkCommandBuffer commands);

/* Submits what is recorded, and then a command buffer that waits for nothing and has a barrier for the host. */
BurnStatus burn__vulkan_submit_recorded(Vulkan *vulkan, VkCommandBuffer commands, uint64_t *value);
/* Submits what is recorded; *value: what the timeline has when it is done. */
BurnStatus burn__vulkan_submit(Vulkan *vulkan, uint64_t *value);
/* True if all that was recorded is done, so that the host may touch memory of tensors. */
bool burn__vulkan_is_idle(Vulkan *vulkan);
/* True if the timeline has come to a value; asks the driver only where it must. */
BurnStatus burn__vulkan_is_done(Vulkan *vulkan, uint64_t value, bool *done);
/* Waits for a value that was submitted. */
BurnStatus burn__vulkan_wait_for(Vulkan *vulkan, uint64_t value);
/* Submits and waits for everything; counts no wait of the host, complains of nothing. */
BurnStatus burn__vulkan_drain(Vulkan *vulkan);

/* Room in memory of the host that the device uses, too, until what is recorded with it is done. Between begin and end,
 * at most VULKAN_MAX_STAGED bytes, aligned to 16. The command buffer may be another one afterwards. */
enum { VULKAN_MAX_STAGED = 4 << 20 };
typedef enum VulkanDirection { VULKAN_UP, VULKAN_DOWN, VULKAN_DIRECTIONS } VulkanDirection;
typedef struct VulkanStaged {
  VulkanSpan span;
  char *mapped;
  GpuAddress address;
} VulkanStaged;
BurnStatus burn__vulkan_stage(Vulkan *vulkan, VulkanDirection direction, uint64_t bytes, VulkanStaged *out,
                              VkCommandBuffer *commands);
/* What was staged downwards is copied to `to` when what is recorded now is found to be done. Between begin and end.
 * False without memory of the host. */
bool burn__vulkan_copy_later(Vulkan *vulkan, const VulkanStaged *staged, void *to, uint64_t bytes);

/* -- vulkan_replay.c -------------------------------------------------------------------------- */

extern const GpuReplayWork burn__vulkan_replay_work;
/* While vulkan->recorded is set, instead of the queue. */
BurnStatus burn__vulkan_record_dispatch(Vulkan *vulkan, const VulkanDispatch *dispatch);

/* -- vulkan_transfer.c ------------------------------------------------------------------------ */

BurnStatus burn__vulkan_transfers_create(Vulkan *vulkan);
void burn__vulkan_transfers_destroy(Vulkan *vulkan);

/* A copy in the queue. */
BurnStatus burn__vulkan_copy(Vulkan *vulkan, VulkanSpan from, VulkanSpan to, uint64_t bytes);

/* Of the table that the floor calls. */
BurnStatus burn__vulkan_write(Gpu *gpu, const BurnPrimitive *to, const void *data, uint64_t bytes);
BurnStatus burn__vulkan_read(Gpu *gpu, void *data, const BurnPrimitive *from, uint64_t bytes);
BurnStatus BURN_API_CALL burn__vulkan_staging_allocate(void *self, uint64_t bytes, void **out);
void BURN_API_CALL burn__vulkan_staging_free(void *self, void *memory, uint64_t bytes);

/* -- vulkan_kernels.c: of the table ------------------------------------------------------------ */

BurnStatus burn__vulkan_load(Gpu *gpu, const char *source, GpuModule **out);
BurnStatus burn__vulkan_function(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out);
void burn__vulkan_settle(Gpu *gpu, GpuModule *module);
void burn__vulkan_unload(Gpu *gpu, GpuModule *module);
BurnStatus burn__vulkan_launch(Gpu *gpu, GpuFunction *function, uint32_t groups, uint32_t threads,
                               const void *parameters, size_t bytes);

/* A kernel of a module: with as many threads as its text says, or with so many along three axes. */
typedef struct VulkanEntry {
  const char *name;
  const uint32_t *threads;
} VulkanEntry;
/* Compiles it at the first call. One thread at a time works with a module. */
BurnStatus burn__vulkan_find_entry(Vulkan *vulkan, GpuModule *module, const VulkanEntry *entry, GpuFunction **out);
/* BURN_OK if it could be compiled, for all that is known without the driver. */
BurnStatus burn__vulkan_check_entry(Vulkan *vulkan, GpuModule *module, const VulkanEntry *entry);
/* INVALID_ARGUMENT for more groups than the device has along an axis. */
BurnStatus burn__vulkan_check_groups(Vulkan *vulkan, const uint32_t groups[3]);
/* A pipeline, from any thread; false, with no word, where the driver or the device's limits refuse it. */
bool burn__vulkan_try_pipeline(Vulkan *vulkan, const KernelModule *made, VkPipeline *out);
/* Starts one that has threads along three axes. */
BurnStatus burn__vulkan_launch_axes(Vulkan *vulkan, const GpuFunction *function, const uint32_t groups[3],
                                    const void *parameters, size_t bytes);

/* -- vulkan_pack.c: kernels of packs, slots of "burn.device" and of the table ------------------ */

int32_t BURN_API_CALL burn__vulkan_pack_takes_code(void *self, const BurnDeviceCode *code);
BurnStatus BURN_API_CALL burn__vulkan_pack_load(void *self, const BurnDeviceCode *code, const char *entry,
                                                BurnLoadedKernel **out);
void BURN_API_CALL burn__vulkan_pack_unload(void *self, BurnLoadedKernel *kernel);
BurnStatus burn__vulkan_pack_start(Gpu *gpu, BurnLoadedKernel *kernel, const BurnDeviceLaunch *launch,
                                   const uint64_t *words, size_t bytes);

/* -- vulkan_pack_words.c: those that come as words of SPIR-V ----------------------------------- */

enum { VULKAN_WORDS_PUSHED = 128 }; /* bytes of addresses and parameters */
typedef struct VulkanWords VulkanWords;
BurnStatus burn__vulkan_words_load(Vulkan *vulkan, const BurnDeviceCode *code, const char *entry, VulkanWords **out);
void burn__vulkan_words_drop(Vulkan *vulkan, VulkanWords *words); /* NULL is allowed */
/* Compiled at the first call with such a number of threads. One thread at a time works with the words. */
BurnStatus burn__vulkan_words_pipeline(Vulkan *vulkan, VulkanWords *words, const uint32_t threads[3], VkPipeline *out);

/* -- vulkan_selftest.c, vulkan_cache.c -------------------------------------------------------- */

/* Fills vulkan->target, and refuses a device whose integers or f64 are wrong. */
BurnStatus burn__vulkan_selftest(Vulkan *vulkan);
/* Gives back what a trial of the device had. A device that does not answer may still be at work: what it works with
 * stays. */
void burn__vulkan_end_trial(Vulkan *vulkan, BurnStatus status, VulkanBuffer *buffer, GpuModule *module);

/* Fills gpu.matrices with those of the device's that multiply right. */
BurnStatus burn__vulkan_try_matrices(Vulkan *vulkan);

/* The pipeline cache, with what the disk has of it; none if the user wants none. */
BurnStatus burn__vulkan_cache_open(Vulkan *vulkan);
/* Writes it to the disk if there is something new. */
void burn__vulkan_cache_save(Vulkan *vulkan);

/* Other files of this device beside it, named by a number: all bytes, to be freed with host->free, or NULL; and
 * written, if they can be. */
void *burn__vulkan_cache_read(const Vulkan *vulkan, uint64_t number, const char *ending, uint64_t *bytes);
void burn__vulkan_cache_write(const Vulkan *vulkan, uint64_t number, const char *ending, const void *data,
                              size_t bytes);
/* The program, the build of the plugin and the device's arithmetic as a number. */
uint64_t burn__vulkan_cache_identity(const Vulkan *vulkan);

/* -- vulkan_profile.c ------------------------------------------------------------------------- */

/* Batches of the queue, by whose numbers the functions below know them. */
enum { VULKAN_BATCHES = 16 };

/* Kernels are timed from here on, if option profile asks for it; failures leave what close ends. */
BurnStatus burn__vulkan_profile_open(Vulkan *vulkan);
/* With all work done: tells on stderr what took how long. */
void burn__vulkan_profile_close(Vulkan *vulkan);
/* A batch begins, whose last work is done. With the queue's mutex, as the two that follow. */
void burn__vulkan_profile_begin(Vulkan *vulkan, uint32_t number, VkCommandBuffer commands);
/* True if the dispatch that follows is timed: then `after` follows it. */
bool burn__vulkan_profile_before(Vulkan *vulkan, uint32_t number, const VulkanDispatch *dispatch,
                                 VkCommandBuffer commands);
void burn__vulkan_profile_after(Vulkan *vulkan, uint32_t number, VkCommandBuffer commands);

/* -- vulkan_warm.c ---------------------------------------------------------------------------- */

/* After the self-test: reads what the program used before and starts the thread; and ends it, with all work done, and
 * writes down what was used. */
void burn__vulkan_warm_open(Vulkan *vulkan);
void burn__vulkan_warm_close(Vulkan *vulkan);
/* A source, as numbers for the two that follow. */
uint64_t burn__vulkan_warm_source(const Vulkan *vulkan, const char *source);
/* True if a kernel was used before: its module, whose words stay until close, and its pipeline, which the caller
 * takes over, or NULL where it is for the caller to make. Waits for one that is being made. */
bool burn__vulkan_warm_take(Vulkan *vulkan, uint64_t source, const VulkanEntry *entry, KernelModule *made,
                            VkPipeline *out);
/* One that was not. */
void burn__vulkan_warm_add(Vulkan *vulkan, uint64_t source, const VulkanEntry *entry, const KernelModule *made);

#endif
