/* normalization.h - one of the normalisations as a module, chosen by a config: Burn's enums Normalization and
 * NormalizationConfig, for blocks whose norm can be exchanged.
 *
 *   BurnNormalizationConfig config = burn_normalization_group(BurnGroupNormConfig_defaults(4, 1));
 *   config = burn_normalization_with_num_features(config, 64);
 *   BurnNormalization norm = burn_normalization_init(&config, device);
 *   x = burn_normalization_forward(&norm, x); */
#ifndef BURN_NN_NORMALIZATION_H
#define BURN_NN_NORMALIZATION_H

#include <burn/nn/identity.h>
#include <burn/nn/norm.h>

BURN_EXTERN_C_BEGIN

/* The cases of Burn's Normalization, in its order. */
#define BURN_NORMALIZATION_CASES(X, Name)                   \
  X(Name, BurnIdentity, Identity, "x as it is")             \
  X(Name, BurnBatchNorm, Batch, "over batch and positions") \
  X(Name, BurnGroupNorm, Group, "over groups of channels")  \
  X(Name, BurnInstanceNorm, Instance, "over each channel")  \
  X(Name, BurnLayerNorm, Layer, "over the last axis")       \
  X(Name, BurnRmsNorm, Rms, "by the root mean square of the last axis")
BURN_MODULE_VARIANT(BurnNormalization, BURN_NORMALIZATION_CASES);

/* Which normalisation, with its config; made by the functions below. Zeroed memory is Identity. It may stand in rows of
 * configs that require it, in JSON as "Identity" or {"Batch": {"num_features": 8, ..}}. */
typedef struct BurnNormalizationConfig {
  uint32_t kind; /* BurnNormalization_KIND_* */
  union {
    BurnBatchNormConfig Batch;
    BurnGroupNormConfig Group;
    BurnInstanceNormConfig Instance;
    BurnLayerNormConfig Layer;
    BurnRmsNormConfig Rms;
  } as;
} BurnNormalizationConfig;
BURN_API const BurnType *BurnNormalizationConfig_type(void);

/* The config of that case. */
BURN_API BurnNormalizationConfig burn_normalization_identity(void);
BURN_API BurnNormalizationConfig burn_normalization_batch(BurnBatchNormConfig config);
BURN_API BurnNormalizationConfig burn_normalization_group(BurnGroupNormConfig config);
BURN_API BurnNormalizationConfig burn_normalization_instance(BurnInstanceNormConfig config);
BURN_API BurnNormalizationConfig burn_normalization_layer(BurnLayerNormConfig config);
BURN_API BurnNormalizationConfig burn_normalization_rms(BurnRmsNormConfig config);

/* The same for another size: num_features of Batch, num_channels of Group and Instance, d_model of Layer and Rms. */
BURN_API BurnNormalizationConfig burn_normalization_with_num_features(BurnNormalizationConfig config, size_t features);

/* Makes the layer, with its first values on `device`. A config that is refused, NULL among them, gives a layer whose
 * forward fails with the reason. */
BURN_API BurnNormalization burn_normalization_init(const BurnNormalizationConfig *config, BurnDevice *device);
/* What forward of the case does: ranks and axes are those of its layer in norm.h. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_normalization_forward(const BurnNormalization *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
