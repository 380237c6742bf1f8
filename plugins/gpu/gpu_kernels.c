/* gpu_kernels.c - kernels from texts: the source of one, the functions that have been made ready. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- sources ---------------------------------------------------------------------------------- */

static const char *const texts[GPU_TEXT_COUNT] = {
#define GPU_TEXT(KEY, name) burn__gpu_text_##name,
#include "texts.def"
#undef GPU_TEXT
};

/* Texts that come before several others, each before those whose bits it has. */
#define BEFORE(KEY) (UINT64_C(1) << GPU_TEXT_##KEY)
static const struct {
  uint64_t users;
  const char *text;
} shared_texts[] = {
    {BEFORE(REDUCE) | BEFORE(SCAN) | BEFORE(INDEX), burn__gpu_text_join},
    {BEFORE(INDEX) | BEFORE(LOSS), burn__gpu_text_complaint},
    {BEFORE(SOFTMAX) | BEFORE(LAYER_NORM) | BEFORE(LOSS), burn__gpu_text_row},
    {BEFORE(ELEMENTWISE) | BEFORE(ELEMENTWISE_ROWS) | BEFORE(ELEMENTWISE_TILES), burn__gpu_text_operands},
    {BEFORE(SMALL_PRODUCT) | BEFORE(PRODUCT) | BEFORE(DIRECT_PRODUCT) | BEFORE(MATRIX_PRODUCT) | BEFORE(PRODUCT_PARTS) |
         BEFORE(IMPLICIT_CONV),
     burn__gpu_text_sums},
    {BEFORE(SMALL_PRODUCT) | BEFORE(PRODUCT) | BEFORE(IMPLICIT_CONV), burn__gpu_text_tiles},
    {BEFORE(ATTENTION) | BEFORE(ATTENTION_PLAIN) | BEFORE(MATRIX_CONV), burn__gpu_text_tensor_cores},
    {BEFORE(ATTENTION_PLAIN) | BEFORE(ATTENTION_F32), burn__gpu_text_attention_rows},
    {BEFORE(ATTENTION) | BEFORE(ATTENTION_FRAGMENTS), burn__gpu_text_attention_parts},
    {BEFORE(ATTENTION), burn__gpu_text_attention_products},
    {BEFORE(ATTENTION), burn__gpu_text_attention_matrices},
};

/* The functions that expressions call, as text. */
static const char *const functions[] = {
#define BURN_FUNCTION(type, name, arguments, ...) \
  "static __device__ inline " #type " " #name #arguments " { " #__VA_ARGS__ " }\n",
#include "common/functions.def"
};

static const char *element_type(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_BOOL:
      return "bool_t";
    case BURN_DTYPE_U8:
      return "u8_t";
    case BURN_DTYPE_I8:
      return "i8_t";
    case BURN_DTYPE_I16:
      return "i16_t";
    case BURN_DTYPE_I32:
      return "i32_t";
    case BURN_DTYPE_I64:
      return "i64_t";
    case BURN_DTYPE_F16:
      return "f16_t";
    case BURN_DTYPE_BF16:
      return "bf16_t";
    case BURN_DTYPE_F32:
      return "f32_t";
    case BURN_DTYPE_F64:
      return "f64_t";
    default:
      return "u8_t";
  }
}

/* Appends to a text, or, where `text` is NULL, only counts. */
typedef struct Writer {
  char *text;
  uint64_t used;
} Writer;

static void put(Writer *writer, const char *part) {
  const size_t length = strlen(part);
  if (writer->text) memcpy(writer->text + writer->used, part, length);
  writer->used += length;
}

static void put_type(Writer *writer, const char *name, BurnDType dtype) {
  put(writer, "typedef ");
  put(writer, element_type(dtype));
  put(writer, " ");
  put(writer, name);
  put(writer, ";\n");
}

/* Expressions whose results are halves need not be right beyond what these keep. */
static bool has_fast_math(const GpuKernelKey *key) {
  const uint64_t expressions = BEFORE(ELEMENTWISE) | BEFORE(ELEMENTWISE_ROWS) | BEFORE(ELEMENTWISE_TILES);
  return (expressions >> key->text & 1u) && burn__gpu_is_half(key->out);
}

static void write_source(Writer *writer, const GpuKernelKey *key, const char *definition) {
  char line[64];
  if (has_fast_math(key)) put(writer, GPU_FAST_MATH);
  put(writer, burn__gpu_text_prelude);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) put(writer, functions[i]);
  put(writer, burn__gpu_text_parameters);
  put_type(writer, "OUT", key->out);
  put_type(writer, "IN0", key->in[0]);
  put_type(writer, "IN1", key->in[1]);
  put_type(writer, "IN2", key->in[2]);
  (void)snprintf(line, sizeof line, "#define BURN_VARIANT %u\n", key->variant);
  put(writer, line);
  (void)snprintf(line, sizeof line, "#define BURN_JOIN %d\n", (int)key->join);
  put(writer, line);
  if (definition) put(writer, definition);
  for (size_t i = 0; i < sizeof shared_texts / sizeof shared_texts[0]; i++)
    if (shared_texts[i].users >> key->text & 1u) put(writer, shared_texts[i].text);
  put(writer, texts[key->text]);
}

char *burn__gpu_source(const BurnHost *host, const GpuKernelKey *key, const char *definition, uint64_t *bytes) {
  Writer writer = {NULL, 0};
  write_source(&writer, key, definition);
  *bytes = writer.used + 1;
  writer.text = host->allocate(*bytes);
  if (!writer.text) return NULL;
  writer.used = 0;
  write_source(&writer, key, definition);
  writer.text[writer.used] = '\0';
  return writer.text;
}

/* -- functions by key ------------------------------------------------------------------------- */

enum { SLOTS = 4096 }; /* more kernels than all ops and dtypes in use make; a full table is a failure */

enum { ENTRIES = 4 }; /* of the text of elementwise ops; others have one */

/* Written under the mutex, the module last: who sees one there may read the rest without it. */
typedef struct Slot {
  _Atomic(GpuModule *) module; /* NULL: free */
  GpuKernelKey key;
  GpuFunction *functions[ENTRIES];
} Slot;

struct GpuKernels {
  pthread_mutex_t mutex;
  uint32_t count;
  Slot slots[SLOTS];
};

GpuKernels *burn__gpu_kernels_create(void) {
  GpuKernels *kernels = calloc(1, sizeof *kernels);
  if (kernels && pthread_mutex_init(&kernels->mutex, NULL) != 0) {
    free(kernels);
    return NULL;
  }
  return kernels;
}

void burn__gpu_kernels_destroy(Gpu *gpu, GpuKernels *kernels) {
  if (!kernels) return;
  for (uint32_t i = 0; i < SLOTS; i++)
    if (kernels->slots[i].module) burn__gpu_unload(gpu, kernels->slots[i].module);
  (void)pthread_mutex_destroy(&kernels->mutex);
  free(kernels);
}

static uint32_t first_slot(const GpuKernelKey *key) {
  uint64_t bits =
      (uint64_t)key->op << 32 ^ (uint64_t)key->text << 26 ^ (uint64_t)key->variant << 20 ^ (uint64_t)key->join << 23;
  bits ^= (uint64_t)key->out << 15 ^ key->in[0] << 10 ^ key->in[1] << 5 ^ key->in[2];
  return (uint32_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> 52) % SLOTS;
}

static bool same_key(const GpuKernelKey *a, const GpuKernelKey *b) {
  return a->text == b->text && a->op == b->op && a->out == b->out && a->in[0] == b->in[0] && a->in[1] == b->in[1] &&
         a->in[2] == b->in[2] && a->variant == b->variant && a->join == b->join;
}

/* The slot of a key, or the free one where it would go; NULL if the table is full. */
static Slot *find_slot(GpuKernels *kernels, const GpuKernelKey *key) {
  uint32_t at = first_slot(key);
  for (uint32_t tries = 0; tries < SLOTS; tries++, at = (at + 1) % SLOTS) {
    Slot *slot = &kernels->slots[at];
    if (!atomic_load_explicit(&slot->module, memory_order_acquire) || same_key(&slot->key, key)) return slot;
  }
  return NULL;
}

/* The functions of a module that is loaded. */
static BurnStatus find_entries(Gpu *gpu, GpuModule *module, Slot *slot) {
  BurnStatus status = BURN_OK;
  const bool has_many = slot->key.text == GPU_TEXT_ELEMENTWISE;
  for (int i = 0; i < (has_many ? ENTRIES : 1) && status == BURN_OK; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, has_many ? "kernel_%d" : "kernel", i);
    status = burn__gpu_function(gpu, module, name, &slot->functions[i]);
  }
  return status;
}

static BurnStatus load(Gpu *gpu, const GpuKernelKey *key, const char *definition, Slot *slot) {
  uint64_t bytes = 0;
  char *source = burn__gpu_source(gpu->host, key, definition, &bytes);
  if (!source) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory for the source of a kernel");
  GpuModule *module = NULL;
  BurnStatus status = burn__gpu_load(gpu, source, &module);
  gpu->host->free(source, bytes);
  slot->key = *key;
  if (status == BURN_OK) status = find_entries(gpu, module, slot);
  if (status != BURN_OK && module) burn__gpu_unload(gpu, module);
  if (status != BURN_OK) return status;
  burn__gpu_settle(gpu, module);
  atomic_store_explicit(&slot->module, module, memory_order_release);
  return BURN_OK;
}

GpuFunction *burn__gpu_known_kernel(Gpu *gpu, const GpuKernelKey *key) {
  const Slot *slot = find_slot(gpu->kernels, key);
  const bool is_there = slot && atomic_load_explicit(&slot->module, memory_order_acquire);
  return is_there ? slot->functions[key->entry] : NULL;
}

BurnStatus burn__gpu_kernel(Gpu *gpu, const GpuKernelKey *key, const char *definition, GpuFunction **function) {
  GpuKernels *kernels = gpu->kernels;
  BurnStatus status = BURN_OK;
  *function = burn__gpu_known_kernel(gpu, key);
  if (*function) return BURN_OK;
  if (gpu->is_recorded)
    return GPU_FAIL(gpu, FAILED_PRECONDITION, "a kernel that is not compiled yet cannot be recorded");
  (void)pthread_mutex_lock(&kernels->mutex);
  Slot *slot = find_slot(kernels, key);
  if (!slot) status = GPU_FAIL(gpu, INTERNAL, "more than %d kernels", SLOTS);
  if (slot && !slot->module) status = load(gpu, key, definition, slot);
  if (status == BURN_OK) *function = slot->functions[key->entry];
  (void)pthread_mutex_unlock(&kernels->mutex);
  return status;
}

/* -- for people ------------------------------------------------------------------------------- */

static const Slot *slot_of(const GpuKernels *kernels, const GpuFunction *function) {
  for (uint32_t i = 0; i < SLOTS; i++) {
    const Slot *slot = &kernels->slots[i];
    if (!atomic_load_explicit(&slot->module, memory_order_acquire)) continue;
    for (uint32_t e = 0; e < ENTRIES; e++)
      if (slot->functions[e] == function) return slot;
  }
  return NULL;
}

void burn__gpu_describe(Gpu *gpu, const GpuFunction *function, char *text, size_t bytes) {
  static const char *const names[] = {
#define GPU_TEXT(KEY, name) #name,
#include "texts.def"
#undef GPU_TEXT
  };
  const uint32_t last = atomic_load(&gpu->recent[(atomic_load(&gpu->submitted) - 1) % GPU_RECENT_OPS]);
  const BurnOpInfo *info = last ? gpu->host->op_info(last) : NULL;
  const char *op = info ? info->name : "";
  const Slot *slot = function ? slot_of(gpu->kernels, function) : NULL;
  if (slot) {
    (void)snprintf(text, bytes, "%s: %s %u", op, names[slot->key.text], slot->key.variant);
  } else if (!function || !burn__gpu_fused_describe(gpu, function, text, bytes)) {
    (void)snprintf(text, bytes, "%s: %s", op, function ? "?" : "kernel pack");
  }
}
