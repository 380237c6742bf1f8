/* sums.cu - before the texts of products: what they add up, where operands lie, how results are written. */

/* What is added up: the low bits of integers are those of a wider one. */
template <class S> struct Sum { typedef typename Element<S>::C A; };
template <> struct Sum<bool_t> { typedef uint32_t A; };
template <> struct Sum<u8_t> { typedef uint32_t A; };
typedef Sum<IN0>::A A;
typedef Element<IN0>::C C;

/* Integers wrap. */
static __device__ inline int64_t burn_fused(int64_t a, int64_t b, int64_t c) {
  return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
}
static __device__ inline int32_t burn_fused(int32_t a, int32_t b, int32_t c) {
  return (int32_t)((uint32_t)a * (uint32_t)b + (uint32_t)c);
}
static __device__ inline uint32_t burn_fused(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }

/* Where the matrices of a batch begin. */
struct Places { int64_t left, right; };
static __device__ inline Places burn_places(const GpuMatmul &p, int64_t batch) {
  Places places = {0, 0};
  for (int left = p.rank; left > 0; left--) {
    const int axis = BURN_LAST_OF(left);
    const int64_t here = batch % p.shape[axis];
    batch /= p.shape[axis];
    places.left += here * p.lhs_strides[axis];
    places.right += here * p.rhs_strides[axis];
  }
  return places;
}

/* How many of `most` are left of a count. */
static __device__ inline int burn_left(int64_t count, int most) { return count < most ? (int)count : most; }

struct alignas(4 * sizeof(OUT)) Results { OUT at[4]; };

/* What results need of the arguments. */
struct Ending {
  uint64_t bias;
  int64_t n;
};

/* Four results beside each other, as far as they are in the row. */
static __device__ inline void burn_write(const Ending &p, OUT *row, int64_t column, const A *sum, bool whole) {
  Results results;
#pragma unroll
  for (int e = 0; e < 4; e++) {
    A result = sum[e];
    if (p.bias != 0u && column + e < p.n) result = result + (A)burn_get(((const OUT *)p.bias)[column + e]);
    burn_put(results.at[e], (C)result);
  }
  if (whole && column + 4 <= p.n) {
    *(Results *)(row + column) = results;
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; e++)
    if (column + e < p.n) row[column + e] = results.at[e];
}
