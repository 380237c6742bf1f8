/* ndarray_fused_run.h - what the files that run a compiled body share: the run, and what one thread works with. */
#ifndef BURN_NDARRAY_FUSED_RUN_H
#define BURN_NDARRAY_FUSED_RUN_H

#include "ndarray_fused.h"
#include "elementwise/ndarray_kernels.h"

/* How programs read an input. */
typedef enum NdFusedWay {
  ND_FUSED_UNREAD,
  ND_FUSED_PLAIN,  /* element e of the space is element e in memory */
  ND_FUSED_NUMBER, /* all elements are one: from copies of it */
  ND_FUSED_INNER,  /* lies in order within a row */
  ND_FUSED_REPEAT, /* one number per row: from copies of it */
  ND_FUSED_GATHER  /* from a packed copy */
} NdFusedWay;

typedef struct NdFusedInput {
  char *data;
  NdFusedWay way;
  uint32_t bytes; /* of an element */
  int64_t strides[BURN_MAX_RANK];
} NdFusedInput;

/* Axes of a space, merged where the inputs allow, or as they are. */
typedef struct NdFusedAxes {
  uint32_t rank;
  int64_t shape[BURN_MAX_RANK];
} NdFusedAxes;

/* One run, as all threads see it. */
typedef struct NdFusedRun {
  Ndarray *nd;
  const BurnFusedKernel *kernel;
  const BurnAttr *const *attrs;
  const NdFusedMachine *machine;
  NdTensor *tensors[ND_FUSED_INPUTS]; /* the inputs, some packed */
  uint32_t packed, in_place,
      streamed;  /* bits: inputs that are copies; outputs in the memory of an input, stored past the caches */
  int64_t count; /* elements of the space */
  NdFusedAxes axes;
  NdFusedInput inputs[ND_FUSED_INPUTS];
  struct {
    char *data;
    uint32_t bytes;
  } outputs[ND_FUSED_OUTPUTS];
  struct {
    uint64_t seed, offset;
  } words[ND_FUSED_RANDOM];
  NdFusedWord program[ND_FUSED_LINES];
} NdFusedRun;

/* How a run without reductions goes over the elements. */
typedef struct NdFusedElements {
  NdFusedRun *run;
  int64_t piece; /* elements; at most so many at a time */
  bool in_order; /* no input needs to know of rows */
  bool by_rows;  /* pieces end with rows */
  uint32_t inputs[ND_FUSED_INPUTS], outputs[ND_FUSED_OUTPUTS], words[ND_FUSED_RANDOM]; /* offsets in the arena */
} NdFusedElements;

/* Where a program finds an operand. */
typedef struct NdFusedPlace {
  char *address;
  char *spare;    /* room for the width of the machine, for what is direct */
  bool is_direct; /* in a tensor: what lies after the elements belongs to others. Other places have room up to a
                     multiple of the width. */
  bool is_single; /* copies of one number, for all elements */
} NdFusedPlace;

/* What one thread works with. */
typedef struct NdFusedWorker {
  const NdFusedRun *run;
  NdFusedPlace inputs[ND_FUSED_INPUTS], outputs[ND_FUSED_OUTPUTS], words[ND_FUSED_RANDOM], buffers[ND_FUSED_BUFFERS],
      rows[ND_FUSED_ROWS];
  NdFusedWord program[ND_FUSED_LINES];
  _Alignas(64) float slots[ND_FUSED_SLOTS * ND_FUSED_WIDEST];
} NdFusedWorker;

/* -- ndarray_fused_run.c ---------------------------------------------------------------------- */

/* Makes the outputs and takes the inputs of a run; after a failure there is nothing to end. */
BurnStatus nd_fused_open_run(NdFusedRun *run, Ndarray *nd, const BurnFusedCall *call);
/* Ends it, with the outputs in the call; if the run was not done, without them and as a failure. */
BurnStatus nd_fused_close_run(NdFusedRun *run, const BurnFusedCall *call, bool done);

void nd_fused_begin(NdFusedWorker *worker, const NdFusedRun *run);
/* Runs a program over n elements, whose operands are in their places. */
void nd_fused_run_program(NdFusedWorker *worker, uint32_t number, int64_t n);

static inline bool nd_fused_is_empty(const BurnFusedKernel *kernel, uint32_t number) {
  return kernel->programs[number].end - kernel->programs[number].begin < 2;
}
static inline int64_t nd_fused_rounded_up(const NdFusedRun *run, int64_t n) {
  return (n + run->machine->width - 1) / run->machine->width * run->machine->width;
}

/* The stride of x along an axis of the space, which may have more leading axes; 0 where it stretches. */
int64_t nd_fused_stride(const NdTensor *x, const BurnTensorDesc *space, uint32_t axis);
bool nd_fused_is_plain(const NdTensor *x, const BurnTensorDesc *space);
bool nd_fused_is_number(const NdTensor *x);

/* Element `index` of the axes: its coordinates; the place of coordinates in an input. */
void nd_fused_find(const NdFusedAxes *axes, int64_t index, int64_t *coordinates);
int64_t nd_fused_offset(const NdFusedAxes *axes, const NdFusedInput *input, const int64_t *coordinates);
/* n elements from the given coordinates on, packed; and zeros up to a multiple of the width. */
void nd_fused_gather(const NdFusedRun *run, const NdFusedAxes *axes, const NdFusedInput *input, const int64_t *start,
                     int64_t n, void *to);
/* As many copies of an element as the machine is wide. */
void nd_fused_repeat(const NdFusedRun *run, void *to, const void *element, uint32_t bytes);
/* Random words of elements e .. e + n - 1; returns where the first is. `to` has room for 4 more. */
char *nd_fused_make_words(const NdFusedRun *run, uint32_t number, int64_t e, int64_t n, void *to);

/* -- ndarray_fused_link.c: the programs with the scalars of this run. ------------------------- */
void nd_fused_link(NdFusedRun *run);

/* -- the regions; false when out of memory ---------------------------------------------------- */
bool nd_fused_run_elements(NdFusedRun *run); /* ndarray_fused_elements.c */
/* The same in parts, which any threads run: rows of `columns` elements, `row` apart, from element `first` on. */
void nd_fused_plan_elements(NdFusedRun *run, NdFusedElements *elements);
void nd_fused_run_part(const NdFusedElements *elements, int64_t first, int64_t rows, int64_t columns, int64_t row);
/* The same of short rows: many at once, from packed copies. ndarray_fused_parts.c */
enum { ND_FUSED_SHORT_ROW = 256 }; /* elements, from which on a row is not short */
bool nd_fused_takes_short_rows(const BurnFusedKernel *kernel);
void nd_fused_run_short_rows(const NdFusedElements *elements, int64_t first, int64_t rows, int64_t columns,
                             int64_t row);
bool nd_fused_run_rows(NdFusedRun *run); /* ndarray_fused_rows.c: BURN_COMMON_REGION_LAST */
bool nd_fused_run_totals(
    NdFusedRun *run); /* ndarray_fused_totals.c: BURN_COMMON_REGION_FIRST_AXIS, BURN_COMMON_REGION_ALL */

#endif
