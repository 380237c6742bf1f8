/* average.h - a copy of a module that follows it: the exponential moving average (EMA) of its weights, which often
 * validates better than they do themselves, or the target network of reinforcement learning.
 *
 *   Mlp average = Mlp_valid(&mlp);                                the same values, below autodiff
 *   ...
 *   status = burn_train_step(optimizer, burn_module(Mlp, &mlp), loss, 1e-3);
 *   if (status == BURN_OK) status = burn_module_average(burn_module(Mlp, &average), burn_module(Mlp, &mlp), 0.999);
 *
 * The copy is a module like any other: it is saved, validated and released. In the learner on_batch.after is the
 * place. */
#ifndef BURN_TRAIN_AVERAGE_H
#define BURN_TRAIN_AVERAGE_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* average = decay average + (1 - decay) module, for every float parameter; buffers (running statistics) and other
 * parameters become those of the module. The two are built alike, and may live on different devices and have different
 * dtypes: those of the average stay, as do its ids. `decay` is 0 .. 1; 0 copies. Tensors that do not belong together
 * are INVALID_SHAPE or INVALID_ARGUMENT, with the path of the first, as is a parameter of the average that is
 * quantized; nothing is changed then. */
BURN_API BURN_USE_RESULT BurnStatus burn_module_average(BurnModule average, BurnModule module, double decay);

BURN_EXTERN_C_END

#endif
