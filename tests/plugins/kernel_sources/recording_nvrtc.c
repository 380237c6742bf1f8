/* recording_nvrtc.c - a libnvrtc.so that compiles nothing: each text it is given becomes a file of the folder
 * BURN_KERNEL_SOURCES, and its image is one that the driver of ../fake_cuda.c takes and does not run.
 *
 * Files are called by what the text says of itself: <rank>_<text>_<out>_<in0>_<in1>_<in2>_v<variant>_j<join>_<hash>.cu,
 * simple texts first. */
#include "cuda_driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD_BYTES = 40, PATH_BYTES = 600 };

static const char image[] = "no image of a kernel: its text was recorded";

/* From the simple to the hard. */
static const char *const texts[] = {"row_copy",
                                    "elementwise",
                                    "elementwise_rows",
                                    "elementwise_tiles",
                                    "quantization",
                                    "arg",
                                    "scan",
                                    "columns",
                                    "matmul",
                                    "reduce",
                                    "optimizer",
                                    "create",
                                    "index",
                                    "pool",
                                    "vector",
                                    "loss",
                                    "softmax",
                                    "layer_norm",
                                    "batch_norm",
                                    "conv",
                                    "sort",
                                    "lstm",
                                    "attention",
                                    "fused"};

#define RECORDING(name, parameters) \
  int name parameters;              \
  int name parameters

/* Another version than any real one: images of the cache are never taken for others'. */
RECORDING(nvrtcVersion, (int *major, int *minor)) {
  *major = 13;
  *minor = 0x5ec0 + (int)getpid(); /* nothing that an earlier run cached is found */
  return CUDA_OK;
}

/* -- names of files --------------------------------------------------------------------------- */

/* The letters, digits and _ from `at` on. */
static void take_word(const char *at, char word[WORD_BYTES]) {
  size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (length >= WORD_BYTES) length = WORD_BYTES - 1;
  memcpy(word, at, length);
  word[length] = '\0';
}

/* The file of kernels/ that a text ends with, by the comment at its top: the last one of them counts. */
static size_t rank_of(const char *source) {
  const char *last = source;
  size_t rank = sizeof texts / sizeof texts[0];
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char comment[WORD_BYTES + 10];
    (void)snprintf(comment, sizeof comment, "\n/* %s.cu - ", texts[i]);
    const char *at = strstr(source, comment);
    if (!at && strncmp(source, comment + 1, strlen(comment + 1)) == 0) at = source;
    if (at && at >= last) last = at, rank = i;
  }
  return rank;
}

/* "typedef f32_t IN0;" gives f32; "-" where there is none. */
static void take_type(const char *source, const char *name, char word[WORD_BYTES]) {
  char ending[WORD_BYTES];
  const int length = snprintf(ending, sizeof ending, "_t %s;\n", name);
  const char *at = strstr(source, ending);
  const char *begin = at;
  while (begin && begin > source && begin[-1] != ' ') begin--;
  (void)length;
  (void)snprintf(word, WORD_BYTES, "%.*s", at ? (int)(at - begin) : 1, at ? begin : "-");
}

static void take_number(const char *source, const char *name, char word[WORD_BYTES]) {
  char line[WORD_BYTES];
  (void)snprintf(line, sizeof line, "#define %s ", name);
  const char *at = strstr(source, line);
  take_word(at ? at + strlen(line) : "0", word);
}

static void name_file(const char *source, char name[PATH_BYTES]) {
  static const char *const types[] = {"OUT", "IN0", "IN1", "IN2"};
  char words[4][WORD_BYTES], variant[WORD_BYTES], join[WORD_BYTES];
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char *at = source; *at; at++) hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
  for (size_t i = 0; i < 4; i++) take_type(source, types[i], words[i]);
  take_number(source, "BURN_VARIANT", variant);
  take_number(source, "BURN_JOIN", join);
  const size_t rank = rank_of(source);
  (void)snprintf(name, PATH_BYTES, "%02zu_%s_%s_%s_%s_%s_v%s_j%s_%08x.cu", rank,
                 rank < sizeof texts / sizeof texts[0] ? texts[rank] : "pack", words[0], words[1], words[2], words[3],
                 variant, join, (unsigned)(hash ^ hash >> 32));
}

/* -- the functions ---------------------------------------------------------------------------- */

/* Written beside its place and renamed: several processes may record the same text. */
static int record(const char *source) {
  const char *folder = getenv("BURN_KERNEL_SOURCES");
  char name[PATH_BYTES], path[2 * PATH_BYTES], beside[2 * PATH_BYTES + 40];
  if (!folder || !folder[0] || strlen(folder) >= PATH_BYTES) return 0;
  name_file(source, name);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  (void)snprintf(beside, sizeof beside, "%s.%d", path, (int)getpid());
  FILE *file = fopen(beside, "we");
  if (!file) return 0;
  const int is_written = fputs(source, file) >= 0;
  return fclose(file) == 0 && is_written && rename(beside, path) == 0;
}

RECORDING(nvrtcCreateProgram, (void **program, const char *source, const char *name, int headers,
                               const char *const *header_texts, const char *const *header_names)) {
  (void)name, (void)headers, (void)header_texts, (void)header_names;
  *program = (void *)(uintptr_t)image;
  return record(source) ? CUDA_OK : 1;
}
RECORDING(nvrtcCompileProgram, (void *program, int count, const char *const *options)) {
  (void)program, (void)count, (void)options;
  return CUDA_OK;
}
RECORDING(nvrtcGetCUBINSize, (void *program, size_t *bytes)) {
  (void)program;
  *bytes = sizeof image;
  return CUDA_OK;
}
RECORDING(nvrtcGetCUBIN, (void *program, char *out)) {
  (void)program;
  memcpy(out, image, sizeof image);
  return CUDA_OK;
}
RECORDING(nvrtcGetProgramLogSize, (void *program, size_t *bytes)) {
  (void)program;
  *bytes = 1;
  return CUDA_OK;
}
RECORDING(nvrtcGetProgramLog, (void *program, char *log)) {
  (void)program;
  *log = '\0';
  return CUDA_OK;
}
RECORDING(nvrtcDestroyProgram, (void **program)) {
  *program = NULL;
  return CUDA_OK;
}
