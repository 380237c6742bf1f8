/* reference_internal.h - what the files of the reference backend share: the instance, the row of an op, elements.
 *
 * Every tensor is row-major without gaps and never changes once its op has returned, so element i is simply number i.
 */
#ifndef BURN_REFERENCE_INTERNAL_H
#define BURN_REFERENCE_INTERNAL_H

#include <burn/common/failure.h>
#include <burn/plugin/plugin.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct ReferenceRow ReferenceRow;

/* An opened instance. */
typedef struct Reference {
  const BurnHost *host;
  uint32_t owner;
  _Atomic int64_t live_tensors, live_bytes, peak_bytes;
  const ReferenceRow *rows[BURN_OP_LIMIT]; /* by op; NULL: the host decomposes it */
} Reference;

/* What a kernel gets. The outputs are made already, every element 0; who fails leaves them to the caller. */
typedef struct ReferenceRun {
  Reference *reference;
  const ReferenceRow *row;
  const BurnOpCall *call;
  BurnPrimitive *const *out;
} ReferenceRun;

typedef BurnStatus (*ReferenceKernel)(const ReferenceRun *run);

/* One op: its kernel and, where many ops share a kernel, what makes this one special. */
struct ReferenceRow {
  uint32_t op;
  ReferenceKernel kernel;
  double (*real)(double a, double b);     /* for float inputs */
  int64_t (*whole)(int64_t a, int64_t b); /* for int and bool inputs */
  int detail;                             /* what it means is the kernel's business */
};

/* The rows, family by family; each list ends with op 0. */
extern const ReferenceRow reference_conv_rows[], reference_create_rows[], reference_elementwise_rows[],
    reference_index_rows[], reference_linalg_rows[], reference_move_rows[], reference_pool_rows[],
    reference_reduce_rows[], reference_scan_rows[], reference_sort_rows[], reference_view_rows[];

/* Functions of reference_elementwise.def by which other families join elements: reference_real_add for floats,
 * reference_whole_add for ints and bools. */
#define REFERENCE_JOINS(JOIN) \
  JOIN(add) JOIN(mul) JOIN(largest) JOIN(smallest) JOIN(second) JOIN(either) JOIN(is_larger) JOIN(is_smaller)
#define REFERENCE_JOIN(name)                        \
  double reference_real_##name(double a, double b); \
  int64_t reference_whole_##name(int64_t a, int64_t b);
REFERENCE_JOINS(REFERENCE_JOIN)
#undef REFERENCE_JOIN

/* -- reference_tensor.c ----------------------------------------------------------------------- */

/* A new tensor of zeros with one reference; NULL when there is no memory. */
BurnPrimitive *reference_new(Reference *reference, const BurnTensorDesc *desc);
void reference_retain(BurnPrimitive *x);
void reference_release(Reference *reference, BurnPrimitive *x); /* NULL is allowed */

/* Element i as f64 (exact for floats) or i64 (exact for ints and bool). Integers of a float tensor are not asked
 * for. */
double reference_get_float(const BurnPrimitive *x, int64_t i);
int64_t reference_get_integer(const BurnPrimitive *x, int64_t i);

/* Element i becomes the value in the dtype of x. Floats round once, to nearest even. Ints take reals toward zero and
 * saturated (NaN is 0), and the low bits of integers. bool is value != 0. */
void reference_put_float(BurnPrimitive *x, int64_t i, double value);
void reference_put_integer(BurnPrimitive *x, int64_t i, int64_t value);

/* The same bits at another place; both tensors have the same dtype. */
void reference_copy(BurnPrimitive *to, int64_t to_index, const BurnPrimitive *from, int64_t from_index);

static inline bool reference_is_float(const BurnPrimitive *x) { return burn_dtype_kind(x->dtype) == BURN_KIND_FLOAT; }

/* The value that an element of a float dtype takes. */
double reference_round(BurnDType dtype, double value);

/* A number (tag I64 or F64) as an element of x: rounded once; for integers toward zero and saturated, NaN is 0. */
void reference_put_number(BurnPrimitive *x, int64_t i, const BurnAttr *number);

/* The same as a value of an integer dtype. */
int64_t reference_saturate(BurnDType dtype, const BurnAttr *number);

/* Adds to an element of a float tensor. */
static inline void reference_add_to(BurnPrimitive *x, int64_t i, double value) {
  reference_put_float(x, i, reference_get_float(x, i) + value);
}

/* A tensor of the same shape in f64, or i64 for integers, of zeros: sums are rounded once, by reference_narrow. NULL
 * when there is no memory. */
BurnPrimitive *reference_wide(Reference *reference, const BurnPrimitive *like);
/* Releases wide after every element of it went to `to`. */
void reference_narrow(Reference *reference, BurnPrimitive *wide, BurnPrimitive *to);

/* Walking over element numbers 0, 1, 2, .. of x: the sum of coordinate * step over all axes. With the strides of
 * another tensor as steps this is the number of the element there. */
int64_t reference_place(const BurnPrimitive *x, int64_t i, const int64_t *steps);
/* Steps that broadcast x: its strides, but 0 along axes of size 1. */
void reference_broadcast(const BurnPrimitive *x, int64_t *steps);

/* A failure with the op's name in front. */
BurnStatus reference_fail(const ReferenceRun *run, uint32_t code, const char *format, ...);
static inline BurnStatus reference_no_memory(const ReferenceRun *run) {
  return reference_fail(run, BURN_STATUS_OUT_OF_MEMORY, "no memory for the sums");
}

/* A tensor seen as [outer, size, inner] around the axis dim. */
typedef struct ReferenceAxis {
  int64_t outer, size, inner;
} ReferenceAxis;
ReferenceAxis reference_axis(const BurnPrimitive *x, int64_t dim);

/* Element number k of line number i along an axis: lines are numbered as the elements of the result. */
static inline int64_t reference_on_line(const ReferenceAxis *axis, int64_t i, int64_t k) {
  return (i / axis->inner * axis->size + k) * axis->inner + i % axis->inner;
}

#endif
