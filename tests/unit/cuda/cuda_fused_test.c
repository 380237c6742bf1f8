/* cuda_fused_test.c - fused bodies of the CUDA backend on a driver that runs no kernel: they compile for three
 * architectures without frames in memory, other sizes compile nothing, and what cannot be is refused. Numbers:
 * ../cuda_emulated. */
#include "forked.h"

#include <burn/op_call.h>
#include <burn/plugin/fused.h>

#include <dirent.h>
#include <elf.h>
#include <string.h>

enum { MAX_STEPS = 8 };

typedef struct Step {
  uint32_t op;
  int32_t inputs[2]; /* values: 0 is the input; -1: none */
  double number;     /* the scalar; of a reduction the axis */
} Step;

typedef struct Example {
  const char *name, *told; /* by describe, NULL: it is refused */
  int64_t shape[3];
  uint32_t step_count;
  Step steps[MAX_STEPS];
  BurnDType dtype;
} Example;

#define SOFTMAX                                                                                                        \
  {                                                                                                                    \
    {BURN_OP_max_dim, {0, -1}, 2}, {BURN_OP_sub, {0, 1}, 0}, {BURN_OP_exp, {2, -1}, 0}, {BURN_OP_sum_dim, {3, -1}, 2}, \
    {                                                                                                                  \
      BURN_OP_div, {3, 4}, 0                                                                                           \
    }                                                                                                                  \
  }

static const Example examples[] = {
    {"gelu",
     "elements: 1 loads, 5 steps, 0 reductions, 1 stores",
     {1, 1024, 2048},
     5,
     {{BURN_OP_div_scalar, {0, -1}, 1.4142135623730951},
      {BURN_OP_erf, {1, -1}, 0},
      {BURN_OP_add_scalar, {2, -1}, 1},
      {BURN_OP_mul, {0, 3}, 0},
      {BURN_OP_div_scalar, {4, -1}, 2}},
     BURN_DTYPE_F32},
    {"short rows",
     "rows of 100 by 32 threads, kept in registers: 1 loads, 3 steps, 2 reductions, 1 stores",
     {2, 3, 100},
     5,
     SOFTMAX,
     BURN_DTYPE_F32},
    {"rows",
     "rows of 4096 by 512 threads, kept in registers: 1 loads, 3 steps, 2 reductions, 1 stores",
     {2, 3, 4096},
     5,
     SOFTMAX,
     BURN_DTYPE_F32},
    {"long rows",
     "rows of 40000 by 512 threads, read again by each loop: 1 loads, 3 steps, 2 reductions, 1 stores",
     {2, 3, 40000},
     5,
     SOFTMAX,
     BURN_DTYPE_F32},
    {"columns",
     "columns: 1 loads, 1 steps, 1 reductions, 1 stores",
     {1, 1000, 30},
     2,
     {{BURN_OP_mul, {0, 0}, 0}, {BURN_OP_sum_dim, {1, -1}, 1}},
     BURN_DTYPE_F32},
    {"total",
     "all elements: 1 loads, 2 steps, 1 reductions, 1 stores",
     {10, 100, 30},
     3,
     {{BURN_OP_mul, {0, 0}, 0}, {BURN_OP_sum, {1, -1}, 0}, {BURN_OP_sqrt, {2, -1}, 0}},
     BURN_DTYPE_F32},
    {"elements of f64",
     "elements: 1 loads, 4 steps, 0 reductions, 1 stores",
     {1, 1024, 2048},
     4,
     {{BURN_OP_div_scalar, {0, -1}, 3},
      {BURN_OP_exp, {1, -1}, 0},
      {BURN_OP_mul, {0, 2}, 0},
      {BURN_OP_sqrt, {3, -1}, 0}},
     BURN_DTYPE_F64},
    {"columns of a middle axis",
     "columns: 1 loads, 1 steps, 1 reductions, 1 stores",
     {4, 1000, 30},
     2,
     {{BURN_OP_exp, {0, -1}, 0}, {BURN_OP_sum_dim, {1, -1}, 1}},
     BURN_DTYPE_F32},
    {"rows of f64",
     "rows of 1000 by 128 threads, kept in registers: 1 loads, 2 steps, 1 reductions, 1 stores",
     {2, 3, 1000},
     3,
     {{BURN_OP_exp, {0, -1}, 0}, {BURN_OP_sum_dim, {1, -1}, 2}, {BURN_OP_sub, {1, 2}, 0}},
     BURN_DTYPE_F64},
    {"integers",
     "elements: 1 loads, 4 steps, 0 reductions, 1 stores",
     {1, 1024, 2048},
     4,
     {{BURN_OP_div_scalar, {0, -1}, 3},
      {BURN_OP_bitwise_and, {0, 1}, 0},
      {BURN_OP_remainder, {2, 1}, 0},
      {BURN_OP_clamp_min, {3, -1}, 2.5}},
     BURN_DTYPE_I16},
    {"a total of integers",
     "all elements: 1 loads, 1 steps, 1 reductions, 1 stores",
     {10, 100, 30},
     2,
     {{BURN_OP_mul, {0, 0}, 0}, {BURN_OP_sum, {1, -1}, 0}},
     BURN_DTYPE_I32},
    {"results along a middle axis",
     NULL,
     {4, 5, 6},
     3,
     {{BURN_OP_exp, {0, -1}, 0}, {BURN_OP_sum_dim, {1, -1}, 1}, {BURN_OP_div, {1, 2}, 0}},
     BURN_DTYPE_F32},
};
enum { EXAMPLES = sizeof examples / sizeof examples[0] };

static BurnInterface fused;
static const BurnFusedInterface *table(void) { return fused.table; }

static bool reduces(uint32_t op) { return op == BURN_OP_max_dim || op == BURN_OP_sum_dim; }

static BurnTensorDesc result_of(const Step *step, const BurnTensorDesc *values) {
  BurnTensorDesc desc = values[step->inputs[0]];
  if (step->op == BURN_OP_sum) return (BurnTensorDesc){desc.dtype, 1, {1}};
  if (reduces(step->op)) desc.shape[(int)step->number] = 1;
  return desc;
}

/* `first` is the size of the first axis; the kernel is the caller's. */
static BurnFusedKernel *compile(const Example *example, int64_t first, char why[200]) {
  BurnTensorDesc values[1 + MAX_STEPS] = {{example->dtype, 3, {first, example->shape[1], example->shape[2]}}};
  BurnFusedStep steps[MAX_STEPS];
  uint32_t inputs[MAX_STEPS][2];
  BurnAttr attrs[MAX_STEPS];
  BurnFusedKernel *kernel = NULL;
  const uint32_t output = example->step_count;
  for (uint32_t i = 0; i < example->step_count; i++) {
    const Step *step = &example->steps[i];
    const uint32_t count = step->inputs[1] < 0 ? 1 : 2;
    for (uint32_t k = 0; k < count; k++) inputs[i][k] = (uint32_t)step->inputs[k];
    attrs[i] = reduces(step->op) ? burn_attr_i64((int64_t)step->number) : burn_attr_f64(step->number);
    values[i + 1] = result_of(step, values);
    steps[i] = (BurnFusedStep){step->op, count, step->number != 0 ? 1 : 0, 1, inputs[i], &attrs[i]};
  }
  const BurnFusedBody body = {(uint32_t)sizeof body, 1, example->step_count, 1, values, steps, &output};
  CHECK(table()->compile(fused.self, &body, &kernel, why, 200) == BURN_OK, "%s fails", example->name);
  return kernel;
}

static void check_example(const Example *example) {
  char text[200] = "";
  BurnFusedKernel *kernel = compile(example, example->shape[0], text);
  CHECK((kernel != NULL) == (example->told != NULL), "%s is refused: %s", example->name, text);
  if (!kernel) {
    check_contains(text, "a result that is needed for all elements");
    return;
  }
  table()->describe(fused.self, kernel, text, sizeof text);
  CHECK(strcmp(text, example->told) == 0, "%s is told as: %s", example->name, text);
  table()->release(fused.self, kernel);
}

/* -- images ----------------------------------------------------------------------------------- */

/* In ".nv.info": 0x04, 0x11 (frame size), 8 bytes follow: a symbol and the bytes. How many of these there are. */
static uint32_t check_frames(const char *path, const unsigned char *at, size_t bytes) {
  static const unsigned char mark[] = {0x04, 0x11, 0x08, 0x00};
  uint32_t found = 0, frame = 0;
  for (size_t i = 0; i + 12 <= bytes; i++) {
    if (memcmp(at + i, mark, sizeof mark) != 0) continue;
    memcpy(&frame, at + i + 8, sizeof frame);
    found++;
    CHECK(frame == 0, "a kernel of %s has %u bytes of its registers in memory", path, frame);
  }
  return found;
}

static Elf64_Shdr section_of(const unsigned char *image, size_t bytes, const Elf64_Ehdr *head, uint32_t index) {
  Elf64_Shdr section;
  const uint64_t at = head->e_shoff + (uint64_t)index * head->e_shentsize;
  CHECK(index < head->e_shnum && at + sizeof section <= bytes, "section %u lies outside", index);
  memcpy(&section, image + at, sizeof section);
  CHECK(section.sh_type == SHT_NOBITS || section.sh_offset + section.sh_size <= bytes, "section %u is cut off", index);
  return section;
}

/* The code of a kernel may have any bytes: only the sections that tell of it are looked at. */
static void check_frame(const char *path) {
  static unsigned char cached[1 << 20];
  Elf64_Ehdr head;
  FILE *file = fopen(path, "rb");
  CHECK(file, "no file %s", path);
  const size_t all = fread(cached, 1, sizeof cached, file);
  size_t begin = 0; /* after the cache's own header */
  uint32_t found = 0;
  (void)fclose(file);
  while (begin + sizeof head <= all && memcmp(cached + begin, ELFMAG, SELFMAG) != 0) begin++;
  const unsigned char *image = cached + begin;
  const size_t bytes = all - begin;
  CHECK(bytes >= sizeof head, "%s holds no image", path);
  memcpy(&head, image, sizeof head);
  const Elf64_Shdr names = section_of(image, bytes, &head, head.e_shstrndx);
  for (uint32_t i = 0; i < head.e_shnum; i++) {
    const Elf64_Shdr section = section_of(image, bytes, &head, i);
    const char *name = (const char *)image + names.sh_offset + section.sh_name;
    if (strncmp(name, ".nv.info", 8) == 0) found += check_frames(path, image + section.sh_offset, section.sh_size);
  }
  CHECK(found > 0, "%s tells no frame", path);
}

/* How many images there are, each looked at. */
static int check_images(const char *folder) {
  char path[600];
  int count = 0;
  DIR *images = opendir(folder);
  CHECK(images, "no folder %s", folder);
  for (struct dirent *entry = readdir(images); entry; entry = readdir(images)) {
    if (!strstr(entry->d_name, ".cubin")) continue;
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    check_frame(path);
    count++;
  }
  (void)closedir(images);
  return count;
}

/* -- tests ------------------------------------------------------------------------------------ */

static char cache[64];

static BurnDevice *open_fake(const char *architecture) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_FAKE_CUDA_ARCHITECTURE", architecture, 1);
  setenv("XDG_CACHE_HOME", cache, 1);
  BurnDevice *device = burn_device_open("cuda");
  if (burn_device_status(device) != BURN_OK) {
    check_contains(burn_status_message(burn_device_status(device)), "libnvrtc.so");
    printf("NVRTC is not here: bodies are not compiled\n");
    fflush(stdout);
    _exit(0);
  }
  const BurnBackend *backend = burn_device_backend(device);
  CHECK(backend->get_interface(backend->self, BURN_FUSED_INTERFACE, 1, &fused) == 1, "there is no burn.fused");
  return device;
}

static void compile_all(void *architecture) {
  char folder[100];
  BurnDevice *device = open_fake(architecture);
  for (size_t i = 0; i < EXAMPLES; i++) check_example(&examples[i]);
  (void)snprintf(folder, sizeof folder, "%s/burn/cuda", cache);
  CHECK(check_images(folder) == EXAMPLES - 1, "there are %d images of %d bodies", check_images(folder), EXAMPLES - 1);
  burn_device_close(device);
}

static void compile_other_sizes(void *context) {
  char folder[100], why[200];
  (void)context;
  BurnDevice *device = open_fake("90");
  for (size_t i = 0; i < EXAMPLES; i++) check_example(&examples[i]);
  (void)snprintf(folder, sizeof folder, "%s/burn/cuda", cache);
  const int before = check_images(folder);
  for (int64_t first = 7; first < 10; first++)
    for (size_t i = 1; i < 4; i++) table()->release(fused.self, compile(&examples[i], first, why));
  CHECK(check_images(folder) == before, "other batches compiled %d kernels", check_images(folder) - before);
  burn_device_close(device);
}

static void in_a_folder(void (*function)(void *), void *context) {
  char command[100];
  make_folder(cache);
  forked(function, context);
  (void)snprintf(command, sizeof command, "rm -r '%s'", cache);
  assert_int_equal(system(command), 0);
}

static void test_bodies_compile(void **state) {
  static char architectures[][4] = {"80", "90", "100"};
  (void)state;
  for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
    in_a_folder(compile_all, architectures[i]);
}

static void test_other_batches_compile_nothing(void **state) {
  (void)state;
  in_a_folder(compile_other_sizes, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bodies_compile),
                                     cmocka_unit_test(test_other_batches_compile_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
