/* autocast_internal.h - the tensor of the autocast decorator and the functions that its files share.
 *
 * A program sees the dtypes that it asked for. What it sees as f32 may be held below in the half dtype: that is all
 * that this decorator changes. A tensor is a wrapper with the dtype that is seen, around a primitive with the dtype
 * that is held, and room for one cast of it.
 *
 * Threads: a tensor never changes but for its cast, which the instance's mutex guards. */
#ifndef BURN_AUTOCAST_INTERNAL_H
#define BURN_AUTOCAST_INTERNAL_H

#include <burn/common/failure.h>
#include <burn/common/given.h>
#include <burn/plugin/autodiff.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* An opened instance: self of the backend table and of "burn.autodiff". */
typedef struct AutocastDecorator {
  const BurnHost *host;
  const BurnBackend *next;
  uint32_t owner;
  BurnDType half;                 /* BF16 or F16 */
  pthread_mutex_t mutex;          /* of the casts of all tensors */
  _Atomic int64_t kept;           /* how many there are */
  BurnAutodiffInterface autodiff; /* of the level below; struct_size 0: it has none */
  void *autodiff_self;
  char name[64];
} AutocastDecorator;

/* What the decorator hands out. */
typedef struct AutocastTensor {
  BurnPrimitive
      header; /* first, so that a BurnPrimitive pointer is a pointer to the tensor; its dtype is what is seen */
  _Atomic uint32_t references;
  BurnPrimitive *held;           /* of the level below, one reference */
  BurnPrimitive *cast;           /* the same values in the other dtype, one reference; NULL: not needed so far */
  const void *cast_by;           /* the thread that made it */
  struct AutocastTensor *turned; /* what this is a permutation of, by these axes, one reference; NULL: casts are made of
                                    `held` */
  int64_t axes[BURN_MAX_RANK];
} AutocastTensor;

static inline AutocastTensor *autocast_tensor(BurnPrimitive *x) { return (AutocastTensor *)(void *)x; }

/* A failed status with a formatted message. */
#define AUTOCAST_FAIL(decorator, CODE, ...) BURN_COMMON_FAIL((decorator)->host, CODE, "autocast", __VA_ARGS__)

/* -- autocast_tensor.c ------------------------------------------------------------------------ */

/* BAD_OWNER, with the name of what was asked for, unless x is a tensor of this instance. */
BurnStatus burn__autocast_check_owner(const AutocastDecorator *decorator, const BurnPrimitive *x, const char *what);

/* A new tensor with one reference that is seen as `dtype`. The reference to `held` becomes the tensor's, also when it
 * fails: then it is released. */
BurnStatus burn__autocast_wrap(const AutocastDecorator *decorator, BurnPrimitive *held, BurnDType dtype,
                               BurnPrimitive **out);

/* x as `dtype`, a primitive of the level below with one reference for the caller. `keep`: the cast is kept with x, for
 * the next who asks. */
BurnStatus burn__autocast_as(AutocastDecorator *decorator, AutocastTensor *x, BurnDType dtype, bool keep,
                             BurnPrimitive **out);

/* Says that `view`, which nobody else has yet, is x with its axes permuted: a cast of it is then one of x, which x
 * keeps, seen in the same way. So the transposed weight of an output that is tied to an embedding is not cast for every
 * use. */
void burn__autocast_remember_turned(AutocastTensor *view, AutocastTensor *x, const int64_t *axes);

BurnStatus BURN_API_CALL burn__autocast_create(void *self, const BurnTensorDesc *desc, const void *data,
                                               BurnPrimitive **out);
BurnStatus BURN_API_CALL burn__autocast_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes);
void BURN_API_CALL burn__autocast_retain(void *self, BurnPrimitive *x);
void BURN_API_CALL burn__autocast_release(void *self, BurnPrimitive *x);
BurnPrimitive *BURN_API_CALL burn__autocast_unwrap(void *self, BurnPrimitive *x);
BurnStatus BURN_API_CALL burn__autocast_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out);

/* -- autocast_submit.c ------------------------------------------------------------------------ */

BurnStatus BURN_API_CALL burn__autocast_submit(void *self, const BurnOpCall *call);

/* -- autocast_gradients.c --------------------------------------------------------------------- */

/* Finds "burn.autodiff" below. */
void burn__autocast_find_autodiff(AutocastDecorator *decorator);
/* The table that is offered above; all its functions pass the call on. */
extern const BurnAutodiffInterface burn__autocast_autodiff;

#endif
