/* transpose.cu - lines become columns: element k of line l of the input is element l of line k of the result. A block
 * moves a tile through shared memory, so that both are read and written along their lines. BURN_VARIANT 1: by pairs, whose
 * lines are even and begin at such addresses. */
#define PAIR (BURN_VARIANT + 1) /* elements of an access */
#define SIDE (32 * PAIR)
struct alignas(PAIR * sizeof(OUT)) Pair { OUT at[PAIR]; };

#if PAIR == 2 /* as a word: compilers write a struct of two halves one by one */
static __device__ inline uint32_t burn_word(i16_t x) { return (uint32_t)(uint16_t)x; }
static __device__ inline uint32_t burn_word(f16_t x) { return (uint32_t)x.bits; }
static __device__ inline uint32_t burn_word(bf16_t x) { return (uint32_t)x.bits; }
#endif

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuTranspose p) {
  __shared__ OUT tile[SIDE][SIDE + 1];
  const int64_t across = (p.length + SIDE - 1) / SIDE, down = (p.lines + SIDE - 1) / SIDE, block = (int64_t)blockIdx.x;
  const int64_t first_k = block % across * SIDE, first_l = block / across % down * SIDE, n = block / across / down;
  const OUT *in = (const OUT *)p.in + n * p.in_batch;
  OUT *out = (OUT *)p.out + n * p.out_batch;
  const int32_t lane = (int32_t)threadIdx.x % 32 * PAIR, warp = (int32_t)threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < SIDE; i += 8) {
    const int64_t l = first_l + warp + i, k = first_k + lane;
    if (l >= p.lines || k >= p.length) continue;
    const Pair pair = *(const Pair *)(in + l * p.in_line + k);
#pragma unroll
    for (int j = 0; j < PAIR; j++) tile[warp + i][lane + j] = pair.at[j];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < SIDE; i += 8) {
    const int64_t k = first_k + warp + i, l = first_l + lane;
    if (k >= p.length || l >= p.lines) continue;
    OUT *to = out + k * p.out_line + l;
#if PAIR == 2
    const uint32_t first = burn_word(tile[lane][warp + i]);
    *(uint32_t *)to = first | burn_word(tile[lane + 1][warp + i]) << 16;
#else
    *to = tile[lane][warp + i];
#endif
  }
}
