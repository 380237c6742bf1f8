/* tensor_cores.cu - products of TF32 on tensor cores, and copies beside the work: what texts of attention and of
 * convolutions share. CUDA alone has them. */
#if !defined(BURN_SPIRV)

#if defined(BURN_CUDA_EMULATED)
static __device__ inline float burn_tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u); }
#else
static __device__ inline float burn_tf32(float x) {
  uint32_t bits;
#if __CUDA_ARCH__ >= 900 /* one instruction, where the other way of rounding is four */
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#endif
  return __uint_as_float(bits);
}
#endif

/* c[0 .. 1][0 .. 1] += a b, of fragments [16, 8] and [8, 8]: a warp's thread has rows g and g + 8 of a and c for
 * g = lane / 4, column g of b, and of the middle axis t and t + 4 for t = lane % 4. */
static __device__ inline void burn_multiply(float &c0, float &c1, float &c2, float &c3, const float a[4], float b0,
                                            float b1) {
#if defined(BURN_CUDA_EMULATED)
  static float given[1024][6]; /* as good as shared: blocks run one after the other, and kernels may share all there is */
  const int lane = threadIdx.x % 32, warp = threadIdx.x - lane, g = lane / 4, t = lane % 4;
  for (int k = 0; k < 4; k++) given[threadIdx.x][k] = a[k];
  given[threadIdx.x][4] = b0, given[threadIdx.x][5] = b1;
  __syncwarp();
  for (int k = 0; k < 8; k++) {
    const float *left = given[warp + g * 4 + k % 4] + k / 4 * 2, *right = given[warp + 2 * t * 4 + k % 4] + 4 + k / 4;
    c0 = __fmaf_rn(left[0], right[0], c0);
    c1 = __fmaf_rn(left[0], right[24], c1);
    c2 = __fmaf_rn(left[1], right[0], c2);
    c3 = __fmaf_rn(left[1], right[24], c3);
  }
  __syncwarp();
#else
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
#endif
}

/* COUNT numbers, 1, 2 or 4, into shared memory, under way until burn_wait; 0 if they are not there. */
template <int COUNT> struct alignas(4 * COUNT) BurnFloats { float at[COUNT]; };
#if defined(BURN_CUDA_EMULATED)
template <int COUNT> static __device__ inline void burn_copy_ahead(float *to, const float *from, bool is_there) {
  BurnFloats<COUNT> numbers = {};
  if (is_there) numbers = *(const BurnFloats<COUNT> *)from;
  *(BurnFloats<COUNT> *)to = numbers;
}
static __device__ inline void burn_wait() {}
#else
static __device__ inline uint32_t burn_place_of(const float *shared) { return (uint32_t)__cvta_generic_to_shared(shared); }
template <int COUNT> static __device__ inline void burn_copy_ahead(float *to, const float *from, bool is_there) {
  const uint32_t place = burn_place_of(to);
  const int bytes = is_there ? 4 * COUNT : 0;
  if (COUNT == 4) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(place), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(place), "l"(from), "n"(4 * COUNT), "r"(bytes)
                 : "memory");
}
static __device__ inline void burn_wait() { asm volatile("cp.async.wait_all;" : : : "memory"); }
#endif

#endif
