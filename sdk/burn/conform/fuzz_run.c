/* fuzz_run.c - a random graph on one device: as drawn, or with everything kept, or with inexact results moved a little.
 */
#include "fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- reads ------------------------------------------------------------------------------------ */

static bool fail(FuzzSession *session, int32_t node, BurnStatus status, const char *what) {
  FuzzRun *run = session->run;
  run->failed_node = node;
  run->status = status;
  const char *op = node >= 0 ? session->graph->nodes[node].sample.op->name : "";
  snprintf(run->why, sizeof run->why, "%s%s%s: %s", what, node >= 0 ? " " : "", op,
           status == BURN_OK ? "" : burn_status_message(status));
  return false;
}

/* Takes x and reads it; NULL with a failure in the run. `node` is named in messages. */
static const void *read_tensor(FuzzSession *session, BurnTensor *x, const BurnTensorDesc *desc, int32_t node) {
  FuzzRun *run = session->run;
  const size_t bytes = (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  char *data = run->arena + run->used;
  BurnStatus status = burn_tensor_status(x);
  const BurnShape shape = burn_shape(x);
  const bool as_promised = burn_dtype(x) == desc->dtype && shape.rank == desc->rank &&
                           memcmp(shape.dims, desc->shape, desc->rank * sizeof *shape.dims) == 0;
  if (status == BURN_OK && !as_promised) {
    status = burn_status_make(BURN_STATUS_INTERNAL, "the result has another shape or dtype than inferred");
  } else if (status == BURN_OK && run->used + bytes + 16 > FUZZ_ARENA) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no room to read the values of a graph");
  }
  if (status != BURN_OK) {
    burn_drop(x);
    fail(session, node, status, "reading the result of");
    return NULL;
  }
  memset(data, 0xa5, bytes);
  status = burn_read(x, data, bytes);
  if (status != BURN_OK) {
    fail(session, node, status, "reading the result of");
    return NULL;
  }
  run->used += (bytes + 15) & ~(size_t)15;
  return data;
}

/* -- inexact results moved by what the op may be wrong ---------------------------------------- */

/* Takes x: x + other or x * other, where the other's values are in host memory. */
static BurnTensor *combined(BurnDevice *device, uint32_t op, BurnTensor *x, const BurnTensorDesc *desc,
                            const void *other) {
  BurnShape shape = {.rank = desc->rank, .dims = {0}};
  memcpy(shape.dims, desc->shape, desc->rank * sizeof *shape.dims);
  BurnTensor *const inputs[2] = {x, burn_tensor_from(device, other, desc->dtype, shape)};
  BurnTensor *out = NULL;
  burn_op_call(NULL, burn_op_info(op), inputs, 2, NULL, 0, &out);
  return out;
}

/* The distance of 1 from the next number. */
static double epsilon_of(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return 0x1p-52;
    case BURN_DTYPE_F32:
      return 0x1p-23;
    case BURN_DTYPE_F16:
      return 0x1p-10;
    default:
      return 0x1p-7;
  }
}

/* Adds a positive or negative tolerance to every element of output `i` of a node. */
static bool move(FuzzSession *session, uint32_t node, uint32_t i) {
  const FuzzNode *made = &session->graph->nodes[node];
  const uint32_t v = made->first_output + i;
  const BurnTensorDesc *desc = &session->graph->values[v].desc;
  const size_t used = session->run->used;
  const void *data = read_tensor(session, burn_clone(session->handles[v]), desc, (int32_t)node);
  if (!data) return false;
  const int64_t count = burn_desc_count(desc);
  char *delta = malloc((size_t)count * burn_dtype_bytes(desc->dtype) + 1);
  double relative, absolute;
  sample_tolerance(&made->sample, i, data, &relative, &absolute);
  /* What makes these ops worse than others is how their inputs are conditioned, which moved_input measures. */
  const double part = made->sample.tolerance == SAMPLE_LOOSE ? 0.01 : 1;
  for (int64_t k = 0; delta && k < count; k++) {
    const double x = sample_load(desc->dtype, data, k, NULL), size = part * (relative * fabs(x) + absolute);
    const bool up = sample_mix(session->moves + v, (uint64_t)k) >> 63;
    sample_store(desc->dtype, delta, k, !isfinite(x) || !isfinite(size) ? 0 : up ? size : -size);
  }
  if (delta) session->handles[v] = combined(session->device, BURN_OP_add, session->handles[v], desc, delta);
  free(delta);
  session->run->used = used; /* those values were only for this */
  return true;
}

/* The sign of a zero that was added up depends on the order: zeros get another one at random. */
static bool flip_zeros(FuzzSession *session, uint32_t node, uint32_t v) {
  const BurnTensorDesc *desc = &session->graph->values[v].desc;
  const size_t used = session->run->used;
  const void *data = read_tensor(session, burn_clone(session->handles[v]), desc, (int32_t)node);
  if (!data) return false;
  const int64_t count = burn_desc_count(desc);
  char *factors = malloc((size_t)count * burn_dtype_bytes(desc->dtype) + 1);
  for (int64_t k = 0; factors && k < count; k++) {
    const bool flips =
        sample_load(desc->dtype, data, k, NULL) == 0 && sample_mix(session->moves + v, (uint64_t)k) >> 63;
    sample_store(desc->dtype, factors, k, flips ? -1 : 1);
  }
  if (factors) session->handles[v] = combined(session->device, BURN_OP_mul, session->handles[v], desc, factors);
  free(factors);
  session->run->used = used;
  return true;
}

/* Sums of integers; not on the way to gradients, which a factor would change. */
static bool has_free_zeros(const FuzzSession *session, uint32_t node, uint32_t v) {
  return (session->how & FUZZ_MOVE) && !(session->how & FUZZ_WALK) && session->classes[v] == FUZZ_WHOLE &&
         session->graph->nodes[node].sample.tolerance != SAMPLE_EXACT;
}

/* Rounding inside an op is as good as rounding of its inputs: where those are ill-conditioned (the variance of equal
 * numbers), no tolerance of the result would do. Halves are computed in f32, so theirs need no such room. Takes x. */
static BurnTensor *moved_input(FuzzSession *session, BurnTensor *x, uint32_t v, uint32_t node) {
  const BurnTensorDesc *desc = &session->graph->values[v].desc;
  const double epsilon = epsilon_of(desc->dtype);
  if (burn_dtype_kind(desc->dtype) != BURN_KIND_FLOAT || burn_dtype_bytes(desc->dtype) < 4) return x;
  const size_t used = session->run->used;
  const void *data = read_tensor(session, burn_clone(x), desc, (int32_t)node);
  const int64_t count = burn_desc_count(desc);
  char *delta = data ? malloc((size_t)count * burn_dtype_bytes(desc->dtype) + 1) : NULL;
  for (int64_t k = 0; delta && k < count; k++) {
    const double value = sample_load(desc->dtype, data, k, NULL),
                 size = isfinite(value) ? 4 * epsilon * fabs(value) : 0;
    const bool up = sample_mix(session->moves + 100 * node + v, (uint64_t)k) >> 63;
    sample_store(desc->dtype, delta, k, up ? size : -size);
  }
  if (delta) x = combined(session->device, BURN_OP_add, x, desc, delta);
  free(delta);
  session->run->used = used;
  return x;
}

/* Results that are inexact though all inputs are exact, and those that add an error of their own. */
static bool moves(const FuzzSession *session, uint32_t node, uint32_t i) {
  const FuzzNode *made = &session->graph->nodes[node];
  const uint32_t v = made->first_output + i;
  return (session->how & FUZZ_MOVE) && session->classes[v] == FUZZ_INEXACT && made->sample.tolerance != SAMPLE_EXACT &&
         burn_dtype_kind(session->graph->values[v].desc.dtype) == BURN_KIND_FLOAT;
}

/* -- steps ------------------------------------------------------------------------------------ */

void fuzz_begin(FuzzSession *session, BurnDevice *device, const FuzzGraph *graph, uint32_t how, FuzzRun *run) {
  const uint64_t seed = session->moves;
  const uint8_t *classes = session->classes;
  memset(session, 0, sizeof *session);
  *session = (FuzzSession){.device = device, .graph = graph, .run = run, .how = how, .moves = seed, .classes = classes};
  run->used = 0;
  run->failed_node = -1;
  run->status = BURN_OK;
  run->why[0] = '\0';
  memset(run->early, 0, sizeof run->early);
  memset(run->late, 0, sizeof run->late);
  memset(run->gradients, 0, sizeof run->gradients);
  session->live = burn_device_memory(device).live_tensors;
}

static void make_leaf(FuzzSession *session, uint32_t v) {
  const FuzzValue *value = &session->graph->values[v];
  BurnShape shape = {.rank = value->desc.rank, .dims = {0}};
  memcpy(shape.dims, value->desc.shape, value->desc.rank * sizeof *shape.dims);
  BurnTensor *x = burn_tensor_from(session->device, session->graph->pool + value->data, value->desc.dtype, shape);
  if (value->tracked && (session->how & FUZZ_TRACK)) {
    x = burn_require_grad(x);
    session->leaves[v] = burn_clone(x);
  }
  session->handles[v] = x;
  session->made[v] = true;
}

static bool any_moves(const FuzzSession *session, uint32_t n) {
  for (uint32_t i = 0; i < session->graph->nodes[n].sample.op->output_count; i++) {
    if (moves(session, n, i)) return true;
  }
  return false;
}

/* The handle for input i of a node: itself or a clone. */
static BurnTensor *input_of(FuzzSession *session, uint32_t n, uint32_t i) {
  const FuzzNode *node = &session->graph->nodes[n];
  if (node->inputs[i] < 0) return NULL;
  const uint32_t v = (uint32_t)node->inputs[i];
  if (!session->made[v]) make_leaf(session, v);
  BurnTensor *x = session->handles[v];
  if ((session->how & FUZZ_MOVE) && any_moves(session, n)) return moved_input(session, burn_clone(x), v, n);
  if (!node->given[i] || (session->how & FUZZ_KEEP_ALL)) return burn_clone(x);
  session->handles[v] = NULL;
  return x;
}

/* What nobody will use any more goes. */
static void drop_used(FuzzSession *session, uint32_t n) {
  const FuzzNode *node = &session->graph->nodes[n];
  if (session->how & FUZZ_KEEP_ALL) return;
  for (uint32_t i = 0; i < node->sample.input_count; i++) {
    if (node->inputs[i] < 0) continue;
    const uint32_t v = (uint32_t)node->inputs[i];
    if (session->graph->values[v].kept || fuzz_last_use(session->graph, v) > (int32_t)n) continue;
    burn_drop(session->handles[v]);
    session->handles[v] = NULL;
  }
}

bool fuzz_step(FuzzSession *session, uint32_t n) {
  const FuzzNode *node = &session->graph->nodes[n];
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL}, *outputs[BURN_MAX_OUTPUTS] = {NULL};
  for (uint32_t i = 0; i < node->sample.input_count; i++) inputs[i] = input_of(session, n, i);
  sample_call(session->device, &node->sample, inputs, outputs);
  drop_used(session, n);
  bool good = true;
  for (uint32_t i = 0; i < node->sample.op->output_count; i++) {
    const uint32_t v = node->first_output + i;
    session->handles[v] = outputs[i];
    session->made[v] = true;
    const BurnStatus status = burn_tensor_status(outputs[i]);
    if (good && status != BURN_OK) good = fail(session, (int32_t)n, status, "failed:");
    if (good && moves(session, n, i)) good = move(session, n, i);
    if (good && has_free_zeros(session, n, v)) good = flip_zeros(session, n, v);
    const bool reads = session->graph->values[v].watched || (session->how & FUZZ_READ_ALL);
    if (!good || !reads) continue;
    session->run->early[v] =
        read_tensor(session, burn_clone(session->handles[v]), &session->graph->values[v].desc, (int32_t)n);
    good = session->run->early[v] != NULL;
  }
  return good;
}

/* -- backward --------------------------------------------------------------------------------- */

static BurnTensor *call(uint32_t op, BurnTensor *a, BurnTensor *b, const BurnAttr *attr) {
  BurnTensor *const inputs[2] = {a, b};
  BurnTensor *out = NULL;
  burn_op_call(NULL, burn_op_info(op), inputs, b ? 2 : 1, attr, attr ? 1 : 0, &out);
  return out;
}

/* Weight i of value v: they differ, so that gradients in the wrong place are seen, and have few bits, so that they are
 * the same in every dtype. In a moved run they move too, which shows what cancels on the way back. */
static double weight(const FuzzSession *session, uint32_t v, int64_t i) {
  const double w = 0.5 + 0.125 * (double)(i * 5 % 8), epsilon = epsilon_of(session->graph->values[v].desc.dtype);
  if (!(session->how & FUZZ_MOVE)) return w;
  const bool up = sample_mix(session->moves + 10000 + v, (uint64_t)i) >> 63;
  return w + (up ? 1 : -1) * (epsilon < 1e-6 ? 4 : 1) * epsilon * w;
}

/* The sum of a value times weights, in f32. */
static BurnTensor *project(FuzzSession *session, uint32_t v) {
  const BurnTensorDesc *desc = &session->graph->values[v].desc;
  const int64_t count = burn_desc_count(desc);
  BurnShape shape = {.rank = desc->rank, .dims = {0}};
  memcpy(shape.dims, desc->shape, desc->rank * sizeof *shape.dims);
  char *weights = malloc((size_t)count * burn_dtype_bytes(desc->dtype) + 1);
  for (int64_t i = 0; weights && i < count; i++) sample_store(desc->dtype, weights, i, weight(session, v, i));
  BurnTensor *w = burn_tensor_from(session->device, weights, desc->dtype, shape);
  free(weights);
  BurnTensor *sum = call(BURN_OP_sum, call(BURN_OP_mul, burn_clone(session->handles[v]), w, NULL), NULL, NULL);
  const BurnAttr dtype = burn_attr_dtype(BURN_DTYPE_F32);
  return desc->dtype == BURN_DTYPE_F32 ? sum : call(BURN_OP_cast, sum, NULL, &dtype);
}

/* The number that backward starts from: all kept float results; NULL if none is tracked. */
static BurnTensor *root_of(FuzzSession *session) {
  BurnTensor *root = NULL;
  for (uint32_t v = 0; v < session->graph->value_count; v++) {
    const FuzzValue *value = &session->graph->values[v];
    if (!value->kept || value->node < 0 || !session->handles[v] || !burn_is_tracked(session->handles[v])) continue;
    BurnTensor *part = project(session, v);
    root = root ? call(BURN_OP_add, root, part, NULL) : part;
  }
  return root;
}

static bool walk(FuzzSession *session) {
  BurnTensor *root = root_of(session);
  BurnGradients *gradients = NULL;
  if (!root) return true;
  const BurnStatus status = burn_backward(root, &gradients);
  bool good = status == BURN_OK || fail(session, -1, status, "backward");
  for (uint32_t v = 0; good && v < session->graph->value_count; v++) {
    BurnTensor *gradient = session->leaves[v] ? burn_grad_remove(session->leaves[v], gradients) : NULL;
    if (!gradient) continue;
    session->run->gradients[v] = read_tensor(session, gradient, &session->graph->values[v].desc, -1);
    good = session->run->gradients[v] != NULL;
  }
  burn_gradients_drop(gradients);
  return good;
}

/* -- the end ---------------------------------------------------------------------------------- */

static bool read_kept(FuzzSession *session) {
  const FuzzGraph *graph = session->graph;
  for (uint32_t v = 0; v < graph->value_count; v++) {
    if (!graph->values[v].kept || !session->handles[v]) continue;
    const FuzzValue *value = &graph->values[v];
    session->run->late[v] = read_tensor(session, burn_clone(session->handles[v]), &value->desc, value->node);
    if (!session->run->late[v]) return false;
  }
  return true;
}

bool fuzz_end(FuzzSession *session) {
  bool good = session->run->why[0] == '\0';
  if (good) good = read_kept(session);
  if (good && (session->how & FUZZ_WALK)) good = walk(session);
  for (uint32_t v = 0; v < session->graph->value_count; v++) {
    burn_drop(session->handles[v]);
    burn_drop(session->leaves[v]);
  }
  const int64_t left = burn_device_memory(session->device).live_tensors - session->live;
  if (good && left != 0) {
    good = fail(session, -1, BURN_OK, "");
    snprintf(session->run->why, sizeof session->run->why, "%" PRId64 " tensors of the backend are left over", left);
  }
  return good;
}

bool fuzz_run(FuzzSession *session, BurnDevice *device, const FuzzGraph *graph, uint32_t how, FuzzRun *run) {
  fuzz_begin(session, device, graph, how, run);
  for (uint32_t n = 0; n < graph->node_count; n++) {
    if (!fuzz_step(session, n)) break;
  }
  return fuzz_end(session);
}
