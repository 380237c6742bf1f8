/* attention_parts.cu - before attention.cu and its products, and attention_fragments.cu, which defines SHARES: dtypes, what of a
 * tile a thread has, matrices in memory. */
typedef Element<IN0>::C C;
#define BURN_PASS (BURN_VARIANT % 4)
#define ROWS (BURN_VARIANT / 4 % 2 ? 64 : 32)
#if defined(BURN_SPIRV)
#define ON_TENSOR_CORES 0
#define ON_MATRICES (BURN_VARIANT / 16 % 2)
#else
#define ON_TENSOR_CORES (BURN_VARIANT / 16 % 2)
#define ON_MATRICES 0
#endif
#define BY_FOUR (BURN_VARIANT / 32 % 2)
#define HAS_EXTRAS (BURN_VARIANT / 64 % 2)
#define COLUMNS (BURN_VARIANT / 128 * 32)
#define TILE 64
#if !defined(BURN_DEPTH) /* of a step of a dot product; 16 where a block shares little memory: the order stays */
#define BURN_DEPTH 32
#endif
#define DEPTH BURN_DEPTH
#if BURN_VARIANT / 8 % 2
typedef int64_t Offset;
#else
typedef int32_t Offset;
#endif

static __device__ inline float burn_multiply_add(float a, float b, float c) { return burn_fused(a, b, c); }
#if defined(BURN_SPIRV) && !BURN_FUSED_F64 /* emulated, it takes sixteen times the code, for the last bit of f64 */
static __device__ inline double burn_multiply_add(double a, double b, double c) { return a * b + c; }
#else
static __device__ inline double burn_multiply_add(double a, double b, double c) { return burn_fused(a, b, c); }
#endif
/* Scores of halves are rounded to halves, or made of them: they keep less than the chip's power has. */
static __device__ inline float burn_power_of_e(float x) {
#if BURN_HAS_FAST_EXP
  if (sizeof(IN0) == 2) return burn_fast_exp(x);
#endif
  return burn_exp_f32(x);
}
static __device__ inline double burn_power_of_e(double x) { return exp(x); }
static __device__ inline float burn_logarithm(float x) { return burn_log_f32(x); }
static __device__ inline double burn_logarithm(double x) { return burn_log2_f64(x) * 0.6931471805599453; }
static __device__ inline float burn_bent(float x) { return burn_tanh_f32(x); }
static __device__ inline double burn_bent(double x) { return tanh(x); }

#if BURN_PASS != 3
#if !defined(SHARES)
struct alignas(16) Four { C at[4]; };
struct alignas(2 * sizeof(C)) Two { C at[2]; };

/* What of a tile [ROWS, TILE] of scores, and of results [ROWS, COLUMNS], a thread has. */
#if ON_TENSOR_CORES
#define THREADS (2 * ROWS)
#define BURN_BLOCKS ((COLUMNS > 64 || BURN_PASS == 2 ? 2 : 3) * 128 / THREADS) /* that a unit has registers for */
#define MY_ROWS 2
#define MY_SCORES 16
#define MY_RESULTS (COLUMNS / 4)
#define SHARERS 4 /* threads beside each other that share rows */
#define STRIDE (COLUMNS + 4)
static __device__ inline int burn_row(int i) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * i; }
static __device__ inline int burn_column(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
static __device__ inline int burn_result_column(int k) { return burn_column(k); }
#else
#define THREADS (4 * ROWS)
#define BURN_BLOCKS (COLUMNS > 64 || sizeof(C) > 4 ? 1 : ROWS == 32 ? 3 : 2)
#define MY_ROWS 4
#define MY_SCORES 4
#define MY_RESULTS (COLUMNS / 16)
#define SHARERS 16
#define STRIDE COLUMNS
static __device__ inline int burn_row(int i) { return threadIdx.x / 16 * 4 + i; }
static __device__ inline int burn_column(int j) { return threadIdx.x % 16 * 4 + j; }
static __device__ inline int burn_result_column(int k) { return k / 2 * 32 + threadIdx.x % 16 * 2 + k % 2; }
#endif
#endif

/* A matrix [rows, width] in memory. */
struct Matrix {
  const IN0 *at;
  Offset row, column;
  int rows, width;
};

static __device__ inline Matrix burn_matrix(uint64_t address, const int64_t *strides, int64_t n, int64_t head, int64_t rows,
                                            int64_t width) {
  Matrix m = {(const IN0 *)address + n * strides[0] + head * strides[1], (Offset)strides[2], (Offset)strides[3], (int)rows,
              (int)width};
  return m;
}
#endif
