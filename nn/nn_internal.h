/* nn_internal.h - what the layers share: checks of configs, parameters from initializers, explicit padding. Private to
 * nn/. */
#ifndef BURN_NN_INTERNAL_H
#define BURN_NN_INTERNAL_H

#include <burn/module.h>
#include <burn/nn/initializer.h>
#include <burn/nn/linear.h>
#include <burn/nn/loss.h>
#include <burn/nn/padding.h>

#include <float.h>

/* What a config is: `config`, or if that is NULL the defaults. If some fields have none, *status becomes a failure that
 * says how to make one, and the rest of init goes on with zeros in those. (Where none is required `status` may be
 * NULL.) */
const void *burn_nn_config(const void *config, const BurnType *type, const char *layer, BurnStatus *status);

/* A layer without parameters has no place for that failure: a size of it is then BURN_NN_NO_CONFIG, and forward gives
 * this (x is taken). */
#define BURN_NN_NO_CONFIG SIZE_MAX
BURN_GIVES BURN_TAKES(1) BurnTensor *burn_nn_no_config(BurnTensor *x, const BurnType *config_type, const char *layer);

/* The same for a layer whose only required row is a number, and the failure alone. */
#define BURN_NN_NO_NUMBER (-DBL_MAX)
BurnStatus burn_nn_no_config_status(const BurnType *config_type, const char *layer);

/* What a function gives that got NULL for its module: "linear: the module is NULL; burn_linear_init makes one", of
 * which the layer is that of `function`, __func__. As a tensor; those given are taken. */
enum { BURN_NN_MAX_TAKEN = 4 };
#define BURN_NN_NO_MODULE(...) burn_nn_no_module(__func__, (BurnTensor *const[BURN_NN_MAX_TAKEN]){__VA_ARGS__})
BURN_GIVES BurnTensor *burn_nn_no_module(const char *function, BurnTensor *const taken[BURN_NN_MAX_TAKEN]);
BurnStatus burn_nn_no_module_status(const char *function);

/* Where a forward pass failed: burn_nn_sound is asked before the layer's ops take x, burn_nn_placed gives their result
 * (taken), a failure with the path of the layer and its kind in front. The path is that of its first parameter. A
 * failure that x brought stays as it is. */
bool burn_nn_sound(const BurnTensor *x);
BURN_GIVES BURN_TAKES(4) BurnTensor *burn_nn_placed(bool sound, const BurnParam *first, const char *layer,
                                                    BurnTensor *result);

/* The status with the path of a layer in front, `depth` names above the parameter `inner`: 1 for its own layer, 2 for
 * the layer around that. */
BurnStatus burn_nn_at(BurnStatus status, const BurnParam *inner, unsigned depth);

/* A size of a config with its name, for checks and messages. */
typedef struct BurnNnSize {
  const char *name;
  size_t value;
} BurnNnSize;

/* BURN_OK if all are 1 .. INT32_MAX, else "<layer>: <name> is 0". */
BurnStatus burn_nn_check_sizes(const char *layer, const BurnNnSize *sizes, size_t count);

/* BURN_OK if `groups` divides both channel counts, else "<layer>: groups 3 does not divide channels_in 8". */
BurnStatus burn_nn_check_groups(const char *layer, BurnNnSize groups, size_t channels_in, size_t channels_out);

/* BURN_OK if value is finite and not negative, else "<layer>: <name> -1 is not a number of 0 or more". */
BurnStatus burn_nn_check_not_negative(const char *layer, const char *name, double value);

/* The size and the epsilon of a normalisation, checked. */
BurnStatus burn_nn_check_norm(const char *layer, const char *name, size_t size, double epsilon);

/* BURN_OK if value is within 0..1, else "<layer>: <name> 1.5 is outside 0..1". */
BurnStatus burn_nn_check_share(const char *layer, const char *name, double value);

/* A parameter with first values, or a failed one if status is a failure. Messages of initializers get "<layer>: " in
 * front. */
BurnParam burn_nn_param(BurnStatus status, const char *layer, const BurnInitializer *initializer, BurnShape shape,
                        int64_t fan_in, int64_t fan_out, BurnDevice *device);

/* x (taken) as a weight multiplies it: noted for a calibration, and rounded to integers times a scale if the weight's
 * inputs are quantized. */
BURN_GIVES BURN_TAKES(2) BurnTensor *burn_nn_input(const BurnParam *weight, BurnTensor *x);

/* A linear layer inside another one; with failed parameters if the status, that of the outer config, is a failure. */
BurnLinear burn_nn_linear(BurnStatus status, const BurnLinearConfig *config, BurnDevice *device);

/* a * b for sizes of at least 0, INT64_MAX where that overflows. */
int64_t burn_nn_product(int64_t a, int64_t b);

/* True if x is on a device with autodiff: where layers train. False for NULL and failed tensors. */
bool burn_nn_is_training(const BurnTensor *x);

/* x (taken) in the dtype; failed tensors pass. */
BURN_GIVES BURN_TAKES(1) BurnTensor *burn_nn_in_dtype(BurnTensor *x, BurnDType dtype);
/* x (taken), in f32 if it is f16 or bf16: for sums and squares. */
BURN_GIVES BURN_TAKES(1) BurnTensor *burn_nn_widened(BurnTensor *x);

/* -- loss_common.c: what losses share ---------------------------------------------------------- */

/* A tensor handed to a loss, with its name for messages. */
typedef struct BurnNnOperand {
  const char *name;
  BurnTensor *tensor;
} BurnNnOperand;

/* BURN_OK if all have one shape, else "<layer>: predictions [2,3], targets [2]". Broadcasting in a loss is a mistake in
 * the program: [n] against [n, 1] would give n * n errors. Failed tensors are left to the op that takes them. */
BurnStatus burn_nn_check_alike(const char *layer, const BurnNnOperand *operands, size_t count);
/* BURN_OK if absent or within 0..1. */
BurnStatus burn_nn_check_smoothing(const char *layer, const BurnOptionF64 *smoothing);
/* BURN_OK if value is above 0, else "<layer>: <name> 0 is not above 0". */
BurnStatus burn_nn_check_above_0(const char *layer, const char *name, double value);
/* Drops the operands and gives a tensor failed with status. */
BURN_GIVES BurnTensor *burn_nn_refused(BurnStatus status, const BurnNnOperand *operands, size_t count);
/* Takes the losses of items or elements and gives their mean or sum; BatchMean fails. */
BURN_GIVES BURN_TAKES(2) BurnTensor *burn_nn_reduced(const char *layer, BurnTensor *losses, BurnReduction reduction);

/* x itself, or failed with a message if it is not of rank 1. Takes x. */
BURN_GIVES BURN_TAKES(3) BurnTensor *burn_nn_require_vector(const char *layer, const char *name, BurnTensor *x);
/* Puts a tensor (taken) into a buffer that may be absent. */
BURN_TAKES(2) void burn_nn_set_buffer(BurnBuffer *buffer, BurnTensor *value);
/* The same for class weights: a failed tensor if they are not of rank 1 and above 0. */
BURN_TAKES(3) void burn_nn_set_weights(BurnBuffer *buffer, const char *layer, BurnTensor *weights);
/* A clone of a buffer's value, of the device and dtype given; NULL if absent. */
BURN_GIVES BurnTensor *burn_nn_buffer_on(const BurnBuffer *buffer, BurnDevice *device, BurnDType dtype);
/* The smallest normal number of a float dtype. */
double burn_nn_least_normal(BurnDType dtype);

/* -- window.c: windows over 1 to 3 spatial axes, which follow batch and channels --------------- */

enum { BURN_NN_MAX_AXES = 3 };

/* The window of a convolution or pooling layer along its axes. */
typedef struct BurnNnWindow {
  uint32_t axes;
  size_t kernel_size[BURN_NN_MAX_AXES], stride[BURN_NN_MAX_AXES], dilation[BURN_NN_MAX_AXES];
} BurnNnWindow;

/* [axes] each: &m->stride of a BurnSize, m->stride.at of a BurnSize2. `dilation` NULL: ones. */
BurnNnWindow burn_nn_window(uint32_t axes, const size_t *kernel_size, const size_t *stride, const size_t *dilation);
/* The positions under the kernel, INT64_MAX where that overflows. */
int64_t burn_nn_positions(const BurnNnWindow *window);

/* A padding of any rank. */
typedef struct BurnNnPadding {
  uint32_t kind;                                         /* BURN_PADDING_KIND_* */
  size_t start[BURN_NN_MAX_AXES], end[BURN_NN_MAX_AXES]; /* of Explicit */
} BurnNnPadding;

BurnNnPadding burn_nn_padding_1d(const BurnPadding1d *padding); /* padding.c */
BurnNnPadding burn_nn_padding_2d(const BurnPadding2d *padding); /* padding.c */
BurnNnPadding burn_nn_padding_3d(const BurnPadding3d *padding); /* padding.c */

/* Positions added before and after each axis. */
typedef struct BurnNnSides {
  uint32_t axes;
  int64_t start[BURN_NN_MAX_AXES], end[BURN_NN_MAX_AXES];
} BurnNnSides;

/* What a padding means for the input x (borrowed). */
BurnNnSides burn_nn_sides(const BurnNnPadding *padding, const BurnTensor *x, const BurnNnWindow *window);

/* Takes x. Even sides go to `padding` [axes] for the op to carry out and x is returned as it is; uneven ones give x
 * surrounded by `value`, and zeros in `padding`. */
BurnTensor *burn_nn_pad(BurnTensor *x, const BurnNnSides *sides, double value, int64_t *padding);

/* Sizes as the options of ops have them: to[i] = from[i]. */
void burn_nn_to_options(uint32_t axes, const size_t *from, int64_t *to);

#endif
