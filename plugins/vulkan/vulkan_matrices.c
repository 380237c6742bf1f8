/* vulkan_matrices.c - which products go by the matrices that subgroups multiply: of the shapes that the driver lists,
 * those that a kernel has found to be right when the device is opened. Drivers have listed what they cannot do. */
#include "vulkan_internal.h"
#include "vulkan_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 4 };

typedef enum Number { F16, BF16, I8, NUMBERS } Number;
static const struct {
  const char *name, *sum;
  uint32_t bytes;
} numbers[NUMBERS] = {{"f16_t", "float", 2}, {"bf16_t", "float", 2}, {"int8_t", "int32_t", 1}};

/* A shape that is tried, and where things lie in the memory that it is tried with. */
typedef struct Trial {
  Number number;
  VulkanMatrix shape;
  uint32_t words;   /* of a vector, as kernels/matrix_test.cu has it */
  uint32_t vector;  /* elements of it */
  uint32_t given;   /* bytes */
  uint32_t pitch;   /* words of a row of results */
  bool by_elements; /* given and taken so */
} Trial;

typedef struct Parameters {
  uint64_t given, results;
} Parameters;

/* -- what is given, and what is right ---------------------------------------------------------- */

static uint32_t pitch_of(const Trial *trial, uint32_t length) { return (length / trial->vector | 1u) * trial->vector; }

/* Small integers, which all kinds of numbers have, different for neighbours of both axes. */
static int32_t left_at(uint32_t row, uint32_t k) { return (int32_t)((row * 5 + k * 3 + row * k) % 23) - 11; }
static int32_t right_at(uint32_t k, uint32_t column) { return (int32_t)((k * 7 + column * 2 + k * column) % 19) - 9; }

static uint16_t half_of(int32_t x) {
  uint16_t exponent = 15;
  uint32_t size = (uint32_t)(x < 0 ? -x : x);
  if (size == 0) return 0;
  for (; size < 1024; size <<= 1) exponent--;
  return (uint16_t)((x < 0 ? 0x8000u : 0u) | (uint32_t)(exponent + 10) << 10 | (size & 1023u));
}

static uint16_t brain_of(int32_t x) {
  const float real = (float)x;
  uint32_t bits;
  memcpy(&bits, &real, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static void put(const Trial *trial, unsigned char *at, uint32_t index, int32_t x) {
  const uint16_t bits = trial->number == F16 ? half_of(x) : brain_of(x);
  if (trial->number == I8)
    at[index] = (unsigned char)(int8_t)x;
  else
    memcpy(at + 2 * (size_t)index, &bits, sizeof bits);
}

/* A factor by rows, then by columns; returns where it ends. */
static unsigned char *put_factor(const Trial *trial, unsigned char *at, uint32_t rows, uint32_t columns,
                                 int32_t (*element)(uint32_t, uint32_t)) {
  const uint32_t bytes = numbers[trial->number].bytes;
  for (uint32_t turned = 0; turned < 2; turned++) {
    const uint32_t lines = turned ? columns : rows, length = turned ? rows : columns, pitch = pitch_of(trial, length);
    for (uint32_t line = 0; line < lines; line++)
      for (uint32_t i = 0; i < length; i++)
        put(trial, at, line * pitch + i, turned ? element(i, line) : element(line, i));
    at += (size_t)lines * pitch * bytes;
  }
  return at;
}

static bool is_right(const Trial *trial, const unsigned char *results) {
  const VulkanMatrix *shape = &trial->shape;
  for (uint32_t i = 0; i < WAYS * shape->rows * shape->columns; i++) {
    const uint32_t column = i % shape->columns, row = i / shape->columns % shape->rows;
    const uint32_t way = i / shape->columns / shape->rows;
    int32_t sum = (int32_t)way + 1, got;
    float real;
    for (uint32_t k = 0; k < shape->depth; k++) sum += left_at(row, k) * right_at(k, column);
    memcpy(&got, results + 4 * (size_t)((way * shape->rows + row) * trial->pitch + column), sizeof got);
    memcpy(&real, &got, sizeof real);
    if (trial->number == I8 ? got != sum : real != (float)sum) return false;
  }
  return true;
}

/* -- a trial ----------------------------------------------------------------------------------- */

static uint32_t given_bytes(const Trial *trial) {
  const VulkanMatrix *s = &trial->shape;
  const uint32_t left = s->rows * pitch_of(trial, s->depth) + s->depth * pitch_of(trial, s->rows);
  const uint32_t right = s->depth * pitch_of(trial, s->columns) + s->columns * pitch_of(trial, s->depth);
  return (left + right) * numbers[trial->number].bytes;
}

static Trial trial_of(Number number, const VulkanMatrix *shape) {
  Trial trial = {.number = number, .shape = *shape};
  const uint32_t bytes = numbers[number].bytes;
  trial.words = (shape->rows | shape->columns | shape->depth) * bytes % 16 == 0 ? 4 : 2;
  trial.vector = trial.words * 4 / bytes;
  trial.given = given_bytes(&trial);
  trial.pitch = (shape->columns / trial.words + 1) * trial.words;
  return trial;
}

/* The text, with what it is to know before it; to be freed with free. */
static char *source_of(const Vulkan *vulkan, const Trial *trial) {
  const size_t bytes = strlen(burn__vulkan_text_matrix_test) + 400;
  char *source = malloc(bytes);
  if (!source) return NULL;
  (void)snprintf(source, bytes,
                 "#define NUMBER %s\n#define SUM %s\n#define LANES %u\n#define MATRIX_ROWS %u\n"
                 "#define MATRIX_COLUMNS %u\n#define MATRIX_DEPTH %u\n#define ELEMENT_BYTES %u\n"
                 "#define BY_ELEMENTS %d\n%s",
                 numbers[trial->number].name, numbers[trial->number].sum, vulkan->gpu.matrices.lanes, trial->shape.rows,
                 trial->shape.columns, trial->shape.depth, numbers[trial->number].bytes, trial->by_elements ? 1 : 0,
                 burn__vulkan_text_matrix_test);
  return source;
}

static BurnStatus launch(Vulkan *vulkan, const Trial *trial, const Parameters *parameters, GpuModule **module) {
  Gpu *gpu = &vulkan->gpu;
  GpuFunction *function = NULL;
  char *source = source_of(vulkan, trial);
  if (!source) return VULKAN_FAIL(vulkan, OUT_OF_MEMORY, "no memory of the host for a kernel");
  BurnStatus status = burn__gpu_load(gpu, source, module);
  free(source);
  if (status == BURN_OK) status = burn__gpu_function(gpu, *module, "kernel", &function);
  if (status == BURN_OK)
    status = burn__gpu_launch(gpu, function, 1, gpu->matrices.lanes, parameters, sizeof *parameters);
  return status == BURN_OK ? burn__vulkan_drain(vulkan) : status;
}

static BurnStatus run(Vulkan *vulkan, const Trial *trial, bool *right) {
  const uint64_t results = WAYS * (uint64_t)trial->shape.rows * trial->pitch * 4;
  VulkanBuffer buffer = {0};
  GpuModule *module = NULL;
  const VkResult result = burn__vulkan_buffer_make(vulkan, VULKAN_PLACE_DOWNLOAD, trial->given + results, &buffer);
  if (result != VK_SUCCESS) return burn__vulkan_check(vulkan, result, "memory for a trial of matrices");
  memset(buffer.mapped, 0, (size_t)(trial->given + results));
  unsigned char *end =
      put_factor(trial, (unsigned char *)buffer.mapped, trial->shape.rows, trial->shape.depth, left_at);
  (void)put_factor(trial, end, trial->shape.depth, trial->shape.columns, right_at);
  const Parameters parameters = {buffer.address, buffer.address + trial->given};
  const BurnStatus status = launch(vulkan, trial, &parameters, &module);
  *right = status == BURN_OK && is_right(trial, (const unsigned char *)buffer.mapped + trial->given);
  burn__vulkan_end_trial(vulkan, status, &buffer, module);
  return status;
}

/* -- all of them ------------------------------------------------------------------------------- */

/* As many as pipelines with matrices have in a subgroup (vulkan_kernels.c); 0: that is not known. */
static uint32_t lanes_of(const VulkanCaps *caps) {
  if (caps->least_subgroup == caps->most_subgroup) return caps->subgroup;
  return caps->may_ask_size && caps->least_subgroup <= 32 && caps->most_subgroup >= 32 ? 32 : 0;
}

/* A shape whose lines are vectors, of which the shared memory of a group has room for the trial. */
static bool is_fit(const Vulkan *vulkan, Number number, const VulkanMatrix *shape) {
  const uint32_t bytes = numbers[number].bytes;
  if (shape->rows == 0 || (shape->rows | shape->columns | shape->depth) * bytes % 8 != 0) return false;
  const Trial trial = trial_of(number, shape);
  return trial.given + WAYS * shape->rows * trial.pitch * 4 <= vulkan->caps.shared_bytes;
}

/* `status`: why a trial was not made. */
static void tell(const Vulkan *vulkan, uint32_t level, Number number, const VulkanMatrix *shape, const char *what,
                 BurnStatus status) {
  static const char *const names[NUMBERS] = {"f16", "bf16", "i8"};
  char line[400], why[200] = "";
  if (!vulkan->gpu.host->log_enabled(level)) return;
  if (status != BURN_OK) (void)vulkan->gpu.host->status_message(status, why, sizeof why);
  (void)snprintf(line, sizeof line, "%.100s: matrices of %s, %u x %u x %u, %s%s", vulkan->caps.name, names[number],
                 shape->rows, shape->columns, shape->depth, what, why);
  vulkan->gpu.host->log(level, vulkan->gpu.name, line);
}

/* Whether opening fails by what a trial met: a device that is broken, or want of memory, which says nothing about
 * matrices. Without them all else goes on. */
static bool ends_opening(const Vulkan *vulkan, BurnStatus status) {
  return vulkan_broken(vulkan) != VK_SUCCESS || burn_status_code(status) == BURN_STATUS_OUT_OF_MEMORY;
}

static BurnStatus try_number(Vulkan *vulkan, Number number, const VulkanMatrix *shape, GpuMatrixShape *out) {
  bool right = false;
  if (!is_fit(vulkan, number, shape)) return BURN_OK;
  const Trial trial = trial_of(number, shape);
  const BurnStatus status = run(vulkan, &trial, &right);
  if (ends_opening(vulkan, status)) return status;
  if (right) *out = (GpuMatrixShape){.rows = shape->rows, .columns = shape->columns, .depth = shape->depth};
  if (right) tell(vulkan, BURN_LOG_INFO, number, shape, "are used", BURN_OK);
  if (!right)
    tell(vulkan, BURN_LOG_WARN, number, shape,
         status == BURN_OK ? "are not used: the driver multiplies them wrong" : "are not used: the trial failed: ",
         status);
  return BURN_OK;
}

/* Which elements threads have, no driver tells. Some kernels know those that NVIDIA's has. */
static BurnStatus try_elements(Vulkan *vulkan, Number number, GpuMatrixShape *shape) {
  const VulkanMatrix side = {.rows = 16, .columns = 16, .depth = 16};
  const bool is_square = shape->rows == 16 && shape->columns == 16 && shape->depth == 16;
  if (!is_square || vulkan->gpu.matrices.lanes != 32 || !vulkan->target.has_warps) return BURN_OK;
  Trial trial = trial_of(number, &side);
  trial.by_elements = true;
  const BurnStatus status = run(vulkan, &trial, &shape->has_fragments);
  if (ends_opening(vulkan, status)) return status;
  tell(vulkan, BURN_LOG_INFO, number, &side,
       shape->has_fragments ? "have known elements" : "have elements that are not known ", status);
  return BURN_OK;
}

BurnStatus burn__vulkan_try_matrices(Vulkan *vulkan) {
  const VulkanCaps *caps = &vulkan->caps;
  GpuMatrices *matrices = &vulkan->gpu.matrices;
  const bool always = vulkan->settings.matrices == VULKAN_MATRICES_ALWAYS;
  if (vulkan->settings.matrices == VULKAN_MATRICES_NEVER || (caps->is_cpu && !always)) return BURN_OK;
  matrices->lanes = lanes_of(caps);
  matrices->for_all = always;
  matrices->tile = vulkan->settings.matrix_tile;
  if (matrices->lanes == 0) return BURN_OK;
  BurnStatus status = try_number(vulkan, F16, &caps->f16_matrix, &matrices->f16);
  if (status == BURN_OK) status = try_number(vulkan, BF16, &caps->bf16_matrix, &matrices->bf16);
  if (status == BURN_OK) status = try_number(vulkan, I8, &caps->i8_matrix, &matrices->i8);
  if (status == BURN_OK) status = try_elements(vulkan, F16, &matrices->f16);
  if (status == BURN_OK) status = try_elements(vulkan, BF16, &matrices->bf16);
  return status;
}
