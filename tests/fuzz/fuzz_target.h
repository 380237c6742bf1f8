/* fuzz_target.h - what the fuzz targets share: values drawn from the bytes of an input, a scratch folder, and what a
 * finding is.
 *
 * A target is a file with LLVMFuzzerTestOneInput. It is linked with libFuzzer (./dev fuzz), or with fuzz_replay.c,
 * which runs the inputs of corpus/<target> and mutations of them (ctest). It must not depend on anything but its bytes.
 */
#ifndef BURN_TESTS_FUZZ_TARGET_H
#define BURN_TESTS_FUZZ_TARGET_H

#include <burn/burn.h>
#include <burn/op_call.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* -- findings --------------------------------------------------------------------------------- */

/* Ends the process with a message unless the condition holds. */
#define FUZZ_REQUIRE(condition, ...)                               \
  do {                                                             \
    if (!(condition)) fuzz_found(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)
void fuzz_found(const char *file, int line, const char *format, ...) BURN_PRINTF(3, 4);

/* True for BURN_OK. Whatever the input, "internal error" and "tensor already taken" are findings. */
bool fuzz_ok(BurnStatus status);

/* -- drawing: once the bytes are used up, everything is 0 ------------------------------------- */

typedef struct FuzzInput {
  const uint8_t *next;
  size_t left;
} FuzzInput;

uint8_t fuzz_byte(FuzzInput *input);
uint64_t fuzz_bits(FuzzInput *input);                  /* 8 bytes */
uint32_t fuzz_below(FuzzInput *input, uint32_t limit); /* 0 .. limit-1, limit at most 256 */
int64_t fuzz_integer(FuzzInput *input);                /* mostly -2 .. 5, sometimes what overflows */
double fuzz_number(FuzzInput *input);                  /* mostly small, sometimes NaN, infinite, huge */
BurnDType fuzz_dtype(FuzzInput *input);                /* mostly f32; sometimes none that exists */
FuzzInput fuzz_part(FuzzInput *input); /* the bytes up to the next "<|>", which is left out, or to the end */
/* The rest as text, malloc'd. Slashes become bars: no input names a file outside of the scratch folder. */
char *fuzz_text(FuzzInput input);

/* -- tensors ---------------------------------------------------------------------------------- */

/* A device with a limit of 16 MB per tensor, opened once per process and stack. */
BurnDevice *fuzz_device(const char *stack);

/* A small tensor (rank 1 .. 4, sometimes more; axes 0 .. 5) of drawn dtype, values and layout. */
BurnTensor *fuzz_tensor(FuzzInput *input, BurnDevice *device);

/* Takes x: reads it if it is small enough, with a backward pass before if it is tracked. */
void fuzz_use(BurnTensor *x);

/* At the end of an input: all work is done, no tensor is left. */
void fuzz_device_end(BurnDevice *device);

/* -- files: names are relative to the scratch folder, which is the working directory from the first call on -- */

void fuzz_scratch_clear(void); /* empty, and entered */
void fuzz_file_write(const char *name, FuzzInput bytes);
void fuzz_file_write_gzip(const char *name, FuzzInput bytes);
uint8_t *fuzz_file_read(const char *name, size_t *count); /* malloc'd */

#endif
