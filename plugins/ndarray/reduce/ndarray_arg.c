/* ndarray_arg.c - argmax and argmin. Along rows: the value first, by the fold of max or min, then the first place where
 * it stands; the fold gives NaN if there is one, so a place is right if it equals the value or is NaN itself. By
 * columns: values and places together, in one pass over memory. */
#include "ndarray_reduce.h"

#include <string.h>

#define ND_ROWS_AT_ONCE ((int64_t)1 << 30) /* places in a column are i32, which makes faster loops */
#define ND_BLOCKS_PER_THREAD 2
#define ND_SMALLEST_BLOCK ((int64_t)256) /* rows */

typedef struct Search {
  const NdFold *fold;
  const NdFinder *finder;
  NdFindColumns columns;
  NdAxisView view;
  void *out;
  bool wide; /* indices are i64, else i32 */
  /* columns only: rows of a block, blocks; what these found, [outer, blocks, inner], where there is more than one */
  int64_t block, blocks;
  int64_t *places;
  char *values;
} Search;

static void store(const Search *search, int64_t first, int64_t width, const int64_t *places) {
  if (search->wide) {
    for (int64_t i = 0; i < width; i++) ((int64_t *)search->out)[first + i] = places[i];
  } else {
    for (int64_t i = 0; i < width; i++) ((int32_t *)search->out)[first + i] = (int32_t)places[i];
  }
}

static void BURN_API_CALL search_runs(void *context, int64_t begin, int64_t end) {
  const Search *search = (const Search *)context;
  const NdAxisView *view = &search->view;
  const int64_t stride = view->inner == 1 ? view->outer_stride : view->inner_stride;
  for (int64_t r = begin; r < end; r++) {
    const char *x = nd_axis_at(view, r / view->inner, r % view->inner);
    NdTotal value;
    search->fold->runs(x, stride, 1, view->count, &value); /* which asks for the next run */
    const int64_t place = search->finder->in_run(x, view->count, &value);
    store(search, r, 1, &place);
  }
}

/* The best value of each column of `rows` rows, and its first place. */
static void find_in_columns(const Search *search, const char *x, int64_t stride, int64_t rows, int64_t width,
                            NdTotals *best, int64_t *places) {
  const int64_t bytes = search->view.element_bytes;
  int32_t found[ND_COLUMNS];
  memcpy(best, x, (size_t)(width * bytes));
  for (int64_t j = 0; j < width; j++) places[j] = 0;
  for (int64_t begin = 0; begin < rows; begin += ND_ROWS_AT_ONCE) {
    const int64_t n = nd_min(ND_ROWS_AT_ONCE, rows - begin);
    search->columns(x + begin * stride * bytes, stride, (int32_t)n, width, best, found);
    for (int64_t j = 0; j < width; j++) places[j] = found[j] < 0 ? places[j] : begin + found[j];
  }
}

/* Items are (outer, block of rows, group of ND_COLUMNS columns). */
static void BURN_API_CALL search_columns(void *context, int64_t begin, int64_t end) {
  const Search *search = (const Search *)context;
  const NdAxisView *view = &search->view;
  const int64_t groups = (view->inner + ND_COLUMNS - 1) / ND_COLUMNS, bytes = view->element_bytes;
  int64_t places[ND_COLUMNS];
  NdTotals best;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % groups * ND_COLUMNS, first = i / groups % search->blocks * search->block;
    const int64_t o = i / groups / search->blocks, width = nd_min(ND_COLUMNS, view->inner - column);
    const char *x = nd_axis_at(view, o, column) + first * view->stride * bytes;
    find_in_columns(search, x, view->stride, nd_min(search->block, view->count - first), width, &best, places);
    if (search->blocks == 1) {
      store(search, o * view->inner + column, width, places);
    } else {
      const int64_t at = i / groups * view->inner + column;
      memcpy(search->values + at * bytes, &best, (size_t)(width * bytes));
      for (int64_t j = 0; j < width; j++) search->places[at + j] = first + places[j];
    }
  }
}

/* The best values of blocks are rows themselves: the first best one of these names the block. */
static void join_blocks(const Search *search) {
  const int64_t inner = search->view.inner;
  int64_t places[ND_COLUMNS];
  NdTotals best;
  for (int64_t o = 0; o < search->view.outer; o++) {
    for (int64_t column = 0; column < inner; column += ND_COLUMNS) {
      const int64_t width = nd_min(ND_COLUMNS, inner - column), at = o * search->blocks * inner + column;
      const char *values = search->values + at * search->view.element_bytes;
      find_in_columns(search, values, inner, search->blocks, width, &best, places);
      for (int64_t j = 0; j < width; j++) places[j] = search->places[at + places[j] * inner + j];
      store(search, o * inner + column, width, places);
    }
  }
}

/* Rows are cut into blocks only where there are fewer groups of columns than threads: a place is exact, however it is
 * looked for. False when there is no memory for what blocks find. */
static bool search_all_columns(Ndarray *nd, Search *search) {
  const NdAxisView *view = &search->view;
  const int64_t items = view->outer * ((view->inner + ND_COLUMNS - 1) / ND_COLUMNS);
  const int64_t threads = (int64_t)nd->host->thread_count(), width = nd_min(view->inner, ND_COLUMNS);
  if (items == 0) return true;
  const int64_t wanted = items >= threads ? 1 : ND_BLOCKS_PER_THREAD * threads / items;
  search->block = nd_max((view->count + wanted - 1) / wanted, ND_SMALLEST_BLOCK);
  search->blocks = (view->count + search->block - 1) / search->block;
  const int64_t results = view->outer * search->blocks * view->inner, grain = nd_grain(search->block * width);
  const uint64_t bytes = (uint64_t)(results * ((int64_t)sizeof *search->places + view->element_bytes));
  if (search->blocks == 1) {
    nd_parallel_for(nd, items, grain, search_columns, search);
    return true;
  }
  search->places = (int64_t *)nd_pool_allocate(nd->pool, bytes);
  if (!search->places) return false;
  search->values = (char *)(search->places + results);
  nd_parallel_for(nd, items * search->blocks, grain, search_columns, search);
  join_blocks(search);
  nd_pool_free(nd->pool, search->places, bytes);
  return true;
}

/* Short rows, as columns. */
static void BURN_API_CALL search_short_rows(void *context, int64_t begin, int64_t end) {
  const Search *search = (const Search *)context;
  NdShortRows rows;
  int64_t places[ND_SHORT_BATCH];
  NdTotals best;
  for (int64_t r = begin; r < end; r += ND_SHORT_BATCH) {
    const int64_t width = nd_min(ND_SHORT_BATCH, end - r);
    nd_short_rows(&search->view, r, width, &rows);
    find_in_columns(search, (const char *)&rows, ND_SHORT_STRIDE, search->view.count, width, &best, places);
    store(search, r, width, places);
  }
}

/* What makes the call impossible, or BURN_OK. */
static BurnStatus check(Ndarray *nd, const BurnOpCall *call, const Search *search) {
  const char *name = nd->host->op_info(call->op)->name;
  const BurnDType dtype = call->inputs[0]->dtype, index_dtype = call->output_descs[0].dtype;
  const int64_t dim = call->attrs[0].value.i64, count = call->inputs[0]->shape[dim];
  if (!search->fold || !search->finder) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", name, burn_dtype_name(dtype));
  }
  if (index_dtype != BURN_DTYPE_I32 && index_dtype != BURN_DTYPE_I64) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: indices of dtype %s; they can be i32 or i64", name,
                   burn_dtype_name(index_dtype));
  }
  if (count == 0 && burn_desc_count(&call->output_descs[0]) > 0) {
    return nd_fail(nd, BURN_STATUS_INVALID_SHAPE, "%s: axis %lld is empty", name, (long long)dim);
  }
  if (count > INT32_MAX && index_dtype == BURN_DTYPE_I32) {
    return nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "%s: axis %lld of size %lld is too long for i32 indices", name,
                   (long long)dim, (long long)count);
  }
  return BURN_OK;
}

BurnStatus nd_run_arg(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *x = nd_tensor(call->inputs[0]);
  const bool largest = call->op == BURN_OP_argmax;
  Search search = {.fold = nd_fold(nd, largest ? ND_FOLD_max : ND_FOLD_min, x->header.dtype),
                   .finder = nd_finder(nd, x->header.dtype),
                   .wide = call->output_descs[0].dtype == BURN_DTYPE_I64};
  const BurnStatus status = check(nd, call, &search);
  if (status != BURN_OK) return status;
  search.columns = largest ? search.finder->largest : search.finder->smallest;
  if (!nd_axis_view(nd, x, (uint32_t)call->attrs[0].value.i64, &search.view)) return nd_out_of_memory(nd, call);
  NdTensor *out = nd_new(nd, &call->output_descs[0]);
  if (out) {
    const NdAxisView *view = &search.view;
    search.out = nd_data(out);
    if (view->by_columns) {
      if (!search_all_columns(nd, &search)) {
        nd_release(nd, out);
        out = NULL;
      }
    } else if (nd_has_short_rows(view)) {
      nd_parallel_for(nd, view->outer, nd_grain(view->count * 4), search_short_rows, &search);
    } else {
      nd_parallel_for(nd, view->outer * view->inner, nd_grain(view->count), search_runs, &search);
    }
  }
  nd_release(nd, search.view.x);
  return nd_finish(nd, call, out);
}
