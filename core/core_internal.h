/* core_internal.h - what the files of core share. Names start with burn__ and are not exported. */
#ifndef BURN_CORE_INTERNAL_H
#define BURN_CORE_INTERNAL_H

#include <burn/autodiff.h>
#include <burn/device.h>
#include <burn/ops.h>
#include <burn/plugin/autodiff.h>
#include <burn/plugin/build.h>
#include <burn/plugin/device.h>
#include <burn/plugin/plugin.h>
#include <burn/tensor.h>

#include <pthread.h>
#include <stdatomic.h>

/* Variables of a thread that every op looks at: without a call where libraries of glibc have room for them. */
#if defined(__GLIBC__) && defined(__GNUC__)
#define BURN__THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define BURN__THREAD_LOCAL _Thread_local
#endif

/* The address of a byte that each thread has of its own: it identifies the thread. */
extern BURN__THREAD_LOCAL char burn__thread_mark_place;
static inline const void *burn__thread_mark(void) { return &burn__thread_mark_place; }

/* Functions that only failures and rare cases reach: kept out of the way of all others. */
#if defined(__GNUC__)
#define BURN__COLD __attribute__((cold, noinline))
#else
#define BURN__COLD
#endif

/* Steps of what every op passes through, which have a name only for their readers. */
#if defined(__GNUC__)
#define BURN__INLINE static inline __attribute__((always_inline))
#else
#define BURN__INLINE static inline
#endif

/* -- fork (fork_*.c) -------------------------------------------------------------------------- */

/* How deep a thread is in calls of libburn that may take locks: its own or a plugin's. Written by that thread alone. */
typedef struct BurnWork {
  atomic_uint depth;
  struct BurnWork *previous, *next;
} BurnWork;
extern BURN__THREAD_LOCAL BurnWork
    *burn__work; /* NULL: the thread has made no such call yet, or the process cannot go on */
BurnWork *burn__work_begin(void) BURN__COLD;    /* NULL in a child of fork that cannot go on */
BurnStatus burn__fork_failure(void) BURN__COLD; /* what such a child says */

/* Around every call from outside that reaches a plugin; false: fail with burn__fork_failure, and do not leave. */
static inline bool burn__work_enter(void) {
  BurnWork *work = burn__work;
  if (!work && !(work = burn__work_begin())) return false;
  const unsigned depth = atomic_load_explicit(&work->depth, memory_order_relaxed);
  atomic_store_explicit(&work->depth, depth + 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst); /* taking a lock has its own fence towards the processor */
  return true;
}
static inline void burn__work_leave(void) {
  const unsigned depth = atomic_load_explicit(&burn__work->depth, memory_order_relaxed);
  atomic_store_explicit(&burn__work->depth, depth - 1, memory_order_release);
}

/* Locks that fork_posix.c takes, each of the file that its name says. */
extern pthread_mutex_t burn__verdict_mutex, burn__registry_mutex, burn__pack_mutex, burn__kernel_mutex,
    burn__random_mutex, burn__path_mutex, burn__scope_mutex, burn__depot_mutex, burn__message_mutex;
/* In a child of fork: the pool's threads are gone; they are started again when they are wanted. */
void burn__pool_forked(void);

/* -- failures (status.c) ---------------------------------------------------------------------- */

BurnStatus burn__status_make(uint32_t code, const char *file, int line, const char *format, ...)
    BURN_PRINTF(4, 5) BURN__COLD;
#define BURN_FAIL(CODE, ...) burn__status_make(BURN_STATUS_##CODE, __FILE__, __LINE__, __VA_ARGS__)

/* A failure that travels, as a fresh status with this message: the hook has heard of it when it was made. */
BurnStatus burn__status_again(uint32_t code, const char *text) BURN__COLD;
/* A failure that host->fail made and whose message is still kept, not a number of a plugin's own. */
bool burn__status_has_message(BurnStatus status) BURN__COLD;

/* burn_shape_text in a buffer of the caller, of sizes that are in no BurnShape. */
const char *burn__shape_text(BurnShapeText *buffer, uint32_t rank,
                             const int64_t *shape) BURN__COLD; /* only for messages */
static inline const char *burn__shape_of(BurnShapeText *buffer, const BurnPrimitive *x) {
  return burn__shape_text(buffer, x->rank, x->shape);
}

void burn__log(uint32_t level, const char *component, const char *format, ...) BURN_PRINTF(3, 4);
/* A variable of the environment that is 1 or 0. Empty, or not set, is `otherwise`; so is any other text, with a warning
 * whenever it is asked for, which its users do once. */
bool burn__switch_variable(const char *name, bool otherwise);

/* -- host (host.c, parallel.c) ---------------------------------------------------------------- */

const BurnHost *burn__host(void);
const void *burn__host_interface(const char *name, uint32_t min_version); /* host_services.c */
void burn__parallel_for(int64_t count, int64_t grain, BurnLoopBody body, void *context);

/* Memory of at most BURN__SMALL_BYTES, aligned to 64 bytes, not cleared; NULL when there is none. Freed with its size,
 * by any thread (small_block.c). Size class n is n * 64 bytes; class 0, of nothing, is 64 bytes too. */
enum {
  BURN__SMALL_BYTES = 1024,
  BURN__SMALL_STEP = 64,
  BURN__SMALL_CLASSES = BURN__SMALL_BYTES / BURN__SMALL_STEP + 1
};

/* A free block; the first one of a magazine in the depot knows the next magazine. */
typedef struct BurnSmallBlock {
  struct BurnSmallBlock *next, *next_magazine;
} BurnSmallBlock;

/* Free blocks that a thread keeps of one class. */
typedef struct BurnSmallClass {
  BurnSmallBlock *blocks; /* the magazine in use */
  BurnSmallBlock *spare;  /* a full one, or NULL */
  uint32_t room;          /* blocks that still go into `blocks`; 0 in a thread that keeps none */
} BurnSmallClass;
extern BURN__THREAD_LOCAL BurnSmallClass burn__small_classes[BURN__SMALL_CLASSES];

void *burn__small_allocate_more(size_t bytes) BURN__COLD;          /* the thread's magazine is empty */
void burn__small_free_more(void *memory, size_t bytes) BURN__COLD; /* it is full, or the thread keeps none */

static inline BurnSmallClass *burn__small_class(size_t bytes) {
  return &burn__small_classes[(bytes + BURN__SMALL_STEP - 1) / BURN__SMALL_STEP];
}
static inline void *burn__small_allocate(size_t bytes) {
  BurnSmallClass *own = burn__small_class(bytes);
  BurnSmallBlock *block = own->blocks;
  if (!block) return burn__small_allocate_more(bytes);
  own->blocks = block->next;
  own->room++;
  return block;
}
static inline void burn__small_free(void *memory, size_t bytes) {
  BurnSmallClass *own = burn__small_class(bytes);
  BurnSmallBlock *block = (BurnSmallBlock *)memory;
  if (own->room == 0) {
    burn__small_free_more(memory, bytes);
    return;
  }
  block->next = own->blocks;
  own->blocks = block;
  own->room--;
}
/* Gives the free blocks of this thread and those of no thread back to the system. */
void burn__small_trim(void);

/* -- ops (op_table.c, infer/, decompose/, invoke.c) -------------------------------------------- */

typedef BurnStatus (*BurnInferRule)(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);
typedef void (*BurnDecomposition)(BurnBuilder *builder, const BurnOpCall *call, BurnPrimitive **out);

const BurnOpInfo *burn__op_info(uint32_t op); /* NULL if there is none */
const BurnOpInfo *burn__op_find(const char *name);
const char *burn__op_name(uint32_t op); /* "?" if there is none */
BurnInferRule burn__op_infer_rule(uint32_t op);
BurnDecomposition burn__op_decomposition(uint32_t op); /* NULL for primitives */

/* Ops of kernel packs (op_registry.c). */
const BurnOpInfo *burn__pack_op_info(uint32_t op);
const BurnOpInfo *burn__pack_op_find(const char *name);
const BurnOpDefinition *burn__op_definition(uint32_t op); /* NULL for core ops */
BurnStatus burn__pack_register(const BurnPlugin *plugin);
BurnStatus burn__pack_infer(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);
/* pack_run.c: runs the best kernel that suits the backend and accepts the call; *ran is false, and nothing has
 * happened, if there is none. */
struct BurnInstance;
BurnStatus burn__pack_run(struct BurnInstance *backend, const BurnOpCall *call, bool *ran, char *why, size_t why_bytes);
/* The backend below `level` (or level itself) may run the op by a kernel of its pack with this priority or more. */
bool burn__pack_runs_kernel(struct BurnInstance *level, uint32_t op, int32_t least_priority);
/* The interface "burn.device" of a backend with its `self`; NULL: none. */
const BurnDeviceInterface *burn__backend_device(const BurnBackend *backend, void **self);
/* An op by name, of ops.def or of a pack, which is loaded for it. */
BurnStatus burn__op_lookup(const char *name, const BurnOpInfo **out);
/* No negative axis, and the number of bytes fits into 63 bits. */
BurnStatus burn__infer_count(const BurnOpInfo *info, const BurnTensorDesc *desc);

/* Fills out[0 .. output_count-1]; checks inputs, kinds and attributes. The attributes must be complete. */
BurnStatus burn__infer(const BurnOpCall *call, BurnTensorDesc *out);
/* The same with info given: a copy of the op's with another name lets a composed function fail under its own. */
BurnStatus burn__infer_as(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);

/* burn_call_copy, which copies byte by byte, at once for a call of the size that this version knows: nearly all. */
static inline BurnOpCall burn__call_copy(const BurnOpCall *call) {
  return call->struct_size == sizeof *call ? *call : burn_call_copy(call);
}

/* Room for the attributes of a call that lacks some. */
typedef struct BurnAttrStorage {
  BurnAttr attrs[BURN_MAX_ATTRS];
  int64_t repeated[BURN_MAX_ATTRS][BURN_MAX_RANK]; /* I64S defaults, one value for every axis */
} BurnAttrStorage;
/* Attributes beyond those given, or with tag NONE, take the defaults of ops.def; the call may point into room
 * afterwards. */
BurnStatus burn__complete_attrs(const BurnOpInfo *info, BurnOpCall *call, BurnAttrStorage *room);
BurnStatus burn__invoke(const BurnBackend *backend, const BurnOpCall *call);
/* The same for a call with all attributes and output_descs, whose inputs are the backend's. */
BurnStatus burn__invoke_complete(const BurnBackend *backend, const BurnOpInfo *info, const BurnOpCall *call);
BurnStatus burn__decompose(const BurnBackend *backend, const BurnOpCall *call);
/* Releases what a call that failed, or gave what was not promised, has made. */
void burn__drop_outputs(const BurnBackend *backend, const BurnOpCall *call);

/* -- what plugins gave with success (given.c) ------------------------------------------------- */

/* True where x is a tensor of this shape and dtype. */
static inline bool burn__is_as(const BurnPrimitive *x, const BurnTensorDesc *desc) {
  if (!x || x->dtype != desc->dtype || x->rank != desc->rank || !x->shape) return false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (x->shape[i] != desc->shape[i]) return false;
  }
  return true;
}
/* The failure of one that is not: `asked` is what `from` was asked for. Releases *x, if there is one, and sets it to
 * NULL. Without a desc only a tensor that is missing is wrong. */
BurnStatus burn__wrong_given(const BurnBackend *from, const char *asked, const BurnTensorDesc *desc,
                             BurnPrimitive **x) BURN__COLD;
static inline BurnStatus burn__check_given(const BurnBackend *from, const char *asked, const BurnTensorDesc *desc,
                                           BurnPrimitive **x) {
  const bool is_right = desc ? burn__is_as(*x, desc) : *x != NULL;
  return is_right ? BURN_OK : burn__wrong_given(from, asked, desc, x);
}
/* `create` and `adopt` of a backend's table, with that check. */
BurnStatus burn__backend_create(const BurnBackend *backend, const BurnTensorDesc *desc, const void *data,
                                BurnPrimitive **out);
BurnStatus burn__backend_adopt(const BurnBackend *backend, BurnPrimitive *below, BurnPrimitive **out);
/* get_interface of a backend's table, version 1; an interface without a table counts as missing. */
bool burn__backend_ask(const BurnBackend *backend, const char *name, BurnInterface *out);

/* -- plugins and stacks (plugin_*.c, stack*.c) ------------------------------------------------ */

/* Why a plugin cannot be used (refusals.def). */
typedef enum BurnRefusal {
  BURN_REFUSED_NONE,
#define BURN_REFUSAL(NAME, word, help) BURN_REFUSED_##NAME,
#include <burn/refusals.def>
#undef BURN_REFUSAL
} BurnRefusal;

/* One discovered file or linked-in plugin. Lives until the process ends. */
typedef struct BurnPluginEntry {
  char *path;               /* NULL when linked in */
  char *file_name;          /* "ndarray" of burn_ndarray.so */
  const BurnPlugin *plugin; /* NULL until loaded, or when refused */
  bool tried;               /* loading was tried */
  const char *reason;       /* why it was refused, NULL if it was not; set whenever a plugin that was tried is NULL */
  BurnRefusal refusal;
} BurnPluginEntry;

/* The kinds of plugins and the interface that each must have (plugin_descriptor.c). */
typedef struct BurnPluginKind {
  uint32_t kind;
  const char *name, *interface;
  uint32_t min_bytes;
} BurnPluginKind;
const BurnPluginKind *burn__plugin_kind(uint32_t kind);
/* Whether a descriptor can be used, with the reason; on success *out is a copy of this version's size. */
BurnStatus burn__plugin_check(const BurnPlugin *plugin, const char *file_name, BurnRefusal *refusal,
                              const BurnPlugin **out);
/* The minor whose ops, attributes and meanings the plugin knows. */
uint32_t burn__plugin_target(const BurnPlugin *plugin);
/* Copies an interface of a plugin into a struct of `bytes`; false, and all zero, if it has none. */
bool burn__plugin_interface(const BurnPlugin *plugin, const char *name, void *out, uint32_t bytes);

/* A failure where this thread is in the constructors or the entry function of a plugin that is being loaded. */
BurnStatus burn__plugin_may_load(void);

/* The loaded plugin of a name, or a failure that says what exists and where was looked. Nothing else is loaded. */
BurnStatus burn__plugin_find(const char *name, uint32_t kind, const BurnPlugin **out);
uint32_t burn__plugin_roles(const BurnPlugin *plugin); /* BURN_ROLE_* */
/* A decorator with a role, for stacks that name none: the first whose file is named like the role, else any. */
BurnStatus burn__plugin_with_role(uint32_t role, const char *role_name, const char **name);
/* A plugin from a library file that passes burn__file_check (plugin_load_*.c); the checks of its descriptor are
 * plugin_registry.c's. */
BurnStatus burn__plugin_open_file(const char *path, BurnPluginQuery *out, BurnRefusal *refusal);
/* A regular file that only this user and root can change, replace or rename (trust_*.c). */
BurnStatus burn__file_check(const char *path, BurnRefusal *refusal);
/* What this user can do with a path: nothing as there is none, nothing as the system forbids it, or try to read it. */
typedef enum BurnPresence { BURN__ABSENT, BURN__FORBIDDEN, BURN__PRESENT } BurnPresence;
BurnPresence burn__file_presence(const char *path);
/* A path from the root on; malloc'd, NULL when out of memory. */
char *burn__absolute_path(const char *path);
/* Folder that has burn/plugins, beside the library or program that holds this code, as it was when that was loaded;
 * without a trailing slash; malloc'd, NULL if unknown. */
char *burn__own_folder(void);
/* That library or program; malloc'd, NULL if unknown. */
char *burn__own_file(void);
/* Names in a folder that look like plugin files, sorted; malloc'd entries. A folder that does not exist has none. */
BurnStatus burn__plugin_list_folder(const char *folder, char ***names, size_t *count, bool *exists);

/* Options of one part of a stack text. */
typedef struct BurnOption {
  char *key, *value;
  atomic_bool asked; /* the plugin knows it */
} BurnOption;
struct BurnOptions {
  size_t count;
  BurnOption *options;
  char asked_keys[256]; /* for the message about unknown ones */
};
const char *burn__option(const BurnOptions *options, const char *key);
BurnStatus burn__options_check(const BurnOptions *options, const char *name);

/* What a plugin declares; NULL if nothing, or nothing that can be used (plugin_options.c). */
typedef struct BurnOptionsInterface BurnOptionsInterface;
const BurnOptionsInterface *burn__plugin_options(const BurnPlugin *plugin);
/* That each has a key of its own that a stack text can hold; the failure names the first that has not. */
BurnStatus burn__plugin_options_check(const BurnPlugin *plugin);
/* The same for people: a malloc'd list, NULL if it is empty. */
typedef struct BurnPluginOption BurnPluginOption;
BurnPluginOption *burn__plugin_options_list(const BurnPlugin *plugin, size_t *count, bool *declares);
enum { BURN__OPTION_FLOAT, BURN__OPTION_INT }; /* of burn_host_options */

/* One part of a parsed stack text. */
typedef struct BurnStackPart {
  char *name;
  uint32_t index; /* device number */
  bool has_index;
  BurnOptions options;
} BurnStackPart;
typedef struct BurnStackText {
  size_t count; /* outermost first; the last is the backend */
  BurnStackPart *parts;
} BurnStackText;
BurnStatus burn__stack_parse(const char *text, BurnStackText *out);
BurnStatus burn__stack_push_front(BurnStackText *stack, const char *name);
void burn__stack_release(BurnStackText *stack);
/* Fails at the first option that is not declared harmless; loads the plugins that have options. */
BurnStatus burn__stack_check_harmless(const BurnStackText *stack);

/* An opened plugin. `backend` is the normalised table that everybody else sees; it is the first member, so a
 * BurnBackend of ours is an instance. */
typedef struct BurnInstance {
  BurnBackend backend;
  const BurnPlugin *plugin;
  struct BurnInstance *next; /* below, counted; NULL for a backend */
  atomic_uint references;
  bool wraps_tensors;
  uint32_t roles;                     /* BURN_ROLE_* of a decorator */
  uint32_t target;                    /* the minor of the ABI that the plugin knows */
  char *label;                        /* "ndarray:0" as in the stack text */
  char *identity;                     /* "ndarray:0 0.1.0 isa=avx2": with version and options */
  BurnBackend own;                    /* the table of a decorator, where `backend` forwards (stack_forward.c) */
  atomic_uint memory;                 /* of a backend: on the host or elsewhere, once it was asked (pack_run.c) */
  struct BurnInstanceKernel *kernels; /* of packs, loaded here; under burn__kernel_mutex */
  uint8_t support[BURN_OP_LIMIT];     /* BURN_SUPPORT_* */
} BurnInstance;
/* Before a backend is closed. */
void burn__instance_unload_kernels(BurnInstance *instance);
/* Beside the answer: the op has attributes that the plugin does not know. */
enum { BURN__SUPPORT_OLDER = 4 };
/* Completes the table of a decorator that leaves functions to the level below. */
void burn__instance_forward(BurnInstance *instance);
/* Every plugin of the stack gets `host`. */
BurnStatus burn__instance_open(const BurnStackText *stack, const BurnHost *host, BurnInstance **out);
void burn__instance_retain(BurnInstance *instance);
void burn__instance_release(BurnInstance *instance);
/* The first instance from the top that has the interface, or NULL. */
BurnInstance *burn__instance_interface(BurnInstance *top, const char *name, BurnInterface *out);

/* Why a device whose stack is open has no gradients, for `user`, and the way out: NO_AUTODIFF. */
BurnStatus burn__no_gradients(const BurnDevice *device, const char *user);

/* The text to open by the precedence of device.h, malloc'd, and where it was found ("BURN_BACKEND", "burn.json"), for
 * messages; that is NULL for the argument. The text is NULL where nobody says: then it is the automatic choice. */
BurnStatus burn__settings_stack(const char *argument, char **out, const char **source);
/* Visits the folders named by "plugin_path" in the user's and the system's burn.json, with the name of the file. */
void burn__settings_plugin_path(void (*visit)(const char *folder, const char *source));

/* -- devices and tensors (device.c, tensor.c) ------------------------------------------------- */

struct BurnDevice {
  BurnStatus status;
  char *failure;     /* message of status, owned */
  char *passed_over; /* of the automatic choice, owned; NULL: nothing */
  char *name, *fingerprint;
  BurnInstance *top;      /* NULL if the device failed */
  BurnInstance *autodiff; /* the layer with the autodiff interface; borrowed from the stack; NULL: none */
  BurnInstance *recorder; /* the layer that records: autodiff, or one below it whose tensors that one wraps */
  BurnInterface autodiff_interface;
  BurnDevice *inner; /* below autodiff; owned; NULL: none */
  BurnDType float_dtype, int_dtype;
  _Atomic uint64_t seed, offset;
  /* One for the opener (or the outer device), one per handle. The thread that opened the device counts its own on the
   * side. */
  atomic_llong references;
  _Atomic(const void *) home;   /* that thread; NULL once its count is in `references` */
  atomic_llong home_references; /* written by that thread alone */
  atomic_bool home_busy;        /* that thread is at it */
  atomic_bool closing;          /* another thread wants the two counts to be one */
  pthread_mutex_t live_mutex;
  struct BurnGuard *live; /* all handles of the device, where guards are on */
  atomic_uint gradients;  /* BurnGradients that are not dropped; their tensors have no handles */
};

/* True if this thread is the device's home and may count on the side (device.c); it then says burn__home_exit. */
bool burn__home_wait(BurnDevice *device) BURN__COLD; /* until the counts are one; false */
static inline bool burn__home_enter(BurnDevice *device) {
  if (atomic_load_explicit(&device->home, memory_order_relaxed) != burn__thread_mark()) return false;
  atomic_store_explicit(&device->home_busy, true, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst); /* the processor's part is burn__fence_threads */
  return !atomic_load_explicit(&device->closing, memory_order_relaxed) || burn__home_wait(device);
}
static inline void burn__home_exit(BurnDevice *device, long long change) {
  const long long own = atomic_load_explicit(&device->home_references, memory_order_relaxed);
  atomic_store_explicit(&device->home_references, own + change, memory_order_relaxed);
  atomic_store_explicit(&device->home_busy, false, memory_order_release);
}

static inline void burn__device_retain(BurnDevice *device) {
  if (burn__home_enter(device)) {
    burn__home_exit(device, 1);
  } else {
    atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
  }
}
void burn__device_release_shared(BurnDevice *device); /* NULL is allowed */
static inline void burn__device_release(BurnDevice *device) {
  if (device && burn__home_enter(device)) {
    burn__home_exit(device, -1);
  } else {
    burn__device_release_shared(device);
  }
}
/* Of positions that ops return: the device's default int dtype, but i64 if that is narrower than i32. */
BurnDType burn__device_index_dtype(const BurnDevice *device);
/* Status of a device that failed, with its own message however old; BURN_OK if it works. */
BurnStatus burn__device_status(const BurnDevice *device);

typedef struct BurnGuard BurnGuard; /* guard.c */
typedef struct BurnScopeLink {
  struct BurnScopeLink *previous, *next;
} BurnScopeLink;

/* 64 bytes where pointers have 8: one small block. */
struct BurnTensor {
  uint32_t state;           /* BURN__HANDLE_* */
  uint16_t made_by;         /* op in 16 bits (burn__tensor_made_by), or 0 */
  uint16_t scope_depth;     /* 0: in no scope */
  BurnPrimitive *primitive; /* one reference; NULL if failed */
  BurnDevice *device;       /* one reference; NULL if failed */
  BurnStatus status;
  char *message;            /* of a failed tensor, owned; NULL when out of memory */
  BurnGuard *guard;         /* NULL where guards are off */
  BurnScopeLink scope_link; /* in the ring of its scope */
};
enum { BURN__HANDLE_LIVE = 0x6e727562, BURN__HANDLE_TAKEN = 0x6e656b61 };

/* A handle around a primitive whose reference it takes. Never NULL. */
/* The op that made a tensor; 0: none. */
static inline uint32_t burn__tensor_made_by(const BurnTensor *x) {
  const uint32_t op = x->made_by;
  return op < BURN_OP_LIMIT ? op : op - (uint32_t)BURN_OP_LIMIT + (uint32_t)BURN_OP_FIRST_OF_PACKS;
}
BurnTensor *burn__tensor_new(BurnDevice *device, BurnPrimitive *primitive, uint32_t made_by);
/* The one that stands for lack of memory: it is never ended and belongs to nobody. */
bool burn__tensor_is_shared(const BurnTensor *x);
/* A handle around a primitive that was made of x, which `user` takes: x itself, unless guards keep x. */
BurnTensor *burn__tensor_replace(BurnTensor *x, BurnDevice *device, BurnPrimitive *primitive, const char *user);
/* The handle x, which was taken, becomes that of a result: it has its device already. Not with guards, which
 * keep x. */
BurnTensor *burn__tensor_become(BurnTensor *x, BurnPrimitive *primitive, uint32_t made_by);
BurnTensor *burn__tensor_failed(BurnStatus status);
/* The failure that a tensor carries, as a fresh status: its own may be too old for the ring. */
BurnStatus burn__tensor_carried_status(const BurnTensor *x);
/* A description of what can be stored on a device that works; fails for dtypes and shapes that cannot. */
BurnStatus burn__tensor_desc(const BurnDevice *device, BurnDType dtype, BurnShape shape, BurnTensorDesc *out);
/* Why x cannot be used by `user`: it failed, is NULL, or was taken; BURN_OK if it can. The message is fresh. */
BurnStatus burn__tensor_check(const BurnTensor *x, const char *user);
/* Ends a handle after it was used by `user`: releases its primitive; with guards keeps it as "taken". NULL is allowed.
 */
void burn__tensor_take(BurnTensor *x, const char *user);
/* The same inside of burn__work_enter, for a handle that is one: neither NULL nor shared. */
void burn__tensor_end(BurnTensor *x, const char *user);

/* The same for several; one that stands there twice is taken once. */
void burn__tensor_take_all(BurnTensor *const *tensors, size_t count, const char *user);

/* The device's backend can hold tensors of this dtype. */
BurnStatus burn__check_storable(const BurnDevice *device, BurnDType dtype, const char *user);

/* -- apply.c ---------------------------------------------------------------------------------- */

/* Runs an op on handles: takes all inputs (NULL entries are absent), returns the result. Several outputs: out[0 ..]. */
BurnTensor *burn__apply(uint32_t op, BurnTensor *const *inputs, uint32_t input_count, const BurnAttr *attrs,
                        uint32_t attr_count);
void burn__apply_outputs(uint32_t op, BurnTensor *const *inputs, uint32_t input_count, const BurnAttr *attrs,
                         uint32_t attr_count, BurnTensor **out, uint32_t output_count);
/* burn__apply for an op of one or two inputs without attributes. */
BurnTensor *burn__apply_unary(uint32_t op, BurnTensor *x);
BurnTensor *burn__apply_binary(uint32_t op, BurnTensor *lhs, BurnTensor *rhs);
/* The same on `device`, which must be that of the inputs; NULL: that of the inputs. */
void burn__apply_on(BurnDevice *device, uint32_t op, BurnTensor *const *inputs, uint32_t input_count,
                    const BurnAttr *attrs, uint32_t attr_count, BurnTensor **out, uint32_t output_count);
/* `count` calls of an op, with all attributes, as one, where the backend can and none of them fails: see burn_op_calls.
 * False, and nothing done, otherwise. */
bool burn__apply_joined(const BurnOpInfo *op, size_t count, BurnTensor *const *inputs, uint32_t input_count,
                        const BurnAttr *attrs, BurnTensor **outputs);
/* An op of x whose one attribute is a dim, which is resolved here. Takes x. */
BurnTensor *burn__apply_dim(uint32_t op, BurnTensor *x, int dim);
/* An axis of a tensor of `rank` axes; negative from the end. Fails for an x that cannot be used, too. */
BurnStatus burn__resolve_dim(const BurnTensor *x, const char *user, int dim, uint32_t rank, int64_t *out);
/* Takes x; exactly this shape, where burn_reshape would read 0 and -1 as "keep" and "compute". */
BurnTensor *burn__reshape_to(BurnTensor *x, BurnShape shape);
/* 0 .. count-1 in the dtype of positions (burn__device_index_dtype): a default int dtype of 8 bits would wrap. */
BurnTensor *burn__places(BurnDevice *device, int64_t count);
/* burn_full and burn_full_like of a number: burn_attr_f64 or burn_attr_i64. */
BurnTensor *burn__full(BurnDevice *device, BurnShape shape, BurnDType dtype, BurnAttr value);
BurnTensor *burn__full_like(BurnTensor *x, BurnAttr value);
/* A creation op on a device. */
BurnTensor *burn__create(BurnDevice *device, uint32_t op, BurnShape shape, BurnDType dtype, const BurnAttr *more,
                         uint32_t more_count);

/* A diagonal of a matrix that lies outside as the nearest one that does: rows and columns can be added to it. Sizes
 * below 0, which are refused later, have none. */
static inline int64_t burn__near_diagonal(int64_t diagonal, int64_t rows, int64_t columns) {
  if (rows < 0 || columns < 0) return 0;
  return diagonal < -rows ? -rows : diagonal > columns ? columns : diagonal;
}

static inline bool burn__is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }

/* Converts `count` elements between dtypes in host memory, by the rules of the op cast (convert.c). */
BurnStatus burn__convert(const void *from, BurnDType from_dtype, void *to, BurnDType to_dtype, size_t count);

char *burn__text_copy(const char *text); /* malloc'd; NULL when out of memory or for NULL */
char *burn__text_format(const char *format, ...) BURN_PRINTF(1, 2);

#endif
