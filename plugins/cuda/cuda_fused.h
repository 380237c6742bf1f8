/* cuda_fused.h - fused bodies (burn/plugin/fused.h) between their plan and their text: what the files cuda_fused*.c
 * share. A body's text depends on its steps, on how its inputs lie (CudaFusedShape) and on the class of a row's length;
 * sizes, strides and numbers are arguments. */
#ifndef BURN_CUDA_FUSED_H
#define BURN_CUDA_FUSED_H

#include "cuda_internal.h"

#include <burn/common/fused_plan.h>

enum { CUDA_FUSED_INPUTS = 24, CUDA_FUSED_STEPS = 96, CUDA_FUSED_OUTPUTS = 16, CUDA_FUSED_CHOICES = 16 };
enum { CUDA_FUSED_AXES = BURN_MAX_RANK + 1 }; /* of an input: those that merge into few, then that within a row */
enum { CUDA_FUSED_WORDS = 500 };              /* of 8 bytes: what fits into the arguments of a kernel */
enum { CUDA_FUSED_THREADS = 256 };

/* How an input is read. */
typedef enum CudaFusedWay {
  CUDA_FUSED_UNREAD,
  CUDA_FUSED_ONE,    /* one element for all */
  CUDA_FUSED_DENSE,  /* in the order of the space: only without rows or columns */
  CUDA_FUSED_STRIDED /* by strides */
} CudaFusedWay;

/* Along a row, or from lane to lane. */
typedef enum CudaFusedInner { CUDA_FUSED_REPEATS, CUDA_FUSED_IN_ORDER, CUDA_FUSED_BY_STRIDE } CudaFusedInner;

typedef struct CudaFusedInput {
  uint8_t way, inner;
  uint8_t is_vector; /* lanes by one access */
  uint8_t axes;      /* bit i: its stride along merged axis i is not 0 */
} CudaFusedInput;

/* All that the text depends on beside the body, as bytes to compare. */
typedef struct CudaFusedShape {
  uint8_t rank; /* of the merged axes */
  uint8_t width, vectors;
  uint8_t is_wide;                     /* places need 64 bits */
  uint8_t is_single;                   /* columns, everything: in one pass */
  uint8_t choices[CUDA_FUSED_CHOICES]; /* of steps whose number decides their text: see burn__cuda_fused_chooses */
  CudaFusedInput inputs[CUDA_FUSED_INPUTS];
} CudaFusedShape;

/* The sizes and strides that go with a shape. */
typedef struct CudaFusedLayout {
  CudaFusedShape shape;
  int64_t sizes[BURN_MAX_RANK];
  int64_t strides[CUDA_FUSED_INPUTS][CUDA_FUSED_AXES]; /* by merged axis; that within a row at [rank] */
} CudaFusedLayout;

/* A text that has been compiled. */
typedef struct CudaFusedProgram {
  struct CudaFusedProgram *next;
  uint64_t hash, bytes;
  char *text;
  void *module, *functions[2]; /* kernel, kernel_last */
} CudaFusedProgram;

/* A way to run a body. */
typedef struct CudaFusedVariant {
  struct CudaFusedVariant *next;
  CudaFusedShape shape;
  const CudaFusedProgram *program;
} CudaFusedVariant;

struct BurnFusedKernel {
  uint64_t bytes;
  BurnFusedBody body; /* its arrays lie behind this struct */
  BurnCommonFusedPlan plan;
  uint32_t number_count;                   /* of arguments that steps have */
  uint16_t first_number[CUDA_FUSED_STEPS]; /* by step */
  uint32_t choice_count;                   /* steps whose number decides their text */
  bool is_live[BURN_COMMON_FUSED_VALUES];  /* as far as a loop needs them */
  bool is_resident[CUDA_FUSED_INPUTS];     /* kept in registers, as more than one loop reads it */
  bool rows_are_resident;                  /* and what waits for a later loop too */
  uint32_t threads, items;                 /* of a row: threads, and vectors of each */
  uint32_t width;                          /* of a vector in a row */
  uint64_t reuse[CUDA_FUSED_OUTPUTS];      /* inputs whose memory an output may take */
  uint32_t reductions[CUDA_FUSED_STEPS];   /* value numbers, in the order of their loops */
  uint32_t reduction_count;
  _Atomic(CudaFusedVariant *) variants;
};

/* -- cuda_fused_body.c: what a kernel is made of, from its plan -------------------------------- */

/* Plans and copies the body. NULL if it cannot be run, for the reason *refusal; without one, if there is no memory. */
BurnFusedKernel *burn__cuda_fused_new(const BurnHost *host, const BurnFusedBody *body, const char **refusal);
/* Sets needed[v] for what loop `loop` needs: inputs it reads, steps it computes, rows it finds. */
void burn__cuda_fused_mark(const BurnFusedKernel *kernel, uint32_t loop, bool *needed);
/* True if loop computes value v where it needs it. */
bool burn__cuda_fused_computes(const BurnFusedKernel *kernel, uint32_t v, uint32_t loop);
/* Numbers that a step of this form takes. */
uint32_t burn__cuda_fused_numbers(BurnCommonForm form);

/* True for powf_scalar, by an expression for its exponent, and div_scalar, by the reciprocal where that is exact. */
bool burn__cuda_fused_chooses(BurnCommonForm form);

/* -- cuda_fused_layout.c ----------------------------------------------------------------------- */

/* How inputs lie; NULL: all row-major. */
void burn__cuda_fused_lay_out(const BurnFusedKernel *kernel, BurnPrimitive *const *inputs, CudaFusedLayout *layout);

/* -- cuda_fused_text.c ------------------------------------------------------------------------- */

/* The source of a variant, to be freed with host->free(.., *bytes); NULL without memory. */
char *burn__cuda_fused_text(const BurnHost *host, const BurnFusedKernel *kernel, const CudaFusedShape *shape,
                            uint64_t *bytes);

/* -- cuda_fused.c ------------------------------------------------------------------------------ */

extern const BurnFusedInterface burn__cuda_fused_interface;
void burn__cuda_fused_destroy(Cuda *cuda);

#endif
