/* ndarray_index_rows.c - select_assign by rows of the result: each is put together where the first cache holds it, and
 * written once. */
#include "ndarray_index_rows.h"

#define ND_PART_BYTES 4096 /* of a row of a result that is put together at once */
#define ND_ROWS_AT_ONCE 8  /* that are added to a row in one go */
#define ND_SPARSE 4        /* times as many rows as picks: then only rows that are met are looked at */

/* The picks that go to a row: the first one, -1 if there is none. NdAccess.next leads on from there, in their order. */
typedef struct NdPicks {
  int32_t first, count;
} NdPicks;

/* Sorts picks by rows. False if most of them go to one row: then threads had better share columns. */
static bool sort_picks(const NdAccess *access, NdPicks *rows, int32_t *next) {
  const int64_t *indices = access->indices.values;
  int32_t longest = 0;
  for (int64_t r = 0; r < access->size; r++) rows[r] = (NdPicks){-1, 0};
  for (int64_t i = access->picks; i-- > 0;) {
    NdPicks *row = &rows[indices[i]];
    next[i] = row->first;
    row->first = (int32_t)i;
    if (++row->count > longest) longest = row->count;
  }
  return longest <= 16 || longest <= access->picks / 32;
}

/* sum = x with the values of the picks of a row put to it, which start `step` bytes apart. */
static void put_picks(const NdAccess *access, int32_t pick, int64_t n, char *sum, const char *x, const char *values,
                      int64_t step) {
  NdRun run = nd_update_run(n);
  while (pick >= 0) {
    const float *rows[ND_ROWS_AT_ONCE];
    int64_t count = 0;
    if (!access->adds_f32) {
      nd_update_row(access, &run, sum, x, values + pick * step);
      pick = access->next[pick];
    } else {
      for (; pick >= 0 && count < ND_ROWS_AT_ONCE; pick = access->next[pick]) {
        rows[count++] = (const float *)(const void *)(values + pick * step);
      }
      access->moves->add_rows(n, (float *)(void *)sum, (const float *)(const void *)x, rows, count);
    }
    x = sum;
  }
}

/* Columns k .. k + n - 1 of row r of [outer * size]. */
static void put_row(const NdAccess *access, int64_t r, int64_t k, int64_t n) {
  const int64_t o = r / access->size, inner = access->inner, bytes = access->element_bytes;
  const char *values = access->from + (o * access->picks * inner + k) * bytes;
  const char *x = access->old + (r * inner + k) * bytes;
  char *to = access->to + (r * inner + k) * bytes;
  _Alignas(64) char part[ND_PART_BYTES];
  const int32_t pick = access->first[r - o * access->size].first;
  if (pick < 0) {
    if (to != x) nd_copy(access->moves, access->streams, to, x, n * bytes);
    return;
  }
  put_picks(access, pick, n, access->streams ? part : to, x, values, inner * bytes);
  if (access->streams) access->moves->stream(to, part, n * bytes);
}

/* Asks for the first values that will be put to a row. */
static void fetch_row(const NdAccess *access, int64_t r, int64_t k, int64_t n) {
  const int64_t o = r / access->size, inner = access->inner, bytes = access->element_bytes;
  int32_t pick = access->first[r - o * access->size].first;
  for (int i = 0; pick >= 0 && i < ND_ROWS_AHEAD; i++, pick = access->next[pick]) {
    access->moves->fetch(access->from + ((o * access->picks + pick) * inner + k) * bytes, n * bytes);
  }
}

/* Parts begin .. end-1 of rows of the result, numbered from row to row, then from part to part. */
static void BURN_API_CALL select_assign_rows(void *context, int64_t begin, int64_t end) {
  const NdAccess *access = (const NdAccess *)context;
  const int64_t rows = access->outer * access->size, width = ND_PART_BYTES / access->element_bytes;
  for (int64_t i = begin; i < end; i++) {
    const int64_t k = i / rows * width, r = i % rows;
    const int64_t n = access->inner - k < width ? access->inner - k : width;
    if (access->fetches && r + ND_ROWS_AHEAD < rows) fetch_row(access, r + ND_ROWS_AHEAD, k, n);
    put_row(access, r, k, n);
  }
  if (access->streams) access->moves->stream_end();
}

bool nd_assign_rows(Ndarray *nd, const BurnOpCall *call, NdAccess *access, NdTensor **out) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  const bool in_place = nd_may_overwrite(call, 0) && nd_is_contiguous(input);
  if ((in_place && access->size > ND_SPARSE * access->picks) || access->size > INT32_MAX || access->picks > INT32_MAX)
    return false;
  const uint64_t bytes = (uint64_t)access->size * sizeof(NdPicks) + (uint64_t)access->picks * sizeof(int32_t);
  NdPicks *first = (NdPicks *)nd_pool_allocate(nd->pool, bytes);
  int32_t *next = first ? (int32_t *)(void *)(first + access->size) : NULL;
  const bool sorted = first && sort_picks(access, first, next);
  NdTensor *x = sorted ? nd_contiguous(nd, input) : NULL;
  if (x && in_place) nd_retain(x);
  *out = !x ? NULL : in_place ? x : nd_new(nd, &call->output_descs[0]);
  if (*out) {
    const int64_t row_bytes = access->inner * access->element_bytes, rows = access->outer * access->size;
    access->first = first;
    access->next = next;
    access->old = (const char *)nd_data(x);
    access->to = (char *)nd_data(*out);
    access->streams = !in_place && rows * row_bytes >= ND_STREAM_BYTES;
    /* where several rows are added at once, as many are read side by side: asking would take longer than it saves */
    access->fetches = !access->adds_f32 || access->picks < ND_ROWS_AT_ONCE / 2 * access->size;
    nd_parallel_for(nd, rows * ((row_bytes + ND_PART_BYTES - 1) / ND_PART_BYTES),
                    nd_move_grain(row_bytes < ND_PART_BYTES ? row_bytes : ND_PART_BYTES), select_assign_rows, access);
  }
  nd_release(nd, x);
  if (first) nd_pool_free(nd->pool, first, bytes);
  return *out != NULL;
}
