/* gguf.h - the tensor types of GGUF, and their blocks as floats. */
#ifndef BURN_IMPORT_GGUF_H
#define BURN_IMPORT_GGUF_H

#include <burn/tensor.h>

/* A type. A quantized one has blocks of elements that share scales. */
typedef struct GgufType {
  uint32_t number;
  const char *name;
  uint32_t block; /* elements */
  uint32_t bytes; /* of a block */
  BurnDType dtype;
  /* The floats of a block; NULL: the bytes are the values, or it is refused (dtype is BURN_DTYPE_DEFAULT). */
  void (*unpack)(const uint8_t *block, float *out);
} GgufType;

/* The type of a number; NULL if it is none. */
const GgufType *burn__gguf_type(uint32_t number);

#endif
