/* conform.h - what the checks of `burn conform` share: the plan of a run, the report, running a sample on a stack.
 *
 * The checks run in a child process (supervise.c), so that a crash or a hang of a plugin is a failure of the case that
 * was running, and the rest goes on in a new child. The report lies in memory that both share. */
#ifndef BURN_SDK_CONFORM_H
#define BURN_SDK_CONFORM_H

#include "../system.h"
#include "samples.h"

#include <stdatomic.h>
#include <sys/types.h>

/* -- the report (report.c) -------------------------------------------------------------------- */

/* The checks: CHECK(NAME, name, per op, least level, what). */
#define CONFORM_CHECKS(CHECK)                                                                                        \
  CHECK(HANDSHAKE, handshake, false, SAMPLE_CORE, "opening, short and long structs, options, two instances at once") \
  CHECK(FORWARD, forward, true, SAMPLE_CORE, "values of every op, with shared and with owned inputs")                \
  CHECK(LAWS, laws, true, SAMPLE_TRAIN, "views, determinism, layers that change nothing")                            \
  CHECK(CHAINS, chains, true, SAMPLE_CORE, "decorators: ops in a chain below fusion, as one after the other")        \
  CHECK(GRADIENTS, gradients, true, SAMPLE_TRAIN, "gradients against finite differences")                            \
  CHECK(FAULTS, faults, true, SAMPLE_CORE, "every allocation failing in turn")                                       \
  CHECK(ASYNC, async, false, SAMPLE_FULL, "work that is late: reads in flight, uploads, events, copies, failures")   \
  CHECK(THREADS, threads, false, SAMPLE_CORE, "four threads on one device")                                          \
  CHECK(SHUTDOWN, shutdown, false, SAMPLE_CORE, "nothing is left over at the end")

enum {
#define CHECK(NAME, name, per_op, level, what) CHECK_##NAME,
  CONFORM_CHECKS(CHECK)
#undef CHECK
      CHECK_COUNT
};

enum {
  MAX_FAILURES = 512,
  MAX_SKIPS = 48,
  FAILURES_PER_OP = 3,
  MAX_OPS = BURN_OP_LIMIT + 128 /* those of a kernel pack under test included */
};

typedef struct Counts {
  uint32_t passed, failed, skipped;
} Counts;

typedef struct Failure {
  uint32_t check, op, index; /* op: its place, 0: none; index: of the sample */
  char sample[384], reason[768];
} Failure;

typedef struct Skip {
  uint32_t check, count;
  char reason[160];
} Skip;

typedef struct Report {
  Counts counts[CHECK_COUNT][MAX_OPS];
  uint32_t failure_count, skip_count;
  Failure failures[MAX_FAILURES];
  Skip skips[MAX_SKIPS];
  /* What runs now; the parent reads it when the child is gone. */
  uint32_t check, op, index;
  char sample[384];
  bool is_done;              /* the child met the end of the plan */
  uint32_t subject;          /* STACK_ITSELF ..: what the user named */
  atomic_uint_fast64_t beat; /* grows with every case, and within long ones */
  atomic_uintptr_t doing;    /* a constant text: what goes on, if that is special; 0: nothing is */
  atomic_bool is_opening;    /* a stack is being opened, which may take long */
  char async_way[160];       /* what the check "async" went through; "": it did not run */
} Report;

/* -- the run ---------------------------------------------------------------------------------- */

typedef struct Conform {
  const char *stack;    /* under test, a stack text */
  const char *against;  /* the reference */
  const char *argument; /* what the user wrote */
  const char *on;       /* what a decorator or kernel pack alone is put on; NULL: ndarray */
  const char *pack;     /* a kernel pack under test, on `stack`; NULL: the stack itself is tested */
  uint32_t level;
  bool is_async; /* --level async: this check alone, and what must be gone at the end */
  uint64_t seed;
  const char *ops;   /* "a,b": only these; NULL: all */
  const char *skip;  /* "a,b": not these; NULL: all */
  const char *fails; /* an op whose work fails late on this stack; NULL: none is known */
  size_t timeout;    /* seconds until a case counts as hanging */
  size_t jobs;       /* children at a time */
  size_t limit;      /* seconds after which no case is begun; 0: none */
  double deadline;   /* the same, as seconds of the monotonic clock; 0: none */
  const char *only;  /* one check by name; NULL: all of the level */
  int64_t index;     /* only this sample of each op; -1: all */
  bool verbose;
  Report *report;
  /* Opened by the child when first needed; see the functions below. */
  BurnDevice *device, *reference, *training, *traced, *watched, *fused, *unfused;
} Conform;

/* NULL (with a skip recorded once per case by the caller) if a stack cannot be opened. */
BurnDevice *conform_device(Conform *run); /* the stack under test */
BurnDevice *conform_reference(Conform *run);
BurnDevice *conform_training(Conform *run); /* the stack under test with autodiff on top; itself if it has that */
BurnDevice *conform_traced(Conform *run);   /* trace on top of the stack under test */
BurnDevice *conform_watched(Conform *run);  /* the stack under test, opened with watching_host() */
void conform_close(Conform *run);

/* Ops have places 0 .. MAX_OPS-1 in the plan and the report: core ops their numbers, those of packs the places after.
 * NULL if there is no op at a place. */
const BurnOpInfo *conform_op(uint32_t place);
uint32_t conform_place(const BurnOpInfo *op);

/* Bits of the dtypes that a device stores and computes in. */
uint32_t conform_dtypes(BurnDevice *device);

bool conform_wants_op(const Conform *run, const BurnOpInfo *op);
/* True if --op names it. */
bool conform_names_op(const Conform *run, const BurnOpInfo *op);

/* The time that --limit gives is over. */
bool conform_is_over(const Conform *run);

/* As --level says it. */
const char *conform_level_name(const Conform *run);

/* The next sample to run: honours --case and --limit, records an invalid one as a failure, and as skipped what there is
 * no time for. False at the end. */
bool conform_next(Conform *run, uint32_t check, SampleIterator *iterator, Sample *sample);

/* Recording. begin, then exactly one of the others. */
void report_begin(Report *report, uint32_t check, const BurnOpInfo *op, uint32_t index, const char *text);
void report_beat(void); /* a long case goes on */
/* What the case does next, a constant text; "" for nothing special. Told if the process ends there. */
void report_doing(const char *what);
void report_begin_sample(Report *report, uint32_t check, const Sample *sample);
void report_pass(Report *report);
void report_fail(Report *report, const char *format, ...) BURN_PRINTF(2, 3);
void report_skip(Report *report, const char *format, ...) BURN_PRINTF(2, 3);
const char *report_check_name(uint32_t check);
Counts report_total(const Report *report, uint32_t check);
Counts report_op_total(const Report *report, uint32_t op); /* of all checks */
/* Adds what another process recorded. */
void report_merge(Report *report, const Report *more);
/* Failures in the order of the plan, whoever found them. */
void report_sort(Report *report);
/* Everything at the end, as text or JSON; true if nothing failed. */
bool report_print(const Conform *run, bool json, double seconds);

/* -- one sample on one stack (sample_run.c) --------------------------------------------------- */

typedef struct Results {
  uint32_t count;
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
  void *data[BURN_MAX_OUTPUTS]; /* malloc'd */
  BurnStatus failure;           /* that the op or a read reported; BURN_OK: none did. Is left when the rest has ended */
} Results;
void results_end(Results *results);

/* Makes input i in its layout from `data` on a device; NULL for an absent one. */
BurnTensor *sample_tensor(BurnDevice *device, const Sample *sample, uint32_t i, const void *data);

/* Values of all inputs; false without memory. */
bool sample_inputs(const Sample *sample, void *data[SAMPLE_MAX_INPUTS]);
void sample_inputs_end(const Sample *sample, void *data[SAMPLE_MAX_INPUTS]);

/* How inputs are given to the op. */
enum {
  RUN_OWNED = 0,      /* nobody else holds them: the op may write into them */
  RUN_SHARED = 1,     /* they are cloned, and must keep their values */
  RUN_VIEWED = 2,     /* somebody holds views of them, which must keep their values */
  RUN_DECOMPOSED = 4, /* shared, and the op's decomposition runs whatever the stack supports */
  RUN_TRACKED = 3     /* owned and, the float ones, asking for gradients */
};

/* Runs the op and reads the results. A text in `why` and false if anything fails: the op, a result of another shape or
 * dtype than inferred, an input that was changed, a tensor that is left over. */
bool sample_run(BurnDevice *device, const Sample *sample, void *const *data, int how, Results *results, char *why,
                size_t why_bytes);

/* The op on tensors; takes them. */
void sample_call(BurnDevice *device, const Sample *sample, BurnTensor **inputs, BurnTensor **outputs);

/* Reads and takes the outputs into results; a text in why on failure. `how`: RUN_* of the call. */
bool sample_read(const Sample *sample, BurnTensor **outputs, int how, Results *results, char *why, size_t why_bytes);

/* -- public headers (headers.c) --------------------------------------------------------------- */

/* The public header of x is as described, and where it names host memory, the elements that it leads to are `data`,
 * which read() gave (NULL: not looked at). A text in why if not. */
bool header_is_right(const BurnTensor *x, const BurnTensorDesc *desc, const void *data, bool may_be_tracked, char *why,
                     size_t why_bytes);

/* -- comparison (compare.c) ------------------------------------------------------------------- */

/* How far element x of an output may be from the reference's, whose row-major values are `expected`:
 * relative * |x| + absolute. */
void sample_tolerance(const Sample *sample, uint32_t output, const void *expected, double *relative, double *absolute);
/* One unit of a float dtype: what relative tolerances are multiples of. */
double sample_unit(BurnDType dtype);
/* Results are close enough by the sample's tolerance; else why says which element. */
bool results_are_close(const Sample *sample, const Results *found, const Results *expected, char *why,
                       size_t why_bytes);
/* Results have the same bits. */
bool results_are_same(const Results *found, const Results *expected, char *why, size_t why_bytes);

/* -- the checks: one function each ------------------------------------------------------------ */

void check_forward(Conform *run, const BurnOpInfo *op);
void check_laws(Conform *run, const BurnOpInfo *op);
void check_chains(Conform *run, const BurnOpInfo *op);
void check_gradients(Conform *run, const BurnOpInfo *op);
void check_faults(Conform *run, const BurnOpInfo *op);
void check_threads(Conform *run);
void check_shutdown(Conform *run);

/* The handshake consists of steps, so that a crash in one leaves the others: how many there are, and one of them. */
uint32_t handshake_step_count(const Conform *run);
void check_handshake(Conform *run, uint32_t step);

/* The cases of async, numbered: async_step_count() of work in flight, then one for each place of an op. */
uint32_t async_step_count(void);
void check_async(Conform *run, uint32_t part);

/* -- stack texts (stack_parts.c) -------------------------------------------------------------- */

/* Part i of a stack text, outermost first: its text with options, its name, the rest of the stack below ("" for the
 * last). False if there are fewer parts. */
typedef struct StackPart {
  char text[256], name[64], below[512];
} StackPart;
bool stack_part(const char *stack, uint32_t i, StackPart *out);
/* True if every part names a plugin, usable or not; else a message is printed. */
bool stack_is_known(const char *stack);

/* The stack to test for what the user wrote: a decorator alone is put on `base`, and so is a kernel pack, whose own ops
 * are then tested. */
typedef enum StackSubject {
  STACK_ITSELF,
  STACK_DECORATOR, /* alone */
  STACK_PACK,      /* alone */
  STACK_UNDER_PACK /* no stack: a pack is written as if it were a decorator */
} StackSubject;
StackSubject stack_complete(const char *argument, const char *base, char *out, size_t bytes);

/* -- a host that watches its plugins (watching_host.c) ---------------------------------------- */

/* A copy of burn_host() whose allocations are counted, checked and made to fail; one per process. */
const BurnHost *watching_host(void);
/* The n-th allocation from now fails (1: the next one; 0: none), until stop. */
void watching_host_fail_at(uint64_t n);
void watching_host_stop(void);
/* True if an allocation failed since fail_at. */
bool watching_host_failed(void);
/* Blocks that plugins hold. */
int64_t watching_host_blocks(void);
/* What a plugin did wrong with memory since the last call ("" if nothing): freed with another size, freed what it never
 * had. */
const char *watching_host_complaint(void);

/* -- running in a child (supervise.c) --------------------------------------------------------- */

/* Memory for the report, and what the user named as a whole stack; false without memory. */
bool supervise_begin(Conform *run);
/* Runs the whole plan; false if no child could be made. */
bool supervise(Conform *run);
/* A child that ends with this process, however that ends; 0 in it, -1 if there can be none. */
pid_t conform_fork(void);

#endif
