/* ndarray_sequence_attention.h - what the two directions of attention share: the call, and the scores of some keys with
 * some queries. */
#ifndef BURN_NDARRAY_SEQUENCE_ATTENTION_H
#define BURN_NDARRAY_SEQUENCE_ATTENTION_H

#include "ndarray_sequence.h"

/* A call of attention or of its gradient. Queries are taken in groups of `lanes`, the columns of all matrices: scores
 * are [keys, lanes], so a key's scores with all queries of the group lie in a few vectors. */
typedef struct NdAttention {
  Ndarray *nd;
  const NdSequenceLoops *loops;
  const NdTensor *query, *key, *value, *mask, *bias; /* the last two may be NULL */
  int64_t n, heads, queries, keys, width, value_width;
  int64_t lanes, groups; /* queries taken at once, and how often per head */
  int64_t bytes;         /* of an element */
  double scale, cap;
  bool is_causal;
  bool is_bent; /* scores need more than a positive factor, which softmax applies on its way */
} NdAttention;

/* A group of queries of one head. */
typedef struct NdAttentionGroup {
  int64_t n, head, first, count; /* count queries from `first` on */
  int64_t keys;                  /* keys that any of them sees; those after are never touched */
} NdAttentionGroup;

/* Reads a call whose query is input number `first`; at most `vectors` (1, 2 or 4) vectors of queries are taken at once.
 */
BurnStatus nd_attention_open(Ndarray *nd, const BurnOpCall *call, uint32_t first, int vectors, NdAttention *out);

NdAttentionGroup nd_attention_group(const NdAttention *a, int64_t n, int64_t head, int64_t index);

/* Address of row i of a head's matrix; axes of size 1 stretch. */
static inline const void *nd_attention_row(const NdAttention *a, const NdTensor *x, const NdAttentionGroup *g,
                                           int64_t i) {
  const int64_t n = x->shape[0] > 1 ? g->n * x->strides[0] : 0, head = x->shape[1] > 1 ? g->head * x->strides[1] : 0;
  const int64_t row = x->shape[2] > 1 ? i * x->strides[2] : 0;
  return (const char *)nd_data(x) + (n + head + row) * a->bytes;
}

/* scores[r] = those of key first + r with the group, for s->keys keys: dot products with `queries` [width, lanes],
 * bent, hidden and biased as the call says; s->scale is what softmax has to apply. In derivatives, unless NULL, the
 * derivative of the soft cap. */
void nd_attention_scores(const NdAttention *a, const NdAttentionGroup *g, const void *queries, int64_t first,
                         NdScores *s, void *derivatives);

/* Makes the state of a softmax that has seen no scores yet. */
void nd_attention_start(const NdAttention *a, const NdSoftmaxState *state);

/* A result of shape `desc` whose steps and heads lie in memory as those of x do, so that what follows can view it. NULL
 * when out of memory. */
NdTensor *nd_attention_result(Ndarray *nd, const BurnTensorDesc *desc, const NdTensor *x);

/* The op attention_backward, in ndarray_sequence_attention_backward.c. */
BurnStatus nd_attention_backward(Ndarray *nd, const BurnOpCall *call);

#endif
