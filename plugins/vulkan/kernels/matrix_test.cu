/* matrix_test.cu - a product of matrices as subgroups multiply them, once for each way in which both factors can lie in
 * shared memory: what kernels/matrix_product.cu of the floor builds upon. The plugin defines what that text knows, and
 * NUMBER and SUM. The host fills shared memory, and knows the results.
 *
 * BY_ELEMENTS: the left factor and the sums are given and taken element by element, as attention_fragments.cu of the floor
 * does it with halves. */
struct f16_t { uint16_t bits; };
struct bf16_t { uint16_t bits; };

#if MATRIX_ROWS * ELEMENT_BYTES % 16 == 0 && MATRIX_COLUMNS * ELEMENT_BYTES % 16 == 0 && \
    MATRIX_DEPTH * ELEMENT_BYTES % 16 == 0
#define WORDS 4
#else
#define WORDS 2
#endif
#define VECTOR (WORDS * 4 / ELEMENT_BYTES)
struct alignas(4 * WORDS) Words { uint32_t at[WORDS]; };

/* Lines of a matrix, an odd number of vectors apart. */
#define PITCH(length) ((length) / VECTOR | 1)
#define LEFT_PITCH(turned) PITCH((turned) ? MATRIX_ROWS : MATRIX_DEPTH)
#define LEFT_SIZE(turned) (((turned) ? MATRIX_DEPTH : MATRIX_ROWS) * LEFT_PITCH(turned))
#define RIGHT_PITCH(turned) PITCH((turned) ? MATRIX_DEPTH : MATRIX_COLUMNS)
#define RIGHT_SIZE(turned) (((turned) ? MATRIX_COLUMNS : MATRIX_DEPTH) * RIGHT_PITCH(turned))
#define GIVEN (LEFT_SIZE(0) + LEFT_SIZE(1) + RIGHT_SIZE(0) + RIGHT_SIZE(1))
#define SUMS_PITCH (MATRIX_COLUMNS / WORDS + 1)
#define SUMS_SIZE (MATRIX_ROWS * SUMS_PITCH)

typedef burn_subgroup_matrix<NUMBER, MATRIX_ROWS, MATRIX_DEPTH, 0> Left;
typedef burn_subgroup_matrix<NUMBER, MATRIX_DEPTH, MATRIX_COLUMNS, 1> Right;
typedef burn_subgroup_matrix<SUM, MATRIX_ROWS, MATRIX_COLUMNS, 2> Sums;

struct Parameters { uint64_t given, results; };

#if BY_ELEMENTS
static __device__ inline int burn_row(int i) { return (int)threadIdx.x / 4 + i / 4 * 8; }
static __device__ inline int burn_column(int i) { return (int)threadIdx.x % 4 * 2 + i % 2 + i / 2 % 2 * 8; }
static __device__ inline float burn_number(uint32_t bits, f16_t) { return burn_half_to_f32((uint16_t)bits); }
static __device__ inline float burn_number(uint32_t bits, bf16_t) { return __uint_as_float(bits << 16); }

static __device__ inline void burn_multiply(const Words *left, const Words *right, uint32_t turned, Words *results, float first) {
  const NUMBER number = {(uint16_t)0};
  Left a;
  Sums sums;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int row = burn_row(i), column = burn_column(i);
    const uint32_t two = left[row * LEFT_PITCH(0) + column / VECTOR].at[column % VECTOR / 2];
    burn_matrix_set(a, i, burn_number(column % 2 == 0 ? two & 0xffffu : two >> 16, number));
    burn_matrix_set(sums, i, first);
  }
  sums = burn_matrix_multiply_add(a, burn_matrix_load<Right>(right, RIGHT_PITCH(turned), turned), sums);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int column = burn_column(i);
    results[burn_row(i) * SUMS_PITCH + column / WORDS].at[column % WORDS] = __float_as_uint(burn_matrix_get(sums, i));
  }
}
#endif

extern "C" __global__ void __launch_bounds__(LANES) kernel(const Parameters p) {
  __shared__ Words given[GIVEN], results[4 * SUMS_SIZE];
  for (int i = (int)threadIdx.x; i < GIVEN; i += LANES) given[i] = ((const Words *)p.given)[i];
  __syncthreads();
#pragma unroll
  for (int way = 0; way < 4; way++) {
    const int left = way % 2 * LEFT_SIZE(0), right = LEFT_SIZE(0) + LEFT_SIZE(1) + way / 2 * RIGHT_SIZE(0);
#if BY_ELEMENTS
    burn_multiply(given, given + right, way / 2, results + way * SUMS_SIZE, (float)(way + 1));
#else
    const Left a = burn_matrix_load<Left>(given + left, LEFT_PITCH(way % 2), way % 2);
    const Right b = burn_matrix_load<Right>(given + right, RIGHT_PITCH(way / 2), way / 2);
    const Sums sums = burn_matrix_multiply_add(a, b, burn_matrix_fill<Sums>((SUM)(way + 1)));
    burn_matrix_store(results + way * SUMS_SIZE, sums, SUMS_PITCH, 0);
#endif
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < 4 * SUMS_SIZE; i += LANES) ((Words *)p.results)[i] = results[i];
}
