/* kernel_snippets_memory.cpp - places: arrays, structs, pointers, what lies in memory; templates of structs and functions. */
#include "kernel_snippets.h"

namespace snippets {
/* -- structs and arrays ----------------------------------------------------------------------- */

SNIPPET(
    structs,
    struct Inner {
      int16_t a;
      float b[3];
    };
    struct Outer {
      uint8_t tag;
      Inner inner[2];
      double d;
      bool flag;
    };
    static __device__ Outer made(int n) {
      Outer o = {(uint8_t)n, {{(int16_t)n, {1.0f, 2.0f}}, {5}}, 0.5, n > 3};
      o.inner[1].b[n & 1] = 7.5f;
      return o;
    } static __device__ int changed(Outer o) {
      o.tag += 5;
      o.inner[0].a = 9;
      return o.tag + o.inner[0].a;
    } static __device__ void change(Outer &o, int i) {
      o.inner[i].a -= 3;
      o.inner[i & 1].b[2]++;
      o.d *= 2;
    } static __device__ float first_of(const Inner &x) {
      return x.b[0] + x.a;
    } static __device__ Inner pair_of(int a, float b) {
      return {(int16_t)a, {b, b, b}};
    } static __device__ void change_by(Outer *o) {
      o->flag = !o->flag;
      (*o).tag++;
      o->inner[1].b[1] -= o->inner[0].b[1];
      Inner *p = o->inner;
      p[1].a ^= 5;
      (p + 1)->b[0] = p->b[0];
    } static __device__ void body(uint32_t thread, const Given *, uint64_t *out) {
      const int n = (int)thread;
      Outer o = made(n), copy = o;
      PUT(changed(o)), PUT(o.tag), PUT(o.inner[0].a);
      change(o, n & 1);
      change_by(&o);
      for (int i = 0; i < 2; i++) {
        PUT(o.inner[i].a);
        for (int k = 0; k < 3; k++) PUT(o.inner[i].b[k]);
      }
      PUT(o.tag), PUT(o.d), PUT(o.flag), PUT(copy.tag), PUT(copy.inner[n & 1].b[1]), PUT(first_of(o.inner[n % 2]));
      copy = o;
      o.inner[0] = o.inner[1];
      o.inner[n & 1] = pair_of(n, 0.25f);
      PUT(o.inner[0].a), PUT(o.inner[1].b[2]), PUT(copy.inner[0].a), PUT(made(n + 1).inner[1].b[n & 1]),
          PUT(made(n).inner[0].a);
      Outer all[3] = {};
      all[n % 3] = o;
      all[(n + 1) % 3].inner[n & 1].b[n % 3] = 3.5f;
      all[(n + 2) % 3].d += n;
      for (int i = 0; i < 3; i++) PUT(all[i].tag), PUT(all[i].inner[i & 1].b[(i + n) % 3]), PUT(all[i].d);
      const Outer &last = all[n % 3];
      all[n % 3].tag = 99;
      PUT(last.tag), PUT((n > 5 ? o : copy).tag), PUT(sizeof(Outer)), PUT(sizeof o.inner), PUT(sizeof(o.inner[0].b));
      Inner i = {};
      i = {3, {1.5f}};
      PUT(i.a), PUT(i.b[0]), PUT(i.b[2]);
    })

SNIPPET(
    arrays, static const int TABLE[5] = {3, 1, 4, 1, 5}; static __device__ int line_of(const int line[3]) {
      return line[0] * 100 + line[1] * 10 + line[2];
    } static __device__ int sum_of(const int lines[][3], int count) {
      int sum = 0;
      for (int i = 0; i < count; i++) sum += line_of(lines[i]);
      return sum;
    } static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const int n = (int)thread;
      int a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[2][2][2] = {};
      a[n & 1][n % 3] += 10;
      a[1][n % 3]--;
      b[n & 1][1][n >> 1 & 1] = 5;
      b[1][n & 1][0] += b[n & 1][1][n >> 1 & 1] * 2;
      PUT(sum_of(a, 2)), PUT(line_of(a[n & 1])), PUT(TABLE[n % 5]), PUT(TABLE[2]);
      for (int i = 0; i < 8; i++) PUT(b[i >> 2][i >> 1 & 1][i & 1]);
      float values[8];
      for (int i = 0; i < 8; i++) values[i] = given->floats[(n + i) & 63];
      for (int i = 1; i < 8; i++)
        for (int k = i; k > 0; k--) {
          const float low = values[k - 1] < values[k] ? values[k - 1] : values[k];
          values[k] = values[k - 1] < values[k] ? values[k] : values[k - 1];
          values[k - 1] = low;
        }
      for (int i = 0; i < 8; i++) PUT(values[i]);
      const float constants[3] = {0.5f, values[0], 2};
      PUT(constants[n % 3]), PUT(constants[1]);
      int at = n & 1;
      a[0][at++] = at;
      PUT(at), PUT(a[0][0]), PUT(a[0][1]), PUT(a[0][at ? at - 1 : 0]++), PUT(sizeof(a) / sizeof(a[0]));
      bool flags[3] = {true};
      flags[n % 3] = n > 5;
      PUT(flags[0]), PUT(flags[1]), PUT(flags[2]);
      uint8_t bytes[4] = {255, 1};
      bytes[0] += 3;
      bytes[1] <<= 7;
      bytes[1] <<= n & 1;
      bytes[2]--;
      PUT(bytes[0]), PUT(bytes[1]), PUT(bytes[2]), PUT(bytes[3]);
    })

SNIPPET(
    layouts,
    struct A {
      uint8_t a;
      int64_t b;
      uint8_t c;
    };
    struct alignas(16) B { float a[3]; }; struct C {
      uint8_t a;
      B b;
      uint16_t c[3];
    };
    struct alignas(2) D { uint8_t a, b; }; struct alignas(8) E {
      uint16_t a, b;
      uint8_t c[3];
      bool d;
    };
    struct F {
      D d[3];
      uint8_t e;
      E f;
      const float *g;
    };
    typedef struct {
      int a;
      uint8_t b;
    } G;
    struct H {
      G g[2];
      uint8_t h;
    };
    static __device__ void body(uint32_t, const Given *, uint64_t *out) {
      PUT(sizeof(A)), PUT(sizeof(B)), PUT(sizeof(C)), PUT(sizeof(D)), PUT(sizeof(E)), PUT(sizeof(F)), PUT(sizeof(G)),
          PUT(sizeof(H));
      PUT(sizeof(int8_t) + sizeof(double) * 10), PUT(sizeof(A *)), PUT(sizeof(int[3][5])), PUT(sizeof(B[3])),
          PUT(sizeof(bool[7]));
    })

/* -- memory ----------------------------------------------------------------------------------- */

/* Bytes before and after what is written must stay, so all of a page is put out. */
SNIPPET(
    memory_of_structs, struct Two { uint16_t bits; }; struct alignas(4) Four {
      uint8_t a;
      bool b;
      int16_t c;
    };
    struct alignas(8) Eight {
      uint16_t a[3];
      int8_t b;
      uint8_t c;
    };
    struct alignas(16) Sixteen {
      double a;
      int b;
      uint16_t c;
      int8_t d;
      uint8_t e;
    };
    struct alignas(16) Floats { float at[4]; }; struct alignas(16) Pointers {
      const uint8_t *p;
      uint64_t n;
    };
    struct Odd {
      uint8_t a[3];
      Two b;
      uint8_t c;
      float d;
    };
    static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      for (int i = 0; i < 40; i++) out[i] = 0xa5a5a5a5a5a5a5a5ull + i;
      Two *two = (Two *)(out + 4);
      two[1].bits = (uint16_t)thread;
      two[2] = two[1];
      two[3] = {0x1234};
      Four *four = (Four *)(out + 6);
      four[1] = {(uint8_t)thread, thread > 5, -5};
      four[2].c = four[1].c;
      four[2].b = false;
      Eight *eight = (Eight *)(out + 8);
      const Eight e = {{1, (uint16_t)thread, 3}, -7, 200};
      eight[1] = e;
      eight[2] = eight[1];
      eight[2].a[thread % 3] = 77;
      eight[3].b = eight[1].b;
      Sixteen *sixteen = (Sixteen *)(out + 14);
      sixteen[0] = {given->doubles[thread], -1, 0xbeef, (int8_t)thread, 9};
      sixteen[1].c = 3;
      sixteen[1].a = sixteen[0].a;
      const Sixteen read = sixteen[0];
      Floats *floats = (Floats *)(out + 20);
      floats[0] = *(const Floats *)(given->floats + (thread & ~3u));
      Floats f = floats[0];
      f.at[thread & 3] = 0.5f;
      floats[1] = f;
      floats[1].at[0] += f.at[1];
      Odd *odd = (Odd *)(out + 26);
      odd[1] = {{1, 2, (uint8_t)thread}, {9}, 8, 1.5f};
      odd[2].a[thread % 3] = 5;
      odd[2].d = odd[1].d;
      Pointers *pointers = (Pointers *)(out + 32);
      Pointers p = {given->bytes + thread, 5};
      pointers[0] = p;
      out[34] = pointers[0].p[0] + pointers[0].n;
      pointers[0].p = 0;
      out[35] = pointers[0].p == 0;
      out += 40;
      PUT(read.a), PUT(read.b), PUT(read.c), PUT(read.d), PUT(four[1].b), PUT(four[2].b), PUT(f.at[thread & 3]);
    })

SNIPPET(
    memory_of_numbers, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      int8_t *bytes = (int8_t *)out;
      uint16_t *shorts = (uint16_t *)(out + 2);
      bool *bools = (bool *)(out + 4);
      float *floats = (float *)(out + 6);
      double *doubles = (double *)(out + 8);
      int *ints = (int *)(out + 10);
      int64_t *longs = (int64_t *)(out + 12);
      for (int i = 0; i < 16; i++) {
        bytes[i] = (int8_t)(given->integers[thread] >> i);
        bools[i] = given->bytes[(thread + i) & 63] & 1;
      }
      for (int i = 0; i < 8; i++) shorts[i] = (uint16_t)(bytes[i] * bytes[i + 8]);
      for (int i = 0; i < 4; i++) {
        floats[i] = bytes[i], ints[i] = shorts[i];
        ints[i] -= 40000;
      }
      doubles[0] = floats[1], doubles[1] = bools[3];
      longs[0] = given->integers[thread] * 3, longs[1] = bytes[2];
      bytes[1] += 100;
      bytes[2]++;
      --bytes[3];
      bytes[4] <<= 1;
      bytes[5] ^= 0x55;
      shorts[1] -= 7;
      shorts[2] *= 3;
      shorts[3]++;
      bools[1] |= bools[2];
      bools[3] = !bools[3];
      floats[1] /= 3;
      floats[2]++;
      doubles[1] += 0.5;
      longs[1] <<= 20;
      longs[0]--;
      const uint8_t *unsigned_bytes = (const uint8_t *)bytes;
      const int16_t *signed_shorts = (const int16_t *)shorts;
      out += 14;
      int sum = 0;
      for (int i = 0; i < 8; i++) sum = sum * 3 + unsigned_bytes[i] + signed_shorts[i];
      PUT(sum), PUT(bytes[3] * 2), PUT(shorts[3] << 2), PUT(bools[1] + bools[3]), PUT(((const uint32_t *)longs)[1]);
    })

SNIPPET(
    pointers,
    struct Node {
      float value;
      int next;
    };
    static __device__ float walk(const float *p, int step) {
      float sum = 0;
      for (const float *end = p + 8 * step; p < end; p += step) sum += *p;
      return sum;
    } template <class T>
    static __device__ T *moved(T *p, int64_t by) {
      return p ? p + by : p;
    } static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const float *p = given->floats, *q = p + thread, *none = 0;
      const uint32_t u = thread & 7;
      const int8_t back = -2;
      PUT(*q), PUT(q[0]), PUT(*(q - u)), PUT(q[-(int)u]), PUT((q - 1u + 1)[0]), PUT(*(p + 20 - u)), PUT((&p[20])[-5]),
          PUT((p + 30)[back]);
      PUT(q - p), PUT(p - q), PUT(&given->doubles[thread] - given->doubles), PUT(q == p), PUT(q != p), PUT(p < q),
          PUT(q >= p + 5), PUT(p <= q);
      PUT(none == 0), PUT(!none), PUT(none ? 1 : 2), PUT(q && thread > 2), PUT(moved(none, 5) == 0),
          PUT(*moved(q, (int)thread ? -1 : 0));
      PUT(walk(p, 3)), PUT((uint64_t)q - (uint64_t)p), PUT(((const uint8_t *)q - (const uint8_t *)p)),
          PUT((uint64_t)none), PUT((bool)q);
      const uint8_t *bytes = given->bytes + 5;
      PUT(*bytes++), PUT(*bytes), PUT(*++bytes), PUT(*--bytes), PUT(*bytes-- + 1), PUT(bytes[thread & 3]),
          PUT(bytes - given->bytes);
      bytes += u;
      PUT(*bytes);
      bytes -= u;
      bytes -= 1u;
      PUT(bytes[0]);
      const float *both[2] = {p, q};
      PUT(both[thread & 1][2 - (int)(thread & 2)]);
      const float **unused = 0;
      PUT(unused == 0);
      const void *any = q;
      PUT(*(const float *)any), PUT((thread & 1 ? p : q)[0]), PUT((thread & 1 ? p + 1 : none) == 0);
      const float &r = q[0];
      PUT(&r - p), PUT((int64_t)(p + thread * 4 - p)), PUT(*(&given->floats[0] + thread)),
          PUT((*(const Node *)p).value);
      p = q;
      p++;
      PUT(p - given->floats), PUT(out - out), PUT(sizeof *p);
    })

SNIPPET(
    local_pointers, struct Pair { int a, b[4]; };
    static __device__ void bump(int *p, int by) { *p += by; } static __device__ int total(const int *p, int count) {
      int sum = 0;
      for (int i = 0; i < count; i++) sum = sum * 3 + p[i];
      return sum;
    } static __device__ int outer(int *p) {
      bump(p, 1);
      bump(p + 1, 2);
      bump(&p[2], 3);
      return total(p + 1, 2);
    } static __device__ void body(uint32_t thread, const Given *, uint64_t *out) {
      const int n = (int)(thread & 1);
      int x = 5, values[6] = {1, 2, 3, 4, 5, 6};
      Pair pairs[2] = {{1, {2, 3, 4, 5}}, {6, {7}}};
      bump(&x, 3);
      int *p = &x, *middle = values + 2, *inner = pairs[n].b, *one = &pairs[1].b[1];
      *p *= 2;
      middle[n]++;
      middle[-1] = 50;
      *(middle - 2) += n;
      inner[1 + n] -= 9;
      *one = 33;
      int *next = middle + n;
      next[1] += 100;
      bump(inner + 3, n);
      PUT(x), PUT(total(values, 6)), PUT(outer(values + n)), PUT(total(middle, 3)), PUT(total(pairs[0].b, 4)),
          PUT(total(pairs[1].b, 4));
      Pair *second = &pairs[n];
      second->a = 40;
      second->b[n + 1] = second->a + 1;
      bump(&second->a, 2);
      bump(second->b, 2);
      PUT(pairs[0].a), PUT(pairs[1].a), PUT(total(second->b, 4)), PUT(*p), PUT(*next);
    })

/* -- templates -------------------------------------------------------------------------------- */

SNIPPET(
    templates, struct half { uint16_t bits; }; template <class S> struct Kind {
      typedef S C;
      static const bool is_float = false;
      static const int size = sizeof(S), twice = 2 * size;
    };
    template <> struct Kind<float> {
      typedef double C;
      static const bool is_float = true;
      static const int size = 40, twice = size + 1;
    };
    template <> struct Kind<half> {
      typedef float C;
      static const bool is_float = true;
      static const int size = 2, twice = 4;
    };
    template <class T, int N> struct alignas(2 * sizeof(T)) Line {
      T at[N];
      static const int count = N;
    };
    template <class A, class B> struct Both {
      typedef Line<A, 4> L;
      L a;
      B b;
      typename Kind<A>::C c;
    };
    template <int N, bool UP> static __device__ int counted(int x) {
      if (UP) return x + N;
      return x - N / 2;
    } template <class T>
    static __device__ int size_of(T) { return Kind<T>::size * 100 + Kind<T>::twice; } template <class T>
    static __device__ typename Kind<T>::C wide(T x) {
      return (typename Kind<T>::C)x * (Kind<T>::is_float ? 2 : 3);
    } template <class T, int N>
    static __device__ T sum(const Line<T, N> &x) {
      T sum = 0;
      for (int i = 0; i < N; i++) sum += x.at[i];
      return sum;
    } template <class T, int N>
    static __device__ int count(const T (&)[N]) { return N * 10 + (int)sizeof(T); } template <class T, int N>
    static __device__ void double_all(T (&x)[N]) { UNROLL for (int i = 0; i < N; i++) x[i] += x[i]; } template <class T>
    static __device__ T first(const T *x) { return x[0]; } template <class A, class B>
    static __device__ auto product(A a, B b) { return a * b; } template <class R, class T>
    static __device__ R as(T x) { return (R)x; } template <int N>
    static __device__ int factorial() {
      if constexpr (N > 1)
        return N * factorial<N - 1>();
      else
        return 1;
    } template <int N>
    static __device__ int divided(int x) { return x / N; } template <bool B>
    static __device__ int truth() { return B + 1; } template <class T>
    static __device__ T zero() { return T(); } template <class T>
    struct Holder { T value; };
    template <class T> static __device__ T held(Holder<T> h, T other) { return h.value + other; } template <int N>
    static __device__ int local_names(int x) {
      enum { FIRST = N, SECOND, THIRD };
      typedef Line<int, N> L;
      L l = {};
      l.at[N - 1] = x;
      return SECOND * 100 + THIRD + l.at[N - 1] + L::count;
    } static __device__ int pair(Line<int, 2> l, int a) {
      return l.at[0] * 10 + l.at[1] + a * 100;
    } static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const int n = (int)thread;
      const float f = given->floats[thread];
      PUT((counted<3, true>(n))), PUT((counted<7, false>(n))), PUT((counted<3, (2 > 1)>(n))), PUT(size_of(n)),
          PUT(size_of(f));
      PUT(wide(n)), PUT(wide(f)), PUT(Kind<half>::twice + Kind<uint8_t>::size), PUT(Kind<float>::is_float && n > 3);
      Line<float, 4> l = {{f, 1, 2, 3}};
      const Line<int, 2> m = {{n, 2}};
      PUT(sum(l)), PUT(sum(m)), PUT((Line<int, 8>::count)), PUT(sizeof(Line<int16_t, 2>)),
          PUT((sizeof(Both<float, half>)));
      int values[3] = {1, n, 3};
      double_all(values);
      PUT(count(values)), PUT(values[1]), PUT(first(values)), PUT(first(given->bytes)), PUT(product(2, 1.5f)),
          PUT(product((int8_t)2, 3u));
      PUT(as<uint8_t>(n * 3)), PUT(as<double>(f)), PUT((as<int64_t, float>(2.5f))), PUT(factorial<5>()),
          PUT(divided<sizeof(int)>(-7 - n));
      PUT(truth<2 != 0>()), PUT(zero<float>()), PUT(zero<int>()), PUT(held(Holder<float>{f}, 1.0f)),
          PUT(held<double>({1.5}, n));
      Both<float, uint8_t> both = {l, 3, 0.5};
      both.a.at[n & 3] = 9;
      both.c += both.b;
      PUT(sum(both.a)), PUT(both.c), PUT(local_names<3>(n)), PUT(local_names<5>(n));
      const int a = 4, x = 6;
      PUT(pair({{x, a}}, a)), PUT(pair({{x, n}}, 1));
      const auto q = f * 2, r = q + 1;
      auto s = n;
      s++;
      PUT(q), PUT(r), PUT(s), PUT(int(f > 0)), PUT(float(n) / 2), PUT((Kind<int>::C)2.5f);
    })

}  // namespace snippets
