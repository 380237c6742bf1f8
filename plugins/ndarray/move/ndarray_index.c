/* ndarray_index.c - select, gather and embedding, which read through indices, and select_assign and scatter, which
 * write through them.
 *
 * Indices are first brought to i64 and checked, so that the loops need not look again and nothing is written when one
 * is wrong; those of gather, whose result is dropped then, where they are used. Tensors are seen as row-major
 * [outer, size, inner] around the axis. Writes are shared out to threads by columns (outer, inner) or by rows of the
 * result: what meets in one element is always applied by one thread, in the order of the indices. */
#include "ndarray_index_rows.h"

#include <string.h>

#define ND_OFFSETS 256         /* places computed at a time */
#define ND_FETCHED 4096        /* bytes of such a row at most; of longer ones the processor guesses the rest */
#define ND_FETCHED_ROW 16384   /* bytes of an axis that is asked for as a whole, at most */
#define ND_FETCHED_PER_PICK 64 /* and as many bytes for each position that looks into it, at most */
#define ND_NARROW_ROW 16       /* elements: shorter rows are written element by element */
#define ND_SORTED_BYTES 512    /* of rows from which on it pays to go by rows of the result */

/* -- indices ---------------------------------------------------------------------------------- */

typedef struct Conversion {
  const void *from;
  BurnDType dtype;
  int64_t *to; /* NULL: check alone */
  int64_t limit;
  atomic_bool outside;
} Conversion;

#define ND_CONVERT(t, T)                                                                              \
  static bool convert_##t(const void *from, int64_t *to, int64_t begin, int64_t end, int64_t limit) { \
    const T *indices = (const T *)from;                                                               \
    unsigned outside = 0;                                                                             \
    for (int64_t i = begin; i < end; i++) {                                                           \
      const int64_t index = (int64_t)indices[i];                                                      \
      outside |= (unsigned)((uint64_t)index >= (uint64_t)limit);                                      \
      if (to) to[i] = index;                                                                          \
    }                                                                                                 \
    return outside != 0;                                                                              \
  }
ND_CONVERT(i8, int8_t)
ND_CONVERT(i16, int16_t)
ND_CONVERT(i32, int32_t)
ND_CONVERT(i64, int64_t)
ND_CONVERT(u8, uint8_t)

static bool convert_any(const Conversion *conversion, int64_t begin, int64_t end) {
  switch (conversion->dtype) {
    case BURN_DTYPE_I8:
      return convert_i8(conversion->from, conversion->to, begin, end, conversion->limit);
    case BURN_DTYPE_I16:
      return convert_i16(conversion->from, conversion->to, begin, end, conversion->limit);
    case BURN_DTYPE_I32:
      return convert_i32(conversion->from, conversion->to, begin, end, conversion->limit);
    case BURN_DTYPE_U8:
      return convert_u8(conversion->from, conversion->to, begin, end, conversion->limit);
    default:
      return convert_i64(conversion->from, conversion->to, begin, end, conversion->limit);
  }
}

static void BURN_API_CALL convert_indices(void *context, int64_t begin, int64_t end) {
  Conversion *conversion = (Conversion *)context;
  if (convert_any(conversion, begin, end)) atomic_store_explicit(&conversion->outside, true, memory_order_relaxed);
}

static void indices_release(Ndarray *nd, NdIndices *indices) {
  nd_release(nd, indices->packed);
  if (indices->copy) nd_pool_free(nd->pool, indices->copy, indices->copy_bytes);
}

/* The failure for the first index that is outside; there is one. */
static BurnStatus outside(Ndarray *nd, const char *name, const NdIndices *indices, int64_t size, int64_t dim) {
  int64_t position = 0;
  while ((uint64_t)indices->values[position] < (uint64_t)size) position++;
  const long long index = (long long)indices->values[position];
  if (size == 0) {
    return nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "%s: index %lld at position %lld, but axis %lld is empty", name, index,
                   (long long)position, (long long)dim);
  }
  return nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "%s: index %lld at position %lld is outside 0..%lld (axis %lld)", name,
                 index, (long long)position, (long long)(size - 1), (long long)dim);
}

/* Input i as indices that nobody has looked at: only what they are as a tensor is checked. On success end them with
 * indices_release. */
static BurnStatus indices_hold(Ndarray *nd, const BurnOpCall *call, uint32_t i, NdIndices *indices) {
  const BurnDType dtype = call->inputs[i]->dtype;
  memset(indices, 0, sizeof *indices);
  if (burn_dtype_kind(dtype) != BURN_KIND_INT) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: indices of dtype %s; they can be of any integer dtype",
                   nd->host->op_info(call->op)->name, burn_dtype_name(dtype));
  }
  indices->packed = nd_contiguous(nd, nd_tensor(call->inputs[i]));
  if (!indices->packed) return nd_out_of_memory(nd, call);
  indices->count = burn_primitive_count(call->inputs[i]);
  return BURN_OK;
}

/* Loads input i as indices into axis `dim` of size `size`; on success end them with indices_release. */
static BurnStatus indices_load(Ndarray *nd, const BurnOpCall *call, uint32_t i, int64_t size, int64_t dim,
                               NdIndices *indices) {
  const BurnDType dtype = call->inputs[i]->dtype;
  BurnStatus status = indices_hold(nd, call, i, indices);
  if (status != BURN_OK) return status;
  if (dtype != BURN_DTYPE_I64 && indices->count > 0) {
    indices->copy_bytes = (uint64_t)indices->count * sizeof(int64_t);
    indices->copy = (int64_t *)nd_pool_allocate(nd->pool, indices->copy_bytes);
    if (!indices->copy) {
      nd_release(nd, indices->packed);
      return nd_out_of_memory(nd, call);
    }
  }
  Conversion conversion = {.from = nd_data(indices->packed), .dtype = dtype, .to = indices->copy, .limit = size};
  atomic_init(&conversion.outside, false);
  nd_parallel_for(nd, indices->count, nd_move_grain((int64_t)sizeof(int64_t)), convert_indices, &conversion);
  indices->values = indices->copy ? indices->copy : (const int64_t *)nd_data(indices->packed);
  if (!atomic_load_explicit(&conversion.outside, memory_order_relaxed)) return BURN_OK;
  status = outside(nd, nd->host->op_info(call->op)->name, indices, size, dim);
  indices_release(nd, indices);
  return status;
}

/* -- one call --------------------------------------------------------------------------------- */

static void access_shape(const Ndarray *nd, NdAccess *access, const NdTensor *x, uint32_t dim, int64_t picks) {
  access->outer = 1;
  access->inner = 1;
  for (uint32_t i = 0; i < dim; i++) access->outer *= x->shape[i];
  for (uint32_t i = dim + 1; i < x->header.rank; i++) access->inner *= x->shape[i];
  access->size = x->shape[dim];
  access->picks = picks;
  access->element_bytes = burn_dtype_bytes(x->header.dtype);
  access->moves = nd_moves(nd);
  access->fetched =
      access->inner * access->element_bytes < ND_FETCHED ? access->inner * access->element_bytes : ND_FETCHED;
}

/* -- select, embedding ------------------------------------------------------------------------ */

#define ND_SELECT_ROWS(name, bytes)                                                             \
  static void name(const NdAccess *access, int64_t row_bytes, int64_t begin, int64_t end) {     \
    int64_t outer = begin / access->picks, pick = begin % access->picks;                        \
    char *to = access->to + begin * row_bytes;                                                  \
    for (int64_t row = begin; row < end; outer++, pick = 0) {                                   \
      const char *from = access->from + outer * access->size * row_bytes;                       \
      const int64_t left = access->picks - pick, n = end - row < left ? end - row : left;       \
      const int64_t *indices = access->indices.values + pick;                                   \
      for (int64_t i = 0; i < n; i++) {                                                         \
        if ((bytes) > 64 && i + ND_ROWS_AHEAD < n)                                              \
          access->moves->fetch(from + indices[i + ND_ROWS_AHEAD] * row_bytes, access->fetched); \
        if ((bytes) > 64 && access->streams) {                                                  \
          access->moves->stream(to + i * row_bytes, from + indices[i] * row_bytes, bytes);      \
        } else {                                                                                \
          memcpy(to + i * row_bytes, from + indices[i] * row_bytes, (size_t)(bytes));           \
        }                                                                                       \
      }                                                                                         \
      to += n * row_bytes;                                                                      \
      row += n;                                                                                 \
    }                                                                                           \
  }
ND_SELECT_ROWS(select_rows_1, 1)
ND_SELECT_ROWS(select_rows_2, 2)
ND_SELECT_ROWS(select_rows_4, 4)
ND_SELECT_ROWS(select_rows_8, 8)
ND_SELECT_ROWS(select_rows_any, row_bytes)

/* Rows begin .. end-1 of the result [outer * picks, inner]. */
static void BURN_API_CALL select_rows(void *context, int64_t begin, int64_t end) {
  const NdAccess *access = (const NdAccess *)context;
  const int64_t bytes = access->inner * access->element_bytes;
  switch (bytes) {
    case 1:
      select_rows_1(access, bytes, begin, end);
      return;
    case 2:
      select_rows_2(access, bytes, begin, end);
      return;
    case 4:
      select_rows_4(access, bytes, begin, end);
      return;
    case 8:
      select_rows_8(access, bytes, begin, end);
      return;
    default:
      select_rows_any(access, bytes, begin, end);
      if (access->streams) access->moves->stream_end();
      return;
  }
}

/* Picks rows of input 0 along dim at the indices of input 1. */
static BurnStatus run_select_along(Ndarray *nd, const BurnOpCall *call, uint32_t dim) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  NdAccess access = {.update_row = NULL};
  const BurnStatus status = indices_load(nd, call, 1, input->shape[dim], (int64_t)dim, &access.indices);
  if (status != BURN_OK) return status;
  access_shape(nd, &access, input, dim, access.indices.count);
  NdTensor *x = nd_contiguous(nd, input);
  NdTensor *out = x ? nd_new(nd, &call->output_descs[0]) : NULL;
  if (out && access.inner > 0) {
    const int64_t row_bytes = access.inner * access.element_bytes, rows = access.outer * access.picks;
    access.from = (const char *)nd_data(x);
    access.to = (char *)nd_data(out);
    access.streams = rows * row_bytes >= ND_STREAM_BYTES;
    nd_parallel_for(nd, rows, nd_move_grain(row_bytes), select_rows, &access);
  }
  nd_release(nd, x);
  indices_release(nd, &access.indices);
  return nd_finish(nd, call, out);
}

static BurnStatus run_select(Ndarray *nd, const BurnOpCall *call) {
  return run_select_along(nd, call, (uint32_t)BURN_ATTRS(select, call)->dim.value.i64);
}

static BurnStatus run_embedding(Ndarray *nd, const BurnOpCall *call) { return run_select_along(nd, call, 0); }

/* -- gather ----------------------------------------------------------------------------------- */

/* offsets[j] = the element of the indexed tensor that belongs to position first + j of the other side, whose index is
 * indices[j]. */
static void find_offsets(const NdAccess *access, int64_t first, int64_t n, const int64_t *indices, int64_t *offsets) {
  const int64_t plane = access->picks * access->inner, step = access->size * access->inner;
  int64_t base = first / plane * step, left = plane - first % plane, k = first % access->inner;
  if (left >= n && access->inner == 1) {
    for (int64_t j = 0; j < n; j++) offsets[j] = base + indices[j];
    return;
  }
  for (int64_t j = 0; j < n; j++) {
    offsets[j] = base + indices[j] * access->inner + k;
    if (++k == access->inner) k = 0;
    if (--left == 0) {
      left = plane;
      base += step;
    }
  }
}

#define ND_READ_AT(bytes)                                                                         \
  static void read_at_##bytes(int64_t n, char *to, const char *from, const int64_t *offsets) {    \
    for (int64_t j = 0; j < n; j++) memcpy(to + j * (bytes), from + offsets[j] * (bytes), bytes); \
  }
ND_READ_AT(1)
ND_READ_AT(2)
ND_READ_AT(4)
ND_READ_AT(8)

typedef void (*ReadAt)(int64_t n, char *to, const char *from, const int64_t *offsets);
static const ReadAt read_at[] = {read_at_1, read_at_2, read_at_4, read_at_8}; /* by log2 of the bytes of an element */

/* Where an axis of few bytes is looked into about once per line, most lines of it are needed, in an order that the
 * processor cannot foresee: as positions move through it, the axis after it is asked for. */
static void fetch_ahead(const NdAccess *access, int64_t first, int64_t n) {
  const int64_t row_bytes = access->size * access->element_bytes;
  if (access->inner > 1 || row_bytes > ND_FETCHED_ROW || access->picks * ND_FETCHED_PER_PICK < row_bytes) return;
  access->moves->fetch(access->from + first * row_bytes / access->picks + row_bytes, n * row_bytes / access->picks);
}

/* A call of gather: its indices are looked at where they are used, as reading them twice takes longer than all else. */
typedef struct Gather {
  NdAccess access;
  Conversion indices;
} Gather;

/* Positions begin .. end-1 of the result; none any more after an index that is outside. */
static void BURN_API_CALL gather_positions(void *context, int64_t begin, int64_t end) {
  Gather *gather = (Gather *)context;
  const NdAccess *access = &gather->access;
  const int64_t bytes = access->element_bytes, index_bytes = burn_dtype_bytes(gather->indices.dtype);
  int64_t indices[ND_OFFSETS], offsets[ND_OFFSETS];
  for (int64_t first = begin; first < end; first += ND_OFFSETS) {
    const int64_t n = end - first < ND_OFFSETS ? end - first : ND_OFFSETS;
    const Conversion part = {.from = (const char *)gather->indices.from + first * index_bytes,
                             .dtype = gather->indices.dtype,
                             .to = indices,
                             .limit = access->size};
    if (convert_any(&part, 0, n)) {
      atomic_store_explicit(&gather->indices.outside, true, memory_order_relaxed);
      return;
    }
    find_offsets(access, first, n, indices, offsets);
    fetch_ahead(access, first, n);
    read_at[nd_log2_bytes(bytes)](n, access->to + first * bytes, access->from, offsets);
  }
}

static BurnStatus run_gather(Ndarray *nd, const BurnOpCall *call) {
  const uint32_t dim = (uint32_t)BURN_ATTRS(gather, call)->dim.value.i64;
  NdTensor *input = nd_tensor(call->inputs[0]);
  Gather gather = {.access = {.update_row = NULL}};
  NdAccess *access = &gather.access;
  const BurnStatus status = indices_hold(nd, call, 1, &access->indices);
  if (status != BURN_OK) return status;
  access_shape(nd, access, input, dim, call->inputs[1]->shape[dim]);
  NdTensor *x = nd_contiguous(nd, input);
  NdTensor *out = x ? nd_new(nd, &call->output_descs[0]) : NULL;
  gather.indices.from = nd_data(access->indices.packed);
  gather.indices.dtype = call->inputs[1]->dtype;
  atomic_init(&gather.indices.outside, false);
  if (out) {
    access->from = (const char *)nd_data(x);
    access->to = (char *)nd_data(out);
    nd_parallel_for(nd, access->indices.count, nd_move_grain(8 * access->element_bytes), gather_positions, &gather);
  }
  nd_release(nd, x);
  indices_release(nd, &access->indices);
  if (!atomic_load_explicit(&gather.indices.outside, memory_order_relaxed)) return nd_finish(nd, call, out);
  nd_release(nd, out);
  const BurnStatus failure = indices_load(nd, call, 1, access->size, (int64_t)dim, &access->indices); /* says which */
  if (failure != BURN_OK) return failure;
  indices_release(nd, &access->indices);
  return nd_fail(nd, BURN_STATUS_OUT_OF_RANGE, "gather: an index was changed while it was read");
}

/* -- select_assign, scatter ------------------------------------------------------------------- */

/* How one value b changes the element a it meets, at scattered places. */
#define ND_UPDATE_AT(mode, t, T, expression)                                                   \
  static void mode##_at_##t(int64_t n, void *to, const int64_t *offsets, const void *values) { \
    T *x = (T *)to;                                                                            \
    const T *y = (const T *)values;                                                            \
    for (int64_t j = 0; j < n; j++) {                                                          \
      const T a = x[offsets[j]], b = y[j];                                                     \
      x[offsets[j]] = (T)(expression);                                                         \
    }                                                                                          \
  }
/* And for rows, where no elementwise loop does the same. */
#define ND_UPDATE(mode, t, T, expression)                               \
  static void mode##_row_##t(int64_t n, void *to, const void *values) { \
    T *x = (T *)to;                                                     \
    const T *y = (const T *)values;                                     \
    for (int64_t j = 0; j < n; j++) {                                   \
      const T a = x[j], b = y[j];                                       \
      x[j] = (T)(expression);                                           \
    }                                                                   \
  }                                                                     \
  ND_UPDATE_AT(mode, t, T, expression)
/* W is what sums and products are made in: unsigned for integers, so that they wrap. */
#define ND_UPDATES(t, T, W)                          \
  ND_UPDATE_AT(add, t, T, (W)a + (W)b)               \
  ND_UPDATE_AT(mul, t, T, (W)a *(W)b)                \
  ND_UPDATE(min, t, T, ((b < a) | (b != b)) ? b : a) \
  ND_UPDATE(max, t, T, ((b > a) | (b != b)) ? b : a)
ND_UPDATES(f32, float, float)
ND_UPDATES(f64, double, double)
ND_UPDATES(i8, int8_t, uint32_t)
ND_UPDATES(i16, int16_t, uint32_t)
ND_UPDATES(i32, int32_t, uint32_t)
ND_UPDATES(i64, int64_t, uint64_t)
ND_UPDATES(u8, uint8_t, uint32_t)
ND_UPDATE_AT(add, bool, uint8_t, a | b)
ND_UPDATE_AT(mul, bool, uint8_t, a &b)

/* Assigning looks at nothing but the size of an element. */
#define ND_ASSIGN(bytes)                                                                                              \
  static void assign_row_##bytes(int64_t n, void *to, const void *values) { memcpy(to, values, (size_t)n *(bytes)); } \
  static void assign_at_##bytes(int64_t n, void *to, const int64_t *offsets, const void *values) {                    \
    for (int64_t j = 0; j < n; j++)                                                                                   \
      memcpy((char *)to + offsets[j] * (bytes), (const char *)values + j * (bytes), bytes);                           \
  }
ND_ASSIGN(1)
ND_ASSIGN(2)
ND_ASSIGN(4)
ND_ASSIGN(8)

typedef struct Update {
  NdUpdateRow row;
  NdUpdateAt at;
} Update;

#define ND_ENTRIES(t)                                                               \
  {                                                                                 \
    [BURN_UPDATE_ADD] = {NULL, add_at_##t}, [BURN_UPDATE_MUL] = {NULL, mul_at_##t}, \
    [BURN_UPDATE_MIN] = {min_row_##t, min_at_##t}, [BURN_UPDATE_MAX] = {            \
      max_row_##t,                                                                  \
      max_at_##t                                                                    \
    }                                                                               \
  }
static const Update updates[BURN_DTYPE_LIMIT][BURN_UPDATE_LIMIT] = {
    [BURN_DTYPE_F32] = ND_ENTRIES(f32),
    [BURN_DTYPE_F64] = ND_ENTRIES(f64),
    [BURN_DTYPE_I8] = ND_ENTRIES(i8),
    [BURN_DTYPE_I16] = ND_ENTRIES(i16),
    [BURN_DTYPE_I32] = ND_ENTRIES(i32),
    [BURN_DTYPE_I64] = ND_ENTRIES(i64),
    [BURN_DTYPE_U8] = ND_ENTRIES(u8),
    [BURN_DTYPE_BOOL] = {[BURN_UPDATE_ADD] = {NULL, add_at_bool}, [BURN_UPDATE_MUL] = {NULL, mul_at_bool}},
};
/* By log2 of the bytes of an element. */
static const Update assigns[] = {
    {assign_row_1, assign_at_1}, {assign_row_2, assign_at_2}, {assign_row_4, assign_at_4}, {assign_row_8, assign_at_8}};

/* The elementwise op that puts values to elements as an update does, if there is one. */
static uint32_t op_of(BurnDType dtype, int64_t mode) {
  if (mode == BURN_UPDATE_ADD) return dtype == BURN_DTYPE_BOOL ? BURN_OP_bool_or : BURN_OP_add;
  if (mode == BURN_UPDATE_MUL) return dtype == BURN_DTYPE_BOOL ? BURN_OP_bool_and : BURN_OP_mul;
  return BURN_OP_INVALID;
}

/* The loops for a dtype and mode; false if there are none. */
static bool choose_update(const Ndarray *nd, NdAccess *access, BurnDType dtype, int64_t mode) {
  const uint32_t op = op_of(dtype, mode);
  Update update = updates[dtype][mode];
  if (mode == BURN_UPDATE_ASSIGN) update = assigns[nd_log2_bytes(burn_dtype_bytes(dtype))];
  access->update = op != BURN_OP_INVALID ? nd_kernels(nd)->loops[op][dtype] : NULL;
  access->update_row = update.row;
  access->update_at = update.at;
  access->adds_f32 = dtype == BURN_DTYPE_F32 && mode == BURN_UPDATE_ADD;
  return update.at != NULL;
}

/* select_assign for short rows, on planes begin .. end-1 of [outer]. */
static void BURN_API_CALL select_assign_narrow(void *context, int64_t begin, int64_t end) {
  const NdAccess *access = (const NdAccess *)context;
  const int64_t inner = access->inner, at_once = ND_OFFSETS / inner;
  int64_t offsets[ND_OFFSETS];
  for (int64_t o = begin; o < end; o++) {
    for (int64_t first = 0; first < access->picks; first += at_once) {
      const int64_t n = access->picks - first < at_once ? access->picks - first : at_once;
      for (int64_t i = 0; i < n; i++) {
        const int64_t row = o * access->size + access->indices.values[first + i];
        for (int64_t k = 0; k < inner; k++) offsets[i * inner + k] = row * inner + k;
      }
      access->update_at(n * inner, access->to, offsets,
                        access->from + (o * access->picks + first) * inner * access->element_bytes);
    }
  }
}

/* select_assign on columns begin .. end-1 of [outer, inner]. */
static void BURN_API_CALL select_assign_columns(void *context, int64_t begin, int64_t end) {
  const NdAccess *access = (const NdAccess *)context;
  const int64_t inner = access->inner, bytes = access->element_bytes;
  while (begin < end) {
    const int64_t o = begin / inner, k = begin % inner, n = end - begin < inner - k ? end - begin : inner - k;
    NdRun run = nd_update_run(n);
    for (int64_t i = 0; i < access->picks; i++) {
      const int64_t row = o * access->size + access->indices.values[i];
      if (i + ND_ROWS_AHEAD < access->picks) {
        const int64_t ahead = o * access->size + access->indices.values[i + ND_ROWS_AHEAD];
        access->moves->fetch(access->to + (ahead * inner + k) * bytes, n * bytes < ND_FETCHED ? n * bytes : ND_FETCHED);
      }
      char *to = access->to + (row * inner + k) * bytes;
      nd_update_row(access, &run, to, to, access->from + ((o * access->picks + i) * inner + k) * bytes);
    }
    begin += n;
  }
}

/* scatter on positions first .. first + count - 1 of the values. */
static void scatter_positions(const NdAccess *access, int64_t first, int64_t count) {
  int64_t offsets[ND_OFFSETS];
  for (int64_t done = 0; done < count; done += ND_OFFSETS) {
    const int64_t n = count - done < ND_OFFSETS ? count - done : ND_OFFSETS;
    find_offsets(access, first + done, n, access->indices.values + first + done, offsets);
    access->update_at(n, access->to, offsets, access->from + (first + done) * access->element_bytes);
  }
}

/* scatter on columns begin .. end-1 of [outer, inner]. */
static void BURN_API_CALL scatter_columns(void *context, int64_t begin, int64_t end) {
  const NdAccess *access = (const NdAccess *)context;
  const int64_t inner = access->inner, plane = access->picks * inner;
  while (begin < end) {
    const int64_t o = begin / inner, k = begin % inner;
    if (k == 0 && end - begin >= inner) { /* whole planes */
      const int64_t planes = (end - begin) / inner;
      scatter_positions(access, o * plane, planes * plane);
      begin += planes * inner;
      continue;
    }
    const int64_t n = end - begin < inner - k ? end - begin : inner - k;
    for (int64_t i = 0; i < access->picks; i++) scatter_positions(access, o * plane + i * inner + k, n);
    begin += n;
  }
}

/* scatter along the last axis, into rows begin .. end-1 of [outer, size]: each is copied, where that is asked for, when
 * its turn comes, and written while it is in the cache. */
static void BURN_API_CALL scatter_rows(void *context, int64_t begin, int64_t end) {
  const NdAccess *access = (const NdAccess *)context;
  const int64_t bytes = access->element_bytes, row_bytes = access->size * bytes, picks = access->picks;
  _Alignas(64) char row[ND_FETCHED_ROW];
  for (int64_t o = begin; o < end; o++) {
    const char *x = access->old + o * row_bytes;
    char *out = access->to + o * row_bytes, *to = access->streams ? row : out;
    if (to != x) memcpy(to, x, (size_t)row_bytes);
    access->update_at(picks, to, access->indices.values + o * picks, access->from + o * picks * bytes);
    if (access->streams) access->moves->stream(out, row, row_bytes);
  }
  if (access->streams) access->moves->stream_end();
}

/* The same for all rows. */
static NdTensor *update_last_axis(Ndarray *nd, const BurnOpCall *call, NdAccess *access) {
  NdTensor *input = nd_tensor(call->inputs[0]), *x = nd_contiguous(nd, input);
  const bool in_place = x != input || nd_may_overwrite(call, 0);
  const int64_t row_bytes = access->size * access->element_bytes;
  if (x && in_place) nd_retain(x);
  NdTensor *out = !x || in_place ? x : nd_new(nd, &call->output_descs[0]);
  if (out) {
    access->old = (const char *)nd_data(x);
    access->to = (char *)nd_data(out);
    access->streams = !in_place && row_bytes <= ND_FETCHED_ROW && access->outer * row_bytes >= ND_STREAM_BYTES;
    nd_parallel_for(nd, access->outer, nd_move_grain(row_bytes + 2 * access->picks * access->element_bytes),
                    scatter_rows, access);
  }
  nd_release(nd, x);
  return out;
}

/* Writes by columns, or by planes. */
static NdTensor *update_columns(Ndarray *nd, const BurnOpCall *call, NdAccess *access) {
  NdTensor *out = nd_writable(nd, call, 0);
  if (!out || access->picks == 0) return out;
  const bool is_narrow = access->inner < ND_NARROW_ROW, selects = call->op == BURN_OP_select_assign;
  const int64_t bytes = access->picks * access->element_bytes * 2, grain = nd_move_grain(bytes);
  access->to = (char *)nd_data(out);
  if (selects && is_narrow && access->inner > 0) {
    nd_parallel_for(nd, access->outer, nd_move_grain(bytes * access->inner), select_assign_narrow, access);
    return out;
  }
  nd_parallel_for(nd, access->outer * access->inner, access->inner > 1 && grain < 64 ? 64 : grain, /* whole lines */
                  selects ? select_assign_columns : scatter_columns, access);
  return out;
}

/* x with values (input 2) put at indices (input 1) along dim. */
static BurnStatus run_update(Ndarray *nd, const BurnOpCall *call, uint32_t dim, int64_t mode) {
  const NdTensor *x = nd_tensor(call->inputs[0]);
  NdAccess access = {.update_row = NULL};
  if (!choose_update(nd, &access, x->header.dtype, mode)) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                   burn_dtype_name(x->header.dtype));
  }
  const BurnStatus status = indices_load(nd, call, 1, x->shape[dim], (int64_t)dim, &access.indices);
  if (status != BURN_OK) return status;
  access_shape(nd, &access, x, dim, call->inputs[2]->shape[dim]);
  NdTensor *values = nd_contiguous(nd, nd_tensor(call->inputs[2])), *out = NULL;
  if (values) {
    access.from = (const char *)nd_data(values);
    const bool by_rows =
        call->op == BURN_OP_select_assign && access.picks > 0 && access.inner * access.element_bytes >= ND_SORTED_BYTES;
    /* few rows are copied by all threads, and then written */
    const bool has_rows = access.outer >= (int64_t)nd->host->thread_count();
    if (call->op == BURN_OP_scatter && access.inner == 1 && has_rows)
      out = update_last_axis(nd, call, &access);
    else if (!by_rows || !nd_assign_rows(nd, call, &access, &out))
      out = update_columns(nd, call, &access);
  }
  nd_release(nd, values);
  indices_release(nd, &access.indices);
  return nd_finish(nd, call, out);
}

static BurnStatus run_select_assign(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_select_assign *attrs = BURN_ATTRS(select_assign, call);
  return run_update(nd, call, (uint32_t)attrs->dim.value.i64, attrs->update.value.i64);
}

static BurnStatus run_scatter(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_scatter *attrs = BURN_ATTRS(scatter, call);
  return run_update(nd, call, (uint32_t)attrs->dim.value.i64, attrs->update.value.i64);
}

const NdKernelRow nd_index_kernels[] = {
    {BURN_OP_select, run_select},   {BURN_OP_select_assign, run_select_assign}, {BURN_OP_gather, run_gather},
    {BURN_OP_scatter, run_scatter}, {BURN_OP_embedding, run_embedding},         {BURN_OP_INVALID, NULL},
};
