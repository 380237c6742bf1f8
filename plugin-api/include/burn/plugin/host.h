/* host.h - what the host lends to plugins. Plugins link to nothing of ours: everything comes through this table, handed
 * over when an instance is opened and valid for the life of the process. All functions are safe from any thread.
 *
 * A `const BurnBackend *` that the host takes is the pointer that it has given: `next`, `backend`, or `out` of open. A
 * copy of that table, as a wrapper in C++ or Rust may keep it, is none: there is more behind the host's.
 *
 * A program may fork. The host knows which of the program's threads are in a call, not what threads of a plugin's own
 * do: a plugin that has some and locks which they take keeps them still meanwhile, by pthread_atfork. */
#ifndef BURN_PLUGIN_HOST_H
#define BURN_PLUGIN_HOST_H

#include <burn/plugin/op.h>

typedef struct BurnBackend BurnBackend;
typedef struct BurnOpDefinition BurnOpDefinition; /* kernels.h */
typedef struct BurnOptions BurnOptions;           /* the options of one part of a stack text; opaque */

/* Levels of host->log. BURN_LOG=off|error|warn|info|debug chooses what is printed, to stderr; default warn. */
enum BurnLogLevel { BURN_LOG_ERROR = 1, BURN_LOG_WARN = 2, BURN_LOG_INFO = 3, BURN_LOG_DEBUG = 4 };

/* The body of a parallel loop: does items begin .. end-1. */
typedef void(BURN_API_CALL *BurnLoopBody)(void *context, int64_t begin, int64_t end);

/* What the host does for a plugin. Given to open; lives as long as the process, for any thread. */
typedef struct BurnHost {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;

  /* Makes a failed status with the given code (BURN_STATUS_*; what is none becomes INTERNAL) and message, which is
   * copied. `file` and `line` say where; `file` is read during this call only. `file` NULL: it was made before, and
   * kept by the plugin. Every failure of the framework is made here: a breakpoint on burn__status_make sees all. */
  BurnStatus(BURN_API_CALL *fail)(uint32_t code, const char *file, int32_t line, const char *message);

  /* Puts "prefix: " before the message of a failed status; BURN_OK stays BURN_OK. */
  BurnStatus(BURN_API_CALL *annotate)(BurnStatus status, const char *prefix);

  /* Copies the message of a status into buffer (always terminated) and returns its length. */
  uint64_t(BURN_API_CALL *status_message)(BurnStatus status, char *buffer, uint64_t buffer_bytes);

  void(BURN_API_CALL *log)(uint32_t level, const char *component, const char *text);

  /* 1 if messages of this level are printed, so that costly texts need not be built. */
  int32_t(BURN_API_CALL *log_enabled)(uint32_t level);

  /* Memory aligned to 64 bytes, not cleared; NULL when there is none. Give the same size back to free. free: NULL is
   * allowed.
   */
  void *(BURN_API_CALL *allocate)(uint64_t bytes);
  void(BURN_API_CALL *free)(void *memory, uint64_t bytes);

  /* The value of an option of this instance ("threads" of "ndarray:threads=1"), or NULL. The host refuses options that
   * nobody asked for, so every open function asks for all the options it knows, each time (burn_options_ask of
   * options.h). The text is valid until open returns. */
  const char *(BURN_API_CALL *option)(const BurnOptions *options, const char *key);

  /* Runs body over 0 .. count-1 in chunks of at least `grain` items on the host's threads and the caller; returns when
   * all are done. Chunks never overlap; their borders depend on count and the number of threads, so a body whose result
   * depends on the borders is wrong. Calls from within a body run serially. */
  void(BURN_API_CALL *parallel_for)(int64_t count, int64_t grain, BurnLoopBody body, void *context);
  uint32_t(BURN_API_CALL *thread_count)(void); /* threads that parallel_for uses, the caller included; at least 1 */

  uint64_t(BURN_API_CALL *now_ns)(void);  /* monotonic clock */
  uint64_t(BURN_API_CALL *next_id)(void); /* unique in the process, from 1 */

  /* The description of an op by number or name; NULL if there is none. Read-only, lives as long as the process. op_find
   * knows ops of packs that have been loaded, and loads none. */
  const BurnOpInfo *(BURN_API_CALL *op_info)(uint32_t op);
  const BurnOpInfo *(BURN_API_CALL *op_find)(const char *name);

  /* Runs a call on a backend: fills what is missing in it (attributes, output_descs), then lets the backend's own
   * kernel or the op's decomposition do it. Decorators call this, not next->submit, so that the decorator below need
   * not have every op. Returns the first failure; then no output is set. */
  BurnStatus(BURN_API_CALL *invoke)(const BurnBackend *backend, const BurnOpCall *call);

  /* Fills out[0 .. output_count-1] by the op's shape rule, missing attributes by defaults, or says what is wrong. */
  BurnStatus(BURN_API_CALL *infer)(const BurnOpCall *call, BurnTensorDesc *out);

  /* Runs the decomposition of a call op by op on `backend`, whatever the backend supports itself. UNIMPLEMENTED if the
   * op has none. Missing attributes have their defaults. */
  BurnStatus(BURN_API_CALL *decompose)(const BurnBackend *backend, const BurnOpCall *call);

  /* Further services by name (services.h); NULL when unknown. */
  const void *(BURN_API_CALL *get_interface)(const char *name, uint32_t min_version);

  /* The definition of an op of a kernel pack (op >= BURN_OP_LIMIT); NULL for others. For decorators that differentiate.
   */
  const BurnOpDefinition *(BURN_API_CALL *op_definition)(uint32_t op);

  /* The facts of a dtype; NULL for a number without one. Read-only, lives as long as the process. */
  const BurnDTypeInfo *(BURN_API_CALL *dtype_info)(BurnDType dtype);

  /* 1 if the backend below `level` (or level itself) may run an op of a pack by one of the pack's kernels, which is to
   * run rather than the op's parts (a priority of 0 or more). For decorators that would decompose it otherwise. */
  int32_t(BURN_API_CALL *runs_pack_kernel)(const BurnBackend *level, uint32_t op);
} BurnHost;
#define BURN_HOST_MIN_BYTES BURN_BYTES_THROUGH(BurnHost, runs_pack_kernel)

#endif
