/* epilogue.h - the interface "burn.epilogue" of a backend: a product and the element-wise ops after it as one kernel.
 *
 * Matrix products and convolutions are often followed by a bias, an activation, a residual, a scale or a cast. As calls
 * of their own, or as a body of "burn.fused", these read from memory what the product has just written. A backend that
 * can run them on a product's results while they are in registers or caches offers this interface beside "burn.fused".
 *
 * There is no new kind of kernel: a product with an epilogue is a body (fused.h) whose first step is the product and
 * whose other steps are element-wise over its result. Its kernel is run, described and released by the functions of the
 * backend's "burn.fused", whose `self` is the one that is given here. Attributes of the first step may differ between
 * runs as those of other steps may.
 *
 * Numbers: the steps after the product see its result rounded to its dtype, as if it had been stored, and give the bits
 * of the single ops. So a body gives the bits of its steps called one by one, wherever the product does.
 *
 * A decorator that passes the question on, and has a "burn.fused" of its own, never sees such a body: fusion uses this
 * interface only where both have one `self`. */
#ifndef BURN_PLUGIN_EPILOGUE_H
#define BURN_PLUGIN_EPILOGUE_H

#include <burn/plugin/fused.h>

/* The name to ask get_interface for. */
#define BURN_EPILOGUE_INTERFACE "burn.epilogue"

/* What get_interface(BURN_EPILOGUE_INTERFACE) gives, version 1. Functions may be called from any thread at any time. */
typedef struct BurnEpilogueInterface {
  uint32_t struct_size;
  uint32_t version;

  /* 1: a call like this, with values of these shapes and dtypes, may be the first step of a body; 0: never.
   * `inputs[i].rank` is 0 for an absent input. Only ops with one result are asked about. Cheap: planners ask for every
   * call, before they know what follows it. */
  uint32_t(BURN_API_CALL *takes)(void *self, const BurnFusedStep *product, const BurnTensorDesc *inputs,
                                 const BurnTensorDesc *output);

  /* As BurnFusedInterface.compile, of a body whose step 0 is a product and whose others have the role
   * BURN_FUSED_ELEMENTWISE or BURN_FUSED_EXPAND. All outputs have the shape of the product's result, value number
   * `input_count`, which may be an output itself: what a gradient needs of it. Inputs of the body may be inputs of the
   * product, of later steps, or of both; step 0 has BURN_FUSED_ABSENT where an optional input is not there. *out stays
   * NULL, and `why` says the reason, where product and steps are faster apart. */
  BurnStatus(BURN_API_CALL *compile)(void *self, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                     uint64_t why_bytes);
} BurnEpilogueInterface;
#define BURN_EPILOGUE_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnEpilogueInterface, compile)

#endif
