/* lora.h - fine-tuning with few parameters: low-rank adapters on the weights of any module.
 *
 *   const BurnLoraConfig config = BurnLoraConfig_defaults(8, 16);              rank, alpha
 *   const char *const attention[] = {"query", "value", NULL};
 *   status = burn_module_apply_lora(model, &config, &(BurnParamGroup){.any_parts = attention});
 *   ... train, save, load as ever: only the adapters learn ...
 *   status = burn_module_merge_lora(model);                                    plain weights again
 *
 * A weight W [d_in, d_out] with an adapter stands for W + alpha / rank * (a x b), with a [d_in, rank] and b [rank,
 * d_out]: that is what burn_param_value gives, so layers need not know. W is frozen. a and b are parameters with ids
 * of their own at the paths "<weight>.lora.a" and "<weight>.lora.b": visited, optimized, counted and recorded as all
 * others. burn_module_valid gives plain weights with the adapters merged in, as Burn's does; the other copies keep them
 * apart. W stays frozen in burn_module_unfreeze and on other devices. */
#ifndef BURN_LORA_H
#define BURN_LORA_H

#include <burn/config.h>
#include <burn/param_group.h>
#include <burn/quantizer.h>

BURN_EXTERN_C_BEGIN

/* Burn's Lora: its defaults. */
#define BURN_LORA_CONFIG(REQ, OPT)                                                                      \
  REQ(BurnSize, rank, "width of the adapters: columns of a, rows of b")                                 \
  REQ(BurnF64, alpha, "the adapter counts alpha / rank times")                                          \
  OPT(BurnOptionF64, init_std, BURN_ABSENT, "standard deviation of a's first values; absent: 1 / rank") \
  OPT(BurnText, dtype, BURN_INTERNAL_ROW_VALUE(BurnText, ""),                                           \
      "f64, f32, f16 or bf16, of a and b; empty: as the weight. That of a "                             \
      "quantized weight becomes floats of this dtype, too")
BURN_CONFIG(BurnLoraConfig, BURN_LORA_CONFIG);

/* Freezes all parameters of the module, and gives those of rank 2 and a float dtype (or quantized) that are in the
 * group (NULL: all) an adapter: a from a normal distribution, b 0, so that the module computes what it did before. On a
 * device with autodiff a and b ask for gradients. Fails and changes nothing where no parameter is found, where one has
 * an adapter already (merge it first), or where a quantized one has quantized inputs, which no gradient passes. */
BURN_API BURN_USE_RESULT BurnStatus burn_module_apply_lora(BurnModule module, const BurnLoraConfig *config,
                                                           const BurnParamGroup *group);

/* The same on quantized weights (QLoRA): burn_module_quantize_weights, which has a group of its own, comes first. */
BURN_API BURN_USE_RESULT BurnStatus burn_module_apply_qlora(BurnModule module, const BurnLoraConfig *config,
                                                            const BurnParamGroup *group,
                                                            const BurnQuantizer *quantizer);

/* Makes all weights with adapters plain: W becomes what it stood for, frozen, with its id; a and b are gone. A
 * quantized W becomes floats. A module without adapters stays as it is. On failure those before the one that failed are
 * merged, and the others are not. */
BURN_API BURN_USE_RESULT BurnStatus burn_module_merge_lora(BurnModule module);

/* True if the parameter has an adapter. Its factors and alpha / rank go to the pointers that are not NULL: parameters
 * that stay the module's. */
BURN_API bool burn_param_lora(const BurnParam *param, const BurnParam **a, const BurnParam **b, double *scale);

BURN_EXTERN_C_END

#endif
