/* fused.cu - the kernels of fused bodies; after the text of a body (gpu_fused_text.c), which defines
 *
 *   Fused, Places, Inputs, Rows, Kept, Outputs   the arguments; offsets of inputs; numbers of FUSED_WIDTH elements, of a
 *                                                row, of elements that wait for a later loop; results
 *   fused_offsets, fused_row_inputs              where a row (column, vector) begins; what there is one of per row
 *   fused_fetch_L, fused_step_L, fused_store_L   inputs of loop L, what it computes of an element, its results
 *   fused_rows_L                                 what is computed once per row before loop L + 1
 *   fused_fetch_of, fused_step_of, fused_store_of, FUSED_LOOPS   of rows: those of a loop by its number; all in order
 *   Sum, fused_nothing, fused_join               what reductions join, and how, by their number
 *   fused_finish_L                               what follows loop L
 *
 * FUSED_REGION: 0 elements, 1 rows along the last axis, 2 columns (along any other axis), 3 everything to one number. Loops are those of
 * burn/common/fused_plan.h. Sums depend on the length of what is reduced alone. */
#if FUSED_REGION == 0
extern "C" __global__ void __launch_bounds__(FUSED_BLOCK) kernel(const Fused p) {
  const Place first = ((Place)blockIdx.x * (FUSED_BLOCK * FUSED_VECTORS) + threadIdx.x) * FUSED_WIDTH;
  Inputs x[FUSED_VECTORS];
  Rows r;
  Sum sums[FUSED_SUMS];
#pragma unroll
  for (int v = 0; v < FUSED_VECTORS; v++) {
    const Place i = first + v * FUSED_BLOCK * FUSED_WIDTH;
    Places at;
    if (i >= (Place)p.count) break;
    fused_offsets(p, i, at);
    fused_fetch_1(p, at, 0, p.count - i, i, x[v]);
  }
#pragma unroll
  for (int v = 0; v < FUSED_VECTORS; v++) {
    const Place i = first + v * FUSED_BLOCK * FUSED_WIDTH;
    Kept kept;
    Outputs out;
    if (i >= (Place)p.count) break;
#pragma unroll
    for (int k = 0; k < FUSED_WIDTH; k++) fused_step_1(p, x[v], k, r, kept, sums, out);
    fused_store_1(p, i, p.count - i, out);
  }
}

#else
static __device__ inline void fused_clear(Sum *sums) {
#pragma unroll
  for (int q = 0; q < FUSED_REDUCTIONS; q++) sums[q] = fused_nothing(q);
}

/* Joins what the warps of a block have of the sums first .. end-1, for all of them. */
template <int first, int end, int warps> static __device__ inline void fused_join_warps(Sum *sums) {
  __shared__ Sum shared[end > first ? end - first : 1][warps];
#pragma unroll
  for (int q = first; q < end; q++)
    if (threadIdx.x % 32 == 0) shared[q - first][threadIdx.x / 32] = sums[q];
  __syncthreads();
#pragma unroll
  for (int q = first; q < end; q++) {
    sums[q] = shared[q - first][0];
#pragma unroll
    for (int k = 1; k < warps; k++) sums[q] = fused_join(q, sums[q], shared[q - first][k]);
  }
}

/* Joins the sums first .. end-1 of all threads of a group, for all of them. */
template <int first, int end, int threads> static __device__ inline void fused_join_threads(Sum *sums) {
#pragma unroll
  for (int q = first; q < end; q++)
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      sums[q] = fused_join(q, sums[q], __shfl_xor_sync(0xffffffffu, sums[q], step));
  if (threads > 32) fused_join_warps<first, end, threads / 32>(sums);
}
#endif

#if FUSED_REGION == 1
/* Loop L over the elements of a row. */
#if FUSED_RESIDENT
template <int L>
static __device__ inline void fused_elements(const Fused &p, const Places &at, int lane, int64_t row, int64_t size,
                                             Rows &r, Inputs *x, Kept *kept, Sum *sums) {
#pragma unroll
  for (int j = 0; j < FUSED_ITEMS; j++) {
    const int i = (j * FUSED_THREADS + lane) * FUSED_WIDTH;
    Outputs out;
    if (i >= (int)size) break;
    fused_fetch_of(L, p, at, i, FUSED_WIDTH, row * p.size + i, x[j]);
#pragma unroll
    for (int k = 0; k < FUSED_WIDTH; k++) fused_step_of(L, p, x[j], k, r, kept[j], sums, out);
    fused_store_of(L, p, row * p.size + i, FUSED_WIDTH, out);
  }
}
#define FUSED_ELEMENTS(L) fused_elements<L>(p, at, lane, row, size, r, x, kept, sums);
#else
template <int L>
static __device__ inline void fused_elements(const Fused &p, const Places &at, int lane, int64_t row, int64_t size,
                                             Rows &r, Sum *sums) {
  for (int64_t i = lane * FUSED_WIDTH; i < size; i += FUSED_THREADS * FUSED_WIDTH) {
    Inputs x;
    Kept kept;
    Outputs out;
    fused_fetch_of(L, p, at, i, FUSED_WIDTH, row * p.size + i, x);
#pragma unroll
    for (int k = 0; k < FUSED_WIDTH; k++) fused_step_of(L, p, x, k, r, kept, sums, out);
    fused_store_of(L, p, row * p.size + i, FUSED_WIDTH, out);
  }
}
#define FUSED_ELEMENTS(L) fused_elements<L>(p, at, lane, row, size, r, sums);
#endif

extern "C" __global__ void __launch_bounds__(FUSED_BLOCK) kernel(const Fused p) {
  const int lane = threadIdx.x % FUSED_THREADS;
  const int64_t unit = (int64_t)blockIdx.x * (FUSED_BLOCK / FUSED_THREADS) + threadIdx.x / FUSED_THREADS;
  const bool is_there = FUSED_THREADS > 32 || unit < p.units; /* warps of no row go along: all come to each shuffle */
  const int64_t row = is_there ? unit : 0, size = is_there ? p.size : 0;
  const bool is_first = is_there && lane == 0;
  Places at;
  Rows r;
  Sum sums[FUSED_SUMS];
  fused_offsets(p, (Place)row, at);
  fused_row_inputs(p, at, r);
  fused_clear(sums);
#if FUSED_RESIDENT
  Inputs x[FUSED_ITEMS];
  Kept kept[FUSED_ITEMS];
#pragma unroll
  for (int j = 0; j < FUSED_ITEMS; j++) {
    const int i = (j * FUSED_THREADS + lane) * FUSED_WIDTH;
    if (i >= (int)size) break;
    fused_fetch_resident(p, at, i, FUSED_WIDTH, x[j]);
  }
#endif
  FUSED_LOOPS
}

#elif FUSED_REGION == 2
/* Joins the sums of 8 lines of threads; those of the first line get the results. */
static __device__ inline void fused_join_lines(Sum *sums) {
  __shared__ Sum shared[FUSED_SUMS][8][32];
  const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
#pragma unroll
  for (int q = 0; q < FUSED_REDUCTIONS; q++) shared[q][line][lane] = sums[q];
  __syncthreads();
#pragma unroll
  for (int q = 0; q < FUSED_REDUCTIONS; q++) {
    sums[q] = shared[q][0][lane];
#pragma unroll
    for (int k = 1; k < 8; k++) sums[q] = fused_join(q, sums[q], shared[q][k][lane]);
  }
}

/* Where a column begins: p.inner of them lie beside each other, and its elements so far apart. */
static __device__ inline int64_t fused_column(const Fused &p, int64_t column) {
  const int64_t before = p.inner < p.units ? column / p.inner : 0;
  return column + before * (p.size - 1) * p.inner;
}

/* A block takes 32 columns and p.part_size of their rows. */
extern "C" __global__ void __launch_bounds__(256) kernel(const Fused p) {
  const int64_t groups = (p.units + 31) / 32, part = blockIdx.x / groups;
  const int64_t column = blockIdx.x % groups * 32 + threadIdx.x % 32, line = threadIdx.x / 32;
  const int64_t end = (part + 1) * p.part_size < p.size ? (part + 1) * p.part_size : p.size;
  Places at;
  Rows r;
  Sum sums[FUSED_SUMS];
  fused_clear(sums);
  if (column < p.units) {
    fused_offsets(p, (Place)column, at);
    fused_row_inputs(p, at, r);
    const int64_t first = fused_column(p, column);
#pragma unroll 4
    for (int64_t i = part * p.part_size + line; i < end; i += 8) {
      Inputs x;
      Kept kept;
      Outputs out;
      fused_fetch_1(p, at, i, 1, first + i * p.inner, x);
      fused_step_1(p, x, 0, r, kept, sums, out);
      fused_store_1(p, first + i * p.inner, 1, out);
    }
  }
  fused_join_lines(sums);
  if (line != 0 || column >= p.units) return;
#if FUSED_SINGLE
  fused_finish_1(p, sums, r);
  fused_rows_0(p, r, column, true);
  fused_rows_2(p, r, column, true);
}
#else
#pragma unroll
  for (int q = 0; q < FUSED_REDUCTIONS; q++) ((Sum *)p.partial)[(q * p.parts + part) * p.units + column] = sums[q];
}

extern "C" __global__ void __launch_bounds__(256) kernel_last(const Fused p) {
  const int64_t column = (int64_t)blockIdx.x * 32 + threadIdx.x % 32, line = threadIdx.x / 32;
  Sum sums[FUSED_SUMS];
  fused_clear(sums);
  for (int64_t part = line; part < p.parts && column < p.units; part += 8)
#pragma unroll
    for (int q = 0; q < FUSED_REDUCTIONS; q++)
      sums[q] = fused_join(q, sums[q], ((const Sum *)p.partial)[(q * p.parts + part) * p.units + column]);
  fused_join_lines(sums);
  if (line != 0 || column >= p.units) return;
  Places at;
  Rows r;
  fused_offsets(p, (Place)column, at);
  fused_row_inputs(p, at, r);
  fused_finish_1(p, sums, r);
  fused_rows_0(p, r, column, true);
  fused_rows_2(p, r, column, true);
}
#endif

#elif FUSED_REGION == 3
#define FUSED_GRAIN 8 /* elements that a thread takes at once, whatever the width of its accesses */

static __device__ inline void fused_end(const Fused &p, const Sum *sums) {
  Places at;
  Rows r;
  fused_offsets(p, 0, at);
  fused_row_inputs(p, at, r);
  fused_finish_1(p, sums, r);
  fused_rows_0(p, r, 0, true);
  fused_rows_2(p, r, 0, true);
}

/* A block takes p.part_size elements. */
extern "C" __global__ void __launch_bounds__(256) kernel(const Fused p) {
  const int64_t begin = blockIdx.x * p.part_size;
  const int64_t end = begin + p.part_size < p.count ? begin + p.part_size : p.count;
  Rows r;
  Sum sums[FUSED_SUMS];
  fused_clear(sums);
  Places none;
  fused_offsets(p, 0, none);
  fused_row_inputs(p, none, r);
  for (int64_t first = begin + threadIdx.x * FUSED_GRAIN; first < end; first += 256 * FUSED_GRAIN) {
#pragma unroll
    for (int64_t i = first; i < first + FUSED_GRAIN; i += FUSED_WIDTH) {
      Places at;
      Inputs x;
      Kept kept;
      Outputs out;
      if (i >= end) break;
      fused_offsets(p, (Place)i, at);
      fused_fetch_1(p, at, 0, end - i, i, x);
#pragma unroll
      for (int k = 0; k < FUSED_WIDTH; k++)
        if (i + k < end) fused_step_1(p, x, k, r, kept, sums, out);
      fused_store_1(p, i, end - i, out);
    }
  }
  fused_join_threads<0, FUSED_REDUCTIONS, 256>(sums);
  if (threadIdx.x != 0) return;
#if FUSED_SINGLE
  fused_end(p, sums);
}
#else
#pragma unroll
  for (int q = 0; q < FUSED_REDUCTIONS; q++) ((Sum *)p.partial)[q * p.parts + blockIdx.x] = sums[q];
}

extern "C" __global__ void __launch_bounds__(256) kernel_last(const Fused p) {
  Sum sums[FUSED_SUMS];
  fused_clear(sums);
  for (int64_t part = threadIdx.x; part < p.parts; part += 256)
#pragma unroll
    for (int q = 0; q < FUSED_REDUCTIONS; q++)
      sums[q] = fused_join(q, sums[q], ((const Sum *)p.partial)[q * p.parts + part]);
  fused_join_threads<0, FUSED_REDUCTIONS, 256>(sums);
  if (threadIdx.x == 0) fused_end(p, sums);
}
#endif
#endif
