/* fusion_internal.h - the objects of the fusion decorator and the functions its files share.
 *
 * A call is not run but recorded in the queue of the calling thread; its results are tensors without contents. When
 * somebody needs contents, the queue is flushed: the recorded stream is looked up among the plans made before, or a
 * plan is made, and the plan's launches run on the decorator below. A launch is one call, or one kernel for several
 * (burn/plugin/fused.h).
 *
 * In a queue, tensors are slots: numbers in order of appearance. So the second step of a training loop records the same
 * numbers as the first, and its plan is found by comparing words.
 *
 * Steps of optimizers that do not need each other are one launch, too, where the level below has burn.calls (calls.h).
 *
 * Threads: a queue is touched under its mutex only, and no second mutex of a queue is ever taken while one is held. A
 * tensor's `inner` and `failure` are written by the flush that computes it, before its `queue` becomes NULL (release);
 * everybody else looks at them after having seen NULL there (acquire). */
#ifndef BURN_FUSION_INTERNAL_H
#define BURN_FUSION_INTERNAL_H

#include <burn/common/failure.h>
#include <burn/common/given.h>
#include <burn/plugin/calls.h>
#include <burn/plugin/epilogue.h>
#include <burn/plugin/fused.h>
#include <burn/plugin/fusion_statistics.h>
#include <burn/plugin/mixed.h>
#include <burn/plugin/replay.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct FusionDecorator FusionDecorator;
typedef struct FusionReplay FusionReplay; /* fusion_replay.c: what a plan's runs had in common, and their recording */
typedef struct FusionQueue FusionQueue;

/* Why a tensor has no contents: shared by everything computed from it. */
typedef struct FusionFailure {
  _Atomic uint32_t references;
  uint32_t code;  /* BURN_STATUS_* */
  uint64_t bytes; /* of the allocation; 0 for the one that is part of the decorator */
  char message[512];
} FusionFailure;

/* What the decorator hands out. */
typedef struct FusionTensor {
  BurnPrimitive header; /* first, so that a BurnPrimitive pointer is a pointer to the tensor */
  _Atomic uint32_t references;
  uint32_t reserved;
  _Atomic uint64_t mark;        /* serial of a recording << FUSION_SLOT_BITS | its slot there */
  _Atomic(FusionQueue *) queue; /* that will compute it; NULL: it is there, or has failed */
  BurnPrimitive *inner;         /* one reference to the contents below; NULL if it failed */
  FusionFailure *failure;       /* one reference */
  BurnTensorDesc desc;          /* header.shape points here */
} FusionTensor;

enum { FUSION_SLOT_BITS = 24, FUSION_QUEUES = 32 };

static inline FusionTensor *fusion_tensor(BurnPrimitive *x) { return (FusionTensor *)(void *)x; }

/* An array that grows. */
typedef struct FusionList {
  void *items;
  uint32_t count, capacity;
} FusionList;

/* A recorded call. Its outputs are the slots first_output, first_output + 1, .. */
typedef struct FusionOp {
  uint32_t op, flags;
  uint32_t input_count, output_count, attr_count;
  uint32_t first_input; /* in queue->slots */
  uint32_t first_output;
  uint32_t first_word;   /* in queue->key */
  const BurnAttr *attrs; /* in the queue's arena */
} FusionOp;

#define FUSION_NONE \
  UINT32_MAX /* the slot of an absent input; the producer of a tensor that was there before; no group */

/* A slot. inner, failure and dead are for the flush. */
typedef struct FusionValue {
  FusionTensor *tensor;   /* one reference */
  BurnPrimitive *inner;   /* owned where dead or produced here; else borrowed from the tensor */
  FusionFailure *failure; /* likewise */
  uint32_t producer;      /* number of the op, or FUSION_NONE */
  uint32_t dead;          /* 1: nobody outside the queue holds the tensor */
  uint32_t made_as;       /* the slot that the op's result goes to: this one, or that of a cast that is left out */
} FusionValue;

/* Memory of attributes: blocks that stay, and are used again after each flush. */
typedef struct FusionArena {
  struct FusionBlock *first, *current;
  uint64_t used; /* of the current block */
} FusionArena;

/* Calls between capture_begin and capture_end: a flush at its end, and none before unless somebody asks. */
typedef struct FusionRegion {
  _Atomic uint32_t owner; /* number of the thread whose region is open; 0: there is none */
  bool is_split;          /* the reason says by what */
  FusionList last_key;    /* uint32_t: of the region before */
  BurnFusionRegion found; /* so far */
} FusionRegion;

struct FusionQueue {
  pthread_mutex_t mutex;
  FusionDecorator *decorator;
  uint64_t serial;   /* of this recording; unique in the decorator */
  FusionList ops;    /* FusionOp */
  FusionList slots;  /* uint32_t: inputs of all ops */
  FusionList values; /* FusionValue */
  FusionList key;    /* uint32_t: what a plan depends on, see fusion_queue.c */
  FusionArena arena;
  uint64_t bytes;         /* of all values */
  uint32_t window;        /* hash of the last four ops */
  uint32_t joined;        /* how many of the last ops are steps of optimizers, for burn.calls */
  bool cut;               /* flush before the next op */
  _Atomic bool is_filled; /* there is something to flush; for those who have not locked it */
  FusionRegion region;
  BurnRecording *trial;   /* launches are made with stand-ins to record or patch it; NULL: they are meant */
  char trial_reason[200]; /* why the trial, or running a recording, has failed; "": it has not */
};

/* Some ops that run as one: a call below, or several, or one kernel. Arrays lie in the plan's words. */
typedef struct FusionLaunch {
  BurnFusedKernel *kernel;        /* NULL: each op is a call of its own */
  uint64_t last_use;              /* bit i: input i is read here for the last time, and stands once among the inputs */
  uint32_t joined;                /* 1: the ops are calls for burn.calls; inputs are those of all, as they stand */
  uint32_t last_uses;             /* if joined: a word per op, like last_use for its inputs */
  uint32_t op_count, ops;         /* numbers in the queue, in program order */
  uint32_t input_count, inputs;   /* slots */
  uint32_t output_count, outputs; /* slots that leave the kernel */
  uint32_t release_count, releases; /* slots that nobody reads afterwards */
} FusionLaunch;

/* A cast that a call does without (fusion_casts.c): what the plan changes in the queue. */
typedef struct FusionFold {
  uint32_t is_result; /* 1: the call writes the dtype of the cast after it; 0: it reads what was before a cast */
  uint32_t op;        /* the call's */
  uint32_t at;        /* in queue->slots; the slot of the result */
  uint32_t was;       /* the slot that is read; the number of the cast */
  uint32_t becomes;   /* a slot */
} FusionFold;

typedef struct FusionPlan {
  _Atomic uint32_t references;
  uint32_t key_count;
  uint64_t hash, used; /* used: time stamp for the cache */
  uint32_t *key;
  FusionList launches;      /* FusionLaunch */
  FusionList words;         /* uint32_t */
  FusionList folds;         /* FusionFold */
  struct FusionPlan *next;  /* in its bucket */
  _Atomic uint32_t is_busy; /* 1: a thread uses what follows */
  FusionReplay *replay;     /* NULL: not yet */
} FusionPlan;

enum { FUSION_RECORDINGS = 32 };

/* The plans that have recordings. */
typedef struct FusionReplays {
  pthread_mutex_t mutex;
  FusionPlan *plans[FUSION_RECORDINGS];
  uint32_t count;
  uint64_t clock;
} FusionReplays;

enum { FUSION_BUCKETS = 256 };

/* Calls of an op that the level below makes together; no more inputs than last_uses has bits. */
static inline bool fusion_joins(const bool *joins, const FusionOp *op) {
  return op->op < BURN_OP_LIMIT && joins[op->op] && op->input_count <= BURN_MAX_FIXED_INPUTS;
}

/* What may be halves in calls of an op, by dtype: bits as burn.mixed gives them. */
enum { FUSION_F16, FUSION_BF16, FUSION_HALVES };
typedef struct FusionMixed {
  uint64_t inputs[FUSION_HALVES], outputs[FUSION_HALVES];
} FusionMixed;

typedef struct FusionCache {
  pthread_mutex_t mutex;
  FusionPlan *buckets[FUSION_BUCKETS];
  uint32_t count, limit;
  uint64_t clock;
} FusionCache;

/* BurnFusionStatistics in the making. */
typedef struct FusionStatistics {
  _Atomic uint64_t ops, flushes, plans, kernels, fused_ops, calls, dead_ops, recordings, replays;
} FusionStatistics;

struct FusionDecorator {
  const BurnHost *host;
  const BurnBackend *next;
  const BurnFusedInterface *fused; /* NULL: the decorator below runs no bodies; calls are queued all the same */
  BurnFusedInterface fused_table;  /* of this version's size */
  void *fused_self;
  const BurnEpilogueInterface *epilogue; /* NULL: products are calls of their own; its self is that of `fused` */
  BurnEpilogueInterface epilogue_table;
  const BurnCallsInterface *calls; /* NULL: calls are made one by one */
  BurnCallsInterface calls_table;
  bool joins[BURN_OP_LIMIT];         /* ops whose calls `calls` takes together */
  FusionMixed mixed[BURN_OP_LIMIT];  /* all 0 where the level below has no burn.mixed */
  const BurnReplayInterface *replay; /* NULL: nothing is recorded */
  BurnReplayInterface replay_table;
  char no_replay[128]; /* why not */
  void *replay_self;
  FusionReplays replays;
  uint32_t owner;
  uint32_t max_ops;   /* option max_ops */
  uint32_t min_ops;   /* a queue as long as this is cut by what it holds */
  uint64_t max_bytes; /* option max_bytes */
  bool log;           /* BURN_FUSION_LOG=1 or option log=true */
  char name[64];
  _Atomic uint64_t serial;
  _Atomic uint32_t open_regions;
  _Atomic(FusionFailure *) unreported; /* the first failure since the last sync */
  FusionFailure out_of_memory;         /* for when there is no memory to say so */
  FusionCache cache;
  FusionStatistics statistics;
  uint32_t varying[BURN_OP_LIMIT]; /* bit i: attribute i may differ between runs of a body, see fused.h */
  FusionQueue queues[FUSION_QUEUES];
};

/* -- fusion_plugin.c -------------------------------------------------------------------------- */

/* A failed status with a formatted message. */
#define FUSION_FAIL(decorator, CODE, ...) BURN_COMMON_FAIL((decorator)->host, CODE, NULL, __VA_ARGS__)

/* Flushes nothing. */
BurnFusionStatistics burn__fusion_statistics(const FusionDecorator *decorator);

const char *burn__fusion_op_name(const FusionDecorator *decorator, uint32_t op);

/* -- fusion_memory.c -------------------------------------------------------------------------- */

/* Makes room for `more` items beyond count; false without memory. */
bool burn__fusion_list_reserve(const FusionDecorator *decorator, FusionList *list, uint32_t more, size_t item_bytes);
static inline bool fusion_reserve(const FusionDecorator *decorator, FusionList *list, uint32_t more,
                                  size_t item_bytes) {
  return more <= list->capacity - list->count || burn__fusion_list_reserve(decorator, list, more, item_bytes);
}
void burn__fusion_list_free(const FusionDecorator *decorator, FusionList *list, size_t item_bytes);

/* Memory until the next reset, aligned for any attribute; NULL without memory. */
void *burn__fusion_arena_take(const FusionDecorator *decorator, FusionArena *arena, uint64_t bytes);
void burn__fusion_arena_reset(FusionArena *arena);
void burn__fusion_arena_free(const FusionDecorator *decorator, FusionArena *arena);

/* -- fusion_tensor.c -------------------------------------------------------------------------- */

/* A tensor with one reference and neither contents nor queue; NULL without memory. */
FusionTensor *burn__fusion_tensor_new(FusionDecorator *decorator, const BurnTensorDesc *desc);
/* A failed status of a copy of which is kept, with the op's name in front unless it is there; never NULL. */
FusionFailure *burn__fusion_failure_new(FusionDecorator *decorator, BurnStatus status, uint32_t op);
FusionFailure *burn__fusion_failure_retain(FusionFailure *failure);
void burn__fusion_failure_release(const FusionDecorator *decorator, FusionFailure *failure); /* NULL is allowed */
/* BURN_OK for NULL, else a fresh status with its message. */
BurnStatus burn__fusion_failure_status(const FusionDecorator *decorator, const FusionFailure *failure);
/* BAD_OWNER, with the name of the function that was called, unless x is a tensor of this decorator. */
BurnStatus burn__fusion_check_owner(const FusionDecorator *decorator, const BurnPrimitive *x, const char *what);
/* Has the tensor computed if it is not yet; its failure if it has one. `how` it is asked for, for regions that this
 * splits: "a read". */
BurnStatus burn__fusion_settle(FusionDecorator *decorator, FusionTensor *x, const char *how);

BurnStatus BURN_API_CALL burn__fusion_create(void *self, const BurnTensorDesc *desc, const void *data,
                                             BurnPrimitive **out);
BurnStatus BURN_API_CALL burn__fusion_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes);
void BURN_API_CALL burn__fusion_retain(void *self, BurnPrimitive *x);
void BURN_API_CALL burn__fusion_release(void *self, BurnPrimitive *x);
BurnPrimitive *BURN_API_CALL burn__fusion_unwrap(void *self, BurnPrimitive *x);
BurnStatus BURN_API_CALL burn__fusion_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out);

/* -- fusion_queue.c --------------------------------------------------------------------------- */

void burn__fusion_queue_open(FusionDecorator *decorator, FusionQueue *queue);
void burn__fusion_queue_close(FusionQueue *queue);
/* The queue that the calling thread records into; locked. */
FusionQueue *burn__fusion_queue_lock(FusionDecorator *decorator);
/* A number of the calling thread that no other thread ever has; never 0. */
uint32_t burn__fusion_thread(void);
/* Runs all that is recorded, also in the middle of a region. `why`: what asks, such as "a sync". */
void burn__fusion_flush_all(FusionDecorator *decorator, const char *why);
/* The same with the mutex held by the caller. fusion_run.c */
void burn__fusion_flush_locked(FusionQueue *queue);
/* Forgets everything recorded, after its values have been settled. */
void burn__fusion_queue_reset(FusionQueue *queue);
BurnStatus BURN_API_CALL burn__fusion_submit(void *self, const BurnOpCall *call);
/* True for attributes that a plan's key leaves out. */
bool burn__fusion_varies(const FusionDecorator *decorator, uint32_t op, uint32_t number, const BurnAttr *attr);

static inline FusionOp *fusion_ops(const FusionQueue *queue) { return (FusionOp *)queue->ops.items; }
static inline FusionValue *fusion_values(const FusionQueue *queue) { return (FusionValue *)queue->values.items; }
static inline uint32_t *fusion_slots(const FusionQueue *queue) { return (uint32_t *)queue->slots.items; }
/* Words of the key that say what is held of the results; they are its last. */
static inline uint32_t fusion_held_words(const FusionQueue *queue) { return queue->values.count / 32u + 1u; }
/* The slots of an op's inputs; NULL if it has none. */
static inline const uint32_t *fusion_inputs(const FusionQueue *queue, const FusionOp *op) {
  return op->input_count ? fusion_slots(queue) + op->first_input : NULL;
}

/* The slot that a result of an op goes to. */
static inline uint32_t fusion_output(const FusionQueue *queue, const FusionOp *op, uint32_t number) {
  return fusion_values(queue)[op->first_output + number].made_as;
}

/* -- fusion_run.c ----------------------------------------------------------------------------- */

/* Makes one launch. In a trial a failure is kept in the queue, and changes no tensor. */
void burn__fusion_run_launch(FusionQueue *queue, const FusionPlan *plan, const FusionLaunch *launch);
/* Lets go the contents of those among these slots whose tensors nobody wants. */
void burn__fusion_release_dead(FusionQueue *queue, const uint32_t *slots, uint32_t count);
/* A result could not be had. */
void burn__fusion_fail_value(FusionQueue *queue, uint32_t slot, BurnStatus status);

/* -- fusion_capture.c ------------------------------------------------------------------------- */

static inline bool fusion_in_region(const FusionQueue *queue) {
  return atomic_load_explicit(&queue->region.owner, memory_order_relaxed) != 0;
}
/* Why the region of a queue, if it has one, is not replayed as one; the first reason counts. */
void burn__fusion_region_why(FusionQueue *queue, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The name of the first call that reads a value. */
const char *burn__fusion_reader_name(const FusionQueue *queue, uint32_t value);
/* Somebody asks for results inside the region. */
void burn__fusion_region_split(FusionQueue *queue, const char *why);
/* A flush of the queue of a region has run by this plan, or by none. */
void burn__fusion_region_count(FusionQueue *queue, const FusionPlan *plan, uint32_t outcome);
void burn__fusion_region_close(FusionQueue *queue);
void burn__fusion_region_free(FusionQueue *queue);
BurnStatus BURN_API_CALL burn__fusion_capture_begin(void *self);
BurnStatus BURN_API_CALL burn__fusion_capture_end(void *self, BurnFusionRegion *out);

/* -- fusion_replay.c -------------------------------------------------------------------------- */

/* Runs the plan by its recording, which is made where it is time. BURN_FUSION_SINGLE: nothing has run, and nothing has
 * changed. */
uint32_t burn__fusion_replay(FusionQueue *queue, FusionPlan *plan);
/* How often recordings of the plan were run that were there. */
uint64_t burn__fusion_replay_count(const FusionPlan *plan);
void burn__fusion_replay_free(FusionDecorator *decorator, FusionPlan *plan);
/* Their memory goes back. True if there were any that were not in use. */
bool burn__fusion_replay_drop_all(FusionDecorator *decorator);

/* -- fusion_recording.c ----------------------------------------------------------------------- */

/* True where a function of the backend succeeded in a trial; else its message is the trial's reason. */
bool burn__fusion_works(FusionQueue *queue, BurnStatus status);
/* The same for one that gives a tensor, which has to be there and of this shape (NULL: of any). */
bool burn__fusion_gives(FusionQueue *queue, BurnStatus status, const BurnTensorDesc *desc, BurnPrimitive **given);
/* Begins the queue's trial. */
bool burn__fusion_begin(FusionQueue *queue);
/* Holds a result of a trial with so many inputs. */
bool burn__fusion_hold(FusionQueue *queue, BurnPrimitive *x, uint32_t inputs, uint32_t *number, uint32_t *input);
/* A held result becomes the value of a slot, or the failure to give it does. */
void burn__fusion_take(FusionQueue *queue, BurnRecording *recording, uint32_t number, BurnPrimitive *input, bool copies,
                       uint32_t slot);

/* -- fusion_casts.c --------------------------------------------------------------------------- */

/* Asks the level below which ops take halves. */
void burn__fusion_find_mixed(FusionDecorator *decorator);
/* Finds what calls can do without casts, among the ops that are needed and that no body can have; changes the queue and
 * notes the changes in the plan. False without memory. */
bool burn__fusion_fold_casts(FusionQueue *queue, FusionPlan *plan, const uint8_t *needed, const uint8_t *role);
/* Changes the queue as the plan has it; the same change twice is one. */
void burn__fusion_apply_folds(FusionQueue *queue, const FusionPlan *plan);
/* Takes all changes back. */
void burn__fusion_undo_folds(FusionQueue *queue, const FusionPlan *plan);

/* -- fusion_plan.c, fusion_body.c ------------------------------------------------------------- */

/* A plan for what is recorded, with one reference; NULL without memory. The key of the queue is complete. */
FusionPlan *burn__fusion_plan_build(FusionQueue *queue, uint64_t hash);
void burn__fusion_plan_release(FusionDecorator *decorator, FusionPlan *plan); /* NULL is allowed */

static inline const FusionLaunch *fusion_launches(const FusionPlan *plan) {
  return (const FusionLaunch *)plan->launches.items;
}
static inline const uint32_t *fusion_words(const FusionPlan *plan, uint32_t first) {
  return (const uint32_t *)plan->words.items + first;
}

/* Which ops form a body: the values that enter, leave, and stay inside. Arrays of the caller. */
typedef struct FusionBody {
  const FusionQueue *queue;
  const uint32_t *ops; /* numbers in the queue, in program order but for a product, which is the first */
  uint32_t op_count;
  bool has_product;
  uint32_t *inputs, input_count;   /* slots; room for one per input of all ops */
  uint32_t *outputs, output_count; /* slots; room for one per op */
} FusionBody;

/* Has the decorator below compile a body, whose first op is a product or none is. *out is NULL, with the reason in
 * `why`, if it had better be called op by op; a failure if there is no memory. */
BurnStatus burn__fusion_body_compile(FusionDecorator *decorator, const FusionBody *body, BurnFusedKernel **out,
                                     char *why, uint64_t why_bytes);
/* May a recorded op be the product that a body begins with (burn/plugin/epilogue.h)? */
bool burn__fusion_takes_epilogue(FusionDecorator *decorator, const FusionQueue *queue, const FusionOp *op);
/* BURN_FUSED_*: the part that a recorded op may play. */
uint32_t burn__fusion_role(FusionDecorator *decorator, const FusionQueue *queue, const FusionOp *op);

/* -- fusion_cache.c --------------------------------------------------------------------------- */

void burn__fusion_cache_open(FusionCache *cache, uint32_t limit);
void burn__fusion_cache_close(FusionDecorator *decorator, FusionCache *cache);
/* Forgets all plans. */
void burn__fusion_cache_clear(FusionDecorator *decorator, FusionCache *cache);
/* The plan for the queue's key, made if there is none yet, with one reference; NULL without memory. */
FusionPlan *burn__fusion_cache_get(FusionDecorator *decorator, FusionQueue *queue);

/* -- fusion_log.c ----------------------------------------------------------------------------- */

void burn__fusion_log_plan(FusionDecorator *decorator, const FusionQueue *queue, const FusionPlan *plan);
/* Why ops that would form a group stay apart. */
void burn__fusion_log_refusal(FusionDecorator *decorator, const FusionBody *body, const char *why);
/* What became of the recording of a plan, and why. */
void burn__fusion_log_replay(const FusionDecorator *decorator, const FusionPlan *plan, const char *what,
                             const char *why);
void burn__fusion_log_totals(const FusionDecorator *decorator);

#endif
