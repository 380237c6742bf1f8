/* fake_spirv.c - what a module asks for: capabilities, float controls, threads and shared memory, which the pretended
 * device must have. Sizes of structs are counted without padding. */
#include "fake_vulkan.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of SPIR-V. */
enum {
  OP_EXECUTION_MODE = 16,
  OP_CAPABILITY = 17,
  OP_TYPE_BOOL = 20,
  OP_TYPE_INT = 21,
  OP_TYPE_FLOAT = 22,
  OP_TYPE_VECTOR = 23,
  OP_TYPE_ARRAY = 28,
  OP_TYPE_STRUCT = 30,
  OP_TYPE_POINTER = 32,
  OP_CONSTANT = 43,
  OP_VARIABLE = 59,
  LOCAL_SIZE = 17,
  FIRST_FLOAT_CONTROL = 4459,
  LAST_FLOAT_CONTROL = 4463,
  WORKGROUP = 4
};

typedef struct Need {
  uint32_t capability;
  const char *feature; /* of vulkan_features.def; NULL: an operation of subgroups */
} Need;

static const Need needs[] = {{9, "shaderFloat16"},
                             {10, "shaderFloat64"},
                             {11, "shaderInt64"},
                             {12, "shaderBufferInt64Atomics"},
                             {22, "shaderInt16"},
                             {39, "shaderInt8"},
                             {62, NULL}, /* GroupNonUniformVote .. GroupNonUniformQuad; 61 is in all */
                             {63, NULL},
                             {64, NULL},
                             {65, NULL},
                             {66, NULL},
                             {67, NULL},
                             {68, NULL},
                             {4433, "storageBuffer16BitAccess"},
                             {4435, "storagePushConstant16"},
                             {4448, "storageBuffer8BitAccess"},
                             {4450, "storagePushConstant8"},
                             {5345, "vulkanMemoryModel"},
                             {5346, "vulkanMemoryModelDeviceScope"},
                             {5347, "bufferDeviceAddress"}};

/* A module as it is read: `sizes` of the types, and `values` of constants, by id. */
typedef struct Reading {
  uint32_t bound;
  uint64_t *sizes, *values;
  uint32_t *pointees;
  uint64_t shared;
} Reading;

static void check_capability(uint32_t capability) {
  for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
    if (needs[i].capability != capability) continue;
    if (needs[i].feature && fake_lacks(needs[i].feature))
      fake_complain("a module needs %s, which is not there", needs[i].feature);
    if (!needs[i].feature && fake_device()->no_shuffle)
      fake_complain("a module needs operations of subgroups (capability %u), which are not there", capability);
  }
}

/* ExecutionMode: entry, mode, numbers. */
static void check_mode(const uint32_t *word, uint32_t length) {
  const uint64_t most = fake_device()->threads;
  if (length >= 6 && word[2] == LOCAL_SIZE && most > 0 && (uint64_t)word[3] * word[4] * word[5] > most)
    fake_complain("a module has groups of %u x %u x %u threads, where %llu are allowed", word[3], word[4], word[5],
                  (unsigned long long)most);
  if (length >= 3 && word[2] >= FIRST_FLOAT_CONTROL && word[2] <= LAST_FLOAT_CONTROL && fake_device()->no_controls)
    fake_complain("a module has float control %u, which is not there", word[2]);
}

/* The size of a type; 0 for what is none. Ids are below the bound. */
static uint64_t size_of(const Reading *reading, const uint32_t *word, uint32_t length) {
  uint64_t size = 0;
  switch (word[0] & 0xffffu) {
    case OP_TYPE_BOOL:
      return 4;
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT:
      return word[2] / 8;
    case OP_TYPE_VECTOR:
      return reading->sizes[word[2] % reading->bound] * word[3];
    case OP_TYPE_ARRAY:
      return reading->sizes[word[2] % reading->bound] * reading->values[word[3] % reading->bound];
    case OP_TYPE_STRUCT:
      for (uint32_t i = 2; i < length; i++) size += reading->sizes[word[i] % reading->bound];
      return size;
    default:
      return 0;
  }
}

static void read_instruction(Reading *reading, const uint32_t *word, uint32_t length) {
  const uint32_t op = word[0] & 0xffffu;
  if (op == OP_CAPABILITY && length >= 2) check_capability(word[1]);
  if (op == OP_EXECUTION_MODE) check_mode(word, length);
  if (op == OP_CONSTANT && length >= 4) reading->values[word[2] % reading->bound] = word[3];
  if (op == OP_TYPE_POINTER && length >= 4) reading->pointees[word[1] % reading->bound] = word[3];
  if (op == OP_VARIABLE && length >= 4 && word[3] == WORKGROUP)
    reading->shared += reading->sizes[reading->pointees[word[1] % reading->bound] % reading->bound];
  const uint64_t size = length >= 2 ? size_of(reading, word, length) : 0;
  if (size > 0) reading->sizes[word[1] % reading->bound] = size;
}

static void read_all(Reading *reading, const uint32_t *words, size_t count) {
  for (size_t at = 5; at < count;) {
    const uint32_t length = words[at] >> 16;
    if (length == 0 || length > count - at) {
      fake_complain("a module has an instruction of %u words at word %zu of %zu", length, at, count);
      return;
    }
    read_instruction(reading, words + at, length);
    at += length;
  }
}

void fake_check_module(const VkShaderModuleCreateInfo *info) {
  const uint64_t most = fake_device()->shared;
  const size_t count = info->codeSize / 4;
  if (count < 5 || info->pCode[0] != 0x07230203u || info->pCode[3] == 0 || info->pCode[3] > 1u << 24) {
    fake_complain("a module of %zu bytes is none", info->codeSize);
    return;
  }
  Reading reading = {.bound = info->pCode[3]};
  reading.sizes = calloc(reading.bound, sizeof *reading.sizes);
  reading.values = calloc(reading.bound, sizeof *reading.values);
  reading.pointees = calloc(reading.bound, sizeof *reading.pointees);
  if (reading.sizes && reading.values && reading.pointees) read_all(&reading, info->pCode, count);
  if (most > 0 && reading.shared > most)
    fake_complain("a module shares %llu bytes in a group, where %llu are allowed", (unsigned long long)reading.shared,
                  (unsigned long long)most);
  free(reading.sizes);
  free(reading.values);
  free(reading.pointees);
}
