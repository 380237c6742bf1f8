/* elementwise_text_test.c - the rows of plugins/common/elementwise.def as text, as a backend that compiles for a device
 * takes them: a C file of all functions and rows is written, compiled with the compiler of this build, and must give
 * the bits of ndarray. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elementwise_rows.h"

enum { COUNT = 1 << 16 };

static const char *const functions[] = {
#define BURN_FUNCTION(type, name, arguments, ...) "static inline " #type " " #name #arguments " { " #__VA_ARGS__ " }\n",
#include "../../../plugins/common/functions.def"
};

/* What a text of rows needs before it. That of CUDA C has __fmaf_rn and __float_as_uint here. */
static const char before[] =
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    "#define BURN_FMA(a, b, c) fmaf(a, b, c)\n#define BURN_FMA_F64(a, b, c) fma(a, b, c)\n"
    "#define BURN_SHARE(a, b) ((a) / (b))\n#define BURN_BOUND(number) (number)\n"
    "#define BURN_FAST_EXP(x)\n"
    "static inline uint32_t burn_bits_f32(float x) { uint32_t y; memcpy(&y, &x, 4); return y; }\n"
    "static inline float burn_from_bits_f32(uint32_t x) { float y; memcpy(&y, &x, 4); return y; }\n"
    "static inline uint64_t burn_bits_f64(double x) { uint64_t y; memcpy(&y, &x, 8); return y; }\n"
    "static inline double burn_from_bits_f64(uint64_t x) { double y; memcpy(&y, &x, 8); return y; }\n"
    "#define BURN_INTEGER_QUOTIENT(x, y) ((y) == 0 ? 0 : (y) == -1 ? (T)(0u - (U)(x)) : (x) / (y))\n"
    "#define BURN_INTEGER_REMAINDER(x, y) ((y) == 0 || (y) == -1 ? 0 : (x) % (y) != 0 && (((x) % (y)) ^ (y)) < 0 ? (x) "
    "% (y) "
    "+ (y) : (x) % (y))\n";

static void write_row(FILE *file, size_t i, const char *dtype, const char *type, const char *wraps, const char *text) {
  const ElementwiseRow *row = &elementwise_rows[i];
  if (!text) return;
  fprintf(file, "void row_%zu_%s(long n, const void *xs, const void *ys, double s_, double q_, void *out) {\n", i,
          dtype);
  fprintf(
      file,
      "  typedef %s T;\n  typedef %s U;\n  const T s = (T)s_, q = (T)q_;\n  (void)s, (void)q, (void)ys, (void)(U)0;\n",
      type, wraps);
  fprintf(
      file,
      "  for (long i = 0; i < n; i++) {\n    const T x = ((const T *)xs)[i], y = ((const T *)ys)[i];\n    (void)y;\n");
  if (row->large && strcmp(dtype, "f32") == 0) {
    fprintf(file, "    if (burn_abs_f32(x) > 1e9f) {\n      ((T *)out)[i] = %s;\n      continue;\n    }\n", row->large);
  }
  fprintf(file, "    ((%s *)out)[i] = (%s)(%s);\n  }\n}\n", row->is_test ? "uint8_t" : "T",
          row->is_test ? "uint8_t" : "T", text);
}

static void *compiled;

static int compile(void **state) {
  char folder[] = "/tmp/burn-elementwise-XXXXXX", path[64], command[2048];
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/rows.c", folder);
  FILE *file = fopen(path, "w");
  if (!file) return -1;
  fputs(before, file);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) fputs(functions[i], file);
  for (size_t i = 0; i < elementwise_row_count; i++) {
    write_row(file, i, "f32", "float", "float", elementwise_rows[i].f32);
    write_row(file, i, "f64", "double", "double", elementwise_rows[i].f64);
    write_row(file, i, "i32", "int32_t", "uint32_t", elementwise_rows[i].integers);
  }
  fclose(file);
  snprintf(command, sizeof command, "%s %s -std=c11 -O1 -ffp-contract=off -w -shared -fPIC -o %s/rows.so %s -lm",
           BURN_TEST_COMPILER, BURN_TEST_COMPILER_FLAGS, folder, path);
  if (system(command) != 0) return -1;
  snprintf(path, sizeof path, "%s/rows.so", folder);
  compiled = dlopen(path, RTLD_NOW);
  snprintf(command, sizeof command, "rm -r %s", folder);
  return compiled && system(command) == 0 ? 0 : -1;
}

static int forget(void **state) {
  (void)state;
  return dlclose(compiled);
}

typedef void (*RowFunction)(long n, const void *xs, const void *ys, double s, double q, void *out);

static bool row_agrees(BurnDevice *device, size_t i, BurnDType dtype, const void *x, const void *y,
                       void *const out[2]) {
  const ElementwiseRow *row = &elementwise_rows[i];
  const BurnDType result_dtype = row->is_test ? BURN_DTYPE_BOOL : dtype;
  char name[64];
  size_t at = 0;
  RowFunction run;
  snprintf(name, sizeof name, "row_%zu_%s", i, burn_dtype_name(dtype));
  *(void **)&run = dlsym(compiled, name);
  assert_non_null(run);
  run(COUNT, x, y, row->s, row->q, out[0]);
  BurnTensor *result = elementwise_apply(row, burn_tensor_from(device, x, dtype, BURN_SHAPE(COUNT)),
                                         burn_tensor_from(device, y, dtype, BURN_SHAPE(COUNT)));
  assert_int_equal(burn_read(result, out[1], (size_t)COUNT * (size_t)burn_dtype_bytes(result_dtype)), BURN_OK);
  if (elementwise_same(result_dtype, out[0], out[1], COUNT, &at)) return true;
  print_message("%s of %s differs at element %zu\n", row->name, burn_dtype_name(dtype), at);
  return false;
}

static void test_rows(void **state) {
  void *const out[2] = {malloc(8 * (size_t)COUNT), malloc(8 * (size_t)COUNT)};
  void *x = malloc(8 * (size_t)COUNT), *y = malloc(8 * (size_t)COUNT);
  BurnDevice *device = burn_device_open("ndarray");
  bool fine = true;
  (void)state;
  elementwise_numbers(x, 8 * (size_t)COUNT, 3);
  elementwise_numbers(y, 8 * (size_t)COUNT, 4);
  for (size_t i = 0; i < elementwise_row_count; i++) {
    const ElementwiseRow *row = &elementwise_rows[i];
    if (row->f32) fine &= row_agrees(device, i, BURN_DTYPE_F32, x, y, out);
    if (row->f64) fine &= row_agrees(device, i, BURN_DTYPE_F64, x, y, out);
    if (row->integers) fine &= row_agrees(device, i, BURN_DTYPE_I32, x, y, out);
  }
  burn_device_close(device);
  free(x), free(y), free(out[0]), free(out[1]);
  assert_true(fine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, compile, forget);
}
