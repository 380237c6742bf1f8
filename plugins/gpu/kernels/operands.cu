/* operands.cu - before the texts of ops that compute element by element: how many elements a thread takes at once, 16
 * bytes of the narrowest type but no more than 8; which input is which. */
#define BURN_SMALLEST(a, b) ((a) < (b) ? (a) : (b))
#define BURN_NARROW BURN_SMALLEST(BURN_SMALLEST(sizeof(OUT), sizeof(IN0)), BURN_SMALLEST(sizeof(IN1), sizeof(IN2)))
#define BURN_WIDTH (BURN_NARROW == 1 ? 8 : 16 / BURN_NARROW)
#define BURN_SECOND (BURN_INPUTS > 1 ? 1 : 0)
#define BURN_THIRD (BURN_INPUTS > 2 ? 2 : 0)

template <class S, int W> struct alignas(sizeof(S) * W < 16 ? sizeof(S) * W : 16) Vector { S at[W]; };

template <class S, int W> static __device__ inline Vector<S, W> burn_load(uint64_t address, int64_t stride, int64_t i) {
  const S *from = (const S *)address;
  if (stride != 0) return *(const Vector<S, W> *)(from + i);
  Vector<S, W> same;
  for (int k = 0; k < W; k++) same.at[k] = from[0];
  return same;
}
