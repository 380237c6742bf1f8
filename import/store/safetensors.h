/* safetensors.h - what the reader and the writer of safetensors share. */
#ifndef BURN_IMPORT_SAFETENSORS_H
#define BURN_IMPORT_SAFETENSORS_H

#include <burn/tensor.h>

/* A dtype of the format: its name, the bits of an element, and what it is here; BURN_DTYPE_DEFAULT: nothing. */
typedef struct BurnSafetensorsDType {
  const char *name;
  uint32_t bits;
  BurnDType dtype;
} BurnSafetensorsDType;
extern const BurnSafetensorsDType burn__safetensors_dtypes[];
extern const size_t burn__safetensors_dtype_count;

#endif
