/* ndarray_scan.c - cumsum, cumprod, cummin, cummax: what has come together along an axis up to each element.
 *
 * Tensors are seen as row-major [outer, count, inner] around the axis. Columns are independent: threads share groups of
 * neighbouring ones, and walk a group row by row. Sums and products of f32 are carried in f64, integers wrap. */
#include "reduce/ndarray_reduce.h"

#define ND_SCAN_COLUMNS 64

/* Scans `width` columns that lie side by side; rows are `inner` elements apart. to may be from. */
typedef void (*ScanColumns)(const void *from, void *to, int64_t count, int64_t inner, int64_t width);

/* `start` is what the first element, b, is joined with. */
#define ND_RUNNING(name, t, T, A, start, join)                                                      \
  static void name##_##t(const void *from, void *to, int64_t count, int64_t inner, int64_t width) { \
    A carry[ND_SCAN_COLUMNS];                                                                       \
    for (int64_t j = 0; j < width; j++) {                                                           \
      const A b = (A)((const T *)from)[j];                                                          \
      (void)b;                                                                                      \
      carry[j] = (A)(start);                                                                        \
    }                                                                                               \
    for (int64_t i = 0; i < count; i++) {                                                           \
      const T *x = (const T *)from + i * inner;                                                     \
      T *y = (T *)to + i * inner;                                                                   \
      ND_VECTORIZE for (int64_t j = 0; j < width; j++) {                                            \
        const A a = carry[j], b = (A)x[j];                                                          \
        carry[j] = (A)(join);                                                                       \
        y[j] = (T)carry[j];                                                                         \
      }                                                                                             \
    }                                                                                               \
  }
/* A NaN is taken, and then nothing compares with it. */
#define ND_RUNNINGS(t, T, A)                                   \
  ND_RUNNING(cumsum, t, T, A, 0, a + b)                        \
  ND_RUNNING(cumprod, t, T, A, 1, a *b)                        \
  ND_RUNNING(cummin, t, T, T, b, ((b < a) | (b != b)) ? b : a) \
  ND_RUNNING(cummax, t, T, T, b, ((b > a) | (b != b)) ? b : a)
ND_RUNNINGS(f32, float, double)
ND_RUNNINGS(f64, double, double)
ND_RUNNINGS(i8, int8_t, uint32_t)
ND_RUNNINGS(i16, int16_t, uint32_t)
ND_RUNNINGS(i32, int32_t, uint32_t)
ND_RUNNINGS(i64, int64_t, uint64_t)
ND_RUNNINGS(u8, uint8_t, uint32_t)

enum { SCAN_SUM, SCAN_PROD, SCAN_MIN, SCAN_MAX, SCAN_COUNT };

#define ND_ENTRIES(t) \
  { cumsum_##t, cumprod_##t, cummin_##t, cummax_##t }
static const ScanColumns scans[BURN_DTYPE_LIMIT][SCAN_COUNT] = {
    [BURN_DTYPE_F32] = ND_ENTRIES(f32), [BURN_DTYPE_F64] = ND_ENTRIES(f64), [BURN_DTYPE_I8] = ND_ENTRIES(i8),
    [BURN_DTYPE_I16] = ND_ENTRIES(i16), [BURN_DTYPE_I32] = ND_ENTRIES(i32), [BURN_DTYPE_I64] = ND_ENTRIES(i64),
    [BURN_DTYPE_U8] = ND_ENTRIES(u8),
};
#undef ND_ENTRIES

typedef struct Scan {
  ScanColumns columns;
  const char *from;
  char *to;
  int64_t count, inner, groups, bytes;
} Scan;

/* Items are (outer, group of columns). */
static void BURN_API_CALL scan_groups(void *context, int64_t begin, int64_t end) {
  const Scan *scan = (const Scan *)context;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % scan->groups * ND_SCAN_COLUMNS;
    const int64_t offset = (i / scan->groups * scan->count * scan->inner + column) * scan->bytes;
    scan->columns(scan->from + offset, scan->to + offset, scan->count, scan->inner,
                  nd_min(ND_SCAN_COLUMNS, scan->inner - column));
  }
}

static BurnStatus run_scan(Ndarray *nd, const BurnOpCall *call, uint32_t which) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  const uint32_t dim = (uint32_t)call->attrs[0].value.i64, rank = input->header.rank;
  const BurnDType dtype = input->header.dtype;
  Scan scan = {.columns = scans[dtype][which],
               .count = input->shape[dim],
               .inner = nd_axes_count(input, dim + 1, rank),
               .bytes = burn_dtype_bytes(dtype)};
  if (!scan.columns) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                   burn_dtype_name(dtype));
  }
  NdTensor *out = nd_output(nd, call, 0); /* maybe the input itself, which is then contiguous */
  NdTensor *x = out ? nd_contiguous(nd, input) : NULL;
  if (!x) {
    nd_release(nd, out);
    return nd_out_of_memory(nd, call);
  }
  scan.from = (const char *)nd_data(x);
  scan.to = (char *)nd_data(out);
  scan.groups = (scan.inner + ND_SCAN_COLUMNS - 1) / ND_SCAN_COLUMNS;
  const int64_t outer = nd_axes_count(input, 0, dim),
                grain = nd_grain(scan.count * nd_min(scan.inner, ND_SCAN_COLUMNS));
  if (scan.count > 0) nd_parallel_for(nd, outer * scan.groups, grain, scan_groups, &scan);
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

static BurnStatus run_cumsum(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, SCAN_SUM); }
static BurnStatus run_cumprod(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, SCAN_PROD); }
static BurnStatus run_cummin(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, SCAN_MIN); }
static BurnStatus run_cummax(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, SCAN_MAX); }

const NdKernelRow nd_scan_kernels[] = {
    {BURN_OP_cumsum, run_cumsum}, {BURN_OP_cumprod, run_cumprod}, {BURN_OP_cummin, run_cummin},
    {BURN_OP_cummax, run_cummax}, {BURN_OP_INVALID, NULL},
};
