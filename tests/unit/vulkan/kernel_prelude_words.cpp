/* kernel_prelude_words.cpp - the preludes of kernels for Vulkan as C++, with stand-ins for what the compiler to SPIR-V
 * knows. A workgroup is as many threads of the CPU. */
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "kernel_prelude_words.h"

/* -- stand-ins -------------------------------------------------------------------------------- */

namespace {
template <class To, class From>
To bits_of(From from) {
  To to;
  static_assert(sizeof to == sizeof from, "");
  std::memcpy(&to, &from, sizeof to);
  return to;
}

struct Index {
  uint32_t x;
};
constexpr Index blockDim = {80}; /* the last warp is not full */
constexpr Index gridDim = {1}, blockIdx = {0};
thread_local Index threadIdx = {0};

/* All threads of the workgroup. */
std::mutex barrier_lock;
std::condition_variable barrier_opens;
uint32_t barrier_count, barrier_round;
void __syncthreads() {
  std::unique_lock<std::mutex> lock(barrier_lock);
  const uint32_t round = barrier_round;
  if (++barrier_count == blockDim.x) {
    barrier_count = 0;
    barrier_round++;
    barrier_opens.notify_all();
  }
  barrier_opens.wait(lock, [round] { return barrier_round != round; });
}

uint32_t burn_bitcast_u32(float x) { return bits_of<uint32_t>(x); }
float burn_bitcast_f32(uint32_t x) { return bits_of<float>(x); }
unsigned long long burn_bitcast_u64(double x) { return bits_of<unsigned long long>(x); }
double burn_bitcast_f64(unsigned long long x) { return bits_of<double>(x); }
uint32_t burn_popcount(uint32_t x) { return (uint32_t)__builtin_popcount(x); }
uint32_t burn_atomic_compare_exchange(uint32_t *at, uint32_t expected, uint32_t value) {
  const uint32_t old = *at;
  if (old == expected) *at = value;
  return old;
}
float burn_native_fma(float a, float b, float c) { return std::fma(a, b, c); }
double burn_native_fma(double a, double b, double c) { return std::fma(a, b, c); }
float burn_native_half_to_float(uint16_t) { return 0.0f; }
uint16_t burn_native_float_to_half(float) { return 0; }

/* Lane l gives first + l, so that what a lane has tells what another one gives; of the last warp half is there. */
uint32_t lanes_there() { return threadIdx.x < 64u ? 32u : 16u; }
uint32_t burn_shuffle(uint32_t word, uint32_t from) {
  return from < lanes_there() ? word - (threadIdx.x & 31u) + from : word;
}
uint32_t burn_ballot(bool) { return 0xaaaaaaaau >> (32u - lanes_there()); } /* always of odd lanes */
}  // namespace

#undef INT64_MIN
#undef INT64_MAX
#undef INFINITY
#undef NAN
#define __device__
#define __shared__ static
#define BURN_SPIRV 1

/* -- a device that has everything, and one that has nothing ----------------------------------- */

namespace {
namespace everything {
#define BURN_FUSED_F32 1
#define BURN_FUSED_F64 1
#define BURN_EXACT_HALVES 1
#define BURN_KEEPS_HALVES 1
#define BURN_NATIVE_POWERS 1
#define BURN_HAS_WARPS 1
#include "prelude_spirv.cu"
}  // namespace everything

namespace nothing {
#undef BURN_FUSED_F32
#undef BURN_FUSED_F64
#undef BURN_EXACT_HALVES
#undef BURN_KEEPS_HALVES
#undef BURN_NATIVE_POWERS
#undef BURN_HAS_WARPS
#define BURN_FUSED_F32 0
#define BURN_FUSED_F64 0
#define BURN_EXACT_HALVES 0
#define BURN_KEEPS_HALVES 0
#define BURN_NATIVE_POWERS 0
#define BURN_HAS_WARPS 0
#include "prelude_spirv.cu"
#include "math.cu"
#include "prelude.cu"
}  // namespace nothing
}  // namespace

float words_fma_f32(float a, float b, float c) { return nothing::BURN_FMA(a, b, c); }
double words_fma_f64(double a, double b, double c) { return nothing::BURN_FMA_F64(a, b, c); }
float words_half_to_f32(uint16_t bits) { return nothing::burn_half_to_f32(bits); }
uint16_t words_f32_to_half(float x) { return nothing::burn_f32_to_half(x); }
float words_through_half(float x) { return nothing::burn_through_half(x); }
uint16_t words_f32_to_brain(float x) { return nothing::burn_f32_to_brain(x); }
float words_f64_to_f32_toward_zero(double x) { return nothing::__double2float_rz(x); }
double words_i64_to_f64_toward_zero(int64_t x) { return nothing::__ll2double_rz(x); }
double words_power(double x, int64_t y) { return nothing::burn_power_real(x, (long long)y); }
double words_f64_through_half(double x) {
  nothing::f16_t half;
  nothing::burn_put(half, x);
  return (double)nothing::burn_get(half);
}

/* -- warps ------------------------------------------------------------------------------------ */

/* What lane 0 .. 31 of a warp has, in each type: differences of lanes are those of each word of 32 bits. */
namespace {
template <class V>
V value_of(uint32_t lane);
template <>
uint32_t value_of(uint32_t lane) {
  return 0xfffffff0u + lane;
}
template <>
int32_t value_of(uint32_t lane) {
  return (int32_t)lane - 7;
}
template <>
float value_of(uint32_t lane) {
  return bits_of<float>(0x3f800000u + lane);
}
template <>
unsigned long long value_of(uint32_t lane) {
  return (unsigned long long)(0x40000000u + lane) << 32 | (0x90000000u + lane);
}
template <>
long long value_of(uint32_t lane) {
  return (long long)value_of<unsigned long long>(lane);
}
template <>
double value_of(uint32_t lane) {
  return bits_of<double>(value_of<unsigned long long>(lane));
}

template <class V>
int is_wrong(V got, uint32_t from) {
  const V expected = value_of<V>(from < lanes_there() ? from : threadIdx.x & 31u);
  return std::memcmp(&got, &expected, sizeof got) != 0;
}

#define WARPS_OF(name, device)                                                             \
  struct name {                                                                            \
    static uint32_t ballot(bool mine) { return device::__ballot_sync(0xffffffffu, mine); } \
    static void sync() { device::__syncwarp(); }                                           \
    template <class V>                                                                     \
    static V cross(V x, int s) {                                                           \
      return device::__shfl_xor_sync(~0u, x, s);                                           \
    }                                                                                      \
    template <class V>                                                                     \
    static V up(V x, int s) {                                                              \
      return device::__shfl_up_sync(~0u, x, s);                                            \
    }                                                                                      \
    template <class V>                                                                     \
    static V down(V x, int s) {                                                            \
      return device::__shfl_down_sync(~0u, x, s);                                          \
    }                                                                                      \
  };
WARPS_OF(Everything, everything)
WARPS_OF(Nothing, nothing)

template <class D, class V>
int wrong_values() {
  const uint32_t lane = threadIdx.x & 31u;
  const V mine = value_of<V>(lane);
  int wrong = 0;
  for (uint32_t step = 1; step < 32; step++) {
    wrong += is_wrong(D::cross(mine, (int)step), lane ^ step);
    wrong += is_wrong(D::up(mine, (int)step), lane < step ? lane : lane - step);
    wrong += is_wrong(D::down(mine, (int)step), lane + step > 31u ? lane : lane + step);
  }
  return wrong;
}

template <class D>
int wrong_lanes() {
  const uint32_t odd = D::ballot((threadIdx.x & 1u) != 0);
  D::sync();
  return (odd != 0xaaaaaaaau >> (32u - lanes_there())) + wrong_values<D, uint32_t>() + wrong_values<D, int32_t>() +
         wrong_values<D, float>() + wrong_values<D, double>() + wrong_values<D, long long>() +
         wrong_values<D, unsigned long long>();
}
}  // namespace

int words_wrong_lanes(int has) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong(0);
  for (uint32_t i = 0; i < blockDim.x; i++)
    threads.emplace_back([=, &wrong] {
      threadIdx.x = i;
      wrong += has != 0 ? wrong_lanes<Everything>() : wrong_lanes<Nothing>();
    });
  for (std::thread &thread : threads) thread.join();
  return wrong;
}
