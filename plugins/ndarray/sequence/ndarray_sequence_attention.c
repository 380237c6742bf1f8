/* ndarray_sequence_attention.c - attention in blocks: no matrix of all queries with all keys is ever made.
 *
 * An item of work is a group of queries of one head. It walks over blocks of keys with a running softmax: the scores of
 * a block, their exponentials, and these times the values, which all stay in the first two caches. Keys and values are
 * read where they lie, whatever their strides. Keys that a causal group cannot see are never touched: what their values
 * are does not matter. */
#include "ndarray_sequence_attention.h"

#include <math.h>
#include <string.h>

#define QUERY_VECTORS 2
#define KEY_BLOCK 256

/* The fewest vectors that hold all queries, at most `vectors`. */
static int64_t lanes_for(int64_t queries, int64_t lanes, int vectors) {
  int64_t taken = lanes;
  while (taken < queries && taken < lanes * vectors) taken *= 2;
  return taken;
}

BurnStatus nd_attention_open(Ndarray *nd, const BurnOpCall *call, uint32_t first, int vectors, NdAttention *out) {
  const BurnAttrs_attention *attrs = BURN_ATTRS(attention, call); /* those of the gradient are the same */
  BurnPrimitive *const *inputs = call->inputs + first;
  const NdTensor *query = nd_tensor(inputs[0]), *key = nd_tensor(inputs[1]), *value = nd_tensor(inputs[2]);
  NdAttention a = {.nd = nd, .query = query, .key = key, .value = value, .bytes = burn_dtype_bytes(inputs[0]->dtype)};
  a.loops = nd_sequence(nd, inputs[0]->dtype);
  if (!a.loops)
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "attention: no kernel for %s", burn_dtype_name(inputs[0]->dtype));
  a.mask = inputs[3] ? nd_tensor(inputs[3]) : NULL;
  a.bias = inputs[4] ? nd_tensor(inputs[4]) : NULL;
  a.n = query->shape[0];
  a.heads = query->shape[1];
  a.queries = query->shape[2];
  a.keys = key->shape[2];
  a.width = query->shape[3];
  a.value_width = value->shape[3];
  a.lanes = lanes_for(a.queries, a.loops->lanes, vectors);
  a.groups = (a.queries + a.lanes - 1) / a.lanes;
  a.scale = attrs->scale.value.f64;
  if (a.scale == 0 && a.width > 0) a.scale = 1 / sqrt((double)a.width);
  a.cap = attrs->softcap.value.f64;
  a.is_causal = attrs->is_causal.value.i64 != 0;
  a.is_bent = a.bias || a.cap > 0 || !(a.scale > 0);
  *out = a;
  return BURN_OK;
}

NdAttentionGroup nd_attention_group(const NdAttention *a, int64_t n, int64_t head, int64_t index) {
  NdAttentionGroup g = {.n = n, .head = head, .first = index * a->lanes, .keys = a->keys};
  g.count = nd_min(a->lanes, a->queries - g.first);
  if (!a->is_causal) return g;
  const int64_t seen = g.first + g.count + a->keys - a->queries; /* by the last of them */
  g.keys = seen < 0 ? 0 : nd_min(seen, a->keys);
  return g;
}

/* Steps of a mask or bias from key to key and from query to query. */
static int64_t key_step(const NdTensor *x) { return x->shape[3] > 1 ? x->strides[3] : 0; }
static int64_t query_step(const NdTensor *x) { return x->shape[2] > 1 ? x->strides[2] : 0; }

void nd_attention_scores(const NdAttention *a, const NdAttentionGroup *g, const void *queries, int64_t first,
                         NdScores *s, void *derivatives) {
  const NdProduct product = {.rows = s->keys,
                             .columns = a->lanes,
                             .depth = a->width,
                             .a = nd_attention_row(a, a->key, g, first),
                             .a_row = a->key->strides[2],
                             .a_step = a->key->strides[3],
                             .b = queries,
                             .b_row = a->lanes,
                             .c = s->scores,
                             .c_row = a->lanes};
  s->width = a->lanes;
  s->scale = a->scale;
  a->loops->product(&product);
  if (a->is_bent) a->loops->bend(s, a->cap, derivatives);
  if (a->is_bent) s->scale = 1;
  if (a->mask) {
    const uint8_t *mask = (const uint8_t *)nd_data(a->mask);
    const NdAttention bytes = {.bytes = 1};
    mask = (const uint8_t *)nd_attention_row(&bytes, a->mask, g, g->first) + first * key_step(a->mask);
    a->loops->hide_masked(s, g->count, mask, key_step(a->mask), query_step(a->mask));
  }
  if (a->is_causal) a->loops->hide_future(s, g->first + a->keys - a->queries - first);
  if (a->bias) {
    const char *bias = (const char *)nd_attention_row(a, a->bias, g, g->first) + first * key_step(a->bias) * a->bytes;
    a->loops->add_bias(s, g->count, bias, key_step(a->bias), query_step(a->bias));
  }
}

NdTensor *nd_attention_result(Ndarray *nd, const BurnTensorDesc *desc, const NdTensor *x) {
  BurnTensorDesc turned = *desc;
  if (x->strides[1] >= x->strides[2]) return nd_new(nd, desc);
  turned.shape[1] = desc->shape[2];
  turned.shape[2] = desc->shape[1];
  NdTensor *base = nd_new(nd, &turned);
  if (!base) return NULL;
  const int64_t strides[] = {base->strides[0], base->strides[2], base->strides[1], base->strides[3]};
  NdTensor *result = nd_view(nd, base, 4, desc->shape, strides, 0);
  nd_release(nd, base);
  return result;
}

/* -- forward ---------------------------------------------------------------------------------- */

/* What the bodies of the parallel loop see. */
typedef struct Forward {
  NdAttention attention;
  NdTensor *out;
  atomic_bool out_of_memory;
} Forward;

/* Room of one body. */
typedef struct Room {
  char *queries, *scores, *result; /* [width, lanes], [block, lanes], [value_width, lanes] */
  NdSoftmaxState state;
  int64_t block;
} Room;

static int64_t block_of(const NdAttention *a) { return nd_min(a->keys, KEY_BLOCK); }

static uint64_t room_bytes(const NdAttention *a) {
  return (uint64_t)((a->width + block_of(a) + a->value_width + 3) * a->lanes * a->bytes);
}

static Room lay_out(const NdAttention *a, char *memory) {
  const int64_t row = a->lanes * a->bytes;
  Room room = {.queries = memory, .block = block_of(a)};
  room.scores = room.queries + a->width * row;
  room.result = room.scores + room.block * row;
  room.state.high = room.result + a->value_width * row;
  room.state.sum = (char *)room.state.high + row;
  room.state.factor = (char *)room.state.sum + row;
  return room;
}

void nd_attention_start(const NdAttention *a, const NdSoftmaxState *state) {
  for (int64_t j = 0; j < a->lanes; j++) {
    if (a->bytes == 4) ((float *)state->high)[j] = -INFINITY;
    if (a->bytes == 8) ((double *)state->high)[j] = -(double)INFINITY;
  }
  memset(state->sum, 0, (size_t)(a->lanes * a->bytes));
}

/* Takes some keys in: result = result * factor + weights x values. */
static void take_keys(const NdAttention *a, const NdAttentionGroup *g, const Room *room, int64_t first) {
  NdScores s = {.keys = nd_min(room->block, g->keys - first), .scores = room->scores};
  nd_attention_scores(a, g, room->queries, first, &s, NULL);
  a->loops->softmax(&s, &room->state);
  if (first > 0) a->loops->rescale(a->value_width, a->lanes, room->result, room->state.factor);
  const NdProduct product = {.rows = a->value_width,
                             .columns = a->lanes,
                             .depth = s.keys,
                             .a = nd_attention_row(a, a->value, g, first),
                             .a_row = a->value->strides[3],
                             .a_step = a->value->strides[2],
                             .b = s.scores,
                             .b_row = a->lanes,
                             .c = room->result,
                             .c_row = a->lanes,
                             .accumulate = first > 0};
  a->loops->product(&product);
}

static void attend(const Forward *work, const NdAttentionGroup *g, const Room *room) {
  const NdAttention *a = &work->attention;
  const NdTensor *q = a->query, *out = work->out;
  void *to = (char *)nd_data(out) +
             (g->n * out->strides[0] + g->head * out->strides[1] + g->first * out->strides[2]) * a->bytes;
  a->loops->pack(a->width, g->count, nd_attention_row(a, q, g, g->first), q->strides[3], q->strides[2], room->queries,
                 a->lanes, a->lanes);
  nd_attention_start(a, &room->state);
  if (g->keys == 0) memset(room->result, 0, (size_t)(a->value_width * a->lanes * a->bytes));
  for (int64_t first = 0; first < g->keys; first += room->block) take_keys(a, g, room, first);
  a->loops->invert(a->lanes, room->state.sum, room->state.factor);
  a->loops->rescale(a->value_width, a->lanes, room->result, room->state.factor);
  a->loops->unpack(a->value_width, g->count, room->result, a->lanes, to, out->strides[2], out->strides[3]);
}

static void BURN_API_CALL attention_body(void *context, int64_t begin, int64_t end) {
  Forward *work = (Forward *)context;
  const NdAttention *a = &work->attention;
  const uint64_t bytes = room_bytes(a);
  char *memory = (char *)nd_pool_allocate(a->nd->pool, bytes);
  if (!memory) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  const Room room = lay_out(a, memory);
  for (int64_t item = begin; item < end;
       item++) { /* the last groups of a causal head come first: they have most to do */
    const int64_t head = item / a->groups, index = a->groups - 1 - item % a->groups;
    const NdAttentionGroup g = nd_attention_group(a, head / a->heads, head % a->heads, index);
    attend(work, &g, &room);
  }
  nd_pool_free(a->nd->pool, memory, bytes);
}

static BurnStatus attention(Ndarray *nd, const BurnOpCall *call) {
  Forward work = {.out = NULL};
  const BurnStatus status = nd_attention_open(nd, call, 0, QUERY_VECTORS, &work.attention);
  if (status != BURN_OK) return status;
  const NdAttention *a = &work.attention;
  atomic_init(&work.out_of_memory, false);
  work.out = nd_attention_result(nd, call->output_descs, a->query);
  if (!work.out) return nd_out_of_memory(nd, call);
  const double flops = 2 * (double)a->lanes * (double)a->keys * (double)(a->width + a->value_width);
  const int64_t items = a->n * a->heads * a->groups;
  nd_pool_reserve(nd->pool, room_bytes(a), nd->host->thread_count());
  nd_parallel_for_flushed(nd, items, 1 + (int64_t)(5e5 / (flops + 1)), attention_body, &work);
  if (!atomic_load_explicit(&work.out_of_memory, memory_order_relaxed)) return nd_finish(nd, call, work.out);
  nd_release(nd, work.out);
  return nd_out_of_memory(nd, call);
}

const NdKernelRow nd_attention_kernels[] = {
    {BURN_OP_attention, attention},
    {BURN_OP_attention_backward, nd_attention_backward},
    {0, NULL},
};
