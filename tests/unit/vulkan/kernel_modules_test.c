/* kernel_modules_test.c - the texts of plugins/gpu/kernels through their compiler for Vulkan, with the dtypes and variants
 * that the floor asks for: all compile, for devices of both kinds, and spirv-val, where it is installed, finds them valid.
 * No kernel reads back a half that it has made, as drivers take the way there and back for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "kernel.h"
#include "kernel_texts.h"

enum { MAX_VARIANTS = 8, EACH_VALIDATED = 7 };

typedef enum Kinds { F32, FLOATS, NUMBERS, ALL } Kinds;

typedef struct Row {
  GpuText text;
  Kinds kinds; /* of all four tensors */

  int joins; /* 0 .. joins - 1 */
  int variant_count;
  uint32_t variants[MAX_VARIANTS];
} Row;

/* Rows: what is computed + 128 if rows fill the registers + 256 * vectors + 65536 * the logarithm of threads
 * (kernels/row.cu). */
static const Row rows[] = {
    {GPU_TEXT_ELEMENTWISE, NUMBERS, 1, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {GPU_TEXT_ELEMENTWISE_ROWS, NUMBERS, 1, 1, {0}},
    {GPU_TEXT_ELEMENTWISE_TILES, NUMBERS, 1, 1, {0}},
    {GPU_TEXT_CREATE, NUMBERS, 1, 1, {0}},
    {GPU_TEXT_CREATE, FLOATS, 1, 3, {2, 3, 4}},
    {GPU_TEXT_REDUCE, NUMBERS, 4, 5, {0, 1, 2, 3, 4}},
    {GPU_TEXT_SCAN, NUMBERS, 4, 3, {0, 1, 2}},
    {GPU_TEXT_SORT, NUMBERS, 1, 4, {0, 1, 2, 3}},
    {GPU_TEXT_SMALL_PRODUCT, ALL, 1, 1, {0}},
    {GPU_TEXT_SMALL_PRODUCT, F32, 1, 8, {1, 2, 3, 4, 5, 6, 7, 8}},
    {GPU_TEXT_PRODUCT, ALL, 1, 1, {1}},
    {GPU_TEXT_PRODUCT, F32, 1, 8, {2, 3, 10, 54, 91, 66, 107, 90}},
    {GPU_TEXT_DIRECT_PRODUCT, ALL, 1, 1, {0}},
    {GPU_TEXT_PRODUCT_PARTS, NUMBERS, 1, 1, {0}},
    {GPU_TEXT_DIRECT_PRODUCT, F32, 1, 8, {1, 2, 3, 4, 5, 6, 7, 8}},
    {GPU_TEXT_COLUMNS, ALL, 1, 6, {0, 1, 2, 4, 8, 10}},
    {GPU_TEXT_CONV, FLOATS, 1, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {GPU_TEXT_IMPLICIT_CONV, FLOATS, 1, 8, {0, 1, 2, 4, 5, 6, 16, 22}},
    {GPU_TEXT_POOL, FLOATS, 1, 8, {0, 1, 2, 3, 4, 5, 32, 68}},
    {GPU_TEXT_OPTIMIZER, FLOATS, 1, 3, {0, 1, 2}},
    {GPU_TEXT_SOFTMAX, FLOATS, 1, 8, {0, 3, 5, 327936, 328192, 655360, 459268, 590848}},
    {GPU_TEXT_LAYER_NORM, FLOATS, 1, 8, {327936, 327937, 655361, 524289, 459265, 328065, 459392, 459393}},
    {GPU_TEXT_BATCH_NORM, FLOATS, 1, 7, {0, 1, 2, 3, 4, 5, 6}},
    {GPU_TEXT_LSTM, FLOATS, 1, 3, {0, 1, 2}},
    {GPU_TEXT_ROW_COPY, FLOATS, 1, 1, {0}},
    {GPU_TEXT_VECTOR, FLOATS, 1, 4, {0, 1, 2, 3}},
    {GPU_TEXT_ATTENTION, FLOATS, 1, 8, {192, 129, 194, 3, 256, 353, 512, 226}},
    {GPU_TEXT_ATTENTION_F32, F32, 1, 6, {2320, 2193, 2194, 1288, 1298, 3216}},
};

static const char elementwise[] =
    "#define BURN_INPUTS 2\ntypedef Element<IN0>::C T;\ntypedef Element<IN0>::U U;\n"
    "template <class V> static __device__ inline V burn_number(const GpuNumber &n) {\n"
    "  return Element<IN0>::is_float ? (V)n.real : (V)n.integer;\n}\n"
    "static __device__ inline auto burn_apply(const T x, const Element<IN1>::C y, const Element<IN2>::C z,\n"
    "                                         const GpuNumber &s, const GpuNumber &q) {\n"
    "  return (T)(x * y + burn_number<T>(s));\n}\n";

static char definition[200]; /* of products and attention by matrices; "": none */

static void *allocate(uint64_t bytes) { return malloc((size_t)bytes); }

/* -- one source ------------------------------------------------------------------------------- */

static int compiled, validated, read_again;
static bool has_validator;

static char *source_of(const GpuKernelKey *key) {
  BurnHost host = {.allocate = allocate};
  uint64_t bytes = 0;
  const bool is_elementwise = key->text == GPU_TEXT_ELEMENTWISE || key->text == GPU_TEXT_ELEMENTWISE_ROWS ||
                              key->text == GPU_TEXT_ELEMENTWISE_TILES;
  const char *before = is_elementwise ? elementwise : definition[0] ? definition : NULL;
  char *text = burn__gpu_source(&host, key, before, &bytes);
  assert_non_null(text);
  char *whole = malloc(strlen(kernel_texts_prelude()) + (size_t)bytes);
  assert_non_null(whole);
  (void)sprintf(whole, "%s%s", kernel_texts_prelude(), text);
  free(text);
  return whole;
}

/* Zero, or one where the module is wrong. */
static int validate(const KernelModule *module, const char *what) {
  static const char path[] = "kernel_modules_test.spv";
  compiled++;
  if (!has_validator || compiled % EACH_VALIDATED != 0) return 0;
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(module->words, 4, module->word_count, file), module->word_count);
  (void)fclose(file);
  validated++;
  const int wrong = system("spirv-val --target-env vulkan1.3 kernel_modules_test.spv") != 0;
  if (wrong) print_message("%s: spirv-val finds it wrong\n", what);
  (void)remove(path);
  return wrong;
}

/* -- halves ----------------------------------------------------------------------------------- */

/* Numbers of SPIR-V. */
enum {
  EXT_INST = 12,
  CONSTANT = 43,
  LOAD = 61,
  STORE = 62,
  ACCESS_CHAIN = 65,
  DECORATE = 71,
  CONSTRUCT = 80,
  EXTRACT = 81,
  FIRST_RESULT = ACCESS_CHAIN,
  LAST_RESULT = 245,
  PACK = 58,
  UNPACK = 62
};

typedef struct Reader {
  bool *is_made; /* by id: of a half that the kernel has made, or a variable that holds one */
  bool *is_constant;
  uint32_t bound;
  bool has_changed, goes_back;
} Reader;

static bool is_made(const Reader *reader, uint32_t id) { return id < reader->bound && reader->is_made[id]; }

static void make(Reader *reader, uint32_t id) {
  if (id >= reader->bound || reader->is_made[id]) return;
  reader->is_made[id] = reader->has_changed = true;
}

/* Constants, and pairs of which the first number, which becomes the half, is one. */
static void note_constant(Reader *reader, const uint32_t *word) {
  const uint32_t op = word[0] & 0xffffu;
  if (op == CONSTANT || (op == CONSTRUCT && reader->is_constant[word[3]])) reader->is_constant[word[2]] = true;
}

/* Its results are made of what its operands are made of; words that are literals are left out. */
static void follow(Reader *reader, const uint32_t *word, uint32_t length) {
  const uint32_t op = word[0] & 0xffffu;
  if (op == STORE && is_made(reader, word[2])) make(reader, word[1]);
  note_constant(reader, word);
  if (op == EXT_INST && word[4] == PACK && !reader->is_constant[word[5]]) make(reader, word[2]);
  if (op == EXT_INST && word[4] == UNPACK) reader->goes_back = reader->goes_back || is_made(reader, word[5]);
  if (op == ACCESS_CHAIN && is_made(reader, word[2])) make(reader, word[3]);
  if (op != LOAD && (op < FIRST_RESULT || op > LAST_RESULT || op == DECORATE || length < 4)) return;
  const uint32_t end = op == LOAD || op == EXTRACT ? 4 : length;
  for (uint32_t i = 3; i < end; i++)
    if (is_made(reader, word[i])) make(reader, word[2]);
}

/* Counts where a half that the kernel has made becomes a number again. */
static void check_halves(const KernelModule *module, const char *what) {
  Reader reader = {.bound = module->words[3], .has_changed = true};
  reader.is_made = calloc(reader.bound, sizeof *reader.is_made);
  reader.is_constant = calloc(reader.bound, sizeof *reader.is_constant);
  assert_true(reader.is_made && reader.is_constant);
  while (reader.has_changed) {
    reader.has_changed = false;
    for (size_t at = 5; at < module->word_count; at += module->words[at] >> 16)
      follow(&reader, module->words + at, module->words[at] >> 16);
  }
  free(reader.is_made);
  free(reader.is_constant);
  if (reader.goes_back) print_message("%s: a half that was made is read again\n", what);
  read_again += reader.goes_back ? 1 : 0;
}

/* The name after __launch_bounds__(..), from `at` on, which goes on; NULL: no more. */
static const char *next_kernel(const char **at, char name[64]) {
  for (;;) {
    const char *found = strstr(*at, "__global__ void ");
    if (!found) return NULL;
    *at = found + 16;
    if (strncmp(*at, "__launch_bounds__(", 18) != 0) continue;
    int depth = 0;
    do depth += **at == '(' ? 1 : **at == ')' ? -1 : 0;
    while (*(*at)++ != ')' || depth > 0);
    if (sscanf(*at, " %63[a-zA-Z0-9_]", name) == 1) return name;
  }
}

static int compile_kernels(const GpuKernelKey *key, const KernelTarget *target) {
  char why[KERNEL_WHY_BYTES], name[64], what[128];
  char *source = source_of(key);
  const char *at = source;
  KernelProgram *program = burn__kernel_parse(source, target, why, sizeof why);
  int wrong = !program;
  (void)snprintf(what, sizeof what, "text %d, dtype %d, variant %u, join %d", (int)key->text, (int)key->in[0],
                 key->variant, (int)key->join);
  if (!program) print_message("%s: %s\n", what, why);
  while (program && next_kernel(&at, name)) {
    KernelModule module;
    const bool done = burn__kernel_emit(program, name, NULL, &module, why, sizeof why);
    if (!done && strstr(why, "there is no kernel")) continue; /* of another variant */
    if (!done) print_message("%s: %s: %s\n", what, name, why);
    if (done) check_halves(&module, what);
    wrong += done ? validate(&module, what) : 1;
    burn__kernel_module_free(&module);
  }
  burn__kernel_free(program);
  free(source);
  return wrong;
}

/* -- all of them ------------------------------------------------------------------------------ */

static const KernelTarget targets[] = {
    {.has_warps = false, .is_processor = true},
    {.has_warps = true,
     .fused_f32 = true,
     .fused_f64 = true,
     .exact_f32 = true,
     .exact_halves = true,
     .keeps_halves = true,
     .native_powers = true,
     .keeps_subnormals = {true, true, true},
     .keeps_nan = {true, true, true},
     .rounds_to_nearest = {true, true, true}},
};

static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16, BURN_DTYPE_F64, BURN_DTYPE_U8,
                                   BURN_DTYPE_I8,  BURN_DTYPE_I16, BURN_DTYPE_I32,  BURN_DTYPE_I64, BURN_DTYPE_BOOL};
static const size_t dtype_counts[] = {[F32] = 1, [FLOATS] = 4, [NUMBERS] = 9, [ALL] = 10};

static int compile_row(const Row *row) {
  int wrong = 0, turn = 0;
  for (size_t d = 0; d < dtype_counts[row->kinds]; d++)
    for (int join = 0; join < row->joins; join++)
      for (int v = 0; v < row->variant_count; v++) {
        const BurnDType dtype = dtypes[d];
        const GpuKernelKey key = {.text = row->text,
                                  .out = dtype,
                                  .in = {dtype, dtype, dtype},
                                  .variant = row->variants[v],
                                  .join = (GpuJoin)join};
        if (d > 0 && (d + (size_t)v) % 3 != 0) continue; /* f32 with all variants, the others with some */
        wrong += compile_kernels(&key, &targets[turn++ % 2]);
      }
  return wrong;
}

/* -- products by matrices ---------------------------------------------------------------------- */

/* Shapes of devices: NVIDIA's and AMD's, Intel's, those of Mesa's processor. */
static const struct {
  uint32_t lanes, rows, columns, depth, bytes;
  BurnDType in, out;
} shapes[] = {
    {32, 16, 16, 16, 2, BURN_DTYPE_F16, BURN_DTYPE_F16},  {32, 16, 16, 16, 2, BURN_DTYPE_BF16, BURN_DTYPE_F32},
    {32, 16, 16, 32, 1, BURN_DTYPE_I8, BURN_DTYPE_I32},   {64, 16, 16, 16, 2, BURN_DTYPE_F16, BURN_DTYPE_F32},
    {16, 8, 16, 16, 2, BURN_DTYPE_BF16, BURN_DTYPE_BF16}, {8, 8, 8, 8, 2, BURN_DTYPE_F16, BURN_DTYPE_F16},
    {8, 8, 8, 8, 1, BURN_DTYPE_I8, BURN_DTYPE_I8}};

/* Validators of 2023 do not know such matrices. */
static bool knows_matrices(void) { return has_validator && system("spirv-val --version | grep -q 'v202[4-9]'") == 0; }

static void test_products_by_matrices_compile(void **state) {
  int wrong = 0;
  (void)state;
  const bool has_any_validator = has_validator;
  has_validator = knows_matrices();
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    for (uint32_t variant = 0; variant < 16; variant++) {
      const BurnDType in = shapes[i].in;
      const GpuKernelKey key = {
          .text = GPU_TEXT_MATRIX_PRODUCT, .out = shapes[i].out, .in = {in, in, in}, .variant = variant};
      if ((variant + i) % 3 != 0 || (variant >= 4 && variant < 12 && shapes[i].lanes < 32)) continue;
      (void)snprintf(definition, sizeof definition,
                     "#define LANES %u\n#define MATRIX_ROWS %u\n#define MATRIX_COLUMNS %u\n#define MATRIX_DEPTH %u\n"
                     "#define ELEMENT_BYTES %u\n",
                     shapes[i].lanes, shapes[i].rows, shapes[i].columns, shapes[i].depth, shapes[i].bytes);
      wrong += compile_kernels(&key, &targets[variant / 12 ? 0 : 1]);
    }
  has_validator = has_any_validator;
  assert_int_equal(wrong, 0);
}

/* Each pass with 32 and 64 rows, by fours and one by one, with a mask and without, in widths of 32, 64 and 96. */
static void test_attention_by_matrices_compiles(void **state) {
  static const uint32_t variants[] = {16 + 128, 4 + 16 + 32 + 256, 1 + 4 + 16 + 32 + 64 + 256, 2 + 16 + 64 + 384,
                                      2 + 4 + 16 + 32 + 256};
  int wrong = 0;
  (void)state;
  const bool has_any_validator = has_validator;
  has_validator = knows_matrices();
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
      const BurnDType in = shapes[i].in;
      const GpuKernelKey key = {.text = GPU_TEXT_ATTENTION, .out = in, .in = {in, in, in}, .variant = variants[v]};
      if (in == BURN_DTYPE_I8) continue;
      (void)snprintf(definition, sizeof definition,
                     "#define BURN_DEPTH %d\n#define LANES %u\n#define MATRIX_ROWS %u\n#define MATRIX_COLUMNS %u\n"
                     "#define MATRIX_DEPTH %u\n",
                     v == 0 ? 32 : 64, shapes[i].lanes, shapes[i].rows, shapes[i].columns, shapes[i].depth);
      wrong += compile_kernels(&key, &targets[shapes[i].lanes == 8 ? 0 : 1]);
    }
  has_validator = has_any_validator;
  assert_int_equal(wrong, 0);
}

/* Each pass, with heads of one, four and eight matrices. */
static void test_attention_by_fragments_compiles(void **state) {
  static const int depths[] = {16, 64, 128};
  static const BurnDType halves[] = {BURN_DTYPE_F16, BURN_DTYPE_BF16};
  const KernelTarget *target = &targets[1];
  int wrong = 0;
  (void)state;
  const bool has_any_validator = has_validator;
  has_validator = knows_matrices();
  for (uint32_t i = 0; i < 12; i++) {
    const BurnDType in = halves[i / 3 % 2];
    const GpuKernelKey key = {
        .text = GPU_TEXT_ATTENTION_FRAGMENTS, .out = in, .in = {in, in, in}, .variant = i % 3 + i / 6 * 8};
    (void)snprintf(definition, sizeof definition, "#define BURN_DEPTH %d\n#define SHARES %d\n", depths[(i + i / 3) % 3],
                   i < 6 ? 1 : 2);
    wrong += compile_kernels(&key, target);
  }
  has_validator = has_any_validator;
  assert_int_equal(wrong, 0);
}

static void test_all_texts_compile(void **state) {
  int wrong = 0;
  (void)state;
  has_validator = system("spirv-val --version >/dev/null 2>&1") == 0;
  if (!has_validator) print_message("not validated: there is no spirv-val\n");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) wrong += compile_row(&rows[i]);
  print_message("%d kernels compiled, %d validated\n", compiled, validated);
  assert_int_equal(wrong, 0);
}

/* On a device that converts halves by itself but for those that are read again. */
static void test_no_kernel_reads_a_half_that_it_made(void **state) {
  const KernelTarget target = {.fused_f32 = true, .fused_f64 = true, .exact_f32 = true, .exact_halves = true};
  const BurnDType f16 = BURN_DTYPE_F16;
  (void)state;
  has_validator = false;
  definition[0] = '\0';
  read_again = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int join = 0; join < rows[i].joins && rows[i].kinds != F32; join++)
      for (int v = 0; v < rows[i].variant_count; v++) {
        const GpuKernelKey key = {.text = rows[i].text,
                                  .out = f16,
                                  .in = {f16, f16, f16},
                                  .variant = rows[i].variants[v],
                                  .join = (GpuJoin)join};
        (void)compile_kernels(&key, &target); /* some read only f32 */
      }
  assert_int_equal(read_again, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_texts_compile),
      cmocka_unit_test(test_products_by_matrices_compile),
      cmocka_unit_test(test_attention_by_matrices_compiles),
      cmocka_unit_test(test_attention_by_fragments_compiles),
      cmocka_unit_test(test_no_kernel_reads_a_half_that_it_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
