/* kernel_snippets_flow.cpp - statements: choices, loops, early returns, calls. */
#include "kernel_snippets.h"

namespace snippets {
/* -- choices ---------------------------------------------------------------------------------- */

SNIPPET(
    short_circuits,
    static __device__ bool count(int &calls, bool result) {
      calls++;
      return result;
    } static __device__ void body(uint32_t thread, const Given *, uint64_t *out) {
      const bool a = (thread & 1) != 0, b = (thread & 2) != 0, c = (thread & 4) != 0;
      int calls = 0;
      PUT(count(calls, a) && count(calls, b)), PUT(calls), PUT(count(calls, a) || count(calls, b)), PUT(calls);
      PUT((count(calls, a) && count(calls, b)) || count(calls, c)), PUT(calls);
      PUT(count(calls, a) && (count(calls, b) || count(calls, c))), PUT(calls);
      PUT(!(count(calls, a) || count(calls, b)) && !count(calls, c)), PUT(calls);
      PUT(a ? count(calls, b) : count(calls, c) && count(calls, b)), PUT(calls);
      PUT(true || count(calls, a)), PUT(calls), PUT(false && count(calls, a)), PUT(calls), PUT(true && count(calls, a)),
          PUT(calls);
      if (count(calls, a) && count(calls, b)) calls += 100;
      PUT(calls);
      int steps = 0;
      while (steps < 5 && count(calls, steps < (int)(thread & 7))) steps++;
      PUT(steps), PUT(calls);
      PUT(a && b && c && count(calls, a)), PUT(a || b || c || count(calls, a)), PUT(calls);
    })

SNIPPET(
    choices,
    static __device__ int next(int &n) { return ++n; } static __device__ void body(uint32_t thread, const Given *given,
                                                                                   uint64_t *out) {
      int n = (int)thread & 3;
      const float *none = 0;
      const float *some = thread & 1 ? given->floats : none;
      PUT(thread < 10   ? 1
          : thread < 20 ? 2
          : thread < 30 ? 3
                        : 4),
          PUT(n == 0   ? next(n)
              : n == 1 ? next(n) + next(n)
                       : 7),
          PUT(n);
      PUT(some ? some[thread] : -1.0f), PUT(some != 0 && some[0] > 0),
          PUT(thread < 32 ? given->bytes[thread] : given->integers[thread]);
      PUT(n > 2 ? 1 : 2.5), PUT(n > 2 ? (int8_t)1 : (uint8_t)2), PUT(n > 2 ? 1 : 2u),
          PUT((n > 2 ? n : 5) + (n < 2 ? n : 6));
      PUT(thread ? 100 / (int)thread : 0), PUT(!some ? 5 : (int)(some - given->floats)),
          PUT(sizeof(int) == 4 ? 1 : 2.5f);
      PUT((n > 1 ? given : given)->bytes[3]), PUT(n ? true : false),
          PUT((thread & 8 ? given->floats : given->floats + 8)[thread & 7]);
      PUT(thread % 3 == 0 ? thread % 2 == 0 ? 1 : 2 : thread % 2 == 0 ? next(n) : next(n) * 2), PUT(n);
      n = n > 2 ? n - 1 : n + 1;
      PUT(n), PUT(1 + (true ? 2 : 3.5f) / 4), PUT((false ? 1.0 : 7) / 2), PUT((true ? (int8_t)-1 : 1u) > 0u);
    })

/* A load that must not happen: the address is none. */
SNIPPET(
    references_are_read_when_asked, struct Pair { float x, y; };
    static __device__ float read_if(const float &value, bool may) {
      return may ? value : 0.5f;
    } static __device__ float part_if(const Pair &value, bool may) {
      return may ? value.x + value.y : -1.0f;
    } static __device__ bool is_above(const float &value, bool may) {
      return may && value > 0.0f;
    } static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const bool may = (thread & 1) != 0;
      const float *where = may ? given->floats : (const float *)0;
      const Pair *pairs = (const Pair *)where;
      PUT(read_if(where[thread / 2], may)), PUT(part_if(pairs[thread / 4], may)), PUT(is_above(where[thread / 2], may));
    })

/* -- loops ------------------------------------------------------------------------------------ */

SNIPPET(
    loops, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const int n = (int)thread % 13;
      int sum = 0;
      for (int i = 0; i < n; i++) sum += i * i;
      PUT(sum);
      for (int i = n; i-- > 0;) sum = sum * 3 + i;
      PUT(sum);
      for (int i = 0; i < 20; i++) {
        if (i == n) continue;
        if (i > n + 5) break;
        sum += i;
      }
      PUT(sum);
      int i = 0;
      while (i < n) {
        i += 2;
        if ((i & 4) != 0) continue;
        sum -= i;
      }
      PUT(sum), PUT(i);
      for (; i < 40; i += 3) sum ^= i;
      for (;;) {
        if (sum++ % 7 == 0) break;
      }
      PUT(sum);
      for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++) {
          if (b == 2) continue;
          for (int c = 0;; c++) {
            if (c == a + b) break;
            if (c == n) continue;
            sum += a * 100 + b * 10 + c;
          }
          if (sum % 11 == 0) break;
        }
      PUT(sum);
      for (int k = 0; k < 10; k++) {
        sum += k;
        if ((sum & 1) != 0) k += 2;
      }
      PUT(sum);
      for (int a = 0, b = 10; a < b; a++, b--) sum += a * b;
      PUT(sum);
      uint8_t small = 250;
      for (uint8_t k = 250; k != 3; k++) small += k;
      PUT(small);
      for (int64_t k = given->integers[thread] & 15; k > 0; k >>= 1) sum += (int)k;
      PUT(sum);
      while (true) {
        if (--sum < 1000000) {
          if (n > 3) break;
          break;
        }
        sum /= 2;
      }
      PUT(sum);
    })

SNIPPET(
    loops_that_are_written_out, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      int sum = 0;
      UNROLL for (int i = 0; i < 8; i++) sum += (int)given->bytes[i] * i;
      PUT(sum);
      UNROLL for (int i = 1; i < 50; i += i) sum += i;
      PUT(sum);
      UNROLL for (int i = 1; i < 50; i *= 3) sum -= i;
      UNROLL for (int i = 64; i > 0; i >>= 1) sum = sum * 5 + i;
      UNROLL for (int i = 64; i > 0; i /= 2) sum = sum * 3 - i;
      PUT(sum);
      UNROLL for (uint32_t i = 5; i-- > 0;) sum += (int)i;
      UNROLL for (int i = 0; i < 6; ++i) {
        if (i == (int)(thread & 7)) break;
        sum += i;
        UNROLL for (int k = 0; k < i; k++) {
          if (k == 3) break;
          if (k == 1) continue;
          sum += 10 * k;
        }
      }
      PUT(sum);
      UNROLL for (int i = 0; i < 6; i++) {
        if ((i & 1) != 0) continue;
        sum ^= i << 4;
      }
      for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) sum = sum * 3 + (i == k ? 1 : i > k ? 2 : 0);
      PUT(sum);
      int values[4] = {1, 2, 3, 4};
      UNROLL for (int i = 0; i < 4; i++) values[i] += values[(i + 1) % 4];
      UNROLL for (int i = 3; i >= 0; i--) sum = sum * 7 + values[i];
      PUT(sum);
      for (int i = 0; i < 4; i++) {
        const int i2 = i * 2;
        {
          int i = i2 + 1;
          i++;
          sum += i;
        }
      }
      PUT(sum);
      for (int8_t i = 125; i > 0; i++) sum += i;
      for (int i = 0; i++ < 5; i++) sum += i;
      PUT(sum);
      UNROLL for (int i = 0; (float)i < given->floats[0] * 0.0f + 2.5f; i++) sum += i;
      float f = 0.0f;
      for (float x = 0.5f; x < 4.0f; x += 1.0f) f += x;
      PUT(sum), PUT(f);
    })

/* -- early returns ---------------------------------------------------------------------------- */

/* A driver's compiler takes long for more of them at once. */
SNIPPET(
    early_returns_of_calls_in_loops,
    static __device__ int found(int n) {
      for (int i = 0; i < 9; i++) {
        if (i == n) return 10 * i;
        if (i * 2 == n) return 7;
      }
      return -1;
    } static __device__ void body(uint32_t thread, const Given *, uint64_t *out) {
      const int n = (int)thread % 16;
      int sum = 0;
      for (int i = 0; i < 6; i++) {
        if (found(i + n) == 7) continue;
        sum += found(i);
        if (sum > 60) break;
      }
      PUT(sum);
    })

SNIPPET(
    early_returns,
    static __device__ int chain(int n) {
      if (n < 2) return 1;
      if (n < 4) return 2;
      n *= 3;
      if (n > 40) return n;
      return -n;
    } static __device__ int else_chain(int n) {
      int m = 5;
      if (n < 2)
        return 1;
      else if (n < 4)
        return 2;
      else if (n < 6)
        m = 6;
      return m + n;
    } static __device__ int both(int n) {
      if (n < 3)
        return 30;
      else
        return 40;
      return 50;
    } static __device__ int nested(int n) {
      if (n < 8) {
        if (n < 3) return 100;
        n += 50;
      } else {
        return 300;
      }
      if (n == 55) return 200;
      return n;
    } static __device__ int in_else(int n) {
      if (n > 9) {
        n++;
      } else {
        if (n == 4) return 44;
        if (n == 5) return 55;
      }
      n *= 2;
      return n;
    } static __device__ int in_loop(int n) {
      for (int i = 0; i < 9; i++) {
        if (i == n) return 10 * i;
        if (i * 2 == n) return 7;
      }
      return -1;
    } static __device__ int in_loops(int n, int m) {
      int steps = 0;
      for (int i = 0; i < 5; i++) {
        for (int k = 0;; k++) {
          steps++;
          if (k * i == n) return 1000 + steps;
          if (k == m) break;
          if (steps == n * 2) return 2000 + i;
        }
        if (steps > 60) return steps;
      }
      return -steps;
    } static __device__ int after_loop(int n) {
      int i = 0;
      while (i < n) {
        if (i == 6) break;
        i++;
      }
      if (i == 6) return 66;
      if (n == 3) return 33;
      return i;
    } static __device__ int in_block(int n) {
      {
        if (n == 1) return 5;
        { return n + 1; }
      }
    } static __device__ void by_reference(int n, int &to) {
      to = 1;
      if (n < 3) return;
      to = 2;
      for (int i = 0; i < n; i++) {
        to += i;
        if (to > 20) return;
      }
      to = -to;
    } static __device__ int endless(int n) {
      for (;;) {
        if (n > 30) return n;
        n += 7;
      }
    } template <bool FIRST>
    static __device__ int chosen(int n) {
      if (FIRST) return n;
      n += 5;
      if (n > 12) return 12;
      return n;
    } static __device__ int written_out(int n) {
      UNROLL for (int i = 0; i < 4; i++) {
        if (i == n) return 10 + i;
        UNROLL for (int k = 0; k < 3; k++) if (i + 2 * k == n) return 20 + k;
      }
      return 9;
    } static __device__ bool is_even(int n) { return (n & 1) == 0 && n != 4; } static __device__ auto deduced(int n) {
      if (n > 3) return 1.5f;
      return 2.5f;
    } static __device__ void body(uint32_t thread, const Given *, uint64_t *out) {
      const int n = (int)thread % 16, m = (int)thread / 16;
      int to = 0;
      PUT(chain(n)), PUT(else_chain(n)), PUT(both(n)), PUT(nested(n)), PUT(in_else(n)), PUT(in_loop(n)),
          PUT(in_loops(n, m));
      PUT(after_loop(n)), PUT(in_block(n)), PUT(endless(n)), PUT(chosen<true>(n)), PUT(chosen<false>(n)),
          PUT(written_out(n));
      PUT(is_even(n) ? 3 : 4), PUT(deduced(n));
      by_reference(n, to);
      PUT(to);
      if (thread == 5) return;
      PUT(1);
      for (int i = 0; i < 5; i++) {
        if (i == n) {
          if (m == 1) return;
          PUT(i);
        }
        while (m == 2) {
          if (n == 3) return;
          break;
        }
      }
      if (n == 7) {
        PUT(2);
        return;
      } else {
        PUT(3);
      }
      PUT(4);
    })

SNIPPET(
    names, static const int value = 3;
    static __device__ int value_of(int x) { return x + value; } static __device__ int other(int value) {
      return value_of(value) * value;
    } static __device__ void body(uint32_t thread, const Given *, uint64_t *out) {
      int x = 1;
      {
        int x = 2;
        x += 5;
        PUT(x);
        {
          const float x = 0.5f;
          PUT(x);
        }
        PUT(x);
      }
      for (int x = 0; x < 2; x++) PUT(x);
      if (thread > 3) {
        const int64_t x = 9;
        PUT(x);
      }
      PUT(x), PUT(value), PUT(value_of(x)), PUT(other(x + 5));
      const int value = 10;
      PUT(value), PUT(value_of(value)), PUT(other(value));
      typedef int8_t number;
      {
        typedef double number;
        PUT((number)thread);
      }
      PUT((number)(thread * 3)), PUT(x++ + x), PUT(x);
    })

/* -- calls ------------------------------------------------------------------------------------ */

SNIPPET(
    inputs,
    static __device__ int changed(int x) {
      x += 5;
      x *= x;
      return x;
    } static __device__ void add_to(int &to, const int &by) {
      to += by;
      to += by;
    } static __device__ int read_twice(const int &x, int &y) {
      const int before = x;
      y = 100;
      return before + x;
    } static __device__ void swap(float &a, float &b) {
      const float c = a;
      a = b;
      b = c;
    } static __device__ void fill(int *to, int count, int with) {
      for (int i = 0; i < count; i++) to[i] = with + i;
    } static __device__ int sum_of(const int *values, int count) {
      int sum = 0;
      for (int i = 0; i < count; i++) sum += values[i] * (i + 1);
      return sum;
    } static __device__ int sum_of_4(const int (&values)[4]) {
      return sum_of(values, 4);
    } static __device__ void advance(uint64_t *&at, int by) { at += by; } static __device__ int unnamed(int, int b) {
      return b;
    } static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      int x = (int)thread, values[4] = {x, 2, 3}, more[2][3] = {{1, 2, 3}, {x, x + 1}};
      float a = given->floats[thread], b = 1.0f;
      PUT(changed(x)), PUT(x), PUT(changed(changed(x) % 100));
      add_to(x, 3);
      PUT(x);
      add_to(x, x);
      PUT(x), PUT(read_twice(x, x)), PUT(x), PUT(read_twice(x + 0, x));
      swap(a, b);
      PUT(a), PUT(b);
      add_to(values[1], values[0]);
      add_to(values[(thread + 1) & 3], values[thread & 3]);
      PUT(sum_of(values, 4)), PUT(sum_of(values + 1, 2)), PUT(sum_of(&values[1], 3)), PUT(sum_of_4(values));
      fill(values, 4, x);
      PUT(sum_of(values, 4));
      fill(more[1], 3, 7);
      fill(&more[0][1], 2, x);
      PUT(sum_of(more[0], 3)), PUT(sum_of(more[1], 3)), PUT(unnamed(1, x));
      uint64_t *at = out;
      advance(at, 2);
      *at = 77;
      advance(out, 3);
      PUT(x), PUT(2 + changed(x) * changed(1));
    })

SNIPPET(
    overloads, struct S { int n; }; static __device__ int which(int) {
      return 1;
    } static __device__ int which(uint32_t) { return 2; } static __device__ int which(float) {
      return 3;
    } static __device__ int which(double) { return 4; } static __device__ int which(int64_t) {
      return 5;
    } static __device__ int which(S) { return 6; } static __device__ int which(const S *) {
      return 7;
    } static __device__ int which(int, int) { return 8; } template <class T>
    static __device__ int which(T *) { return 9; } static __device__ int narrow(int) {
      return 1;
    } static __device__ int narrow(double) { return 2; } static __device__ int to(int &x) {
      x++;
      return 1;
    } static __device__ int to(float &x) {
      x += 0.5f;
      return 2;
    } static __device__ int plain(int) { return 1; } template <class T>
    static __device__ int plain(T) { return 2; } static __device__ void body(uint32_t thread, const Given *given,
                                                                             uint64_t *out) {
      const S s = {4};
      int i = (int)thread;
      float f = 0.5f;
      PUT(which(1)), PUT(which(1u)), PUT(which(1.0f)), PUT(which(1.0)), PUT(which(1ll)), PUT(which(s)), PUT(which(&s)),
          PUT(which(1, 2));
      PUT(which((int8_t)1)), PUT(which((uint16_t)1)), PUT(which(true)), PUT(which(given)), PUT(which(&f)),
          PUT(narrow((uint8_t)1));
      PUT(narrow(1.0f)), PUT(narrow(false)), PUT(to(i)), PUT(to(f)), PUT(i), PUT(f), PUT(plain(1)), PUT(plain(1u)),
          PUT(plain(f));
    })

}  // namespace snippets
