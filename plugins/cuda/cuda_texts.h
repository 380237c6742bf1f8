/* cuda_texts.h - the files of kernels/ as texts; the build makes them (CMakeLists.txt). */
#ifndef BURN_CUDA_TEXTS_H
#define BURN_CUDA_TEXTS_H

extern const char burn__cuda_text_prelude[], burn__cuda_text_parameters[], burn__cuda_text_join[];

/* X(KEY, name): the texts with a kernel, as CudaText numbers them. */
#define CUDA_TEXTS(X)         \
  X(ELEMENTWISE, elementwise) \
  X(CREATE, create)           \
  X(REDUCE, reduce)           \
  X(SCAN, scan)               \
  X(INDEX, index)             \
  X(ARG, arg)                 \
  X(SORT, sort)               \
  X(MATMUL, matmul)           \
  X(CONV, conv)               \
  X(COLUMNS, columns)         \
  X(POOL, pool)               \
  X(OPTIMIZER, optimizer)

#define CUDA_TEXT_NUMBER(KEY, name) CUDA_TEXT_##KEY,
typedef enum CudaText { CUDA_TEXTS(CUDA_TEXT_NUMBER) CUDA_TEXT_COUNT } CudaText;

#define CUDA_TEXT_ARRAY(KEY, name) extern const char burn__cuda_text_##name[];
CUDA_TEXTS(CUDA_TEXT_ARRAY)

#endif
