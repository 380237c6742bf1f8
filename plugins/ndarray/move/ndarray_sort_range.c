/* ndarray_sort_range.c - sort_range: elements begin .. end-1 of the sorted axis, without sorting all of it where they
 * are few.
 *
 * Elements are ordered by (key, index), so there is one right answer however it is found. Three ways, by how many are
 * wanted:
 *
 *   scan    the best so far are kept; a block without a key below the worst of them is passed over. For few of the
 *           first.
 *   select  the keys at both ends are found by counting digits from the highest on; what lies between is sorted. For
 *           any few.
 *   sort    all of it.
 *
 * A scan meets few better ones in random data, but nothing else in data that is
 * sorted the wrong way: it then gives up. */
#include "ndarray_sort.h"

#include <string.h>

#define ND_RANGE_MIN 2048  /* elements of a row from which on not all of it is sorted */
#define ND_RANGE_SHARE 16  /* a scan is for the first 1/16 of a row, and takes in a quarter of the row at most */
#define ND_RANGE_ROOM 1024 /* entries that a scan takes in, at least, before it sorts them */
#define ND_DIGIT_BITS 11

typedef struct Range {
  Ndarray *nd;
  const NdKeys *keys;
  const char *from;
  char *values, *indices;
  int64_t count, inner, bytes; /* elements of a row, distance between them, bytes of each */
  int64_t begin, end;
  uint64_t scratch_bytes;
  bool descending;
  bool wide; /* indices are i64, else i32 */
  atomic_bool no_memory;
} Range;

/* -- scan ------------------------------------------------------------------------------------- */

static bool may_scan(const Range *range) {
  return range->count >= ND_RANGE_MIN && range->end <= range->count / ND_RANGE_SHARE;
}

/* Entries that are held before they are sorted. */
static int64_t scan_entries(const Range *range) {
  return range->end + (range->end > ND_RANGE_ROOM ? range->end : ND_RANGE_ROOM);
}

/* The first `end` entries of a row in order, or NULL if too many had to be taken in. */
static NdEntry *scan(const Range *range, const NdRow *row, NdEntry *scratch) {
  const int64_t most = scan_entries(range), budget = row->count / 4;
  NdEntry *best = scratch, *room = scratch + most + ND_SORT_BLOCK;
  int64_t held = nd_min(most, row->count), taken = 0, i = held;
  range->keys->load(row, 0, held, best);
  for (;;) {
    NdEntry *sorted = nd_sort(best, room, held);
    if (sorted != best) room = best;
    best = sorted;
    held = range->end;
    if (i == row->count) return best;
    const uint64_t limit = best[held - 1].key; /* an equal key has a later index: it stays out */
    for (; held < most && i < row->count; i += nd_min(ND_SORT_BLOCK, row->count - i)) {
      const int64_t width = nd_min(ND_SORT_BLOCK, row->count - i);
      NdEntry block[ND_SORT_BLOCK];
      if (width == ND_SORT_BLOCK && !range->keys->below(row, i, limit)) continue;
      range->keys->load(row, i, width, block);
      for (int64_t k = 0; k < width; k++) {
        best[held] = block[k];
        held += block[k].key < limit;
      }
    }
    taken += held - range->end;
    if (taken > budget) return NULL;
  }
}

/* -- select ----------------------------------------------------------------------------------- */

/* A key, and how many elements have a smaller one. */
typedef struct Rank {
  uint64_t key;
  int64_t less;
} Rank;

/* The lowest bit of the highest digit in which keys differ, or -1 if they are all equal. */
static int highest_digit(const NdEntry *entries, int64_t count) {
  uint64_t differ = 0;
  for (int64_t i = 0; i < count; i++) differ |= entries[i].key ^ entries[0].key;
  int bits = 0;
  while (differ >> bits >> 1) bits++;
  if (!differ) return -1;
  return bits >= ND_DIGIT_BITS ? bits - ND_DIGIT_BITS + 1 : 0;
}

/* The key of the entry that is number `rank` in order. Overwrites the entries. */
static Rank key_of_rank(NdEntry *entries, int64_t count, int64_t rank) {
  enum { VALUES = 1 << ND_DIGIT_BITS };
  Rank found = {0, 0};
  for (int low; (low = highest_digit(entries, count)) >= 0;) {
    int64_t many[VALUES] = {0}, kept = 0;
    uint64_t digit = 0;
    for (int64_t i = 0; i < count; i++) many[entries[i].key >> low & (VALUES - 1)]++;
    for (; found.less + many[digit] <= rank; digit++) found.less += many[digit];
    for (int64_t i = 0; i < count; i++) {
      const NdEntry entry = entries[i];
      entries[kept] = entry;
      kept += (entry.key >> low & (VALUES - 1)) == digit;
    }
    count = kept;
  }
  found.key = entries[0].key;
  return found;
}

/* Entries begin .. end-1 in order. */
static NdEntry *select_entries(const Range *range, const NdRow *row, NdEntry *scratch) {
  const int64_t wanted = range->end - range->begin;
  Rank first = {0, 0};
  if (range->begin > 0) {
    range->keys->load(row, 0, row->count, scratch);
    first = key_of_rank(scratch, row->count, range->begin);
  }
  range->keys->load(row, 0, row->count, scratch);
  const Rank last = key_of_rank(scratch, row->count, range->end - 1);
  int64_t found = 0, before = first.less,
          within = last.less; /* `within` counts those at the key of `last`, in order of index */
  for (int64_t i = 0; i < row->count; i += ND_SORT_BLOCK) {
    const int64_t width = nd_min(ND_SORT_BLOCK, row->count - i);
    NdEntry block[ND_SORT_BLOCK];
    range->keys->load(row, i, width, block);
    for (int64_t k = 0; k < width; k++) {
      const uint64_t key = block[k].key;
      const bool follows = key > first.key || (key == first.key && before++ >= range->begin);
      const bool precedes = key < last.key || (key == last.key && within++ < range->end);
      if (follows && precedes) scratch[found++] = block[k];
    }
  }
  return nd_sort(scratch, scratch + wanted, wanted);
}

/* -- rows ------------------------------------------------------------------------------------- */

static bool may_select(const Range *range) {
  return range->count >= ND_RANGE_MIN && range->end - range->begin <= range->count / 4;
}

/* Entries begin .. end-1 of a row in order. */
static const NdEntry *in_order(const Range *range, const NdRow *row, NdEntry *scratch) {
  if (may_scan(range)) {
    const NdEntry *best = scan(range, row, scratch);
    if (best) return best + range->begin;
  }
  if (may_select(range)) return select_entries(range, row, scratch);
  range->keys->load(row, 0, row->count, scratch);
  return nd_sort(scratch, scratch + row->count, row->count) + range->begin;
}

/* Room for the most that any of the ways that may be tried takes. */
static uint64_t scratch_entries(const Range *range) {
  if (!may_select(range)) return (uint64_t)range->count * 2;
  const uint64_t scanned = may_scan(range) ? 2 * (uint64_t)(scan_entries(range) + ND_SORT_BLOCK) : 0;
  return scanned > (uint64_t)range->count ? scanned : (uint64_t)range->count;
}

/* Rows begin .. end-1 of [outer, inner]. */
static void BURN_API_CALL range_rows(void *context, int64_t begin, int64_t end) {
  Range *range = (Range *)context;
  NdEntry *scratch = (NdEntry *)nd_pool_allocate(range->nd->pool, range->scratch_bytes);
  if (!scratch) {
    atomic_store_explicit(&range->no_memory, true, memory_order_relaxed);
    return;
  }
  const int64_t wanted = range->end - range->begin;
  for (int64_t line = begin; line < end; line++) {
    const int64_t outer = line / range->inner, inner = line % range->inner;
    const NdRow row = {range->from + (outer * range->count * range->inner + inner) * range->bytes, range->count,
                       range->inner, range->descending};
    const NdEntry *entries = in_order(range, &row, scratch);
    for (int64_t i = 0; i < wanted; i++) {
      const int64_t to = (outer * wanted + i) * range->inner + inner, index = entries[i].index;
      memcpy(range->values + to * range->bytes, row.from + index * row.stride * range->bytes, (size_t)range->bytes);
      if (range->wide)
        ((int64_t *)(void *)range->indices)[to] = index;
      else
        ((int32_t *)(void *)range->indices)[to] = (int32_t)index;
    }
  }
  nd_pool_free(range->nd->pool, scratch, range->scratch_bytes);
}

static BurnStatus check(Ndarray *nd, const BurnOpCall *call, const Range *range) {
  if (!range->keys->load) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "sort_range: no kernel for %s",
                   burn_dtype_name(call->inputs[0]->dtype));
  }
  if (range->count > INT32_MAX && !range->wide) {
    return nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "sort_range: an axis of size %lld is too long for i32 indices",
                   (long long)range->count);
  }
  return range->count > INT64_MAX / 64 ? nd_out_of_memory(nd, call) : BURN_OK;
}

static void run(Range *range, const NdTensor *x, NdTensor *values, NdTensor *indices, int64_t rows) {
  range->from = (const char *)nd_data(x);
  range->values = (char *)nd_data(values);
  range->indices = (char *)nd_data(indices);
  range->scratch_bytes = scratch_entries(range) * sizeof(NdEntry);
  nd_pool_reserve(range->nd->pool, range->scratch_bytes, (uint32_t)nd_min(rows, range->nd->host->thread_count()));
  nd_parallel_for(range->nd, rows, nd_grain(range->count * (may_scan(range) ? 1 : 4)), range_rows, range);
}

BurnStatus nd_run_sort_range(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_sort_range *attrs = BURN_ATTRS(sort_range, call);
  NdTensor *input = nd_tensor(call->inputs[0]);
  const uint32_t dim = (uint32_t)attrs->dim.value.i64;
  Range range = {.nd = nd,
                 .keys = &nd_sort_keys[input->header.dtype],
                 .count = input->shape[dim],
                 .inner = nd_axes_count(input, dim + 1, input->header.rank),
                 .bytes = burn_dtype_bytes(input->header.dtype),
                 .begin = attrs->begin.value.i64,
                 .end = attrs->end.value.i64,
                 .descending = attrs->descending.value.i64 != 0,
                 .wide = call->output_descs[1].dtype == BURN_DTYPE_I64};
  atomic_init(&range.no_memory, false);
  const BurnStatus status = check(nd, call, &range);
  if (status != BURN_OK) return status;
  NdTensor *x = nd_contiguous(nd, input);
  NdTensor *values = x ? nd_new(nd, &call->output_descs[0]) : NULL;
  NdTensor *indices = values ? nd_new(nd, &call->output_descs[1]) : NULL;
  if (indices && burn_desc_count(&call->output_descs[1]) > 0) {
    run(&range, x, values, indices, nd_axes_count(input, 0, dim) * range.inner);
  }
  nd_release(nd, x);
  if (!indices || atomic_load_explicit(&range.no_memory, memory_order_relaxed)) {
    nd_release(nd, values);
    nd_release(nd, indices);
    return nd_out_of_memory(nd, call);
  }
  call->outputs[0] = &values->header;
  call->outputs[1] = &indices->header;
  return BURN_OK;
}
