/* thread_bits_test.c - convolutions, their gradients and products have the same bits on any number of threads, though
 * many threads cut the work otherwise than few: into shares of fewer channels, smaller pieces of packing, chains along k.
 *
 * How many threads there are is asked once in a process: the program runs itself with BURN_THREADS, and compares what
 * it prints then, a line for each result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 160, MAX_OUTPUT = 16384 };

static const char *program;

/* -- what a run prints ------------------------------------------------------------------------- */

static void check(BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "%s\n", burn_status_message(status));
  exit(1);
}

static BurnTensor *make(BurnDevice *device, BurnShape shape) {
  return burn_random_uniform(device, shape, BURN_DTYPE_F32, -1, 1);
}

/* A line with a hash (FNV-1a) of the bits of x, which is taken. */
static void print_bits(const char *what, BurnTensor *x) {
  const size_t bytes = (size_t)burn_element_count(x) * sizeof(float);
  unsigned char *bits = malloc(bytes);
  uint64_t hash = 14695981039346656037u;
  if (!bits) exit(1);
  check(burn_read(x, bits, bytes));
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ bits[i]) * 1099511628211u;
  printf("%s %016llx\n", what, (unsigned long long)hash);
  free(bits);
}

typedef struct Convolution {
  int64_t batch, channels_in, side, channels_out, kernel, stride, padding;
} Convolution;

/* Images in the lanes, with and without taps in the padding; Winograd's algorithm with shares and with items; kernels
 * of one tap that are packed, sampled, read in place; gathered pixels; few images. */
static const Convolution convolutions[] = {
    {16, 64, 7, 72, 1, 1, 0},  {16, 64, 14, 96, 3, 2, 1}, {16, 128, 8, 128, 3, 1, 1}, {16, 64, 14, 80, 3, 1, 1},
    {3, 64, 14, 100, 1, 2, 0}, {16, 64, 4, 128, 3, 1, 1}, {5, 40, 9, 70, 3, 1, 1},    {2, 32, 20, 130, 3, 2, 1},
};

static void print_convolution(BurnDevice *device, const Convolution *c) {
  const int64_t k = c->kernel, out = (c->side + 2 * c->padding - k) / c->stride + 1;
  const int64_t rest = c->side - ((out - 1) * c->stride - 2 * c->padding + k);
  const int64_t weight[] = {c->channels_out, c->channels_in, k, k}, stride[] = {c->stride, c->stride};
  const int64_t padding[] = {c->padding, c->padding}, rests[] = {rest, rest}, dilation[] = {1, 1};
  const BurnAttr common[] = {burn_attr_i64s(stride, 2), burn_attr_i64s(padding, 2), burn_attr_i64s(dilation, 2),
                             burn_attr_i64(1)};
  const BurnAttr of_gradient[] = {burn_attr_i64s(weight, 4), common[0], common[1], common[2], common[3]};
  const BurnAttr of_transpose[] = {common[0], common[1], burn_attr_i64s(rests, 2), common[2], common[3]};
  const BurnShape x = BURN_SHAPE(c->batch, c->channels_in, c->side, c->side),
                  y = BURN_SHAPE(c->batch, c->channels_out, out, out), w = BURN_SHAPE(weight[0], weight[1], k, k);
  BurnTensor *forward[] = {make(device, x), make(device, w), NULL}, *result;
  BurnTensor *gradient[] = {make(device, x), make(device, y)}, *transpose[] = {make(device, y), make(device, w), NULL};
  char what[LINE];
  (void)snprintf(what, sizeof what, "%lldx%lldx%lldx%lld to %lld, %lldx%lld, stride %lld:", (long long)c->batch,
                 (long long)c->channels_in, (long long)c->side, (long long)c->side, (long long)c->channels_out,
                 (long long)k, (long long)k, (long long)c->stride);
  burn_op_call(device, burn_op_info(BURN_OP_conv2d), forward, 3, common, 4, &result);
  print_bits(what, result);
  burn_op_call(device, burn_op_info(BURN_OP_conv2d_weight_backward), gradient, 2, of_gradient, 5, &result);
  print_bits(what, result);
  burn_op_call(device, burn_op_info(BURN_OP_conv_transpose2d), transpose, 3, of_transpose, 5, &result);
  print_bits(what, result);
}

/* Products that threads share, whose operands are packed and lie the other way. */
static void print_products(BurnDevice *device) {
  const BurnShape square = BURN_SHAPE(256, 256), odd = BURN_SHAPE(260, 1100);
  print_bits("256:", burn_matmul(make(device, square), make(device, square)));
  print_bits("256 rhs transposed:", burn_matmul(make(device, square), burn_transpose(make(device, square))));
  print_bits("256 lhs transposed:", burn_matmul(burn_transpose(make(device, square)), make(device, square)));
  print_bits("260 x 1100 x 260:", burn_matmul(make(device, odd), burn_transpose(make(device, odd))));
}

/* Few rows times a large matrix, with a bias: many threads take chains along k and join them, or columns where there are
 * enough. Beside the hash stands whether the numbers are those of sums in f64. */
static void print_few_rows(BurnDevice *device, int64_t m, int64_t k, int64_t n) {
  float *x = malloc((size_t)(m * k) * sizeof *x), *w = malloc((size_t)(k * n) * sizeof *w);
  float *bias = malloc((size_t)n * sizeof *bias), *y = malloc((size_t)(m * n) * sizeof *y);
  BurnTensor *inputs[] = {make(device, BURN_SHAPE(m, k)), make(device, BURN_SHAPE(k, n)), make(device, BURN_SHAPE(n))};
  BurnTensor *result;
  char what[LINE];
  double worst = 0;
  if (!x || !w || !bias || !y) exit(1);
  check(burn_read(burn_clone(inputs[0]), x, (size_t)(m * k) * sizeof *x));
  check(burn_read(burn_clone(inputs[1]), w, (size_t)(k * n) * sizeof *w));
  check(burn_read(burn_clone(inputs[2]), bias, (size_t)n * sizeof *bias));
  burn_op_call(device, burn_op_info(BURN_OP_linear), inputs, 3, NULL, 0, &result);
  check(burn_read(burn_clone(result), y, (size_t)(m * n) * sizeof *y));
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double sum = (double)bias[j];
      for (int64_t p = 0; p < k; p++) sum += (double)x[i * k + p] * (double)w[p * n + j];
      if (!(fabs(sum - (double)y[i * n + j]) <= worst)) worst = fabs(sum - (double)y[i * n + j]);
    }
  }
  (void)snprintf(what, sizeof what, "%lldx%lldx%lld, %s:", (long long)m, (long long)k, (long long)n,
                 worst < 1e-4 ? "right" : "WRONG");
  print_bits(what, result);
  free(x);
  free(w);
  free(bias);
  free(y);
}

static int print_all(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  check(burn_device_status(device));
  burn_device_seed(device, 1);
  for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) print_convolution(device, &convolutions[i]);
  print_products(device);
  print_few_rows(device, 1, 1030, 1500);
  print_few_rows(device, 3, 515, 1003);
  print_few_rows(device, 5, 700, 2100);
  print_few_rows(device, 8, 1024, 1024);
  burn_device_close(device);
  return 0;
}

/* -- the comparison ---------------------------------------------------------------------------- */

/* What a run on so many threads prints. */
static void run_on(const char *threads, const char *stack, char *output) {
  char command[4096];
  (void)snprintf(command, sizeof command, "\"%s\" '%s'", program, stack);
  setenv("BURN_THREADS", threads, 1);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  const size_t got = fread(output, 1, MAX_OUTPUT - 1, pipe);
  output[got] = '\0';
  assert_int_equal(pclose(pipe), 0);
  assert_true(got > LINE && got < MAX_OUTPUT - 1);
}

static void test_bits_do_not_depend_on_the_number_of_threads(void **state) {
  static const char *const stacks[] = {"ndarray", "ndarray:isa=avx2"}, *const threads[] = {"2", "7", "16", "64"};
  static char expected[MAX_OUTPUT], found[MAX_OUTPUT];
  (void)state;
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = burn_device_open(stacks[s]);
    const bool is_here = burn_device_status(device) == BURN_OK;
    burn_device_close(device);
    if (!is_here) continue; /* a processor without AVX2; the first one is everywhere */
    run_on("1", stacks[s], expected);
    assert_null(strstr(expected, "WRONG"));
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
      run_on(threads[t], stacks[s], found);
      if (strcmp(found, expected) != 0) print_error("%s, %s threads\n", stacks[s], threads[t]);
      assert_string_equal(found, expected);
    }
  }
}

int main(int argc, char **argv) {
  if (argc > 1) return print_all(argv[1]);
  program = argv[0];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_do_not_depend_on_the_number_of_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
