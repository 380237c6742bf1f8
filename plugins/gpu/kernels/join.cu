/* join.cu - how reductions and scans join two numbers; after the prelude. BURN_JOIN says how: the numbers of
 * GpuJoin. Halves and f32 join in f32, their products in f64, f64 in f64, integers and bools in i64, whose low bits are
 * the result. */
#if BURN_JOIN == 1 || defined(BURN_IN_F64)
typedef double WideFloat; /* some hundred factors leave nothing of f32's last digit */
#else
typedef float WideFloat;
#endif
template <class S> struct Wide { typedef int64_t A; };
template <> struct Wide<f16_t> { typedef WideFloat A; };
template <> struct Wide<bf16_t> { typedef WideFloat A; };
template <> struct Wide<f32_t> { typedef WideFloat A; };
template <> struct Wide<f64_t> { typedef double A; };
typedef Wide<IN0>::A A;

/* Sums and products of integers wrap. */
static __device__ inline float burn_sum(float a, float b) { return a + b; }
static __device__ inline double burn_sum(double a, double b) { return a + b; }
static __device__ inline int64_t burn_sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static __device__ inline float burn_product(float a, float b) { return a * b; }
static __device__ inline double burn_product(double a, double b) { return a * b; }
static __device__ inline int64_t burn_product(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* burn_nothing joined with x gives x, to the sign of zero. */
#define JOINS_FLOATS Element<IN0>::is_float
#if BURN_JOIN == 0
static __device__ inline A burn_nothing() { return JOINS_FLOATS ? (A)-0.0f : (A)0; }
static __device__ inline A burn_join(A a, A b) { return burn_sum(a, b); }
#elif BURN_JOIN == 1
static __device__ inline A burn_nothing() { return (A)1; }
static __device__ inline A burn_join(A a, A b) { return burn_product(a, b); }
#elif BURN_JOIN == 2
static __device__ inline A burn_nothing() { return JOINS_FLOATS ? (A)-INFINITY : (A)INT64_MIN; }
static __device__ inline A burn_join(A a, A b) { return (b > a || b != b) && a == a ? b : a; }
#elif BURN_JOIN == 3
static __device__ inline A burn_nothing() { return JOINS_FLOATS ? (A)INFINITY : (A)INT64_MAX; }
static __device__ inline A burn_join(A a, A b) { return (b < a || b != b) && a == a ? b : a; }
#elif BURN_JOIN == 4
static __device__ inline A burn_join(A, A b) { return b; }
#elif BURN_JOIN == 5
static __device__ inline A burn_nothing() { return (A)0; }
static __device__ inline A burn_join(A a, A b) { return a != (A)0 || b != (A)0 ? (A)1 : (A)0; }
#else
static __device__ inline A burn_nothing() { return (A)1; }
static __device__ inline A burn_join(A a, A b) { return a != (A)0 && b != (A)0 ? (A)1 : (A)0; }
#endif

