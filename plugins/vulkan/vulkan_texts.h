/* vulkan_texts.h - the texts of kernels/ as arrays; made by CMakeLists.txt. */
#ifndef BURN_VULKAN_TEXTS_H
#define BURN_VULKAN_TEXTS_H

extern const char burn__vulkan_text_prelude[];
extern const char burn__vulkan_text_math[];
extern const char burn__vulkan_text_selftest[];
extern const char burn__vulkan_text_matrix_test[];

#endif
