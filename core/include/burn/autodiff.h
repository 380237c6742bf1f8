/* autodiff.h - gradients. They need a device whose stack has autodiff (burn_device_open_training); elsewhere these
 * functions fail with a message that says so.
 *
 *   BurnTensor *x = burn_require_grad(burn_tensor_f32(device, (float[]){1, 2, 3}, BURN_SHAPE(3)));
 *   BurnGradients *gradients = NULL;
 *   BurnStatus status = burn_backward(burn_sum(burn_powf_scalar(burn_clone(x), 2)), &gradients);
 *   burn_print(burn_grad(x, gradients));            2 4 6, on the inner device
 *   burn_drop(x);
 *   burn_gradients_drop(gradients); */
#ifndef BURN_AUTODIFF_H
#define BURN_AUTODIFF_H

#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* The gradients of one backward pass. */
typedef struct BurnGradients BurnGradients;

/* Takes a float tensor without history and returns it as a leaf whose gradient will be kept. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_require_grad(BurnTensor *x);

/* True for a leaf made by burn_require_grad. */
BURN_API bool burn_is_require_grad(const BurnTensor *x);

/* True if something computed from x would be recorded. */
BURN_API bool burn_is_tracked(const BurnTensor *x);

/* The same values without history, on the same device. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_detach(BurnTensor *x);

/* The same values on the device below autodiff; x itself if its device has none. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_inner(BurnTensor *x);

/* A tensor of the inner device of `device`, lifted onto `device`, untracked. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_from_inner(BurnTensor *x, BurnDevice *device);

/* Walks back from `root` (taken; any shape, seeded with ones) and stores the gradients in *gradients, which the caller
 * drops. The graph is consumed: a second pass through the same tensors is FAILED_PRECONDITION. *gradients stays
 * untouched on failure. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn_backward(BurnTensor *root, BurnGradients **gradients);

/* The same, for gradients of gradients (PyTorch's create_graph): the gradients are tensors of the device of `root`
 * itself, tracked, so that a loss may be computed from them (a gradient penalty) and walked back in turn. The graph is
 * not consumed; it goes with its last tensor, or with an ordinary burn_backward through it. Costs the memory of both
 * passes.
 *
 *   status = burn_backward_create_graph(burn_sum(critic(x)), &gradients);
 *   BurnTensor *norm = burn_l2_norm(burn_grad(x, gradients), 1);
 *   burn_gradients_drop(gradients);
 *   penalty = burn_mean(burn_square(burn_sub_scalar(norm, 1))); */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnStatus
    burn_backward_create_graph(BurnTensor *root, BurnGradients **gradients);

/* -- less memory: checkpoints ----------------------------------------------------------------- */

/* What the calling thread computes on `device` between the two is not kept for the backward pass, which computes it
 * again when it gets there, with the same bits: the memory of a region's inputs instead of all its values, for the time
 * of one more forward pass. Best around each block of a deep model, so that one block's values are there at a time:
 *
 *   for (size_t i = 0; i < count; i++) {
 *     status = burn_checkpoint_begin(device);
 *     x = block_forward(&blocks[i], x);
 *     if (status == BURN_OK) status = burn_checkpoint_end(device);
 *   }
 *
 * What is used outside the region stays, and so does what has no history, such as a mask that was drawn. Regions may be
 * nested: the outermost pair counts. One that was never ended stays open for its thread until the device is closed. End
 * without begin is FAILED_PRECONDITION; UNIMPLEMENTED where the stack's autodiff cannot do it. On a device without
 * autodiff nothing is kept anyway, and they do nothing. The option autodiff:checkpointing=balanced does the same for
 * cheap ops everywhere. */
BURN_API BURN_USE_RESULT BurnStatus burn_checkpoint_begin(BurnDevice *device);
BURN_API BURN_USE_RESULT BurnStatus burn_checkpoint_end(BurnDevice *device);

/* -- results ---------------------------------------------------------------------------------- */

/* The gradient of leaf x, on the inner device (after burn_backward_create_graph on that of x); NULL when none reached
 * it. x stays. */
BURN_API BURN_GIVES BurnTensor *burn_grad(const BurnTensor *x, BurnGradients *gradients);

/* The same, and takes it out of the container. */
BURN_API BURN_GIVES BurnTensor *burn_grad_remove(const BurnTensor *x, BurnGradients *gradients);

/* Ends the container; NULL is allowed. */
BURN_API void burn_gradients_drop(BurnGradients *gradients);

BURN_EXTERN_C_END

#endif
