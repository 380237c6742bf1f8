/* cuda_dnn_attention.c - attention of halves by cuDNN, and its gradients: what it is known to do right and fast, and
 * nothing else. */
#include "cuda_dnn.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(sizeof(DnnAttention) <= DNN_KEY_BYTES, "attention does not fit into a key");

enum { FORWARD = 1, BACKWARD }; /* DnnKey.what */
enum { MIN_VERSION = 90600, INFINITE_VERSION = 91000, WIDTH_UNIT = 8, MAX_WIDTH = 128, LENGTH_UNIT = 128 };
/* Compute capabilities; of the gradients only those where the same bits come every time. */
enum { MIN_ARCHITECTURE = 80, BEYOND_GRADIENTS = 100 };

/* -- what it takes ---------------------------------------------------------------------------- */

static bool takes_heads(const BurnPrimitive *x) {
  bool fits = x->strides[3] == 1 && gpu_address(x) % 16 == 0;
  for (int axis = 0; axis < 3 && fits; axis++)
    fits = x->shape[axis] == 1 || (x->strides[axis] > 0 && x->strides[axis] % WIDTH_UNIT == 0);
  return fits;
}

/* Inputs of attention_with_logsumexp_backward alone. */
enum { RESULT = 4, LOGSUMEXP = 5 };

static bool has_results(const GpuRun *run) { return run->call->op == BURN_OP_attention_with_logsumexp_backward; }

/* Lengths that are not whole tiles gave NaN in gradients, and masks are made from the first key on: both not here. */
static bool takes(const GpuRun *run, const GpuAttention *p) {
  const int architecture = cuda_of(run->gpu)->architecture;
  const BurnDType dtype = run->call->inputs[0]->dtype;
  const bool is_half = dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
  const bool is_plain = !p->mask && !p->bias && p->cap == 0 && p->batch * p->heads > 0;
  const bool is_whole = p->queries == p->keys && p->queries > 0 && p->queries % LENGTH_UNIT == 0;
  const bool is_known =
      p->width == p->value_width && p->width % WIDTH_UNIT == 0 && p->width > 0 && p->width <= MAX_WIDTH;
  bool fits = is_half && is_plain && is_whole && is_known && architecture >= MIN_ARCHITECTURE &&
              (!p->grad || architecture < BEYOND_GRADIENTS);
  for (uint32_t i = 0; i < (p->grad ? 4 : 3) && fits; i++) fits = takes_heads(run->call->inputs[i]);
  if (has_results(run) && fits)
    fits = takes_heads(run->call->inputs[RESULT]) && burn__gpu_is_row_major(run->call->inputs[LOGSUMEXP]);
  return fits;
}

/* -- plans ------------------------------------------------------------------------------------ */

static void take_strides(int64_t to[4], const BurnPrimitive *x) { memcpy(to, x->strides, 4 * sizeof *to); }

static DnnAttention take_attention(const GpuAttention *p, BurnPrimitive *const *heads) {
  DnnAttention a = {.n = p->batch, .heads = p->heads, .length = p->queries, .width = p->width};
  a.type = heads[0]->dtype == BURN_DTYPE_F16 ? DNN_F16 : DNN_BF16;
  a.is_causal = p->is_causal;
  take_strides(a.query, heads[0]);
  take_strides(a.key, heads[1]);
  take_strides(a.value, heads[2]);
  return a;
}

static void build_forward(DnnGraph *graph, const DnnKey *key) {
  DnnAttention a;
  memcpy(&a, key->bytes, sizeof a);
  burn__dnn_attention(graph, &a);
}

static void build_backward(DnnGraph *graph, const DnnKey *key) {
  DnnAttention a;
  memcpy(&a, key->bytes, sizeof a);
  burn__dnn_attention_backward(graph, &a);
}

/* Numbers of the host that a plan reads when it runs: scale, what hides, 1. */
enum { SCALE, HIDDEN, ONE };

static DnnPlans *plans_of(Cuda *cuda, const DnnAttention *a, int64_t what, double scale) {
  const DnnWish wish = {what == FORWARD ? build_forward : build_backward, 1, DNN_ANY, NULL};
  DnnKey key;
  memset(&key, 0, sizeof key);
  key.what = what;
  key.numbers[SCALE] = (float)scale;
  key.numbers[HIDDEN] = burn__dnn_version(cuda) >= INFINITE_VERSION ? -INFINITY : -FLT_MAX;
  key.numbers[ONE] = 1;
  memcpy(key.bytes, a, sizeof *a);
  DnnPlans *plans = burn__dnn_plans(cuda, &key, &wish);
  return plans && plans->count > 0 ? plans : NULL;
}

static void *pointer(const BurnPrimitive *x) { return (void *)(uintptr_t)gpu_address(x); }

/* -- running ---------------------------------------------------------------------------------- */

/* One f32 for each row, [n, heads, length]. */
static BurnStatus new_rows(Cuda *cuda, const GpuAttention *p, BurnPrimitive **out) {
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F32, .rank = 3, .shape = {p->batch, p->heads, p->queries}};
  return burn__gpu_new(&cuda->gpu, &desc, out);
}

/* Within the lock. The number that hides is bound by causal graphs alone, so it comes last. */
static bool run_forward(Cuda *cuda, const GpuAttention *p, BurnPrimitive *const *heads, const BurnPrimitive *out,
                        const BurnPrimitive *statistics) {
  static const int64_t ids[] = {DNN_QUERY, DNN_KEY, DNN_VALUE, DNN_OUT, DNN_STATISTICS, DNN_SCALE, DNN_HIDDEN};
  DnnAttention a = take_attention(p, heads);
  take_strides(a.out, out);
  DnnPlans *plans = plans_of(cuda, &a, FORWARD, p->scale);
  if (!plans) return false;
  void *const pointers[] = {pointer(heads[0]),   pointer(heads[1]),          pointer(heads[2]),          pointer(out),
                            pointer(statistics), &plans->key.numbers[SCALE], &plans->key.numbers[HIDDEN]};
  return burn__dnn_run(cuda, plans, 0, p->is_causal ? 7 : 6, ids, pointers);
}

bool burn__cuda_dnn_attention(const GpuRun *run, const GpuAttention *p) {
  Cuda *cuda = cuda_of(run->gpu);
  BurnPrimitive *statistics = NULL;
  const bool is_asked = run->call->output_count > 1; /* for the statistics, which are the logsumexp */
  if (!takes(run, p) || !burn__dnn_lock(cuda)) return false;
  const bool done = burn__dnn_version(cuda) >= MIN_VERSION && (is_asked || new_rows(cuda, p, &statistics) == BURN_OK) &&
                    run_forward(cuda, p, run->call->inputs, run->out[0], is_asked ? run->out[1] : statistics);
  burn__dnn_unlock(cuda);
  burn__gpu_release(&cuda->gpu, statistics);
  return done;
}

/* What the gradients are made from, beside the inputs of attention. */
typedef struct Results {
  BurnPrimitive *out, *statistics, *hits;
} Results;

static bool run_backward(const GpuRun *run, const GpuAttention *p, const Results *results) {
  static const int64_t ids[] = {DNN_QUERY, DNN_KEY,  DNN_VALUE,      DNN_OUT,      DNN_STATISTICS, DNN_SCALE, DNN_GRAD,
                                DNN_ONE,   DNN_HITS, DNN_QUERY_GRAD, DNN_KEY_GRAD, DNN_VALUE_GRAD, DNN_HIDDEN};
  BurnPrimitive *const *in = run->call->inputs;
  DnnAttention a = take_attention(p, in + 1);
  take_strides(a.out, results->out);
  take_strides(a.grad, in[0]);
  take_strides(a.query_grad, run->out[0]);
  take_strides(a.key_grad, run->out[1]);
  take_strides(a.value_grad, run->out[2]);
  DnnPlans *plans = plans_of(cuda_of(run->gpu), &a, BACKWARD, p->scale);
  if (!plans) return false;
  float *numbers = plans->key.numbers;
  void *const pointers[] = {
      pointer(in[1]),       pointer(in[2]),       pointer(in[3]),  pointer(results->out),  pointer(results->statistics),
      &numbers[SCALE],      pointer(in[0]),       &numbers[ONE],   pointer(results->hits), pointer(run->out[0]),
      pointer(run->out[1]), pointer(run->out[2]), &numbers[HIDDEN]};
  return burn__dnn_run(cuda_of(run->gpu), plans, 0, p->is_causal ? 13 : 12, ids, pointers);
}

/* Those of the call, or made again where the op is not given them. */
static bool take_results(const GpuRun *run, const GpuAttention *p, Results *results) {
  Cuda *cuda = cuda_of(run->gpu);
  BurnPrimitive *const *in = run->call->inputs;
  const BurnTensorDesc desc = burn_primitive_desc(in[1]);
  if (has_results(run)) {
    burn__gpu_retain(results->out = in[RESULT]);
    burn__gpu_retain(results->statistics = in[LOGSUMEXP]);
    return true;
  }
  return burn__gpu_new_heads(&cuda->gpu, &desc, in[0], &results->out) == BURN_OK &&
         new_rows(cuda, p, &results->statistics) == BURN_OK &&
         run_forward(cuda, p, in + 1, results->out, results->statistics);
}

bool burn__cuda_dnn_attention_backward(const GpuRun *run, const GpuAttention *p) {
  Cuda *cuda = cuda_of(run->gpu);
  Results results = {NULL, NULL, NULL};
  if (!takes(run, p) || !burn__dnn_lock(cuda)) return false;
  const bool done = burn__dnn_version(cuda) >= MIN_VERSION && new_rows(cuda, p, &results.hits) == BURN_OK &&
                    take_results(run, p, &results) && run_backward(run, p, &results);
  burn__dnn_unlock(cuda);
  burn__gpu_release(&cuda->gpu, results.out);
  burn__gpu_release(&cuda->gpu, results.statistics);
  burn__gpu_release(&cuda->gpu, results.hits);
  return done;
}
