/* onnx_microsoft_attention.c - attention of the domain com.microsoft: with projections, with caches, with shared heads.
 *
 * Its masks are 1 where a key is seen, or say how many keys count; to what they hide a number is added, not -inf. */
#include "onnx_heads.h"

#include <math.h>
#include <stdlib.h>

/* The first reason stays. */
static void refuse(OnnxNode *node, const char *reason) {
  if (!node->reason[0]) onnx_not_mapped(node, "%s", reason);
}

/* -- masks ------------------------------------------------------------------------------------- */

/* count numbers of a list of integers from `begin` on, as one per batch. */
static BurnTensor *per_batch(const OnnxNode *node, size_t i, int64_t begin, int64_t count) {
  const int64_t dims[] = {count, 1, 1, 1};
  return onnx_reshape(burn_cast(burn_narrow(onnx_input(node, i), 0, begin, count), BURN_DTYPE_I64), dims, 4);
}

/* A list of the ends of the keys, perhaps with their beginnings after them; or with sums of lengths, as packed kernels
 * want them, which say nothing more. */
static BurnTensor *hidden_by_ends(OnnxNode *node, size_t i, int64_t batch, int64_t keys) {
  const int64_t count = onnx_input_size(node, i), dims[] = {1, 1, 1, keys};
  if (count != batch && count != 2 * batch && count != 3 * batch + 2) {
    onnx_not_mapped(node, "a mask of %lld lengths for a batch of %lld", (long long)count, (long long)batch);
    return NULL;
  }
  BurnTensor *columns = onnx_reshape(burn_arange(node->device, 0, keys, 1), dims, 4);
  BurnTensor *hidden = burn_greater_equal(burn_clone(columns), per_batch(node, i, 0, batch));
  if (count == 2 * batch) {
    return burn_bool_or(hidden, burn_lower(columns, per_batch(node, i, batch, batch)));
  }
  burn_drop(columns);
  return hidden;
}

/* Mask i, of any form, as a bool that stretches to [batch, heads, queries, keys]. */
static BurnTensor *hidden_by_mask(OnnxNode *node, size_t i, int64_t batch, int64_t keys) {
  const uint32_t rank = onnx_input_rank(node, i);
  if (rank == 1) return hidden_by_ends(node, i, batch, keys);
  if (rank > 3) {
    onnx_not_mapped(node, "a mask of rank %u", (unsigned)rank);
    return NULL;
  }
  const int64_t rows = rank == 3 ? onnx_input_dim(node, i, 1) : 1;
  const int64_t dims[] = {onnx_input_dim(node, i, 0), 1, rows, onnx_input_dim(node, i, -1)};
  return burn_lower_equal_scalar(onnx_reshape(onnx_input(node, i), dims, 4), 0);
}

/* What is added to the scores: a number where mask i hides a key, and input `bias`; NULL: nothing. */
static BurnTensor *added(OnnxNode *node, size_t i, size_t bias, int64_t batch, int64_t keys) {
  BurnTensor *more = onnx_input(node, bias);
  BurnTensor *x = onnx_has_input(node, i) ? hidden_by_mask(node, i, batch, keys) : NULL;
  if (!x) return more;
  x = burn_mul_scalar(burn_cast(x, burn_dtype(node->inputs[0])), onnx_float(node, "mask_filter_value", -10000));
  return more ? onnx_broadcast(burn_add, x, more) : x;
}

static BurnAttentionOptions options_of(const OnnxNode *node) {
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.scale = onnx_float(node, "scale", 0);
  options.is_causal = onnx_int(node, "unidirectional", 0) != 0;
  return options;
}

/* -- Attention: one product for queries, keys and values ---------------------------------------- */

/* The columns of the weights that are queries, keys and values; a reason where they are not multiples of the heads. */
static void sizes_of(OnnxNode *node, int64_t heads, int64_t *sizes) {
  int64_t given[ONNX_INTS];
  const size_t count = onnx_ints(node, "qkv_hidden_sizes", given);
  const int64_t columns = onnx_input_dim(node, 1, 1);
  for (size_t i = 0; i < 3; i++) {
    sizes[i] = count == 3 ? given[i] : columns / 3;
    if (heads < 1 || sizes[i] < 1 || sizes[i] > columns || sizes[i] % heads != 0) {
      refuse(node, "a size of queries, keys or values that is not a multiple of the heads");
    }
  }
  if (!node->reason[0] && (sizes[0] != sizes[1] || sizes[0] + sizes[1] + sizes[2] != columns)) {
    refuse(node, "weights that are not as wide as queries, keys and values");
  }
}

/* The rows of part i of the cache [2, batch, heads, length, d], then x. */
static BurnTensor *after_past(const OnnxNode *node, BurnTensor *x, int i) {
  if (!onnx_has_input(node, 4)) return x;
  BurnTensor *both[] = {burn_select_dim(onnx_input(node, 4), 0, i), x};
  return burn_cat(both, 2, 2);
}

static void look_at_attention(OnnxNode *node) {
  if (onnx_input_rank(node, 0) != 3 || onnx_input_rank(node, 1) != 2) refuse(node, "inputs that are not projected");
  if (onnx_has_input(node, 4) && onnx_input_rank(node, 4) != 5) refuse(node, "a cache that is not of rank 5");
  if (onnx_int(node, "do_rotary", 0)) refuse(node, "rotary positions");
  if (onnx_int(node, "past_present_share_buffer", 0)) refuse(node, "a cache that is written in place");
}

MAP(MicrosoftAttention) {
  const int64_t heads = onnx_int(node, "num_heads", 0);
  int64_t sizes[3];
  look_at_attention(node);
  if (!node->reason[0]) sizes_of(node, heads, sizes);
  if (node->reason[0]) return;
  BurnTensor *x = burn_linear(onnx_input(node, 0), onnx_input(node, 1), onnx_input(node, 2));
  BurnTensor *q = onnx_split_heads(burn_narrow(burn_clone(x), 2, 0, sizes[0]), heads);
  BurnTensor *k = onnx_split_heads(burn_narrow(burn_clone(x), 2, sizes[0], sizes[1]), heads);
  BurnTensor *v = onnx_split_heads(burn_narrow(x, 2, sizes[0] + sizes[1], sizes[2]), heads);
  k = after_past(node, k, 0);
  v = after_past(node, v, 1);
  if (onnx_wants_output(node, 1)) {
    BurnTensor *both[] = {burn_clone(k), burn_clone(v)};
    onnx_give(node, 1, burn_stack(both, 2, 0));
  }
  BurnTensor *bias = added(node, 3, 5, burn_dim(q, 0), burn_dim(k, 2));
  onnx_give(node, 0, onnx_join_heads(burn_attention(q, k, v, NULL, bias, options_of(node))));
}

/* -- MultiHeadAttention: queries, keys and values [batch, length, size] by themselves ------------- */

/* Input i with its part of the biases, which stand one after the other. */
static BurnTensor *projected(const OnnxNode *node, size_t i, int64_t begin) {
  BurnTensor *x = onnx_input(node, i);
  if (!onnx_has_input(node, 3) || burn_rank(x) != 3) return x;
  return onnx_broadcast(burn_add, x, burn_narrow(onnx_input(node, 3), 0, begin, burn_dim(x, 2)));
}

/* Keys and values may come as heads, [batch, heads, length, d]: those of an encoder, which stay. */
MAP(MultiHeadAttention) {
  const int64_t heads = onnx_int(node, "num_heads", 0);
  for (size_t i = 0; i < 3; i++) {
    const uint32_t rank = onnx_input_rank(node, i);
    if (rank != 3 && (rank != 4 || i == 0)) refuse(node, "packed inputs");
    if (rank == 3 && (heads < 1 || onnx_input_dim(node, i, 2) % heads != 0)) {
      refuse(node, "a size that is not a multiple of the heads");
    }
  }
  if (onnx_has_input(node, 8) || onnx_has_input(node, 9)) refuse(node, "a cache that is written in place");
  if (onnx_wants_output(node, 3)) refuse(node, "the products of queries and keys as an output");
  if (node->reason[0]) return;
  const int64_t size = onnx_input_dim(node, 0, 2);
  BurnTensor *q = onnx_split_heads(projected(node, 0, 0), heads);
  BurnTensor *k = onnx_with_past(node, onnx_split_heads(projected(node, 1, size), heads), 6, 1);
  BurnTensor *v = onnx_with_past(node, onnx_split_heads(projected(node, 2, 2 * size), heads), 7, 2);
  BurnTensor *bias = added(node, 4, 5, burn_dim(q, 0), burn_dim(k, 2));
  onnx_give(node, 0, onnx_join_heads(burn_attention(q, k, v, NULL, bias, options_of(node))));
}

/* -- rotary positions ---------------------------------------------------------------------------- */

/* Rows of the table i, cosines or sines [.., half], by position [batch, length] -> [batch, 1, length, half]. */
static BurnTensor *angles(const OnnxNode *node, size_t i, BurnTensor *positions) {
  return burn_unsqueeze_dim(burn_take(onnx_input(node, i), 0, positions), 1);
}

static BurnTensor *turned(const OnnxNode *node, BurnTensor *x, size_t cosines, BurnTensor *positions,
                          const char *interleaved) {
  BurnTensor *cosine = angles(node, cosines, burn_clone(positions)), *sine = angles(node, cosines + 1, positions);
  const int64_t count = 2 * onnx_input_dim(node, cosines, 1);
  return onnx_turn_pairs(x, cosine, sine, count, onnx_int(node, interleaved, 0) != 0);
}

/* Positions [batch, length], or the first one of all. */
MAP(MicrosoftRotaryEmbedding) {
  const int64_t size = onnx_int(node, "rotary_embedding_dim", 0);
  const int64_t heads = onnx_int(node, "num_heads", 0), half = onnx_input_dim(node, 2, 1);
  const uint32_t rank = onnx_input_rank(node, 0);
  if (rank != 3 && rank != 4) refuse(node, "an input that is neither rank 3 nor 4");
  if (onnx_input_rank(node, 2) != 2 || onnx_input_rank(node, 3) != 2) refuse(node, "tables that are not matrices");
  if (onnx_int(node, "is_packed_batching", 0)) refuse(node, "a packed batch");
  if (onnx_float(node, "scale", 1) != 1) refuse(node, "a scale");
  if (!node->reason[0] && (half < 1 || heads < 0 || (size && size != 2 * half) || (size && rank == 3 && heads == 0))) {
    refuse(node, "tables that do not go with the size of the heads");
  }
  if (node->reason[0]) return;
  const int64_t all = rank == 3 ? onnx_input_dim(node, 0, 2) / (2 * half) : 0;
  BurnTensor *x = onnx_split_heads(onnx_input(node, 0), heads ? heads : all), *positions = onnx_input(node, 1);
  if (burn_rank(positions) == 1) {
    BurnTensor *steps = burn_arange(node->device, 0, burn_dim(x, 2), 1);
    positions = burn_unsqueeze_dim(burn_add(steps, burn_cast(positions, BURN_DTYPE_I64)), 0);
  }
  x = turned(node, x, 2, positions, "interleaved");
  onnx_give(node, 0, rank == 3 ? onnx_join_heads(x) : x);
}

/* -- GroupQueryAttention: caches that are fuller in some batches than in others --------------------- */

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COSINES, SINES, POSITIONS, BIAS, SINK, K_SCALE };

typedef struct Cached {
  int64_t batch, heads, key_heads, length, size; /* of the new rows, and of a head */
  int64_t past, total, keys;                     /* room in the cache, the longest batch, room after the step */
  int64_t *before;                               /* [batch] how many keys a batch had before */
  bool same;                                     /* they are all equal, and nothing lies after the new rows */
} Cached;

static void look_at_options(OnnxNode *node) {
  for (size_t i = K_SCALE; i <= K_SCALE + 4; i++) {
    if (onnx_has_input(node, i)) refuse(node, "caches of small integers, norms of heads, or padded queries");
  }
  if (!onnx_has_input(node, LENGTHS) || !onnx_has_input(node, TOTAL)) refuse(node, "no lengths");
  if (onnx_has_input(node, KEY) != onnx_has_input(node, VALUE)) refuse(node, "keys without values");
  if (onnx_has_input(node, PAST_KEY) != onnx_has_input(node, PAST_VALUE)) refuse(node, "a cache of one of both");
  if (onnx_int(node, "sliding_window_cache", 0)) refuse(node, "a cache that forgets");
  if (!onnx_is(node, "k_quant_type", "NONE", "NONE") || !onnx_is(node, "v_quant_type", "NONE", "NONE")) {
    refuse(node, "a cache of small integers");
  }
  if (onnx_wants_output(node, 3)) refuse(node, "the products of queries and keys as an output");
  const bool turns = onnx_int(node, "do_rotary", 0) != 0;
  if (turns && (!onnx_has_input(node, COSINES) || !onnx_has_input(node, SINES))) refuse(node, "no table of angles");
  if (turns && !node->reason[0] && onnx_input_rank(node, COSINES) != 2) refuse(node, "a table that is not a matrix");
}

/* Sizes, as far as they are known without the numbers of the inputs. */
static void look_at_sizes(OnnxNode *node, Cached *c) {
  for (size_t i = QUERY; i <= VALUE; i++) {
    if (onnx_has_input(node, i) && onnx_input_rank(node, i) != 3) refuse(node, "queries that are not of rank 3");
  }
  for (size_t i = PAST_KEY; i <= PAST_VALUE; i++) {
    if (onnx_has_input(node, i) && onnx_input_rank(node, i) != 4) refuse(node, "a cache that is not of rank 4");
  }
  c->heads = onnx_int(node, "num_heads", 0);
  c->key_heads = onnx_int(node, "kv_num_heads", 0);
  if (c->heads < 1 || c->key_heads < 1 || c->heads > INT32_MAX || c->heads % c->key_heads != 0) {
    refuse(node, "heads that do not share those of keys");
  }
  if (node->reason[0]) return;
  c->batch = onnx_input_dim(node, QUERY, 0);
  c->length = onnx_input_dim(node, QUERY, 1);
  const int64_t parts = onnx_has_input(node, KEY) ? c->heads : c->heads + 2 * c->key_heads;
  c->size = onnx_input_dim(node, QUERY, 2) / parts;
  c->past = onnx_has_input(node, PAST_KEY) ? onnx_input_dim(node, PAST_KEY, 2) : 0;
  if (c->size < 1 || onnx_input_dim(node, QUERY, 2) % parts != 0)
    refuse(node, "a size that is not a multiple of the heads");
  if (onnx_has_input(node, KEY) && onnx_input_dim(node, KEY, 1) != c->length) refuse(node, "keys of other rows");
}

/* How many keys every batch has had: all that it has now but the new ones. The first rows of a cache begin it. */
static BurnStatus read_lengths(OnnxNode *node, Cached *c) {
  c->total = onnx_input_int(node, TOTAL, -1);
  c->keys = c->total > c->past ? c->total : c->past;
  c->before = calloc((size_t)c->batch + 1, sizeof *c->before);
  if (!c->before) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "GroupQueryAttention: no memory");
  if (onnx_input_size(node, LENGTHS) != c->batch || c->total < c->length || c->total > c->past + c->length) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "GroupQueryAttention: %lld keys in all, of %lld batches, do not go with %lld new and room "
                            "for %lld before",
                            (long long)c->total, (long long)onnx_input_size(node, LENGTHS), (long long)c->length,
                            (long long)c->past);
  }
  const BurnStatus status = burn_read_i64(onnx_input(node, LENGTHS), c->before, (size_t)c->batch);
  c->same = true;
  for (int64_t b = 0; status == BURN_OK && b < c->batch; b++) {
    const int64_t last = c->before[b];
    c->before[b] = c->total == c->length ? 0 : last + 1 - c->length;
    if (last < 0 || last >= c->total || c->before[b] < 0 || c->before[b] > c->past) {
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                              "GroupQueryAttention: batch %lld ends with key %lld of %lld, %lld of which are new",
                              (long long)b, (long long)last, (long long)c->total, (long long)c->length);
    }
    c->same = c->same && c->before[b] == c->before[0] && c->before[b] + c->length == c->keys;
  }
  return status;
}

/* Columns of the packed input, or an input of its own, as heads. */
static BurnTensor *part_of(const OnnxNode *node, const Cached *c, size_t i) {
  if (onnx_has_input(node, KEY)) return onnx_split_heads(onnx_input(node, i), i == QUERY ? c->heads : c->key_heads);
  const int64_t begin = i == QUERY ? 0 : c->heads + ((int64_t)i - 1) * c->key_heads;
  const int64_t heads = i == QUERY ? c->heads : c->key_heads;
  return onnx_split_heads(burn_narrow(onnx_input(node, QUERY), 2, begin * c->size, heads * c->size), heads);
}

/* Of one batch: what the cache had, the new rows, and zeros up to its room. */
static BurnTensor *filled_batch(const OnnxNode *node, const Cached *c, const BurnTensor *x, size_t past, int64_t b) {
  BurnTensor *parts[3];
  size_t count = 0;
  const int64_t rest = c->keys - c->before[b] - c->length;
  if (c->before[b] > 0) parts[count++] = burn_narrow(burn_narrow(onnx_input(node, past), 0, b, 1), 2, 0, c->before[b]);
  parts[count++] = burn_narrow(burn_clone(x), 0, b, 1);
  if (rest > 0) {
    parts[count++] = burn_zeros(node->device, BURN_SHAPE(1, c->key_heads, rest, c->size), burn_dtype(x));
  }
  return count > 1 ? burn_cat(parts, count, 2) : parts[0];
}

/* The cache with the new rows where each batch ends; the result is also output `present`. */
static BurnTensor *filled(OnnxNode *node, const Cached *c, BurnTensor *x, size_t past, size_t present) {
  BurnTensor *all = NULL;
  if (c->same && c->before[0] == 0) {
    all = x;
  } else if (c->same) {
    BurnTensor *both[] = {burn_narrow(onnx_input(node, past), 2, 0, c->before[0]), x};
    all = burn_cat(both, 2, 2);
  } else {
    for (int64_t b = 0; b < c->batch; b++) {
      BurnTensor *both[] = {all, filled_batch(node, c, x, past, b)};
      all = all ? burn_cat(both, 2, 0) : both[1];
    }
    burn_drop(x);
  }
  onnx_give(node, present, burn_clone(all));
  return all;
}

/* [batch, length]: where the new rows stand. */
static BurnTensor *positions_of(const OnnxNode *node, const Cached *c) {
  const BurnShape begins = BURN_SHAPE(c->batch, 1);
  BurnTensor *steps = burn_unsqueeze_dim(burn_arange(node->device, 0, c->length, 1), 0);
  return burn_add(burn_tensor_i64(node->device, c->before, begins), steps);
}

/* The same for angles, which the model may say: for the first rows by their first number only. */
static BurnTensor *angle_positions(const OnnxNode *node, const Cached *c) {
  if (!onnx_has_input(node, POSITIONS)) return positions_of(node, c);
  BurnTensor *given = burn_cast(onnx_input(node, POSITIONS), BURN_DTYPE_I64);
  if (c->total != c->length) return given;
  BurnTensor *first = burn_narrow(burn_reshape(given, BURN_SHAPE(1, -1)), 1, 0, 1);
  return burn_add(positions_of(node, c), first);
}

/* True where a key lies after the row, after the end of its batch, or before the window. */
static BurnTensor *hidden_keys(const OnnxNode *node, const Cached *c) {
  const BurnShape row = BURN_SHAPE(c->batch, 1, c->length, 1), column = BURN_SHAPE(1, 1, 1, c->keys);
  const int64_t window = onnx_int(node, "local_window_size", -1);
  BurnTensor *rows = burn_reshape(positions_of(node, c), row);
  BurnTensor *columns = burn_reshape(burn_arange(node->device, 0, c->keys, 1), column);
  BurnTensor *last = onnx_int(node, "causal", 1) ? burn_clone(rows) : burn_max_dim(burn_clone(rows), 2);
  BurnTensor *hidden = burn_greater(burn_clone(columns), last);
  if (window > 0) {
    BurnTensor *first = burn_sub_scalar(burn_clone(rows), (double)window);
    hidden = burn_bool_or(hidden, burn_lower_equal(burn_clone(columns), first));
  }
  burn_drop(rows);
  burn_drop(columns);
  return hidden;
}

/* The numbers that are added to the scores, up to the room of the cache; NULL: none. */
static BurnTensor *group_bias(const OnnxNode *node, const Cached *c) {
  BurnTensor *x = onnx_input(node, BIAS);
  const int64_t none = 0, more = x ? c->keys - burn_dim(x, -1) : 0;
  return x && more > 0 ? onnx_pad(x, &none, &more, 1, BURN_PAD_CONSTANT, 0) : x;
}

/* A last key of zeros, whose score is the sink of the head: it takes a share of the softmax, and gives no value. */
static void add_sink(const OnnxNode *node, const Cached *c, BurnTensor **k, BurnTensor **v, BurnTensor **hidden,
                     BurnTensor **bias) {
  const int64_t row[] = {0, 0}, rows[] = {1, 0}, column = 1, none = 0;
  *k = onnx_pad(*k, row, rows, 2, BURN_PAD_CONSTANT, 0);
  *v = onnx_pad(*v, row, rows, 2, BURN_PAD_CONSTANT, 0);
  BurnTensor *seen = burn_zeros(node->device, BURN_SHAPE(c->batch, 1, c->length, 1), BURN_DTYPE_BOOL);
  BurnTensor *both[] = {*hidden, seen};
  *hidden = burn_cat(both, 2, 3);
  if (*bias) *bias = onnx_pad(*bias, &none, &column, 1, BURN_PAD_CONSTANT, 0);
  if (!onnx_has_input(node, SINK)) return;
  BurnTensor *sink = burn_reshape(onnx_input(node, SINK), BURN_SHAPE(1, c->heads, 1, 1));
  sink = onnx_pad(sink, &c->keys, &none, 1, BURN_PAD_CONSTANT, 0);
  *bias = *bias ? onnx_broadcast(burn_add, *bias, sink) : sink;
}

static void attend(OnnxNode *node, const Cached *c) {
  BurnTensor *q = part_of(node, c, QUERY), *k = part_of(node, c, KEY), *v = part_of(node, c, VALUE);
  if (onnx_int(node, "do_rotary", 0)) {
    q = turned(node, q, COSINES, angle_positions(node, c), "rotary_interleaved");
    k = turned(node, k, COSINES, angle_positions(node, c), "rotary_interleaved");
  }
  k = onnx_repeat_heads(filled(node, c, k, PAST_KEY, 1), c->heads);
  v = onnx_repeat_heads(filled(node, c, v, PAST_VALUE, 2), c->heads);
  BurnAttentionOptions options = BURN_ATTENTION_OPTIONS;
  options.scale = onnx_float(node, "scale", 0);
  options.softcap = onnx_float(node, "softcap", 0);
  const bool sinks = onnx_int(node, "smooth_softmax", 0) == 1 || onnx_has_input(node, SINK);
  const bool plain = c->same && !sinks && onnx_int(node, "local_window_size", -1) <= 0;
  options.is_causal = plain && onnx_int(node, "causal", 1) != 0;
  BurnTensor *hidden = plain ? NULL : hidden_keys(node, c), *bias = group_bias(node, c);
  if (sinks) add_sink(node, c, &k, &v, &hidden, &bias);
  onnx_give(node, 0, onnx_join_heads(burn_attention(q, k, v, hidden, bias, options)));
}

MAP(GroupQueryAttention) {
  Cached c = {0};
  look_at_options(node);
  look_at_sizes(node, &c);
  if (node->reason[0]) return;
  const BurnStatus status = read_lengths(node, &c);
  if (status != BURN_OK) {
    onnx_fail(node, status);
  } else if (!node->reason[0]) {
    attend(node, &c);
  }
  free(c.before);
}
