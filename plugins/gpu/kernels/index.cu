/* index.cu - elements through indices. BURN_VARIANT 0: pick, out[outer, picks, inner] from x[outer, size, inner]; 1: the
 * same by vectors of 16 bytes, which inner counts then; 2 and 3: put, values[outer, picks, inner] into
 * out[outer, size, inner], which holds x already.
 *
 * For put `order` has the positions of equal indices one after the other, in pieces. 2: a thread does the runs of
 * equals within a piece in their order. Of runs that go on beyond it, it leaves what it has got in partial
 * [2, outer, pieces, inner]: first of the run that began before, then of the one that goes on. 3: the thread of the piece
 * where such a run begins joins its parts. 4 and 5: the same, and a thread has as many elements beside each other as an
 * access of 16 bytes (four at most), which inner counts then. */
static __device__ inline int64_t burn_position(const GpuIndex &p, int64_t outer, int64_t pick, int64_t inner) {
  return p.per_element ? (outer * p.picks + pick) * p.inner + inner : pick;
}

/* i as [outer, count, inner]. */
struct Place { int64_t outer, k, inner; };
static __device__ inline Place burn_split(const GpuIndex &p, int64_t i, int64_t count) {
  if (p.is_small) {
    const uint32_t rest = (uint32_t)i / (uint32_t)p.inner, outer = rest / (uint32_t)count;
    const Place place = {outer, rest - outer * (uint32_t)count, (int64_t)((uint32_t)i - rest * (uint32_t)p.inner)};
    return place;
  }
  const Place place = {i / p.inner / count, i / p.inner % count, i % p.inner};
  return place;
}

#if BURN_VARIANT < 2
#if BURN_VARIANT == 0
typedef OUT Unit;
#else
struct alignas(16) Unit { uint64_t bits[2]; };
#endif
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuIndex p) {
  const int64_t i = burn_thread();
  if (i >= p.outer * p.picks * p.inner) return;
  const Place at = burn_split(p, i, p.picks);
  const int64_t position = burn_position(p, at.outer, at.k, at.inner);
  const int64_t index = (int64_t)burn_get(((const IN1 *)p.indices)[position]);
  if (index < 0 || index >= p.size) {
    burn_complain(p.complaint, p.op, index, position, p.size, p.dim);
    return;
  }
  ((Unit *)p.out)[i] = ((const Unit *)p.x)[(at.outer * p.size + index) * p.inner + at.inner];
}
#else
enum { W = BURN_VARIANT < 4 ? 1 : sizeof(OUT) > 4 ? 2 : 4 };
struct alignas(sizeof(OUT) * W) Elements { OUT at[W]; };
struct alignas(sizeof(A) * W) Sums { A at[W]; };

static __device__ inline Sums burn_sums(const Elements &x) {
  Sums sums;
#pragma unroll
  for (int w = 0; w < W; w++) sums.at[w] = (A)burn_get(x.at[w]);
  return sums;
}
static __device__ inline Sums burn_join_all(const Sums &a, const Sums &b) {
  Sums sums;
#pragma unroll
  for (int w = 0; w < W; w++) sums.at[w] = burn_join(a.at[w], b.at[w]);
  return sums;
}
static __device__ inline void burn_put_all(Elements *to, const Sums &x) {
  Elements elements;
#pragma unroll
  for (int w = 0; w < W; w++) burn_put(elements.at[w], x.at[w]);
  *to = elements;
}

/* The k-th of the sorted indices, and which of the values is its. */
struct Pick { int64_t index, pick; };
static __device__ inline Pick burn_pick(const GpuIndex &p, const Place &at, int64_t k) {
  Pick pick;
  pick.pick = ((const int64_t *)p.order)[burn_position(p, at.outer, k, at.inner)];
  pick.index = (int64_t)burn_get(((const IN1 *)p.indices)[burn_position(p, at.outer, pick.pick, at.inner)]);
  return pick;
}
static __device__ inline bool burn_is_index(const GpuIndex &p, int64_t index) { return index >= 0 && index < p.size; }
static __device__ inline Elements *burn_target(const GpuIndex &p, const Place &at, int64_t index) {
  return (Elements *)p.out + (at.outer * p.size + index) * p.inner + at.inner;
}
/* Where a piece leaves what it has of a run that began before (0), or goes on (1). */
static __device__ inline Sums *burn_partial(const GpuIndex &p, const Place &at, int64_t piece, int which) {
  return (Sums *)p.partial + ((which * p.outer + at.outer) * p.pieces + piece) * p.inner + at.inner;
}

#if BURN_VARIANT % 2 == 0
/* The values of the run that starts at k with `next`, joined to `value`, or among themselves where there is none; k and
 * `next` become the first after it. The pick after a value is under way while that is. */
static __device__ inline Sums burn_run(const GpuIndex &p, const Place &at, int64_t end, int64_t *k, Pick *next,
                                       const Elements *target) {
  const int64_t index = next->index;
  bool is_first = target == 0;
  Sums value;
  if (!is_first) value = burn_sums(*target);
  while (*k < end && next->index == index) {
    const Elements here = ((const Elements *)p.values)[(at.outer * p.picks + next->pick) * p.inner + at.inner];
    *k += 1;
    if (*k < end) *next = burn_pick(p, at, *k);
    value = is_first ? burn_sums(here) : burn_join_all(value, burn_sums(here));
    is_first = false;
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(256) kernel(const GpuIndex p) {
  const int64_t i = burn_thread();
  if (i >= p.outer * p.pieces * p.inner) return;
  const Place at = burn_split(p, i, p.pieces);
  const int64_t begin = at.k * p.piece, end = begin + p.piece < p.picks ? begin + p.piece : p.picks;
  const int64_t before = begin > 0 ? burn_pick(p, at, begin - 1).index : -1;
  const int64_t after = end < p.picks ? burn_pick(p, at, end).index : -1;
  Pick next = burn_pick(p, at, begin);
  for (int64_t k = begin; k < end;) {
    const int64_t index = next.index;
    if (!burn_is_index(p, index)) {
      burn_complain(p.complaint, p.op, index, burn_position(p, at.outer, next.pick, at.inner), p.size, p.dim);
      return;
    }
    /* whether it ends here is known by the last of the piece: equal ones are one after the other */
    const bool began = k == begin && before == index;
    const bool goes_on = after == index;
    if (began || goes_on) {
      const Sums value = burn_run(p, at, end, &k, &next, (const Elements *)0);
      *burn_partial(p, at, at.k, began ? 0 : 1) = value;
      continue;
    }
    Elements *target = burn_target(p, at, index);
    const Sums value = burn_run(p, at, end, &k, &next, target);
    burn_put_all(target, value);
  }
}
#else
extern "C" __global__ void __launch_bounds__(256) kernel(const GpuIndex p) {
  const int64_t i = burn_thread();
  if (i >= p.outer * p.pieces * p.inner) return;
  const Place at = burn_split(p, i, p.pieces);
  const int64_t begin = at.k * p.piece, end = begin + p.piece;
  if (end >= p.picks) return;
  const int64_t index = burn_pick(p, at, end).index;
  if (!burn_is_index(p, index) || burn_pick(p, at, end - 1).index != index) return;
  if (begin > 0 && burn_pick(p, at, begin - 1).index == index) return; /* it began before this piece */
  Elements *target = burn_target(p, at, index);
  Sums value = burn_join_all(burn_sums(*target), *burn_partial(p, at, at.k, 1));
  for (int64_t piece = at.k + 1; piece < p.pieces && burn_pick(p, at, piece * p.piece).index == index; piece++) {
    value = burn_join_all(value, *burn_partial(p, at, piece, 0));
    const int64_t next = (piece + 1) * p.piece;
    if (next < p.picks && burn_pick(p, at, next - 1).index != index) break;
  }
  burn_put_all(target, value);
}
#endif
#endif
