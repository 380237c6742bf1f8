/* op_bench.c - the time of single ops through the full stack: cost of a call on tiny tensors, rates on large ones.
 *
 * Each case is prepared once and then measured in rounds, one sample of every case per round, so that a change of the
 * machine's speed meets all of them alike. A sample repeats the case for about SAMPLE_SECONDS of wall time; shown are
 * the median, lowest and highest sample. Every sample ends with a look at the status of a result: a failing op does not
 * pass as a fast one.
 *
 *   op_bench [--only TEXT] [--repeats N] [--json]
 *
 * A new case is one row of `cases` and, if no body fits, a prepare and a run function. */
#include <burn/burn.h>

#include "bench_time.h"
#include "../../sdk/examples/common/arguments.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_SECONDS 0.04

enum { MAX_REPEATS = 101, MAX_DEVICES = 8, MAX_THREADS = 256, CHAIN = 100, LARGE = 16 * 1024 * 1024 };

/* What a case works on. */
typedef struct Operands {
  BurnTensor *a, *b, *c;
} Operands;

/* How a sample is told. */
typedef enum Unit { NS_PER_OP, MILLISECONDS, GIGAFLOPS, GIGABYTES } Unit;
static const char *const unit_names[] = {"ns/op", "ms", "GF/s", "GB/s"};

typedef struct Case {
  const char *name;
  const char *counted; /* what one op is */
  const char *stack;   /* NULL: no tensors involved */
  Unit unit;
  double work; /* of one repetition: ops, floating-point operations or bytes; for MILLISECONDS 1 */
  int64_t size;
  BurnStatus (*prepare)(int64_t size, BurnDevice *device, Operands *self);
  BurnStatus (*run)(Operands *self, size_t count);
} Case;

typedef struct Measured {
  Operands operands;
  size_t count; /* repetitions in a sample */
  double samples[MAX_REPEATS];
} Measured;

static BurnStatus check(const BurnTensor *x) { return burn_tensor_status(x); }

/* Drops a result after a look at it. */
static BurnStatus finish(BurnTensor *result) {
  const BurnStatus status = check(result);
  burn_drop(result);
  return status;
}

/* -- tiny tensors ----------------------------------------------------------------------------- */

static BurnStatus prepare_pair(int64_t size, BurnDevice *device, Operands *self) {
  (void)size;
  self->a = burn_tensor_f32(device, (const float[]){1, 2}, BURN_SHAPE(2));
  self->b = burn_tensor_f32(device, (const float[]){3, 4}, BURN_SHAPE(2));
  return check(self->a) != BURN_OK ? check(self->a) : check(self->b);
}

static BurnStatus prepare_tracked_pair(int64_t size, BurnDevice *device, Operands *self) {
  const BurnStatus status = prepare_pair(size, device, self);
  if (status != BURN_OK) return status;
  self->a = burn_require_grad(self->a);
  return check(self->a);
}

/* Two clones, the add, a new result, its drop. */
static BurnStatus run_add_new(Operands *self, size_t count) {
  for (size_t i = 1; i < count; i++) burn_drop(burn_add(burn_clone(self->a), burn_clone(self->b)));
  return finish(burn_add(burn_clone(self->a), burn_clone(self->b)));
}

/* One clone and the add, which overwrites its first input. */
static BurnStatus run_add_in_place(Operands *self, size_t count) {
  for (size_t i = 0; i < count; i++) self->a = burn_add(self->a, burn_clone(self->b));
  return check(self->a);
}

/* CHAIN adds that are recorded, then backward through them: recording, walking and freeing are all in the time of an
 * op. */
static BurnStatus run_add_tracked(Operands *self, size_t count) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    BurnTensor *x = burn_clone(self->a);
    for (int k = 0; k < CHAIN; k++) x = burn_add(x, burn_clone(self->b));
    BurnGradients *gradients = NULL;
    status = burn_backward(x, &gradients);
    burn_gradients_drop(gradients);
  }
  return status;
}

static BurnStatus run_clone(Operands *self, size_t count) {
  for (size_t i = 1; i < count; i++) burn_drop(burn_clone(self->a));
  return finish(burn_clone(self->a));
}

/* CHAIN adds that are recorded and forgotten. */
static BurnStatus run_add_recorded(Operands *self, size_t count) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    BurnTensor *x = burn_clone(self->a);
    for (int k = 0; k < CHAIN; k++) x = burn_add(x, burn_clone(self->b));
    status = finish(x);
  }
  return status;
}

static BurnStatus prepare_matrix(int64_t size, BurnDevice *device, Operands *self) {
  self->a = burn_random_normal(device, BURN_SHAPE(size, size), BURN_DTYPE_F32, 0, 1);
  return check(self->a);
}

/* Turned again and again. */
static BurnStatus run_view(Operands *self, size_t count) {
  for (size_t i = 0; i < count; i++) self->a = burn_swap_dims(self->a, 0, 1);
  return check(self->a);
}

static BurnStatus run_reshape(Operands *self, size_t count) {
  for (size_t i = 1; i < count; i++) burn_drop(burn_reshape(burn_clone(self->a), BURN_SHAPE(4, 1)));
  return finish(burn_reshape(burn_clone(self->a), BURN_SHAPE(4, 1)));
}

/* -- threads ---------------------------------------------------------------------------------- */

static BurnStatus prepare_nothing(int64_t size, BurnDevice *device, Operands *self) {
  (void)size;
  (void)device;
  (void)self;
  return BURN_OK;
}

static void BURN_API_CALL nothing(void *context, int64_t begin, int64_t end) {
  (void)context;
  (void)begin;
  (void)end;
}

/* Everybody waits for all others. */
static void BURN_API_CALL meet(void *context, int64_t begin, int64_t end) {
  atomic_uint *arrived = context;
  atomic_fetch_add(arrived, (unsigned)(end - begin));
  while (atomic_load_explicit(arrived, memory_order_relaxed) < burn_threads()) continue;
}

static BurnStatus run_meeting(Operands *self, size_t count) {
  (void)self;
  for (size_t i = 0; i < count; i++) {
    atomic_uint arrived = 0;
    burn_host()->parallel_for(burn_threads(), 1, meet, &arrived);
  }
  return BURN_OK;
}

/* One item per thread; the workers stay awake from one loop to the next. */
static BurnStatus run_fork_join(Operands *self, size_t count) {
  (void)self;
  for (size_t i = 0; i < count; i++) burn_host()->parallel_for(burn_threads(), 1, nothing, NULL);
  return BURN_OK;
}

/* -- large tensors ---------------------------------------------------------------------------- */

static BurnStatus prepare_large(int64_t size, BurnDevice *device, Operands *self) {
  self->a = burn_random_normal(device, BURN_SHAPE(size), BURN_DTYPE_F32, 0, 1);
  self->b = burn_random_normal(device, BURN_SHAPE(size), BURN_DTYPE_F32, 0, 1);
  return check(self->a) != BURN_OK ? check(self->a) : check(self->b);
}

static BurnStatus run_gelu(Operands *self, size_t count) {
  for (size_t i = 1; i < count; i++) burn_drop(burn_gelu(burn_clone(self->a)));
  return finish(burn_gelu(burn_clone(self->a)));
}

static BurnStatus prepare_square(int64_t size, BurnDevice *device, Operands *self) {
  self->a = burn_random_normal(device, BURN_SHAPE(size, size), BURN_DTYPE_F32, 0, 1);
  self->b = burn_random_normal(device, BURN_SHAPE(size, size), BURN_DTYPE_F32, 0, 1);
  return check(self->a) != BURN_OK ? check(self->a) : check(self->b);
}

static BurnStatus run_matmul(Operands *self, size_t count) {
  for (size_t i = 1; i < count; i++) burn_drop(burn_matmul(burn_clone(self->a), burn_clone(self->b)));
  return finish(burn_matmul(burn_clone(self->a), burn_clone(self->b)));
}

/* x [64, 8, 28, 28], weight [16, 8, 3, 3], bias [16] -> [64, 16, 26, 26] */
static BurnStatus prepare_conv(int64_t size, BurnDevice *device, Operands *self) {
  (void)size;
  self->a = burn_random_normal(device, BURN_SHAPE(64, 8, 28, 28), BURN_DTYPE_F32, 0, 1);
  self->b = burn_random_normal(device, BURN_SHAPE(16, 8, 3, 3), BURN_DTYPE_F32, 0, 1);
  self->c = burn_random_normal(device, BURN_SHAPE(16), BURN_DTYPE_F32, 0, 1);
  if (burn_device_is_autodiff(device)) {
    self->a = burn_require_grad(self->a);
    self->b = burn_require_grad(self->b);
    self->c = burn_require_grad(self->c);
  }
  BurnStatus status = check(self->a);
  if (status == BURN_OK) status = check(self->b);
  return status == BURN_OK ? check(self->c) : status;
}

static BurnTensor *conv(const Operands *self) {
  return burn_conv2d(burn_clone(self->a), burn_clone(self->b), burn_clone(self->c), BURN_CONV2D_OPTIONS);
}

static BurnStatus run_conv(Operands *self, size_t count) {
  for (size_t i = 1; i < count; i++) burn_drop(conv(self));
  return finish(conv(self));
}

/* Gradients of input, weight and bias. */
static BurnStatus run_conv_backward(Operands *self, size_t count) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    BurnGradients *gradients = NULL;
    status = burn_backward(conv(self), &gradients);
    burn_gradients_drop(gradients);
  }
  return status;
}

/* -- the machine: what a copy costs ----------------------------------------------------------- */

static char *copy_from, *copy_to;

typedef struct CopyPart {
  size_t begin, bytes, count;
} CopyPart;

static BurnStatus prepare_copy(int64_t size, BurnDevice *device, Operands *self) {
  (void)device;
  (void)self;
  const size_t bytes = (size_t)size * sizeof(float);
  if (!copy_from) copy_from = malloc(bytes);
  if (!copy_to) copy_to = malloc(bytes);
  if (!copy_from || !copy_to)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "memcpy: no memory for 2 x %zu bytes", bytes);
  memset(copy_from, 1, bytes);
  memset(copy_to, 2, bytes);
  return BURN_OK;
}

static void *copy_part(void *argument) {
  const CopyPart *part = argument;
  for (size_t i = 0; i < part->count; i++) {
    copy_from[part->begin]++; /* so that no copy is superfluous */
    memcpy(copy_to + part->begin, copy_from + part->begin, part->bytes);
  }
  return NULL;
}

static BurnStatus run_copy_on(size_t count, unsigned threads) {
  pthread_t workers[MAX_THREADS];
  CopyPart parts[MAX_THREADS];
  const size_t bytes = LARGE * sizeof(float) / threads;
  unsigned started = 0;
  for (; started < threads; started++) {
    parts[started] = (CopyPart){started * bytes, bytes, count};
    if (pthread_create(&workers[started], NULL, copy_part, &parts[started]) != 0) break;
  }
  for (unsigned i = 0; i < started; i++) pthread_join(workers[i], NULL);
  if (started == threads) return BURN_OK;
  return burn_status_make(BURN_STATUS_INTERNAL, "memcpy: thread %u could not be started", started);
}

static BurnStatus run_copy(Operands *self, size_t count) {
  (void)self;
  return run_copy_on(count, 1);
}
static BurnStatus run_copy_threads(Operands *self, size_t count) {
  (void)self;
  return run_copy_on(count, burn_threads() < MAX_THREADS ? burn_threads() : MAX_THREADS);
}

/* -- the cases -------------------------------------------------------------------------------- */

#define COUNT_TRACE "trace:format=count,file=/dev/null+ndarray"
#define NEW "2 clones, add, new result, its drop"
#define IN_PLACE "1 clone, add into its first input"
#define TAPE "1 clone, add recorded, backward; 100 in a chain"
#define TAPE_ALONE "1 clone, add recorded; 100 in a chain, its drop"
#define CUBE(n) (2.0 * (n) * (n) * (n))
#define CONV_FLOPS (2.0 * 64 * 16 * 26 * 26 * 8 * 9)
#define BYTES(tensors) ((tensors)*4.0 * (double)LARGE)

static const Case cases[] = {
    {"clone 2", "clone and its drop", "ndarray", NS_PER_OP, 1, 2, prepare_pair, run_clone},
    {"add 2", NEW, "ndarray", NS_PER_OP, 1, 2, prepare_pair, run_add_new},
    {"add 2", IN_PLACE, "ndarray", NS_PER_OP, 1, 2, prepare_pair, run_add_in_place},
    {"add 2", NEW, COUNT_TRACE, NS_PER_OP, 1, 2, prepare_pair, run_add_new},
    {"add 2", IN_PLACE, COUNT_TRACE, NS_PER_OP, 1, 2, prepare_pair, run_add_in_place},
    {"add 2 untracked", NEW, "autodiff+ndarray", NS_PER_OP, 1, 2, prepare_pair, run_add_new},
    {"add 2 untracked", IN_PLACE, "autodiff+ndarray", NS_PER_OP, 1, 2, prepare_pair, run_add_in_place},
    {"add 2 tracked", TAPE, "autodiff+ndarray", NS_PER_OP, CHAIN, 2, prepare_tracked_pair, run_add_tracked},
    {"tape per op", TAPE_ALONE, "autodiff+ndarray", NS_PER_OP, CHAIN, 2, prepare_tracked_pair, run_add_recorded},
    {"view op", "swap_dims of the last one", "ndarray", NS_PER_OP, 1, 2, prepare_matrix, run_view},
    {"view op", "1 clone, reshape, its drop", "ndarray", NS_PER_OP, 1, 2, prepare_matrix, run_reshape},
    {"parallel_for empty", "1 item per thread, workers awake", NULL, NS_PER_OP, 1, 0, prepare_nothing, run_fork_join},
    {"parallel_for meeting", "1 item per thread, all wait for all", NULL, NS_PER_OP, 1, 0, prepare_nothing,
     run_meeting},
    {"memcpy 64 MiB", "1 read, 1 write; 1 thread", NULL, GIGABYTES, BYTES(2), LARGE, prepare_copy, run_copy},
    {"memcpy 64 MiB", "1 read, 1 write; all threads", NULL, GIGABYTES, BYTES(2), LARGE, prepare_copy, run_copy_threads},
    {"add 16M", "2 reads, 1 write", "ndarray", GIGABYTES, BYTES(3), LARGE, prepare_large, run_add_new},
    {"gelu 16M", "1 read, 1 write", "ndarray", GIGABYTES, BYTES(2), LARGE, prepare_large, run_gelu},
    {"gelu 16M", "the call", "ndarray", MILLISECONDS, 1, LARGE, prepare_large, run_gelu},
#define MATMUL(n, stack) \
  { "matmul " #n, "2 n^3", stack, GIGAFLOPS, CUBE(n), n, prepare_square, run_matmul }
    MATMUL(64, "ndarray"),
    MATMUL(256, "ndarray"),
    MATMUL(1024, "ndarray"),
    MATMUL(64, "ndarray:gemm=builtin"),
    MATMUL(256, "ndarray:gemm=builtin"),
    MATMUL(1024, "ndarray:gemm=builtin"),
    {"conv2d forward", "64x8x28x28 to 16, 3x3", "ndarray", MILLISECONDS, 1, 0, prepare_conv, run_conv},
    {"conv2d forward", "multiply-adds as 2", "ndarray", GIGAFLOPS, CONV_FLOPS, 0, prepare_conv, run_conv},
    {"conv2d forward+backward", "gradients of x, weight, bias", "autodiff+ndarray", MILLISECONDS, 1, 0, prepare_conv,
     run_conv_backward},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static Measured results[CASE_COUNT];

/* -- measuring -------------------------------------------------------------------------------- */

static struct {
  const char *stack;
  BurnDevice *device;
} devices[MAX_DEVICES];

/* Cases on the same stack share a device. */
static BurnDevice *device_of(const char *stack) {
  size_t i = 0;
  while (i + 1 < MAX_DEVICES && devices[i].stack && strcmp(devices[i].stack, stack) != 0) i++;
  if (!devices[i].stack) {
    devices[i].stack = stack;
    devices[i].device = burn_device_open(stack);
  }
  return devices[i].device;
}

static bool is_chosen(const Case *c, const char *only) {
  return !only || strstr(c->name, only) || strstr(c->counted, only) || (c->stack && strstr(c->stack, only));
}

/* Seconds of `count` repetitions. */
static BurnStatus time_run(size_t i, size_t count, double *seconds) {
  const double begin = seconds_now();
  const BurnStatus status = cases[i].run(&results[i].operands, count);
  *seconds = seconds_now() - begin;
  return burn_status_annotate(status, "%s", cases[i].name);
}

/* Prepares a case, warms it up, and finds how often to repeat it in a sample. */
static BurnStatus begin(size_t i) {
  BurnStatus status = BURN_OK;
  BurnDevice *device = NULL;
  if (cases[i].stack) {
    device = device_of(cases[i].stack);
    status = burn_device_status(device);
  }
  if (status == BURN_OK) status = cases[i].prepare(cases[i].size, device, &results[i].operands);
  if (status != BURN_OK) return burn_status_annotate(status, "%s", cases[i].name);
  double seconds = 0;
  status = time_run(i, 1, &seconds);
  size_t count = 1;
  while (status == BURN_OK) {
    status = time_run(i, count, &seconds);
    if (seconds > SAMPLE_SECONDS / 4) break;
    count *= 2;
  }
  const double scale = SAMPLE_SECONDS / seconds;
  results[i].count = scale > 1 ? (size_t)((double)count * scale) + 1 : count;
  return status;
}

static double figure(const Case *c, double seconds) {
  switch (c->unit) {
    case NS_PER_OP:
      return seconds * 1e9 / c->work;
    case MILLISECONDS:
      return seconds * 1e3;
    default:
      return c->work / seconds * 1e-9;
  }
}

static BurnStatus measure(const char *only, size_t repeats) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < CASE_COUNT && status == BURN_OK; i++) {
    if (is_chosen(&cases[i], only)) status = begin(i);
  }
  for (size_t r = 0; r < repeats; r++) {
    for (size_t i = 0; i < CASE_COUNT && status == BURN_OK; i++) {
      if (!is_chosen(&cases[i], only)) continue;
      double seconds = 0;
      status = time_run(i, results[i].count, &seconds);
      results[i].samples[r] = figure(&cases[i], seconds / (double)results[i].count);
    }
  }
  return status;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void show(const Case *c, double *samples, size_t repeats, bool json) {
  const char *stack = c->stack ? c->stack : "-";
  qsort(samples, repeats, sizeof *samples, by_value);
  const double low = samples[0], high = samples[repeats - 1];
  const double median = repeats % 2 ? samples[repeats / 2] : (samples[repeats / 2 - 1] + samples[repeats / 2]) / 2;
  if (json) {
    printf(
        "{\"bench\":\"op\",\"case\":\"%s\",\"counted\":\"%s\",\"stack\":\"%s\",\"unit\":\"%s\",\"median\":%.6g,\"min\":"
        "%.6g,"
        "\"max\":%.6g,\"repeats\":%zu,\"threads\":%u}\n",
        c->name, c->counted, stack, unit_names[c->unit], median, low, high, repeats, burn_threads());
    return;
  }
  if (strcmp(stack, COUNT_TRACE) == 0) stack = "trace:format=count+ndarray";
  printf("%-24s %-48s %-27s %9.4g %9.4g %9.4g %s\n", c->name, c->counted, stack, median, low, high,
         unit_names[c->unit]);
}

static void end(void) {
  for (size_t i = 0; i < CASE_COUNT; i++) {
    burn_drop(results[i].operands.a);
    burn_drop(results[i].operands.b);
    burn_drop(results[i].operands.c);
  }
  for (size_t i = 0; i < MAX_DEVICES; i++) burn_device_close(devices[i].device);
  free(copy_from);
  free(copy_to);
}

int main(int argc, char **argv) {
  const char *only = NULL;
  size_t repeats = 9;
  bool json = false;
  const Argument arguments[] = {
      {"only", ARGUMENT_TEXT, &only, "TEXT", "cases whose name, description or stack contains this"},
      {"repeats", ARGUMENT_SIZE, &repeats, "N", "samples of each case, interleaved; 1 .. 101"},
      {"json", ARGUMENT_FLAG, &json, NULL, "one JSON object per case"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: op_bench [options]   the time of single ops", arguments,
                                     sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (repeats < 1 || repeats > MAX_REPEATS) {
    fprintf(stderr, "op_bench: --repeats %zu is outside 1..%d\n", repeats, MAX_REPEATS);
    return 2;
  }
  const BurnStatus status = measure(only, repeats);
  if (status != BURN_OK) fprintf(stderr, "op_bench: %s\n", burn_status_message(status));
  if (status == BURN_OK && !json) {
    printf("%-24s %-48s %-27s %9s %9s %9s\n", "op, f32", "counted", "stack", "median", "min", "max");
  }
  for (size_t i = 0; status == BURN_OK && i < CASE_COUNT; i++) {
    if (is_chosen(&cases[i], only)) show(&cases[i], results[i].samples, repeats, json);
  }
  end();
  return status == BURN_OK ? 0 : 1;
}
