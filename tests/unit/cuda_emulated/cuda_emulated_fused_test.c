/* cuda_emulated_fused_test.c - random fused bodies of the CUDA backend against its single ops, on the emulated driver. */
#define FUSED_STACKS \
  { .text = "cuda" }
#define FUSED_PREPARE                                    \
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);            \
  setenv("BURN_CUDA_LIBS", EMULATED_FOLDER, 1);          \
  setenv("XDG_CACHE_HOME", EMULATED_FOLDER "/cache", 1); \
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
#define FUSED_COUNT 100
#define FUSED_LONG_COUNT 300
#define FUSED_F64
#define FUSED_INTEGERS
#define FUSED_MIDDLE_AXIS

#include "../ndarray/fused_body_test.c"
