/* tensor.h - make, copy, inspect, read and drop tensors.
 *
 * Every op takes its tensor arguments (they are gone afterwards, also when it fails) and returns a new handle that
 * belongs to the caller. burn_clone is cheap: keep a tensor by cloning it where data forks. NULL means "absent", never
 * "failed". A failed tensor carries the first message; ops given one drop the others and pass it on. A tensor that
 * nobody else holds is reused in place by ops that take it. A stack with fusion computes nothing that nobody reads: a
 * failure that only the computation would show then never shows. Handles may cross threads; one handle is used by one
 * thread at a time.
 *
 * Functions with a second result put it where a pointer says; give NULL for one that is not wanted. Lists of dims,
 * sizes and tensors may be NULL only if their count is 0.
 *
 * In one expression the outermost call takes the variable, inner calls get clones: burn_add(x,
 * burn_relu(burn_clone(x))). The other way round the order of evaluation decides. */
#ifndef BURN_TENSOR_H
#define BURN_TENSOR_H

#include <burn/device.h>

BURN_EXTERN_C_BEGIN

typedef struct BurnTensor BurnTensor;

/* A shape by value: BURN_SHAPE(2, 3). Rank is 1 .. 8; there is no rank 0. */
typedef struct BurnShape {
  uint32_t rank;
  int64_t dims[BURN_MAX_RANK];
} BurnShape;

/* A shape as text, as all messages have it: "[32,784]". By value, so nothing is allocated or freed; in the arguments of
 * a call: printf("%s", burn_shape_text(shape).text). A rank beyond BURN_MAX_RANK is cut to it; rank 0 is "[]". */
typedef struct BurnShapeText {
  char text[8 + BURN_MAX_RANK * 21]; /* each of 8 sizes has up to 20 characters and a separator */
} BurnShapeText;
BURN_API BurnShapeText burn_shape_text(BurnShape shape);
#ifdef __cplusplus
}
#include <initializer_list>
extern "C" {
static inline BurnShape burn_shape_of(std::initializer_list<int64_t> dims) {
  BurnShape shape = {0, {0}};
  for (int64_t dim : dims) {
    if (shape.rank < BURN_MAX_RANK) shape.dims[shape.rank] = dim;
    shape.rank++; /* too many are refused where the shape is used */
  }
  return shape;
}
#define BURN_SHAPE(...) burn_shape_of({__VA_ARGS__})
#else
#define BURN_SHAPE(...) \
  ((BurnShape){.rank = (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dims = {__VA_ARGS__}})
#endif

/* -- from host memory: row-major values, copied ----------------------------------------------- */

/* `data` holds as many elements of `dtype` as the shape says. */
BURN_API BURN_GIVES BurnTensor *burn_tensor_from(BurnDevice *device, const void *data, BurnDType dtype,
                                                 BurnShape shape);
BURN_API BURN_GIVES BurnTensor *burn_tensor_f32(BurnDevice *device, const float *data, BurnShape shape);
BURN_API BURN_GIVES BurnTensor *burn_tensor_f64(BurnDevice *device, const double *data, BurnShape shape);
BURN_API BURN_GIVES BurnTensor *burn_tensor_i32(BurnDevice *device, const int32_t *data, BurnShape shape);
BURN_API BURN_GIVES BurnTensor *burn_tensor_i64(BurnDevice *device, const int64_t *data, BurnShape shape);
BURN_API BURN_GIVES BurnTensor *burn_tensor_u8(BurnDevice *device, const uint8_t *data, BurnShape shape);
BURN_API BURN_GIVES BurnTensor *burn_tensor_bool(BurnDevice *device, const bool *data, BurnShape shape);

/* A tensor that is only a failure; for functions of your own that return tensors. */
BURN_API BURN_GIVES BurnTensor *burn_tensor_failed(BurnStatus status);

/* -- lifetime --------------------------------------------------------------------------------- */

/* Another handle to the same values; x stays. NULL gives NULL. */
BURN_API BURN_GIVES BurnTensor *burn_clone(const BurnTensor *x);

/* Ends a handle. NULL is allowed, and so is a failed tensor. */
BURN_API BURN_TAKES(1) void burn_drop(BurnTensor *x);

/* The handle, and NULL in the variable: for variables that end by themselves. NULL gives NULL. */
static inline BurnTensor *burn_move(BurnTensor **x) {
  BurnTensor *moved = *x;
  *x = NULL;
  return moved;
}
#if defined(__clang_analyzer__) /* it reports what is wrong where it stands, not above */
static inline BurnTensor *burn__moved(BurnTensor **x, BurnTensor *moved) {
  *x = NULL;
  return moved;
}
#define burn_move(x) burn__moved((x), *(x))
#endif

/* A variable that drops its tensor wherever its block is left. The variable does not see that an op takes the tensor,
 * so it is always given by burn_move; given as it is, the tensor is ended twice (guards say so):
 *
 *   BURN_AUTO BurnTensor *x = burn_relu(input);
 *   BURN_AUTO BurnTensor *y = burn_exp(burn_clone(x));
 *   if (burn_tensor_status(y) != BURN_OK) return burn_move(&y);        x is dropped
 *   return burn_add(burn_move(&x), burn_move(&y));
 *
 * For gcc and clang; other compilers have no such variables and know no BURN_AUTO. clang's analyzer does not see these
 * drops: give it -DBURN_ANALYZE_LEAKS=0. */
#if defined(__GNUC__)
#define BURN_AUTO __attribute__((cleanup(burn__auto_drop)))
static inline void burn__auto_drop(BurnTensor **x) { burn_drop(*x); }
#endif

/* -- scopes: drop all that was made since ----------------------------------------------------- */

/* A scope drops all tensors that were made in it when it ends, but the one that it returns:
 *
 *   BurnTensor *block(const Block *m, BurnTensor *x) {                    takes x
 *     BurnScope *scope = burn_scope_begin();
 *     burn_scope_adopt(scope, x);
 *     BurnTensor *h = burn_linear_forward(&m->up, burn_clone(x));
 *     BurnTensor *limit = burn_max_abs(burn_clone(h));
 *     if (burn_tensor_status(limit) != BURN_OK) return burn_scope_end(scope, limit);    x and h are dropped
 *     return burn_scope_end(scope, burn_add(x, burn_div(h, limit)));
 *   }
 *
 * - A handle that an op returns on this thread belongs to the innermost open scope of the thread, failed ones and the
 * results of in-place ops too. A function that has nothing to do returns the handle it was given, which stays where it
 * was: a tensor from outside that is taken inside is best adopted first.
 * - What the library stores leaves all scopes: the value of a BurnParam or BurnBuffer and so any module, which may be
 * made in a scope; gradients by parameter, optimizer state, what a loader holds. burn_write leaves the new handle where
 * the old one was. A clone of such a value, burn_batch_take included, is made like any other tensor.
 * - What the program stores elsewhere, in a struct, a BurnParam's member, a list or another thread, has to be kept
 * first.
 * - Tensors of burn.hpp drop themselves: a scope around them would drop them twice. */
typedef struct BurnScope BurnScope;

/* Opens a scope on this thread, inside those that are open. NULL when out of memory, with a message in the log: then
 * the functions below do nothing but return their tensor, and nothing is dropped. */
BURN_API BURN_USE_RESULT BurnScope *burn_scope_begin(void);

/* Drops what belongs to the scope, and ends it with all scopes in it that are still open. `kept`, which may be NULL or
 * failed, is returned and belongs to the enclosing scope if it belonged to this one. A scope of another thread, or one
 * that was ended, is left alone with a message in the log. */
BURN_API BurnTensor *burn_scope_end(BurnScope *scope, BurnTensor *kept);

/* x moves from the scope, or one inside it, to the enclosing one, if there is one; with NULL for the scope out of all
 * of them. Returns x. */
BURN_API BurnTensor *burn_scope_keep(BurnScope *scope, BurnTensor *x);

/* x, made before or elsewhere, belongs to the scope from now on. Returns x. */
BURN_API BurnTensor *burn_scope_adopt(BurnScope *scope, BurnTensor *x);

/* -- look at a tensor; it stays --------------------------------------------------------------- */

BURN_API BURN_USE_RESULT BurnStatus burn_tensor_status(const BurnTensor *x); /* BURN_OK or why it failed */
BURN_API BurnShape burn_shape(const BurnTensor *x);                          /* rank 0 if failed or NULL */
BURN_API uint32_t burn_rank(const BurnTensor *x);                            /* 0 if failed or NULL */
BURN_API int64_t burn_dim(const BurnTensor *x, int dim);      /* size of an axis, negative from the end; -1 if
                                                                 there is none */
BURN_API int64_t burn_element_count(const BurnTensor *x);     /* 0 if failed or NULL */
BURN_API BurnDType burn_dtype(const BurnTensor *x);           /* BURN_DTYPE_DEFAULT if failed or NULL */
BURN_API BurnDevice *burn_tensor_device(const BurnTensor *x); /* NULL if failed or NULL */

/* -- data leaves: these take the tensor ------------------------------------------------------- */

/* Copies the elements to `data` in row-major order, in the tensor's own dtype. `bytes` must be exactly their size. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn_read(BurnTensor *x, void *data, size_t bytes);

/* Copies all elements, converted to the type of `data`; `count` must be their number. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn_read_f32(BurnTensor *x, float *data, size_t count);
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn_read_f64(BurnTensor *x, double *data, size_t count);
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn_read_i64(BurnTensor *x, int64_t *data, size_t count);

/* The value of a tensor of one element; INVALID_ARGUMENT for any other, a failed tensor's own failure. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn_read_scalar(BurnTensor *x, double *value);

/* Copies several tensors, all taken, each as burn_read does: tensors[i] to data[i], which has bytes[i]. All copies are
 * started before the first is waited for. Nothing is copied if one of them failed or has another size; after a failure
 * that only the reading shows (fusion) some may be. (Burn's Transaction.) burn/transfer.h has reads that are finished
 * later. */
BURN_API BURN_USE_RESULT BurnStatus burn_read_all(BurnTensor *const *tensors, void *const *data, const size_t *bytes,
                                                  size_t count);

/* Replaces the values of *x by host data of its dtype and shape; a tracked leaf stays one. A failure leaves *x as it
 * was. */
BURN_API BURN_USE_RESULT BurnStatus burn_write(BurnTensor **x, const void *data, size_t bytes);

/* Prints values, shape, device, kind and dtype in Burn's layout; a failed tensor prints its message. Unless
 * burn_set_print_options says otherwise, floats have the fewest digits that read back as the same number, in every
 * locale, and tensors of more than 1000 elements are shortened to 3 items at either end of an axis. */
BURN_API BURN_TAKES(1) void burn_print(BurnTensor *x);
/* The same for a tensor that stays: for a look in between. (burn_print takes, as all functions do where data leaves.)
 */
BURN_API void burn_show(const BurnTensor *x);
BURN_API BURN_TAKES(2) void burn_print_to(FILE *file, BurnTensor *x);
/* The same, but of a tensor that cannot be printed nothing is: the status says why. */
BURN_API BURN_USE_RESULT BURN_TAKES(2) BurnStatus burn_print_or_fail(FILE *file, BurnTensor *x);

/* How tensors are printed; start from BURN_PRINT_OPTIONS, Burn's defaults. */
typedef struct BurnPrintOptions {
  size_t threshold;  /* tensors with more elements are shortened: to */
  size_t edge_items; /* so many items at either end of an axis, 1 or more */
  int precision;     /* digits of floats after the point, at most 30, without an exponent; -1: the fewest that read
                        back */
} BurnPrintOptions;
#define BURN_PRINT_OPTIONS BURN_INTERNAL_VALUE(BurnPrintOptions, 1000, 3, -1)
/* From now on, in the whole process: Burn's set_print_options. INVALID_ARGUMENT changes nothing. */
BURN_API BURN_USE_RESULT BurnStatus burn_set_print_options(BurnPrintOptions options);

/* x on another device: itself if it is there already, a move between a device and its inner one, else a copy: from
 * device to device where both belong to one backend that can do it, otherwise through the host, which the log says once
 * (at info). From autodiff to its inner device the history is dropped, and from one device with autodiff to another:
 * gradients do not pass between two of them. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_to_device(BurnTensor *x, BurnDevice *device);

BURN_EXTERN_C_END

#endif
