/* autodiff.h - interface "burn.autodiff", version 1: what a decorator that computes gradients offers beside its backend
 * table. The host finds it in a stack with get_interface; core/include/burn/autodiff.h is built on it. */
#ifndef BURN_PLUGIN_AUTODIFF_H
#define BURN_PLUGIN_AUTODIFF_H

#include <burn/plugin/backend.h>

/* Gradients of one backward pass, by leaf; opaque. */
typedef struct BurnGradientSet BurnGradientSet;

/* Primitives named "inner" belong to the backend below the decorator, all others to the decorator itself. Arguments are
 * borrowed; results carry one reference for the caller. */
typedef struct BurnAutodiffInterface {
  uint32_t struct_size;
  uint32_t version;
  /* A tracked leaf with the values of x: x itself if it is one already, or if the caller has the only reference.
   * FAILED_PRECONDITION if x has another history, INVALID_DTYPE if not float. */
  BurnStatus(BURN_API_CALL *require_grad)(void *self, BurnPrimitive *x, BurnPrimitive **out);
  /* 1 if x is a leaf made by require_grad. */
  int32_t(BURN_API_CALL *is_require_grad)(void *self, BurnPrimitive *x);
  /* The same values without history. */
  BurnStatus(BURN_API_CALL *detach)(void *self, BurnPrimitive *x, BurnPrimitive **out);
  /* Walks back from root, of any shape, with a seed of ones. The graph is consumed: a second walk through the same
   * nodes is FAILED_PRECONDITION. */
  BurnStatus(BURN_API_CALL *backward)(void *self, BurnPrimitive *root, BurnGradientSet **out);
  /* The gradient of leaf x as an inner primitive; NULL when none reached it. `remove` != 0 takes it out of the set. */
  BurnStatus(BURN_API_CALL *gradient)(void *self, BurnGradientSet *set, BurnPrimitive *x, int32_t remove,
                                      BurnPrimitive **out);
  /* Ends a set; NULL is allowed. */
  void(BURN_API_CALL *gradients_release)(void *self, BurnGradientSet *set);
  /* Optional. As backward, but the gradients are primitives of the decorator itself, with a history: they can be
   * computed with and differentiated again. The graph is not consumed. */
  BurnStatus(BURN_API_CALL *backward_create_graph)(void *self, BurnPrimitive *root, BurnGradientSet **out);
  /* Optional, both or none. Between the two, the results of what the calling thread records are not kept for the
   * backward pass but computed again there, with the same bits. May be nested: the outermost pair makes the region. End
   * without begin is FAILED_PRECONDITION. A region that is never ended ends with the instance. */
  BurnStatus(BURN_API_CALL *checkpoint_begin)(void *self);
  BurnStatus(BURN_API_CALL *checkpoint_end)(void *self);
} BurnAutodiffInterface;
#define BURN_AUTODIFF_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnAutodiffInterface, backward_create_graph)

#endif
