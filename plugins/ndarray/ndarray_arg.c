/* ndarray_arg.c - argmax and argmin: the value first, by the vectorised fold of max or min, then the first place where
 * it stands. The fold gives NaN if there is one, so a place is right if it equals the value or is NaN itself. */
#include "ndarray_reduce.h"

#define ND_ROWS_AT_ONCE ((int64_t)1 << 30) /* places in a column are i32, which makes faster loops */
#define ND_SCAN 64                         /* elements looked at before asking whether one of them was it */

/* Finds places in elements of one dtype. */
typedef struct Finder {
  /* The first place of *value among count elements in a row; it is there. */
  int64_t (*in_run)(const void *x, int64_t count, const void *value);
  /* places[j] = the first row of column j where values[j] stands, if there is one. */
  void (*in_columns)(const void *x, int64_t stride, int32_t rows, int64_t width, const void *values, int32_t *places);
} Finder;

#define ND_FINDER(t, T)                                                                                         \
  static int64_t run_##t(const void *data, int64_t count, const void *value) {                                  \
    const T *x = (const T *)data, wanted = *(const T *)value;                                                   \
    int64_t i = 0;                                                                                              \
    for (; i + ND_SCAN <= count; i += ND_SCAN) {                                                                \
      unsigned found = 0;                                                                                       \
      for (int64_t j = 0; j < ND_SCAN; j++) found |= (unsigned)((x[i + j] == wanted) | (x[i + j] != x[i + j])); \
      if (found) break;                                                                                         \
    }                                                                                                           \
    while (i + 1 < count && x[i] != wanted && x[i] == x[i]) i++;                                                \
    return i;                                                                                                   \
  }                                                                                                             \
  static void columns_##t(const void *data, int64_t stride, int32_t rows, int64_t width, const void *values,    \
                          int32_t *places) {                                                                    \
    const T *wanted = (const T *)values;                                                                        \
    for (int32_t r = rows; r-- > 0;) {                                                                          \
      const T *x = (const T *)data + r * stride;                                                                \
      for (int64_t j = 0; j < width; j++) places[j] = ((x[j] == wanted[j]) | (x[j] != x[j])) ? r : places[j];   \
    }                                                                                                           \
  }
ND_FINDER(f32, float)
ND_FINDER(f64, double)
ND_FINDER(i32, int32_t)
ND_FINDER(i64, int64_t)
ND_FINDER(u8, uint8_t)

static const Finder *find_finder(BurnDType dtype) {
  static const Finder f32 = {run_f32, columns_f32}, f64 = {run_f64, columns_f64}, i32 = {run_i32, columns_i32};
  static const Finder i64 = {run_i64, columns_i64}, u8 = {run_u8, columns_u8};
  switch (dtype) {
    case BURN_DTYPE_F32: return &f32;
    case BURN_DTYPE_F64: return &f64;
    case BURN_DTYPE_I32: return &i32;
    case BURN_DTYPE_I64: return &i64;
    case BURN_DTYPE_U8: return &u8;
    default: return NULL;
  }
}

typedef struct Search {
  const NdFold *fold;
  const Finder *finder;
  NdAxisView view;
  void *out;
  bool wide; /* indices are i64, else i32 */
} Search;

static void store(const Search *search, int64_t first, int64_t width, const int64_t *places) {
  if (search->wide) {
    for (int64_t i = 0; i < width; i++) ((int64_t *)search->out)[first + i] = places[i];
  } else {
    for (int64_t i = 0; i < width; i++) ((int32_t *)search->out)[first + i] = (int32_t)places[i];
  }
}

static void BURN_CALL search_runs(void *context, int64_t begin, int64_t end) {
  const Search *search = (const Search *)context;
  const NdAxisView *view = &search->view;
  for (int64_t r = begin; r < end; r++) {
    const char *x = nd_axis_at(view, r / view->inner, r % view->inner);
    NdTotal value;
    search->fold->run(x, view->count, &value);
    const int64_t place = search->finder->in_run(x, view->count, &value);
    store(search, r, 1, &place);
  }
}

/* The first row where each of the values stands, for columns of any length. */
static void find_in_columns(const Search *search, const char *x, int64_t width, const NdTotals *values,
                            int64_t *places) {
  const NdAxisView *view = &search->view;
  int32_t found[ND_COLUMNS];
  for (int64_t j = 0; j < width; j++) places[j] = 0;
  for (int64_t end = view->count; end > 0;) {
    const int64_t rows = nd_smaller(ND_ROWS_AT_ONCE, end), begin = end - rows;
    for (int64_t j = 0; j < width; j++) found[j] = -1;
    search->finder->in_columns(x + begin * view->stride * view->element_bytes, view->stride, (int32_t)rows, width,
                               values, found);
    for (int64_t j = 0; j < width; j++) places[j] = found[j] < 0 ? places[j] : begin + found[j];
    end = begin;
  }
}

/* Items are (outer, group of ND_COLUMNS columns). */
static void BURN_CALL search_columns(void *context, int64_t begin, int64_t end) {
  const Search *search = (const Search *)context;
  const NdAxisView *view = &search->view;
  const int64_t groups = (view->inner + ND_COLUMNS - 1) / ND_COLUMNS;
  NdTotals values;
  int64_t places[ND_COLUMNS];
  for (int64_t i = begin; i < end; i++) {
    const int64_t o = i / groups, column = i % groups * ND_COLUMNS;
    const int64_t width = nd_smaller(ND_COLUMNS, view->inner - column);
    const char *x = nd_axis_at(view, o, column);
    search->fold->columns(x, view->stride, view->count, width, &values);
    find_in_columns(search, x, width, &values, places);
    store(search, o * view->inner + column, width, places);
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
  Search search = {.fold = nd_fold(nd, call->op == BURN_OP_argmax ? ND_FOLD_max : ND_FOLD_min, x->header.dtype),
                   .finder = find_finder(x->header.dtype),
                   .wide = call->output_descs[0].dtype == BURN_DTYPE_I64};
  const BurnStatus status = check(nd, call, &search);
  if (status != BURN_OK) return status;
  if (!nd_axis_view(nd, x, (uint32_t)call->attrs[0].value.i64, &search.view)) return nd_out_of_memory(nd, call);
  NdTensor *out = nd_new(nd, &call->output_descs[0]);
  if (out) {
    const NdAxisView *view = &search.view;
    search.out = nd_data(out);
    if (view->by_columns) {
      const int64_t groups = (view->inner + ND_COLUMNS - 1) / ND_COLUMNS;
      const int64_t grain = nd_grain(view->count * nd_smaller(view->inner, ND_COLUMNS));
      nd_parallel_for(nd, view->outer * groups, grain, search_columns, &search);
    } else {
      nd_parallel_for(nd, view->outer * view->inner, nd_grain(view->count), search_runs, &search);
    }
  }
  nd_release(nd, search.view.x);
  return nd_finish(nd, call, out);
}
