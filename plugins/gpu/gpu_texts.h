/* gpu_texts.h - the files of kernels/ as texts; the build makes them (CMakeLists.txt). */
#ifndef BURN_GPU_TEXTS_H
#define BURN_GPU_TEXTS_H

extern const char burn__gpu_text_prelude[], burn__gpu_text_parameters[], burn__gpu_text_join[], burn__gpu_text_row[],
    burn__gpu_text_sums[], burn__gpu_text_tiles[], burn__gpu_text_operands[], burn__gpu_text_tensor_cores[],
    burn__gpu_text_complaint[], burn__gpu_text_fused_parts[], burn__gpu_text_fused[], burn__gpu_text_attention_parts[],
    burn__gpu_text_attention_rows[], burn__gpu_text_attention_products[], burn__gpu_text_attention_matrices[];

typedef enum GpuText {
#define GPU_TEXT(KEY, name) GPU_TEXT_##KEY,
#include "texts.def"
#undef GPU_TEXT
  GPU_TEXT_COUNT
} GpuText;

#define GPU_TEXT(KEY, name) extern const char burn__gpu_text_##name[];
#include "texts.def"
#undef GPU_TEXT

#endif
