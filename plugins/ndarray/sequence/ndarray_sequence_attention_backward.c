/* ndarray_sequence_attention_backward.c - the gradients of attention, with the scores made anew for a group of queries
 * at a time.
 *
 * A head is done by one thread, group after group, with the gradients of its keys and values added up on the way: so
 * their sums have one order. A bias that several heads share gets a sum per slice of heads, added in order at the end;
 * the slices depend on the shapes alone. */
#include "ndarray_sequence_attention.h"

#include <string.h>

#define QUERY_VECTORS 2
#define SLICES 16 /* of heads that share a bias */

/* What the bodies of the parallel loops see. */
typedef struct Backward {
  NdAttention attention;
  const NdTensor *grad;
  NdTensor *results[4];                /* of query, key, value, bias */
  int64_t key_columns, value_columns;  /* widths in whole vectors */
  int64_t slices;                      /* items of work: some heads each */
  int64_t bias_count, bias_strides[4]; /* of the bias gradient, 0 where it stretches */
  char *partial;                       /* [slices][bias_count] of shared bias gradients, else NULL */
  atomic_bool out_of_memory;
} Backward;

/* Room of one body. */
typedef struct Room {
  char *queries, *grads;               /* [width, lanes], [value_width, lanes] */
  char *query_rows, *grad_rows;        /* [lanes, key_columns], [lanes, value_columns] */
  char *weights, *derivatives, *bends; /* [keys, lanes]; bends only with a soft cap */
  char *query_grad;                    /* [width, lanes] */
  char *key_grad, *value_grad;         /* [keys, key_columns], [keys, value_columns] */
  NdSoftmaxState state;
  char *bias_grad; /* where derivatives are added up; NULL without a bias */
} Room;

static int64_t full_vectors(const NdAttention *a, int64_t count) {
  return (count + a->loops->lanes - 1) / a->loops->lanes * a->loops->lanes;
}

static uint64_t room_bytes(const Backward *work) {
  const NdAttention *a = &work->attention;
  const int64_t rows = 2 * a->width + a->value_width + (a->cap > 0 ? 3 : 2) * a->keys + 3; /* of lanes */
  const int64_t columns = work->key_columns + work->value_columns;
  return (uint64_t)((rows * a->lanes + (a->lanes + a->keys) * columns) * a->bytes);
}

static Room lay_out(const Backward *work, char *memory) {
  const NdAttention *a = &work->attention;
  const int64_t row = a->lanes * a->bytes, key_row = work->key_columns * a->bytes,
                value_row = work->value_columns * a->bytes;
  Room room = {.queries = memory};
  room.grads = room.queries + a->width * row;
  room.query_grad = room.grads + a->value_width * row;
  room.query_rows = room.query_grad + a->width * row;
  room.grad_rows = room.query_rows + a->lanes * key_row;
  room.state.high = room.grad_rows + a->lanes * value_row;
  room.state.sum = (char *)room.state.high + row;
  room.state.factor = (char *)room.state.sum + row;
  room.key_grad = (char *)room.state.factor + row;
  room.value_grad = room.key_grad + a->keys * key_row;
  room.weights = room.value_grad + a->keys * value_row;
  room.derivatives = room.weights + a->keys * row;
  room.bends = a->cap > 0 ? room.derivatives + a->keys * row : NULL;
  return room;
}

/* The queries and the gradient of their results, with queries as columns and as rows. */
static void pack_group(const Backward *work, const NdAttentionGroup *g, const Room *room) {
  const NdAttention *a = &work->attention;
  const NdTensor *q = a->query, *grad = work->grad;
  const void *queries = nd_attention_row(a, q, g, g->first), *grads = nd_attention_row(a, grad, g, g->first);
  a->loops->pack(a->width, g->count, queries, q->strides[3], q->strides[2], room->queries, a->lanes, a->lanes);
  a->loops->pack(a->value_width, g->count, grads, grad->strides[3], grad->strides[2], room->grads, a->lanes, a->lanes);
  a->loops->pack(g->count, a->width, queries, q->strides[2], q->strides[3], room->query_rows, work->key_columns,
                 work->key_columns);
  a->loops->pack(g->count, a->value_width, grads, grad->strides[2], grad->strides[3], room->grad_rows,
                 work->value_columns, work->value_columns);
}

/* weights: how much every query takes of every key. */
static void find_weights(const NdAttention *a, const NdAttentionGroup *g, const Room *room, NdScores *s) {
  nd_attention_scores(a, g, room->queries, 0, s, room->bends);
  nd_attention_start(a, &room->state);
  a->loops->softmax(s, &room->state);
  a->loops->invert(a->lanes, room->state.sum, room->state.factor);
  a->loops->rescale(s->keys, a->lanes, s->scores, room->state.factor);
}

/* sums [keys, columns] += scores [keys, lanes] x rows [lanes, columns] of the group's queries. */
static void add_product(const NdAttention *a, const NdAttentionGroup *g, const char *scores, const char *rows,
                        int64_t columns, char *sums) {
  const NdProduct product = {.rows = g->keys,
                             .columns = columns,
                             .depth = g->count,
                             .a = scores,
                             .a_row = a->lanes,
                             .a_step = 1,
                             .b = rows,
                             .b_row = columns,
                             .c = sums,
                             .c_row = columns,
                             .accumulate = true};
  a->loops->product(&product);
}

/* derivatives: the gradient of the weights, grad x value^T. */
static void find_derivatives(const NdAttention *a, const NdAttentionGroup *g, const Room *room) {
  const NdProduct product = {.rows = g->keys,
                             .columns = a->lanes,
                             .depth = a->value_width,
                             .a = nd_attention_row(a, a->value, g, 0),
                             .a_row = a->value->strides[2],
                             .a_step = a->value->strides[3],
                             .b = room->grads,
                             .b_row = a->lanes,
                             .c = room->derivatives,
                             .c_row = a->lanes};
  a->loops->product(&product);
}

/* The gradient of the queries, derivatives x key. */
static void find_query_grad(const Backward *work, const NdAttentionGroup *g, const Room *room) {
  const NdAttention *a = &work->attention;
  const NdTensor *out = work->results[0];
  const NdProduct product = {.rows = a->width,
                             .columns = a->lanes,
                             .depth = g->keys,
                             .a = nd_attention_row(a, a->key, g, 0),
                             .a_row = a->key->strides[3],
                             .a_step = a->key->strides[2],
                             .b = room->derivatives,
                             .b_row = a->lanes,
                             .c = room->query_grad,
                             .c_row = a->lanes};
  char *to = (char *)nd_data(out) +
             (g->n * out->strides[0] + g->head * out->strides[1] + g->first * out->strides[2]) * a->bytes;
  a->loops->product(&product);
  a->loops->unpack(a->width, g->count, room->query_grad, a->lanes, to, out->strides[2], out->strides[3]);
}

static void fold_bias(const Backward *work, const NdAttentionGroup *g, const Room *room, const NdScores *derivatives) {
  const NdAttention *a = &work->attention;
  const int64_t *strides = work->bias_strides;
  char *to = room->bias_grad + (g->n * strides[0] + g->head * strides[1] + g->first * strides[2]) * a->bytes;
  a->loops->fold_bias(derivatives, g->count, to, strides[3], strides[2]);
}

static void group_back(const Backward *work, const NdAttentionGroup *g, const Room *room) {
  const NdAttention *a = &work->attention;
  NdScores weights = {.keys = g->keys, .scores = room->weights};
  pack_group(work, g, room);
  find_weights(a, g, room, &weights);
  add_product(a, g, room->weights, room->grad_rows, work->value_columns, room->value_grad);
  find_derivatives(a, g, room);
  a->loops->softmax_back(&weights, room->derivatives);
  const NdScores derivatives = {.keys = g->keys, .width = a->lanes, .scores = room->derivatives, .scale = a->scale};
  if (room->bias_grad) fold_bias(work, g, room, &derivatives);
  a->loops->scale_back(&derivatives, room->bends);
  find_query_grad(work, g, room);
  add_product(a, g, room->derivatives, room->query_rows, work->key_columns, room->key_grad);
}

/* The sums of a head's keys or values to where they belong. */
static void give_rows(const NdAttention *a, const NdAttentionGroup *g, const char *sums, int64_t columns, int64_t width,
                      NdTensor *out) {
  char *to = (char *)nd_data(out) + (g->n * out->strides[0] + g->head * out->strides[1]) * a->bytes;
  a->loops->pack(a->keys, width, sums, columns, 1, to, out->strides[2], width);
}

static void head_back(const Backward *work, const Room *room, int64_t n, int64_t head) {
  const NdAttention *a = &work->attention;
  NdAttentionGroup g = {.n = n, .head = head};
  memset(room->key_grad, 0, (size_t)(a->keys * work->key_columns * a->bytes));
  memset(room->value_grad, 0, (size_t)(a->keys * work->value_columns * a->bytes));
  for (int64_t i = 0; i < a->groups; i++) {
    g = nd_attention_group(a, n, head, i);
    group_back(work, &g, room);
  }
  give_rows(a, &g, room->key_grad, work->key_columns, a->width, work->results[1]);
  give_rows(a, &g, room->value_grad, work->value_columns, a->value_width, work->results[2]);
}

static void BURN_API_CALL backward_body(void *context, int64_t begin, int64_t end) {
  Backward *work = (Backward *)context;
  const NdAttention *a = &work->attention;
  const uint64_t bytes = room_bytes(work);
  const int64_t heads = a->n * a->heads, bias_bytes = work->bias_count * a->bytes;
  char *memory = (char *)nd_pool_allocate(a->nd->pool, bytes);
  if (!memory) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  Room room = lay_out(work, memory);
  for (int64_t slice = begin; slice < end; slice++) {
    const int64_t first = slice * heads / work->slices, last = (slice + 1) * heads / work->slices;
    if (a->bias)
      room.bias_grad = work->partial ? work->partial + slice * bias_bytes : (char *)nd_data(work->results[3]);
    if (work->partial) memset(room.bias_grad, 0, (size_t)bias_bytes);
    for (int64_t head = first; head < last; head++) head_back(work, &room, head / a->heads, head % a->heads);
  }
  nd_pool_free(a->nd->pool, memory, bytes);
}

/* The slices' bias gradients become one. */
static void BURN_API_CALL join_body(void *context, int64_t begin, int64_t end) {
  const Backward *work = (const Backward *)context;
  const int64_t bytes = work->attention.bytes;
  const NdScores whole = {.keys = 1, .width = end - begin, .scores = NULL};
  for (int64_t slice = 0; slice < work->slices; slice++) {
    NdScores part = whole;
    part.scores = work->partial + (slice * work->bias_count + begin) * bytes;
    work->attention.loops->fold_bias(&part, end - begin, (char *)nd_data(work->results[3]) + begin * bytes, 0, 1);
  }
}

/* How the heads are shared out, and where the gradient of the bias is added up; false when out of memory. */
static bool share_out(Backward *work) {
  const NdAttention *a = &work->attention;
  const NdTensor *bias = a->bias, *out = work->results[3];
  work->slices = a->n * a->heads;
  memset(nd_data(out), 0, (size_t)out->storage->bytes);
  if (!bias) return true;
  work->bias_count = burn_primitive_count(&bias->header);
  for (uint32_t i = 0; i < 4; i++) work->bias_strides[i] = bias->shape[i] > 1 ? out->strides[i] : 0;
  if (bias->shape[0] == a->n && bias->shape[1] == a->heads) return true;
  if (work->slices > SLICES) work->slices = SLICES;
  work->partial = (char *)nd_pool_allocate(a->nd->pool, (uint64_t)(work->slices * work->bias_count * a->bytes));
  return work->partial != NULL;
}

static bool run(Backward *work) {
  const NdAttention *a = &work->attention;
  const double flops = 10 * (double)a->queries * (double)a->keys * (double)(a->width + a->value_width);
  if (!share_out(work)) return false;
  nd_pool_reserve(a->nd->pool, room_bytes(work), a->nd->host->thread_count());
  nd_parallel_for_flushed(a->nd, work->slices, 1 + (int64_t)(5e5 / (flops + 1)), backward_body, work);
  if (work->partial) {
    nd_parallel_for_flushed(a->nd, work->bias_count, 16384, join_body, work);
    nd_pool_free(a->nd->pool, work->partial, (uint64_t)(work->slices * work->bias_count * a->bytes));
  }
  return !atomic_load_explicit(&work->out_of_memory, memory_order_relaxed);
}

/* Inputs grad, query, key, value, mask, bias -> gradients of query, key, value and bias. */
BurnStatus nd_attention_backward(Ndarray *nd, const BurnOpCall *call) {
  Backward work = {.grad = nd_tensor(call->inputs[0])};
  const BurnStatus status = nd_attention_open(nd, call, 1, QUERY_VECTORS, &work.attention);
  if (status != BURN_OK) return status;
  bool complete = true;
  atomic_init(&work.out_of_memory, false);
  work.key_columns = full_vectors(&work.attention, work.attention.width);
  work.value_columns = full_vectors(&work.attention, work.attention.value_width);
  for (uint32_t i = 0; i < 4; i++) {
    const BurnTensorDesc *desc = &call->output_descs[i];
    work.results[i] = i < 3 ? nd_attention_result(nd, desc, nd_tensor(call->inputs[1 + i])) : nd_new(nd, desc);
    complete = complete && work.results[i];
  }
  complete = complete && run(&work);
  for (uint32_t i = 0; i < 4 && complete; i++) call->outputs[i] = &work.results[i]->header;
  if (complete) return BURN_OK;
  for (uint32_t i = 0; i < 4; i++) nd_release(nd, work.results[i]);
  return nd_out_of_memory(nd, call);
}
