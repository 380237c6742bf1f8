/* cuda_texts.h - the files of kernels/ as texts; the build makes them (CMakeLists.txt). */
#ifndef BURN_CUDA_TEXTS_H
#define BURN_CUDA_TEXTS_H

extern const char burn__cuda_text_prelude[], burn__cuda_text_parameters[], burn__cuda_text_join[],
    burn__cuda_text_row[], burn__cuda_text_complaint[], burn__cuda_text_fused_parts[], burn__cuda_text_fused[];

typedef enum CudaText {
#define CUDA_TEXT(KEY, name) CUDA_TEXT_##KEY,
#include "texts.def"
#undef CUDA_TEXT
  CUDA_TEXT_COUNT
} CudaText;

#define CUDA_TEXT(KEY, name) extern const char burn__cuda_text_##name[];
#include "texts.def"
#undef CUDA_TEXT

#endif
