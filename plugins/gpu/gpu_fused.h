/* gpu_fused.h - fused bodies (burn/plugin/fused.h) between their plan and their text: what the files gpu_fused*.c
 * share. A body's text depends on its steps, on how its inputs lie (GpuFusedShape) and on the class of a row's length;
 * sizes, strides and numbers are arguments. */
#ifndef BURN_GPU_FUSED_H
#define BURN_GPU_FUSED_H

#include "gpu.h"

#include <burn/common/fused_plan.h>

enum { GPU_FUSED_INPUTS = 24, GPU_FUSED_STEPS = 96, GPU_FUSED_OUTPUTS = 16, GPU_FUSED_CHOICES = 16 };
enum { GPU_FUSED_AXES = BURN_MAX_RANK + 1 }; /* of an input: those that merge into few, then that within a row */
enum { GPU_FUSED_WORDS = 500 };              /* of 8 bytes: what fits into the arguments of a kernel */
enum { GPU_FUSED_THREADS = 256 }; /* of a group, but of bodies without rows (GPU_ELEMENT_THREADS) and of long rows */

/* How an input is read. */
typedef enum GpuFusedWay {
  GPU_FUSED_UNREAD,
  GPU_FUSED_ONE,    /* one element for all */
  GPU_FUSED_DENSE,  /* in the order of the space: only without rows or columns */
  GPU_FUSED_STRIDED /* by strides */
} GpuFusedWay;

/* Along a row, or from lane to lane. */
typedef enum GpuFusedInner {
  GPU_FUSED_REPEATS,
  GPU_FUSED_IN_ORDER,
  GPU_FUSED_BY_STRIDE,
  GPU_FUSED_SPREAD /* an element for `spread` lanes */
} GpuFusedInner;

typedef struct GpuFusedInput {
  uint8_t way, inner;
  uint8_t is_vector; /* lanes by one access */
  uint8_t axes;      /* bit i: its stride along merged axis i is not 0 */
  uint8_t spread;    /* 0: lanes are elements, or all the same */
} GpuFusedInput;

/* Is the stride from lane to lane an argument? */
static inline bool gpu_fused_has_inner_stride(const GpuFusedInput *input) {
  return input->way == GPU_FUSED_STRIDED && (input->inner == GPU_FUSED_BY_STRIDE || input->inner == GPU_FUSED_SPREAD);
}

/* All that the text depends on beside the body, as bytes to compare. */
typedef struct GpuFusedShape {
  uint8_t rank; /* of the merged axes */
  uint8_t width, vectors;
  uint8_t is_wide;                    /* places need 64 bits */
  uint8_t is_single;                  /* columns, everything: in one pass */
  uint8_t choices[GPU_FUSED_CHOICES]; /* of steps whose number decides their text: see burn__gpu_fused_chooses */
  GpuFusedInput inputs[GPU_FUSED_INPUTS];
} GpuFusedShape;

/* The sizes and strides that go with a shape. */
typedef struct GpuFusedLayout {
  GpuFusedShape shape;
  bool is_last; /* the space is walked, and results lie, with the channels last */
  int64_t sizes[BURN_MAX_RANK];
  int64_t strides[GPU_FUSED_INPUTS][GPU_FUSED_AXES]; /* by merged axis; that within a row at [rank] */
} GpuFusedLayout;

/* A text that has been compiled. Without a user it is idle: kept, as the text may come again, until there are too many
 * of them. */
typedef struct GpuFusedProgram {
  struct GpuFusedProgram *next;
  uint64_t hash, bytes;
  char *text;
  uint32_t users; /* variants */
  GpuModule *module;
  GpuFunction *functions[2]; /* kernel, kernel_last */
  char steps[64];            /* the ops of the body that it was made for, as many as fit */
} GpuFusedProgram;

/* A way to run a body. */
typedef struct GpuFusedVariant {
  struct GpuFusedVariant *next;
  GpuFusedShape shape;
  GpuFusedProgram *program;
} GpuFusedVariant;

struct BurnFusedKernel {
  uint64_t bytes;
  BurnFusedBody body; /* its arrays lie after this struct */
  BurnCommonFusedPlan plan;
  uint32_t number_count;                  /* of arguments that steps have */
  uint16_t first_number[GPU_FUSED_STEPS]; /* by step */
  uint32_t choice_count;                  /* steps whose number decides their text */
  bool has_real_number[GPU_FUSED_STEPS];  /* by step: integers are compared with a float */
  bool is_live[BURN_COMMON_FUSED_VALUES]; /* as far as a loop needs them */
  bool is_resident[GPU_FUSED_INPUTS];     /* kept in registers, as more than one loop reads it */
  bool rows_are_resident;                 /* and what waits for a later loop too */
  uint32_t threads, items;                /* of a row: threads, and vectors of each */
  uint32_t width;                         /* of a vector in a row */
  uint64_t reuse[GPU_FUSED_OUTPUTS];      /* inputs whose memory an output may take */
  uint32_t reductions[GPU_FUSED_STEPS];   /* value numbers, in the order of their loops */
  uint32_t reduction_count;
  _Atomic(GpuFusedVariant *) variants;
};

/* Of a group of a body's first kernel. */
static inline uint32_t burn__gpu_fused_threads(const BurnFusedKernel *kernel) {
  if (kernel->plan.region == BURN_COMMON_REGION_ELEMENTS) return GPU_ELEMENT_THREADS;
  return kernel->threads > 32 ? kernel->threads : GPU_FUSED_THREADS;
}

/* -- gpu_fused_body.c: what a kernel is made of, from its plan -------------------------------- */

/* Plans and copies the body. NULL if it cannot be run, for the reason *refusal; without one, if there is no memory. */
BurnFusedKernel *burn__gpu_fused_new(const Gpu *gpu, const BurnFusedBody *body, const char **refusal);
/* What bodies on this device may have. */
const BurnCommonFusedRules *burn__gpu_fused_rules(const Gpu *gpu);
/* Sets needed[v] for what loop `loop` needs: inputs it reads, steps it computes, rows it finds. */
void burn__gpu_fused_mark(const BurnFusedKernel *kernel, uint32_t loop, bool *needed);
/* True if loop computes value v where it needs it. */
bool burn__gpu_fused_computes(const BurnFusedKernel *kernel, uint32_t v, uint32_t loop);
/* Numbers that a step of this form takes. */
uint32_t burn__gpu_fused_numbers(BurnCommonForm form);

/* How many places along an axis of the space share an element of input k: the size of a window. 1 if it has one for
 * each, or one for all. */
int64_t burn__gpu_fused_spread(const BurnFusedKernel *kernel, uint32_t k, uint32_t axis);

/* True for powf_scalar, by an expression for its exponent, and div_scalar, by the reciprocal where that is exact. */
bool burn__gpu_fused_chooses(BurnCommonForm form);

/* -- gpu_fused_layout.c ----------------------------------------------------------------------- */

/* How inputs lie; NULL: all row-major. */
void burn__gpu_fused_lay_out(const BurnFusedKernel *kernel, BurnPrimitive *const *inputs, GpuFusedLayout *layout);

/* What reduction v is joined in, as kernels/join.cu does it: F32, F64 or I64. */
BurnDType burn__gpu_fused_joined_in(const BurnFusedKernel *kernel, uint32_t v);

/* -- gpu_fused_text.c ------------------------------------------------------------------------- */

/* The source of a variant, to be freed with host->free(.., *bytes); NULL without memory. */
char *burn__gpu_fused_text(const BurnHost *host, const BurnFusedKernel *kernel, const GpuFusedShape *shape,
                           uint64_t *bytes);

#endif
