/* fused_bench.c - chains of element-wise ops as one fused body of ndarray ("burn.fused"), as single calls, and as a
 * loop that the compiler made of the chain, or an op with a kernel of its own; on arrays of the size of the first and
 * second cache, and of memory.
 *
 * One sample of everything per round, about SAMPLE_SECONDS each, and a wait at its end; shown are medians as GB/s of
 * inputs and result, each counted once. On backends whose memory is not the host's: --ways 2, as loops have nothing there.
 *
 *   fused_bench [--only TEXT] [--rounds N] [--size N] [--columns N] [--stack TEXT] [--ways N] */
#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/fused.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused_bench.h"

#define SAMPLE_SECONDS 0.03

enum { MAX_STEPS = 12, MAX_INPUTS = 4, MAX_ROUNDS = 51, MAX_ATTRS = 5 };
static int64_t columns = 1024; /* of matrices */

/* A step: op, inputs (values; -1: none), a number: the scalar, or the axis of a reduction (-1: none). */
typedef struct Step {
  uint32_t op;
  int32_t inputs[2];
  double number;
} Step;

/* What inputs are. */
typedef enum Form { VECTORS, MATRICES, MATRIX_AND_ROWS, TWO_AND_ROWS } Form;

typedef struct Chain {
  const char *name;
  uint32_t input_count, step_count;
  Step steps[MAX_STEPS];
  FusedBenchLoop loop;
  Form form;
  uint32_t kernel; /* in place of a loop: an op that does the same */
} Chain;

static const Chain chains[] = {
    {"silu: x * recip(exp(-x) + 1)",
     1,
     5,
     {{BURN_OP_neg, {0, -1}, 0},
      {BURN_OP_exp, {1, -1}, 0},
      {BURN_OP_add_scalar, {2, -1}, 1},
      {BURN_OP_recip, {3, -1}, 0},
      {BURN_OP_mul, {0, 4}, 0}},
     fused_bench_silu,
     VECTORS,
     0},
    {"affine: 7 products and sums of x and y",
     2,
     7,
     {{BURN_OP_mul_scalar, {0, -1}, 1.5},
      {BURN_OP_add_scalar, {2, -1}, 0.25},
      {BURN_OP_mul_scalar, {3, -1}, 0.75},
      {BURN_OP_sub, {4, 1}, 0},
      {BURN_OP_mul_scalar, {5, -1}, 2.5},
      {BURN_OP_add_scalar, {6, -1}, 1},
      {BURN_OP_mul, {7, 0}, 0}},
     fused_bench_affine,
     VECTORS,
     0},
    {"gelu: x * (erf(x / sqrt 2) + 1) / 2",
     1,
     5,
     {{BURN_OP_div_scalar, {0, -1}, 1.4142135623730951},
      {BURN_OP_erf, {1, -1}, 0},
      {BURN_OP_add_scalar, {2, -1}, 1},
      {BURN_OP_mul, {0, 3}, 0},
      {BURN_OP_div_scalar, {4, -1}, 2}},
     fused_bench_gelu,
     VECTORS,
     0},
    {"gelu(x * y + z)",
     3,
     3,
     {{BURN_OP_mul, {0, 1}, 0}, {BURN_OP_add, {3, 2}, 0}, {BURN_OP_gelu, {4, -1}, 0}},
     fused_bench_gelu_of_product,
     VECTORS,
     0},
    {"softmax of rows",
     1,
     5,
     {{BURN_OP_max_dim, {0, -1}, 1},
      {BURN_OP_sub, {0, 1}, 0},
      {BURN_OP_exp, {2, -1}, 0},
      {BURN_OP_sum_dim, {3, -1}, 1},
      {BURN_OP_div, {3, 4}, 0}},
     NULL,
     MATRICES,
     BURN_OP_softmax},
    {"layer norm of rows",
     3,
     9,
     {{BURN_OP_mean_dim, {0, -1}, 1},
      {BURN_OP_sub, {0, 3}, 0},
      {BURN_OP_mul, {4, 4}, 0},
      {BURN_OP_mean_dim, {5, -1}, 1},
      {BURN_OP_add_scalar, {6, -1}, 1e-5},
      {BURN_OP_sqrt, {7, -1}, 0},
      {BURN_OP_div, {4, 8}, 0},
      {BURN_OP_mul, {9, 1}, 0},
      {BURN_OP_add, {10, 2}, 0}},
     NULL,
     MATRIX_AND_ROWS,
     BURN_OP_layer_norm},
    {"gelu of x and a row", 2, 2, {{BURN_OP_add, {0, 1}, 0}, {BURN_OP_gelu, {2, -1}, 0}}, NULL, MATRIX_AND_ROWS, 0},
    {"layer norm of x and a residual",
     4,
     10,
     {{BURN_OP_add, {0, 1}, 0},
      {BURN_OP_mean_dim, {4, -1}, 1},
      {BURN_OP_sub, {4, 5}, 0},
      {BURN_OP_mul, {6, 6}, 0},
      {BURN_OP_mean_dim, {7, -1}, 1},
      {BURN_OP_add_scalar, {8, -1}, 1e-5},
      {BURN_OP_sqrt, {9, -1}, 0},
      {BURN_OP_div, {6, 10}, 0},
      {BURN_OP_mul, {11, 2}, 0},
      {BURN_OP_add, {12, 3}, 0}},
     NULL,
     TWO_AND_ROWS,
     0},
    {"dropout: x times bernoulli(0.9) / 0.9",
     1,
     3,
     {{BURN_OP_random_bernoulli, {-1, -1}, 0.9}, {BURN_OP_mul, {0, 1}, 0}, {BURN_OP_div_scalar, {2, -1}, 0.9}},
     NULL,
     VECTORS,
     0},
    {"softmax gradient: y (g - sum(g y))",
     2,
     4,
     {{BURN_OP_mul, {0, 1}, 0}, {BURN_OP_sum_dim, {2, -1}, 1}, {BURN_OP_sub, {1, 3}, 0}, {BURN_OP_mul, {0, 4}, 0}},
     NULL,
     MATRICES,
     0},
    {"bias gradient: sum of y g (1 - y)",
     2,
     4,
     {{BURN_OP_neg, {0, -1}, 0},
      {BURN_OP_add_scalar, {2, -1}, 1},
      {BURN_OP_mul, {0, 3}, 0},
      {BURN_OP_sum_dim, {4, -1}, 0.5}},
     NULL,
     MATRICES,
     0},
    {"loss: mean of (x - y)^2",
     2,
     3,
     {{BURN_OP_sub, {0, 1}, 0}, {BURN_OP_mul, {2, 2}, 0}, {BURN_OP_mean, {3, -1}, 0}},
     NULL,
     MATRICES,
     0},
};

static const BurnHost *host;
static const BurnBackend *backend;
static BurnInterface fused;
static bool on_one_thread;
static uint32_t ways_only; /* 1: the fused body alone, for profilers */

static void BURN_API_CALL parallel_for(int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  if (on_one_thread) {
    body(context, 0, count);
  } else {
    host->parallel_for(count, grain, body, context);
  }
}

static void check(BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "fused_bench: %s\n", burn_status_message(status));
  exit(1);
}

/* -- one chain on one size -------------------------------------------------------------------- */

typedef struct Work {
  const Chain *chain;
  int64_t size;
  BurnTensorDesc descs[MAX_INPUTS + MAX_STEPS];
  BurnAttr attrs[MAX_STEPS][MAX_ATTRS];
  const BurnAttr *attr_rows[MAX_STEPS];
  BurnPrimitive *inputs[MAX_INPUTS];
  BurnFusedKernel *kernel;
  const float *in[MAX_INPUTS];
  float *out;
} Work;

static bool is_along(uint32_t op) { return op == BURN_OP_max_dim || op == BURN_OP_sum_dim || op == BURN_OP_mean_dim; }
static bool is_random(uint32_t op) { return op == BURN_OP_random_bernoulli; }
static uint32_t attrs_of(const Step *step) { return is_random(step->op) ? MAX_ATTRS : step->number != 0 ? 1 : 0; }
static uint32_t inputs_of(const Step *step) { return is_random(step->op) ? 0 : step->inputs[1] < 0 ? 1 : 2; }

static void compile(Work *work) {
  const Chain *chain = work->chain;
  BurnFusedStep steps[MAX_STEPS];
  uint32_t inputs[MAX_STEPS][2];
  char why[128] = "";
  const uint32_t output = chain->input_count + chain->step_count - 1;
  for (uint32_t i = 0; i < chain->step_count; i++) {
    for (uint32_t k = 0; k < inputs_of(&chain->steps[i]); k++) inputs[i][k] = (uint32_t)chain->steps[i].inputs[k];
    steps[i] = (BurnFusedStep){
        chain->steps[i].op, inputs_of(&chain->steps[i]), attrs_of(&chain->steps[i]), 1, inputs[i], work->attrs[i]};
  }
  const BurnFusedBody body = {
      (uint32_t)sizeof body, chain->input_count, chain->step_count, 1, work->descs, steps, &output};
  const BurnFusedInterface *table = fused.table;
  check(table->compile(fused.self, &body, &work->kernel, why, sizeof why));
  if (work->kernel) return;
  fprintf(stderr, "fused_bench: %s was refused: %s\n", chain->name, why);
  exit(1);
}

/* Inputs that are as large as the space; the others are rows. */
static uint32_t whole_inputs(const Chain *chain) {
  return chain->form == MATRIX_AND_ROWS ? 1 : chain->form == TWO_AND_ROWS ? 2 : MAX_INPUTS;
}

/* Shapes of inputs, and of steps by the rules of the ops. */
static void describe_values(Work *work) {
  const Chain *chain = work->chain;
  for (uint32_t k = 0; k < MAX_INPUTS; k++) {
    const bool is_row = k >= whole_inputs(chain);
    BurnTensorDesc *desc = &work->descs[k];
    *desc = (BurnTensorDesc){BURN_DTYPE_F32, chain->form == VECTORS ? 1 : 2, {work->size, 0}};
    if (chain->form != VECTORS) desc->shape[0] = is_row ? 1 : work->size / columns;
    if (chain->form != VECTORS) desc->shape[1] = columns;
  }
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const Step *step = &chain->steps[i];
    BurnTensorDesc *desc = &work->descs[chain->input_count + i];
    work->attrs[i][0] =
        is_along(step->op) ? burn_attr_i64((int64_t)step->number) : burn_attr_f64(step->number); /* 0.5: axis 0 */
    work->attr_rows[i] = work->attrs[i];
    *desc = work->descs[is_random(step->op) ? 0 : step->inputs[0]];
    if (is_random(step->op)) {
      work->attrs[i][0] = burn_attr_i64s(desc->shape, desc->rank);
      work->attrs[i][1] = burn_attr_dtype(desc->dtype);
      work->attrs[i][2] = work->attrs[i][3] = burn_attr_i64(7); /* seed, offset */
      work->attrs[i][4] = burn_attr_f64(step->number);
    }
    if (inputs_of(step) == 2 && burn_desc_count(&work->descs[step->inputs[1]]) > burn_desc_count(desc))
      *desc = work->descs[step->inputs[1]];
    if (is_along(step->op)) desc->shape[(int64_t)step->number] = 1;
    if (step->op == BURN_OP_mean) *desc = (BurnTensorDesc){BURN_DTYPE_F32, 1, {1}};
  }
}

static void prepare(Work *work, const Chain *chain, int64_t size) {
  memset(work, 0, sizeof *work);
  work->chain = chain;
  work->size = size;
  describe_values(work);
  float *data = aligned_alloc(64, (size_t)size * sizeof *data);
  work->out = aligned_alloc(64, (size_t)size * sizeof *work->out);
  if (!data || !work->out) check(BURN_STATUS_OUT_OF_MEMORY);
  for (uint32_t k = 0; k < MAX_INPUTS; k++) {
    for (int64_t i = 0; i < size; i++) data[i] = (float)((i * 37 + (int64_t)k * 11) % 1001) / 167.0f - 3.0f;
    const BurnTensorDesc *desc = k < chain->input_count ? &work->descs[k] : &work->descs[0];
    check(backend->create(backend->self, desc, data, &work->inputs[k]));
    work->in[k] = (const float *)(const void *)((const char *)work->inputs[k]->buffer + work->inputs[k]->byte_offset);
  }
  free(data);
  memset(work->out, 0, (size_t)size * sizeof *work->out);
  compile(work);
}

static void finish(Work *work) {
  const BurnFusedInterface *table = fused.table;
  table->release(fused.self, work->kernel);
  for (uint32_t k = 0; k < MAX_INPUTS; k++) backend->release(backend->self, work->inputs[k]);
  free(work->out);
}

/* -- the three ways --------------------------------------------------------------------------- */

static void run_fused(Work *work) {
  const BurnFusedInterface *table = fused.table;
  BurnPrimitive *out = NULL;
  const BurnFusedCall call = {(uint32_t)sizeof call, 0, work->kernel, work->inputs, work->attr_rows, &out, 0, NULL};
  check(table->run(fused.self, &call));
  backend->release(backend->self, out);
}

/* True if input k of step i is the last use of a value that a step made. */
static bool is_last_use(const Chain *chain, uint32_t i, uint32_t k) {
  const int32_t v = chain->steps[i].inputs[k];
  if ((uint32_t)v < chain->input_count) return false;
  if (k == 0 && chain->steps[i].inputs[1] == v) return false;
  for (uint32_t later = i + 1; later < chain->step_count; later++) {
    if (chain->steps[later].inputs[0] == v || chain->steps[later].inputs[1] == v) return false;
  }
  return true;
}

static bool is_taken(const Chain *chain, uint32_t v) {
  for (uint32_t i = 0; i < chain->step_count; i++) {
    if (chain->steps[i].inputs[0] == (int32_t)v || chain->steps[i].inputs[1] == (int32_t)v) return true;
  }
  return false;
}

static void run_single(Work *work) {
  const Chain *chain = work->chain;
  BurnPrimitive *values[MAX_INPUTS + MAX_STEPS];
  for (uint32_t k = 0; k < chain->input_count; k++) values[k] = work->inputs[k];
  for (uint32_t i = 0; i < chain->step_count; i++) {
    const Step *step = &chain->steps[i];
    BurnPrimitive *inputs[2], *out = NULL;
    BurnOpCall call = {.struct_size = (uint32_t)sizeof call,
                       .op = step->op,
                       .attr_count = attrs_of(step),
                       .input_count = inputs_of(step),
                       .output_count = 1,
                       .inputs = inputs,
                       .outputs = &out,
                       .attrs = work->attrs[i],
                       .output_descs = &work->descs[chain->input_count + i]};
    for (uint32_t k = 0; k < call.input_count; k++) {
      inputs[k] = values[step->inputs[k]];
      if (is_last_use(chain, i, k)) call.donate |= UINT64_C(1) << k;
    }
    check(backend->submit(backend->self, &call));
    for (uint32_t k = 0; k < call.input_count; k++) {
      if ((call.donate >> k) & 1u) backend->release(backend->self, inputs[k]);
    }
    values[chain->input_count + i] = out;
  }
  for (uint32_t i = 0; i < chain->step_count; i++) { /* what no later step has taken */
    if (!is_taken(chain, chain->input_count + i)) backend->release(backend->self, values[chain->input_count + i]);
  }
}

static void BURN_API_CALL loop_chunk(void *context, int64_t begin, int64_t end) {
  const Work *work = context;
  work->chain->loop(work->in, work->out, begin, end);
}

/* The loop, or the op that does the same. */
static void run_loop(Work *work) {
  if (work->chain->kernel != 0) {
    const BurnAttr attr = work->chain->kernel == BURN_OP_softmax ? burn_attr_i64(1) : burn_attr_f64(1e-5);
    BurnPrimitive *out = NULL;
    const BurnOpCall call = {.struct_size = (uint32_t)sizeof call,
                             .op = work->chain->kernel,
                             .attr_count = 1,
                             .input_count = work->chain->input_count,
                             .output_count = 1,
                             .inputs = work->inputs,
                             .outputs = &out,
                             .attrs = &attr,
                             .output_descs = &work->descs[0]};
    check(backend->submit(backend->self, &call));
    backend->release(backend->self, out);
    return;
  }
  parallel_for(work->size, 16384, loop_chunk, work);
}

/* -- measuring -------------------------------------------------------------------------------- */

typedef void (*Way)(Work *work);

enum { WAYS = 3 };
static const Way ways[WAYS] = {run_fused, run_single, run_loop};

/* True if the result is as large as the inputs. */
static bool is_large(const Work *work) {
  return burn_desc_count(&work->descs[work->chain->input_count + work->chain->step_count - 1]) == work->size;
}

/* GB/s of one sample. */
static double sample(Work *work, Way way, uint64_t *repetitions) {
  for (;;) {
    const uint64_t start = host->now_ns();
    for (uint64_t i = 0; i < *repetitions; i++) way(work);
    check(backend->sync(backend->self));
    const double seconds = 1e-9 * (double)(host->now_ns() - start);
    if (seconds < SAMPLE_SECONDS / 2 && *repetitions < UINT64_C(1) << 30) {
      *repetitions *= 2;
      continue;
    }
    const uint32_t whole = whole_inputs(work->chain), count = work->chain->input_count;
    const uint32_t inputs = count < whole ? count : whole;
    const double bytes = 4.0 * (double)work->size * (inputs + (is_large(work) ? 1 : 0));
    return bytes * (double)*repetitions / seconds * 1e-9;
  }
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const Chain *chain, int64_t size, uint32_t rounds) {
  Work work;
  double samples[WAYS][MAX_ROUNDS], medians[WAYS];
  uint64_t repetitions[WAYS] = {1, 1, 1};
  const uint32_t count = ways_only > 0 && ways_only < WAYS                                ? ways_only
                         : chain->kernel != 0 || (chain->loop && fused_bench_loops_run()) ? WAYS
                                                                                          : WAYS - 1;
  on_one_thread = size <= 65536;
  prepare(&work, chain, size);
  for (uint32_t round = 0; round < rounds; round++) {
    for (uint32_t way = 0; way < count; way++) samples[way][round] = sample(&work, ways[way], &repetitions[way]);
  }
  for (uint32_t way = 0; way < count; way++) {
    qsort(samples[way], rounds, sizeof(double), compare);
    medians[way] = samples[way][rounds / 2];
  }
  printf("%-40s %9lld  %8.1f", chain->name, (long long)size, medians[0]);
  if (count > 1) printf(" %8.1f", medians[1]);
  if (count == WAYS) printf(" %8.1f   %4.0f %%", medians[2], 100.0 * medians[0] / medians[2]);
  printf("\n");
  finish(&work);
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {2048, 65536, 16 * 1024 * 1024};
  const char *only = "", *stack = "ndarray";
  uint32_t rounds = 7;
  int64_t only_size = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (strcmp(argv[i], "--rounds") == 0) rounds = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--ways") == 0) ways_only = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--size") == 0) only_size = strtoll(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--columns") == 0) columns = strtoll(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--stack") == 0) stack = argv[i + 1];
  }
  if (rounds < 1 || rounds > MAX_ROUNDS) rounds = MAX_ROUNDS;
  host = burn_host();
  BurnHost own = *host;
  own.parallel_for = parallel_for;
  BurnDevice *device = burn_device_open_with_host(stack, &own);
  check(burn_device_status(device));
  backend = burn_device_backend(device);
  if (!backend->get_interface(backend->self, BURN_FUSED_INTERFACE, 1, &fused)) {
    fprintf(stderr, "fused_bench: %s has no %s\n", stack, BURN_FUSED_INTERFACE);
    return 1;
  }
  printf("%-40s %9s  %8s %8s %8s   fused of the loop; GB/s\n", "chain", "elements", "fused", "single", "loop");
  for (size_t c = 0; c < sizeof chains / sizeof chains[0]; c++) {
    if (!strstr(chains[c].name, only)) continue;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      if (only_size == 0) measure(&chains[c], sizes[s], rounds);
    }
    if (only_size > 0) measure(&chains[c], only_size, rounds);
  }
  burn_device_close(device);
  return 0;
}
