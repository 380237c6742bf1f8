/* ndarray_reduce.c - sums, means, products, extremes, any and all, whole or along one axis.
 *
 * The input is seen as [outer, count, inner] around the reduced axis, whatever its strides if that needs no copy. If
 * the elements along the axis lie in a row, each result is one fold over a run; else folds run over columns, whole rows
 * at a time. When there are few results the axis is cut into blocks whose totals are joined at the end. All cuts depend
 * on the sizes alone, so results are the same for any number of threads. */
#include "ndarray_reduce.h"

#include <string.h>

#define ND_BLOCK 65536        /* elements in a block of a cut axis */
#define ND_MAX_CUT_RESULTS 16 /* with so many results or groups of columns the axis is not cut */
#define ND_BATCH 64           /* results of runs that are finished together; at most ND_COLUMNS */
#define ND_NARROW 32          /* columns up to this many are taken several rows at once */
#define ND_WIDENED 128        /* to so many columns; at most ND_COLUMNS */

/* One reduction under way. */
typedef struct Reduction {
  const NdFold *fold;
  NdAxisView view;
  char *out;
  char *totals; /* of blocks: [outer * inner, blocks] for runs, [outer, blocks, inner] for columns; NULL if uncut */
  int64_t out_bytes;     /* of a result element */
  int64_t blocks, block; /* the axis is cut into so many blocks of so many elements */
  int64_t divisor;
} Reduction;

/* -- the view --------------------------------------------------------------------------------- */

/* Merges axes begin .. end-1 into one of size *count and stride *stride; false if their strides do not fit. All fit
 * where there are no elements. */
static bool merge_axes(const NdTensor *x, uint32_t begin, uint32_t end, int64_t *count, int64_t *stride) {
  *count = 1;
  *stride = 1;
  for (uint32_t i = end; i-- > begin;) {
    if (x->shape[i] == 1) continue;
    if (x->shape[i] == 0) {
      *count = 0;
      return true;
    }
    if (*count == 1) {
      *stride = x->strides[i];
    } else if (x->strides[i] != *stride * *count) {
      return false;
    }
    *count *= x->shape[i];
  }
  return true;
}

static bool try_axis_view(NdTensor *x, uint32_t dim, NdAxisView *view) {
  view->x = x;
  view->data = (const char *)nd_data(x);
  view->element_bytes = burn_dtype_bytes(x->header.dtype);
  view->count = x->shape[dim];
  view->stride = x->strides[dim];
  if (!merge_axes(x, 0, dim, &view->outer, &view->outer_stride)) return false;
  if (!merge_axes(x, dim + 1, x->header.rank, &view->inner, &view->inner_stride)) return false;
  if (view->inner == 1 && view->outer > 1 && view->outer_stride == 1 && view->stride != 1) {
    view->inner = view->outer; /* a transposed matrix: its rows are columns in memory */
    view->inner_stride = 1;
    view->outer = 1;
    view->outer_stride = 0;
  }
  view->by_columns = view->inner > 1 && view->inner_stride == 1 && (view->stride != 1 || view->count < 2);
  return view->by_columns || view->stride == 1 || view->count < 2 || view->outer == 0 || view->inner == 0;
}

bool nd_axis_view(Ndarray *nd, NdTensor *x, uint32_t dim, NdAxisView *view) {
  nd_retain(x);
  if (try_axis_view(x, dim, view)) return true;
  NdTensor *packed = nd_contiguous(nd, x);
  nd_release(nd, x);
  if (packed && try_axis_view(packed, dim, view)) return true;
  nd_release(nd, packed);
  return false;
}

/* The whole tensor as one axis. */
static bool full_view(Ndarray *nd, NdTensor *x, NdAxisView *view) {
  memset(view, 0, sizeof *view);
  view->x = nd_contiguous(nd, x);
  if (!view->x) return false;
  view->data = (const char *)nd_data(view->x);
  view->outer = view->inner = view->stride = 1;
  view->count = burn_primitive_count(&x->header);
  view->element_bytes = burn_dtype_bytes(x->header.dtype);
  return true;
}

/* -- runs ------------------------------------------------------------------------------------- */

/* Address of the run behind result r. */
static const char *run_at(const Reduction *reduction, int64_t r) {
  return nd_axis_at(&reduction->view, r / reduction->view.inner, r % reduction->view.inner);
}

/* Results begin .. end-1, each a run of its own. */
static void BURN_API_CALL run_results(void *context, int64_t begin, int64_t end) {
  const Reduction *reduction = (const Reduction *)context;
  const NdAxisView *view = &reduction->view;
  const int64_t stride = view->inner == 1 ? view->outer_stride : view->inner_stride;
  NdTotals totals;
  while (begin < end) {
    int64_t width = nd_min(ND_BATCH, end - begin);
    if (view->inner > 1) width = nd_min(width, view->inner - begin % view->inner);
    reduction->fold->runs(run_at(reduction, begin), stride, width, view->count, &totals);
    reduction->fold->finish(&totals, width, reduction->divisor, reduction->out + begin * reduction->out_bytes);
    begin += width;
  }
}

#define ND_TURN(bits)                                                                                 \
  static void turn_##bits(const NdAxisView *view, int64_t begin, int64_t width, uint##bits##_t *to) { \
    for (int64_t r = 0; r < width; r++) {                                                             \
      const uint##bits##_t *x = (const uint##bits##_t *)(const void *)nd_axis_at(view, begin + r, 0); \
      for (int64_t i = 0; i < view->count; i++) to[i * ND_SHORT_STRIDE + r] = x[i];                   \
    }                                                                                                 \
  }
ND_TURN(8)
ND_TURN(16)
ND_TURN(32)
ND_TURN(64)

void nd_short_rows(const NdAxisView *view, int64_t begin, int64_t width, NdShortRows *rows) {
  switch (view->element_bytes) {
    case 1:
      turn_8(view, begin, width, rows->u8);
      break;
    case 2:
      turn_16(view, begin, width, rows->u16);
      break;
    case 4:
      turn_32(view, begin, width, rows->u32);
      break;
    default:
      turn_64(view, begin, width, rows->u64);
      break;
  }
}

/* Results begin .. end-1, each a short row. */
static void BURN_API_CALL short_results(void *context, int64_t begin, int64_t end) {
  const Reduction *reduction = (const Reduction *)context;
  NdShortRows rows;
  NdTotals totals;
  for (int64_t r = begin; r < end; r += ND_SHORT_BATCH) {
    const int64_t width = nd_min(ND_SHORT_BATCH, end - r);
    nd_short_rows(&reduction->view, r, width, &rows);
    reduction->fold->columns(&rows, ND_SHORT_STRIDE, reduction->view.count, width, &totals);
    reduction->fold->finish(&totals, width, reduction->divisor, reduction->out + r * reduction->out_bytes);
  }
}

/* Blocks begin .. end-1 of all runs. */
static void BURN_API_CALL run_blocks(void *context, int64_t begin, int64_t end) {
  const Reduction *reduction = (const Reduction *)context;
  const NdFold *fold = reduction->fold;
  for (int64_t i = begin; i < end; i++) {
    const int64_t start = i % reduction->blocks * reduction->block;
    const char *run = run_at(reduction, i / reduction->blocks) + start * reduction->view.element_bytes;
    fold->run(run, nd_min(reduction->block, reduction->view.count - start), reduction->totals + i * fold->total_bytes);
  }
}

static void join_runs(const Reduction *reduction) {
  const NdFold *fold = reduction->fold;
  const int64_t bytes = fold->total_bytes;
  for (int64_t r = 0; r < reduction->view.outer * reduction->view.inner; r++) {
    char *first = reduction->totals + r * reduction->blocks * bytes;
    for (int64_t b = 1; b < reduction->blocks; b++) fold->merge(first, first + b * bytes, 1);
    fold->finish(first, 1, reduction->divisor, reduction->out + r * reduction->out_bytes);
  }
}

/* -- columns ---------------------------------------------------------------------------------- */

/* A few columns without gaps between the rows: several rows together make one wide row, whose totals are joined. */
static void narrow_columns(const NdFold *fold, const char *x, int64_t element_bytes, int64_t rows, int64_t width,
                           void *totals) {
  const int64_t group = ND_WIDENED / width, wide_rows = rows / group, rest = rows % group;
  const int64_t step = width * fold->total_bytes;
  NdTotals wide;
  fold->columns(x, group * width, wide_rows, group * width, &wide);
  for (int64_t g = 1; g < group; g++) fold->merge(&wide, (const char *)&wide + g * step, width);
  memcpy(totals, &wide, (size_t)step);
  if (rest == 0) return;
  fold->columns(x + wide_rows * group * width * element_bytes, width, rest, width, &wide);
  fold->merge(totals, &wide, width);
}

static void column_totals(const Reduction *reduction, const char *x, int64_t rows, int64_t width, void *totals) {
  const NdAxisView *view = &reduction->view;
  if (width <= ND_NARROW && view->stride == width && rows >= 2 * (ND_WIDENED / width)) {
    narrow_columns(reduction->fold, x, view->element_bytes, rows, width, totals);
  } else {
    reduction->fold->columns(x, view->stride, rows, width, totals);
  }
}

/* Items are (outer, block, group of ND_COLUMNS columns), the group running fastest. */
static void BURN_API_CALL column_items(void *context, int64_t begin, int64_t end) {
  const Reduction *reduction = (const Reduction *)context;
  const NdAxisView *view = &reduction->view;
  const int64_t groups = (view->inner + ND_COLUMNS - 1) / ND_COLUMNS;
  NdTotals totals;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % groups * ND_COLUMNS, start = i / groups % reduction->blocks * reduction->block;
    const int64_t o = i / groups / reduction->blocks, width = nd_min(ND_COLUMNS, view->inner - column);
    const int64_t rows = nd_min(reduction->block, view->count - start);
    const char *x = nd_axis_at(view, o, column) + start * view->stride * view->element_bytes;
    if (reduction->blocks == 1) {
      column_totals(reduction, x, rows, width, &totals);
      reduction->fold->finish(&totals, width, reduction->divisor,
                              reduction->out + (o * view->inner + column) * reduction->out_bytes);
    } else {
      char *part = reduction->totals + (i / groups * view->inner + column) * reduction->fold->total_bytes;
      column_totals(reduction, x, rows, width, part);
    }
  }
}

static void join_columns(const Reduction *reduction) {
  const NdFold *fold = reduction->fold;
  const int64_t inner = reduction->view.inner, bytes = inner * fold->total_bytes;
  for (int64_t o = 0; o < reduction->view.outer; o++) {
    char *first = reduction->totals + o * reduction->blocks * bytes;
    for (int64_t b = 1; b < reduction->blocks; b++) fold->merge(first, first + b * bytes, inner);
    fold->finish(first, inner, reduction->divisor, reduction->out + o * inner * reduction->out_bytes);
  }
}

/* -- the kernel ------------------------------------------------------------------------------- */

/* Decides the blocks: `items` pieces of work of `width` columns each exist without cutting the axis. */
static void cut_axis(Reduction *reduction, int64_t items, int64_t width) {
  const int64_t count = reduction->view.count;
  reduction->blocks = 1;
  reduction->block = count;
  if (items == 0 || items >= ND_MAX_CUT_RESULTS) return;
  const int64_t block = ND_BLOCK / width;
  if (count <= block) return;
  reduction->block = block;
  reduction->blocks = (count + block - 1) / block;
}

/* Fills reduction->out. False when there is no memory for the totals of blocks. */
static bool reduce(Ndarray *nd, Reduction *reduction) {
  const NdAxisView *view = &reduction->view;
  const int64_t results = view->outer * view->inner;
  const int64_t groups = view->by_columns ? (view->inner + ND_COLUMNS - 1) / ND_COLUMNS : view->inner;
  const int64_t width = view->by_columns ? nd_min(view->inner, ND_COLUMNS) : 1;
  if (results == 0) return true;
  cut_axis(reduction, view->outer * groups, width);
  const int64_t items = view->outer * groups * reduction->blocks, grain = nd_grain(reduction->block * width);
  const uint64_t bytes = (uint64_t)(results * reduction->blocks) * reduction->fold->total_bytes;
  if (reduction->blocks > 1) {
    reduction->totals = (char *)nd_pool_allocate(nd->pool, bytes);
    if (!reduction->totals) return false;
  }
  if (view->by_columns) {
    nd_parallel_for(nd, items, grain, column_items, reduction);
    if (reduction->blocks > 1) join_columns(reduction);
  } else if (reduction->blocks > 1) {
    nd_parallel_for(nd, items, grain, run_blocks, reduction);
    join_runs(reduction);
  } else if (nd_has_short_rows(view)) {
    nd_parallel_for(nd, results, nd_grain(view->count * 4), short_results, reduction);
  } else {
    nd_parallel_for(nd, items, grain, run_results, reduction);
  }
  if (reduction->totals) nd_pool_free(nd->pool, reduction->totals, bytes);
  return true;
}

/* What an op of this file does. */
typedef struct Row {
  uint32_t op, family;
  bool whole, mean, nonempty;
} Row;

static const Row rows[] = {
    {BURN_OP_sum, ND_FOLD_sum, true, false, false},   {BURN_OP_sum_dim, ND_FOLD_sum, false, false, false},
    {BURN_OP_mean, ND_FOLD_sum, true, true, false},   {BURN_OP_mean_dim, ND_FOLD_sum, false, true, false},
    {BURN_OP_prod, ND_FOLD_prod, true, false, false}, {BURN_OP_prod_dim, ND_FOLD_prod, false, false, false},
    {BURN_OP_max, ND_FOLD_max, true, false, true},    {BURN_OP_max_dim, ND_FOLD_max, false, false, true},
    {BURN_OP_min, ND_FOLD_min, true, false, true},    {BURN_OP_min_dim, ND_FOLD_min, false, false, true},
    {BURN_OP_any, ND_FOLD_any, true, false, false},   {BURN_OP_any_dim, ND_FOLD_any, false, false, false},
    {BURN_OP_all, ND_FOLD_all, true, false, false},   {BURN_OP_all_dim, ND_FOLD_all, false, false, false},
};

static const Row *find_row(uint32_t op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].op == op) return &rows[i];
  }
  return NULL;
}

static BurnStatus run_reduce(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *x = nd_tensor(call->inputs[0]);
  const Row *row = find_row(call->op);
  const char *name = nd->host->op_info(call->op)->name;
  const bool integer_mean = row->mean && burn_dtype_kind(x->header.dtype) == BURN_KIND_INT;
  Reduction reduction = {.fold = nd_fold(nd, integer_mean ? ND_FOLD_wide : row->family, x->header.dtype), .divisor = 1};
  if (!reduction.fold) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", name, burn_dtype_name(x->header.dtype));
  }
  const bool viewed = row->whole ? full_view(nd, x, &reduction.view)
                                 : nd_axis_view(nd, x, (uint32_t)call->attrs[0].value.i64, &reduction.view);
  if (!viewed) return nd_out_of_memory(nd, call);
  const int64_t results = reduction.view.outer * reduction.view.inner;
  if (row->nonempty && reduction.view.count == 0 && results > 0) {
    nd_release(nd, reduction.view.x);
    return nd_fail(nd, BURN_STATUS_INVALID_SHAPE, "%s: there is no element to choose from (0 along the axis)", name);
  }
  NdTensor *out = nd_new(nd, &call->output_descs[0]);
  if (out) {
    reduction.out = (char *)nd_data(out);
    reduction.out_bytes = burn_dtype_bytes(call->output_descs[0].dtype);
    if (row->mean) reduction.divisor = reduction.view.count;
    if (!reduce(nd, &reduction)) {
      nd_release(nd, out);
      out = NULL;
    }
  }
  nd_release(nd, reduction.view.x);
  return nd_finish(nd, call, out);
}

const NdKernelRow nd_reduce_kernels[] = {
    {BURN_OP_sum, run_reduce},      {BURN_OP_sum_dim, run_reduce}, {BURN_OP_mean, run_reduce},
    {BURN_OP_mean_dim, run_reduce}, {BURN_OP_prod, run_reduce},    {BURN_OP_prod_dim, run_reduce},
    {BURN_OP_max, run_reduce},      {BURN_OP_max_dim, run_reduce}, {BURN_OP_min, run_reduce},
    {BURN_OP_min_dim, run_reduce},  {BURN_OP_any, run_reduce},     {BURN_OP_any_dim, run_reduce},
    {BURN_OP_all, run_reduce},      {BURN_OP_all_dim, run_reduce}, {BURN_OP_argmax, nd_run_arg},
    {BURN_OP_argmin, nd_run_arg},   {BURN_OP_INVALID, NULL},
};
