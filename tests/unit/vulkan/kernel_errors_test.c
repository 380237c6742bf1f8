/* kernel_errors_test.c - wrong sources get a message with the line and the name; what asks for endless work is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* True with the module, or false with words. */
static bool compile(const char *source, char why[KERNEL_WHY_BYTES]) {
  const KernelTarget target = {.has_warps = false};
  KernelModule module = {.words = NULL};
  KernelProgram *program = burn__kernel_parse(source, &target, why, KERNEL_WHY_BYTES);
  const bool done = program && burn__kernel_emit(program, "kernel", NULL, &module, why, KERNEL_WHY_BYTES);
  burn__kernel_free(program);
  burn__kernel_module_free(&module);
  return done;
}

/* -- in the body of a kernel ------------------------------------------------------------------ */

#define BEFORE                                                                                               \
  "struct S { int a; float b[2]; static const int known = 3; static const int open; typedef float F; };\n"   \
  "template <class T> struct V { T at; };\ntemplate <class T, int N> static int f(V<T> v) { return N; }\n"   \
  "static int g(int &x) { return x; }\nstatic void nothing() {}\nstatic int twice(int x) { return x + x; } " \
  "template <class T, int R, int C, int U> struct burn_subgroup_matrix {}; "                                 \
  "template <class M, class X> static M burn_matrix_fill(X x); "                                             \
  "template <class M, class P> static M burn_matrix_load(P p, int step, int turned);\n"                      \
  "struct P { float *out; int n; };\nextern \"C\" __global__ void __launch_bounds__(32) kernel(P p) {\n"
enum { LINES_BEFORE = 8 };

typedef struct Wrong {
  const char *body, *words; /* in the message; the line is that of the body's first line */
} Wrong;

static const Wrong bodies[] = {
    {"x = 3;", "'x'"},
    {"int x = y;", "'y'"},
    {"unknown(3);", "'unknown'"},
    {"twice();", "'twice'"},
    {"twice(1, 2);", "'twice'"},
    {"g(3);", "'g'"},
    {"S s; s.c = 3;", "'c'"},
    {"S s; s += 3;", "'S'"},
    {"S s; int x = s;", "'S'"},
    {"S s = 3;", "'S'"},
    {"int x = S::open;", "'open'"},
    {"int x = S::F;", "'F'"},
    {"S::known x;", ""},
    {"int x = S::missing;", "'missing'"},
    {"p.n = 3;", "parameters"},
    {"3 = 4;", "place"},
    {"twice(1) = 4;", "place"},
    {"int x = &p.n;", ""},
    {"int x[3]; x[3] = 1;", "element 3 of 3"},
    {"int x[3]; x[-1] = 1;", "element -1 of 3"},
    {"int x[0];", "0 elements"},
    {"int x[p.n];", "known"},
    {"int x[1 << 30];", ""},
    {"int x[1 << 24];", "bytes"},
    {"__shared__ float x[1 << 20];", "shared memory"},
    {"__shared__ float x = 3;", "'x'"},
    {"__shared__ auto x;", "'x'"},
    {"auto x;", "'x'"},
    {"auto x = nothing();", "'x'"},
    {"auto *x = p.out;", "auto"},
    {"auto x[3];", "auto"},
    {"void x;", "void"},
    {"void x[2];", "void"},
    {"int &x;", "'x'"},
    {"int x; int *q = &x; q = &x;", "'q'"},
    {"int x; int *q = &x; q++;", "'q'"},
    {"int x; int *q = &x + 1;", "moved"},
    {"int x; p.out[0] = (uint64_t)&x;", ""},
    {"int x; float *q = (float *)&x;", "float"},
    {"int *q[2]; int x; q[0] = &x;", "pointer"},
    {"p.out * 2;", "'*'"},
    {"p.out + p.out;", ""},
    {"p.out + 1.5f;", "'float'"},
    {"3 - p.out;", "'-'"},
    {"p.out << 1;", "'<<'"},
    {"void *q = p.out; q - q;", "'-'"},
    {"*p.n = 3;", "pointer"},
    {"p.n[0] = 3;", ""},
    {"p.out[1.5f] = 3;", "'float'"},
    {"1.5f % 2;", "'%'"},
    {"1.5f << 2;", "'<<'"},
    {"~1.5f;", "'~'"},
    {"-p.out;", "'-'"},
    {"!nothing();", ""},
    {"int x = nothing();", ""},
    {"twice(nothing());", ""},
    {"p.n ? nothing() : nothing();", "choice"},
    {"p.n ? 1 : p.out;", ""},
    {"S s; p.n ? s : 1;", "'S'"},
    {"if (S()) return;", "'S'"},
    {"break;", "break"},
    {"continue;", "continue"},
    {"int x[2] = {1, 2, 3};", "more than 2"},
    {"int x = {1, 2};", "more than one"},
    {"S s = {1, {2, 3}, 4};", "more than 2"},
    {"void *x = {}; void y = {};", "void"},
    {"V<int> v; f(v);", "'f'"},
    {"V<int> v; f<int, 2, 3>(v);", "template"},
    {"V<3> v;", "'T'"},
    {"V<int> v; f<int, float>(v);", "'N'"},
    {"V v;", ""},
    {"W<int> v;", ""},
    {"V<int>::missing x;", ""},
    {"kernel(p);", "'kernel'"},
    {"p.n(3);", "function"},
    {"burn_native_fma();", "'burn_native_fma'"},
    {"sqrt(1.0, 2.0);", "'sqrt'"},
    {"burn_shuffle(1u, 2u);", "'burn_shuffle'"},
    {"threadIdx.w;", "'w'"},
    {"sizeof(Unknown);", "'Unknown'"},
    {"typedef Unknown T; T x;", "'Unknown'"},
    {"int x = 9e99;", "9e+99"},
    {"int x = 3", ";"},
    {"if p.n return;", "("},
    {"for (int i = 0; i < 3) p.out[i] = 1;", ";"},
    {"int x = (3;", ")"},
    {"int x[3;", "]"},
    {"float = 3;", "name"},
    {"x y z;", ""},
    {"do { } while (1);", ""},
    {"switch (p.n) { }", ""},
    {"goto end;", ""},
    {"int x = \"text\";", ""},
    {"enum { A = p.n };", "known"},
    {"void h();", "'h'"},
    {"@", ""},
    {"burn_subgroup_matrix<float, 8, 8, 3> m;", "matrix of 3"},
    {"burn_subgroup_matrix<double, 8, 8, 2> m;", "'double'"},
    {"burn_subgroup_matrix<float, 8> m;", "three numbers"},
    {"burn_subgroup_matrix<float, 8, 8, 2> m; p.out[0] = m;", "cannot become 'float'"},
    {"__shared__ burn_subgroup_matrix<float, 8, 8, 2> m[2]; m[0] = m[1];", "variables of a thread"},
    {"burn_matrix_fill<int>(3);", "type of a matrix"},
    {"burn_matrix_load<burn_subgroup_matrix<float, 8, 8, 2> >(p.out, 8, 0);", "shared memory"},
    {"__shared__ float x[64]; burn_matrix_load<burn_subgroup_matrix<float, 8, 8, 2> >(x, 8, p.n);", "known"},
    {"burn_matrix_store(p.out, 3, 8, 0);", "not a matrix"},
    {"burn_subgroup_matrix<float, 8, 8, 2> m; burn_matrix_multiply_add(m, m, m);", "do not fit"},
};

static void test_wrong_bodies(void **state) {
  char source[2048], why[KERNEL_WHY_BYTES], line[16];
  int wrong = 0;
  (void)state;
  (void)snprintf(line, sizeof line, "line %d: ", LINES_BEFORE + 1);
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    (void)snprintf(source, sizeof source, "%s%s\n}\n", BEFORE, bodies[i].body);
    if (compile(source, why)) (void)snprintf(why, sizeof why, "(it compiles)");
    /* what is missing is seen on the next line */
    const bool has_line = strncmp(why, line, strlen(line)) == 0 || strncmp(why, "line 10: ", 9) == 0;
    if (has_line && strstr(why, bodies[i].words)) continue;
    print_message("%s\n  says: %s\n  but not: %s\n", bodies[i].body, why, bodies[i].words);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

/* -- whole sources ---------------------------------------------------------------------------- */

#define KERNEL(body) \
  "\nstruct P { int *out; };\nextern \"C\" __global__ void __launch_bounds__(32) kernel(P p) { " body " }\n"

static const Wrong sources[] = {
    {"", "no kernel 'kernel'"},
    {"int kernel(int x) { return x; }", "no kernel 'kernel'"},
    {"__global__ void kernel(int *x) { }", "__launch_bounds__"},
    {"__global__ void __launch_bounds__(0) kernel(int *x) { }", "threads"},
    {"__global__ void __launch_bounds__(2000) kernel(int *x) { }", "threads"},
    {"__global__ void __launch_bounds__(n) kernel(int *x) { }", "'n'"},
    {"__global__ void __launch_bounds__(32) kernel(Unknown x) { }", "'Unknown'"},
    {"struct S { S s; };" KERNEL("S s;"), "'S'"},
    {"struct S { S s[2]; };" KERNEL("S s;"), "'S'"},
    {"struct B; struct A { B b; };" KERNEL("A a;"), ""},
    {"struct S { int a; int f() { return a; } };", "function"},
    {"struct S { int a = 3; };" KERNEL("S s;"), "'a'"},
    {"struct S { auto a; };" KERNEL("S s;"), "auto"},
    {"struct alignas(3) S { int a; };" KERNEL("S s;"), "alignas(3)"},
    {"struct alignas(1 << 20) S { int a; };" KERNEL("S s;"), "alignas"},
    {"struct { int a; };", "name"},
    {"typedef A B; typedef B A;" KERNEL("A a;"), "more than"},
    {"static const int a = b; static const int b = a;" KERNEL("p.out[0] = a;"), "more than"},
    {"enum { A = B, B = A };" KERNEL("p.out[0] = A;"), "more than"},
    {"static int f(int x) { return f(x); }" KERNEL("f(3);"), "more than"},
    {"template <int N> static int f() { return f<N + 1>(); }" KERNEL("f<1>();"), "more than"},
    {"#define A B + B\n#define B C + C\n#define C D + D\n#define D E + E\n#define E F + F\n#define F G + G\n#define G "
     "H + H\n"
     "#define H I + I\n#define I J + J\n#define J K + K\n#define K L + L\n#define L M + M\n#define M N + N\n#define N "
     "1 + 1\n" KERNEL("p.out[0] = A;"),
     "more than"},
    {"static int a(int x) { return x + 1; }\n#define F(f, g) static int f(int x) { return g(g(g(g(g(g(g(g(x)))))))); "
     "}\n"
     "F(b, a) F(c, b) F(d, c) F(e, d) F(f, e) F(g, f) F(h, g) F(i, h)" KERNEL("p.out[0] = i(p.out[1]);"),
     "more than"},
    {"#define U(i) _Pragma(\"unroll\") for (int i = 0; i < 64; i++)" KERNEL("U(a) U(b) U(c) U(d) U(e) U(f) ;"),
     "more than"},
    {"#define L(i) for (int i = 0; i < 8; i++)" KERNEL("L(a) L(b) L(c) L(d) L(e) L(f) L(g) L(h) L(i) L(j) L(k) ;"),
     "more than"},
    {"int f(int x) { return x; } }", ""},
    {"#if 1\n", "#if"},
    {"#error stop", "stop"},
    {"struct", ""},
    {"template <class T", ""},
    {"template <int N> ", ""},
    {"extern \"C\" __global__ void", ""},
    {"static", ""},
};

static void test_wrong_sources(void **state) {
  char why[KERNEL_WHY_BYTES];
  int wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    if (compile(sources[i].body, why)) (void)snprintf(why, sizeof why, "(it compiles)");
    if (why[0] != '(' && strstr(why, sources[i].words)) continue;
    print_message("%.200s\n  says: %s\n  but not: %s\n", sources[i].body, why, sources[i].words);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

/* -- what nests, or never ends ---------------------------------------------------------------- */

static void repeat(char *to, const char *part, size_t count) {
  for (size_t i = 0; i < count; i++) memcpy(to + i * strlen(part), part, strlen(part));
  to[count * strlen(part)] = 0;
}

typedef struct Long {
  const char *before, *part, *after;
} Long;

static const Long longs[] = {
    {KERNEL("p.out[0] = 1"), "", ""},
    {"static int f() { return ", "(", ""},
    {"static int f() { return ", "-", ""},
    {"static int f() { return 1", " + 1", "; }" KERNEL("f();")},
    {"static int f() { return 1", ", 1", "; }" KERNEL("f();")},
    {"static int f(int x) { return x", "[0]", "; }" KERNEL("f(1);")},
    {"static int f(int x) { return x", ".x", "; }" KERNEL("f(1);")},
    {"static int f(int x) { return ", "1 ? 1 : ", "1; }" KERNEL("f(1);")},
    {"static int f(int x) { return ", "x = ", "1; }" KERNEL("f(1);")},
    {"static int f(int x) { return ", "(int)", "1; }" KERNEL("f(1);")},
    {"static int f(int x) { return ", "f(", "1; }" KERNEL("f(1);")},
    {"static int f(int x) { ", "{", "1; }" KERNEL("f(1);")},
    {"static int f(int x) { ", "if (x) ", "; return 1; }" KERNEL("f(1);")},
    {"static int f(int x) { ", "if (x) ; else ", "; return 1; }" KERNEL("f(1);")},
    {"static int f(int x) { int y = ", "{", "; return 1; }" KERNEL("f(1);")},
    {"static int ", "*", "f() { return 0; }" KERNEL("f();")},
    {"typedef int A", "[1]", "; A a;" KERNEL("A a;")},
    {"template <class T> struct V { T t; };" KERNEL(""), "static V<", ""},
    {"template <class T> struct V { T t; }; typedef ", "V<", "int"},
    {KERNEL("int x = 1;") "static int f(int x) { ", "int y = x; y = 3; ", "return 1; }" KERNEL("f(1);")},
    {"", "struct S { int a; };", KERNEL("S s;")},
    {"", "static int f(int x) { return x; }", KERNEL("f(1);")},
    {"enum { A", ", A", "};" KERNEL("p.out[0] = A;")},
    {"", "#if 1\n", ""},
    {"#define A(x) x\n", "A(", ""},
};

static void test_long_sources_end(void **state) {
  enum { MOST = 2000000 };
  char why[KERNEL_WHY_BYTES];
  char *source = malloc(MOST), *middle = malloc(MOST);
  (void)state;
  assert_true(source && middle);
  for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++)
    for (size_t count = 300; count <= 60000; count *= 200) {
      repeat(middle, longs[i].part, count);
      (void)snprintf(source, MOST, "%s%s%s", longs[i].before, middle, longs[i].after);
      (void)compile(source, why);
    }
  free(source);
  free(middle);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrong_bodies),
      cmocka_unit_test(test_wrong_sources),
      cmocka_unit_test(test_long_sources_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
