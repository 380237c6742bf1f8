/* ndarray_sort.c - argsort: every element becomes an unsigned key whose order is the one wanted, then a stable sort of
 * (key, index) pairs per row: by merging, or digit by digit where rows are long. Rows are shared out to threads.
 *
 * Floats are ordered as in IEEE 754 totalOrder: a negative one has all bits inverted, another one its sign bit set. For
 * descending order the keys are inverted, so that equal elements still keep their order. */
#include "ndarray_sort.h"

#include <string.h>

#define ND_SORT_RUN 16      /* elements that insertion sort puts in order before runs are merged */
#define ND_SORT_DIGITS 1024 /* elements from which on sorting by digits takes less time */

/* What a dtype needs. `from` and `step` address an element; `below` has its own loop for rows without strides, for
 * vectors. */
#define ND_KEYS(t, T, K, expression)                                                                          \
  static inline K key_##t(const char *from, int64_t step) {                                                   \
    T x;                                                                                                      \
    memcpy(&x, from + step * (int64_t)sizeof x, sizeof x);                                                    \
    return (K)(expression);                                                                                   \
  }                                                                                                           \
  static void keys_##t(const NdRow *row, int64_t first, int64_t count, NdEntry *out) {                        \
    const char *from = row->from + first * row->stride * (int64_t)sizeof(T);                                  \
    const K flip = row->descending ? (K)-1 : 0;                                                               \
    for (int64_t i = 0; i < count; i++) out[i] = (NdEntry){key_##t(from, i * row->stride) ^ flip, first + i}; \
  }                                                                                                           \
  static bool below_##t(const NdRow *row, int64_t first, uint64_t limit) {                                    \
    const char *from = row->from + first * row->stride * (int64_t)sizeof(T);                                  \
    const K flip = row->descending ? (K)-1 : 0, bound = (K)limit;                                             \
    uint32_t found = 0;                                                                                       \
    if (row->stride == 1) {                                                                                   \
      for (int i = 0; i < ND_SORT_BLOCK; i++) found |= (key_##t(from, i) ^ flip) < bound;                     \
    } else {                                                                                                  \
      for (int i = 0; i < ND_SORT_BLOCK; i++) found |= (key_##t(from, i * row->stride) ^ flip) < bound;       \
    }                                                                                                         \
    return found != 0;                                                                                        \
  }
#define ND_SIGN32 0x80000000u
#define ND_SIGN64 ((uint64_t)1 << 63)
ND_KEYS(f16, uint16_t, uint32_t, x & 0x8000u ? 0xFFFFu ^ x : 0x8000u | x) /* and bf16 */
ND_KEYS(f32, uint32_t, uint32_t, x ^ ((uint32_t)((int32_t)x >> 31) | ND_SIGN32))
ND_KEYS(f64, uint64_t, uint64_t, x ^ ((uint64_t)((int64_t)x >> 63) | ND_SIGN64))
ND_KEYS(u8, uint8_t, uint32_t, x)
ND_KEYS(i8, int8_t, uint32_t, (uint32_t)x ^ ND_SIGN32)
ND_KEYS(i16, int16_t, uint32_t, (uint32_t)x ^ ND_SIGN32)
ND_KEYS(i32, int32_t, uint32_t, (uint32_t)x ^ ND_SIGN32)
ND_KEYS(i64, int64_t, uint64_t, (uint64_t)x ^ ND_SIGN64)

const NdKeys nd_sort_keys[BURN_DTYPE_LIMIT] = {
#define ND_ROW(dtype, t) [BURN_DTYPE_##dtype] = {keys_##t, below_##t}
    ND_ROW(F16, f16), ND_ROW(BF16, f16), ND_ROW(F32, f32), ND_ROW(F64, f64), ND_ROW(U8, u8),
    ND_ROW(I8, i8),   ND_ROW(I16, i16),  ND_ROW(I32, i32), ND_ROW(I64, i64),
};

static void sort_run(NdEntry *entries, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    const NdEntry entry = entries[i];
    int64_t j = i;
    for (; j > 0 && entries[j - 1].key > entry.key; j--) entries[j] = entries[j - 1];
    entries[j] = entry;
  }
}

/* Merges from[0 .. middle-1] and from[middle .. count-1]; of equal keys the left one comes first. */
static void merge(const NdEntry *from, int64_t middle, int64_t count, NdEntry *to) {
  int64_t left = 0, right = middle;
  for (int64_t i = 0; i < count; i++) {
    const bool take_left = right >= count || (left < middle && from[left].key <= from[right].key);
    to[i] = from[take_left ? left++ : right++];
  }
}

/* Sorts `count` entries with room for as many; returns which of the two holds the result. */
static NdEntry *sort_entries(NdEntry *entries, NdEntry *room, int64_t count) {
  for (int64_t i = 0; i < count; i += ND_SORT_RUN) sort_run(entries + i, nd_min(ND_SORT_RUN, count - i));
  for (int64_t width = ND_SORT_RUN; width < count; width *= 2) {
    for (int64_t i = 0; i < count; i += 2 * width) {
      merge(entries + i, nd_min(width, count - i), nd_min(2 * width, count - i), room + i);
    }
    NdEntry *sorted = room;
    room = entries;
    entries = sorted;
  }
  return entries;
}

/* The same by bytes of the key from the lowest on, each a stable distribution; bytes that are the same in all keys cost
 * nothing. */
static NdEntry *sort_by_digits(NdEntry *entries, NdEntry *room, int64_t count) {
  enum { DIGITS = 8, VALUES = 256 };
  int64_t places[DIGITS][VALUES];
  memset(places, 0, sizeof places);
  for (int64_t i = 0; i < count; i++)
    for (int d = 0; d < DIGITS; d++) places[d][entries[i].key >> 8 * d & 255u]++;
  for (int d = 0; d < DIGITS; d++) {
    int64_t next = 0;
    if (places[d][entries[0].key >> 8 * d & 255u] == count) continue;
    for (int value = 0; value < VALUES; value++) {
      const int64_t many = places[d][value];
      places[d][value] = next;
      next += many;
    }
    for (int64_t i = 0; i < count; i++) room[places[d][entries[i].key >> 8 * d & 255u]++] = entries[i];
    NdEntry *sorted = room;
    room = entries;
    entries = sorted;
  }
  return entries;
}

NdEntry *nd_sort(NdEntry *entries, NdEntry *room, int64_t count) {
  return count < ND_SORT_DIGITS ? sort_entries(entries, room, count) : sort_by_digits(entries, room, count);
}

typedef struct Sort {
  Ndarray *nd;
  const NdKeys *keys;
  const char *from;
  char *to;
  int64_t count, inner, bytes;
  bool descending;
  uint64_t scratch_bytes;
  bool wide; /* indices are i64, else i32 */
  atomic_bool no_memory;
} Sort;

static void store(const Sort *sort, int64_t first, const NdEntry *entries) {
  if (sort->wide) {
    int64_t *to = (int64_t *)(void *)sort->to + first;
    for (int64_t i = 0; i < sort->count; i++) to[i * sort->inner] = entries[i].index;
  } else {
    int32_t *to = (int32_t *)(void *)sort->to + first;
    for (int64_t i = 0; i < sort->count; i++) to[i * sort->inner] = (int32_t)entries[i].index;
  }
}

/* Rows begin .. end-1 of [outer, inner]. */
static void BURN_API_CALL sort_rows(void *context, int64_t begin, int64_t end) {
  Sort *sort = (Sort *)context;
  NdEntry *entries = (NdEntry *)nd_pool_allocate(sort->nd->pool, sort->scratch_bytes);
  if (!entries) {
    atomic_store_explicit(&sort->no_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t row = begin; row < end; row++) {
    const int64_t first = row / sort->inner * sort->count * sort->inner + row % sort->inner;
    const NdRow line = {sort->from + first * sort->bytes, sort->count, sort->inner, sort->descending};
    sort->keys->load(&line, 0, sort->count, entries);
    store(sort, first, nd_sort(entries, entries + sort->count, sort->count));
  }
  nd_pool_free(sort->nd->pool, entries, sort->scratch_bytes);
}

/* What makes the call impossible, or BURN_OK. */
static BurnStatus check(Ndarray *nd, const BurnOpCall *call, const Sort *sort) {
  if (!sort->keys->load) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "argsort: no kernel for %s", burn_dtype_name(call->inputs[0]->dtype));
  }
  if (sort->count > INT32_MAX && !sort->wide) {
    return nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "argsort: an axis of size %lld is too long for i32 indices",
                   (long long)sort->count);
  }
  return sort->count > INT64_MAX / 64 ? nd_out_of_memory(nd, call) : BURN_OK;
}

static BurnStatus run_argsort(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_argsort *attrs = BURN_ATTRS(argsort, call);
  NdTensor *input = nd_tensor(call->inputs[0]);
  const uint32_t dim = (uint32_t)attrs->dim.value.i64;
  const BurnDType dtype = input->header.dtype;
  Sort sort = {.nd = nd,
               .keys = &nd_sort_keys[dtype],
               .count = input->shape[dim],
               .inner = nd_axes_count(input, dim + 1, input->header.rank),
               .bytes = burn_dtype_bytes(dtype),
               .descending = attrs->descending.value.i64 != 0,
               .wide = call->output_descs[0].dtype == BURN_DTYPE_I64};
  atomic_init(&sort.no_memory, false);
  const BurnStatus status = check(nd, call, &sort);
  if (status != BURN_OK) return status;
  NdTensor *x = nd_contiguous(nd, input);
  NdTensor *out = x ? nd_new(nd, &call->output_descs[0]) : NULL;
  if (out && burn_desc_count(&call->output_descs[0]) > 0) {
    sort.from = (const char *)nd_data(x);
    sort.to = (char *)nd_data(out);
    sort.scratch_bytes = (uint64_t)sort.count * 2 * sizeof(NdEntry);
    const int64_t rows = nd_axes_count(input, 0, dim) * sort.inner;
    nd_pool_reserve(nd->pool, sort.scratch_bytes, (uint32_t)nd_min(rows, nd->host->thread_count()));
    nd_parallel_for(nd, rows, nd_grain(sort.count * 8), sort_rows, &sort);
  }
  nd_release(nd, x);
  if (out && atomic_load_explicit(&sort.no_memory, memory_order_relaxed)) {
    nd_release(nd, out);
    out = NULL;
  }
  return nd_finish(nd, call, out);
}

const NdKernelRow nd_sort_kernels[] = {
    {BURN_OP_argsort, run_argsort},
    {BURN_OP_sort_range, nd_run_sort_range},
    {BURN_OP_INVALID, NULL},
};
