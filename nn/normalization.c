/* normalization.c - one of the normalisations, chosen by a config. */
#include <burn/nn/normalization.h>

#include "nn_internal.h"

/* -- configs ---------------------------------------------------------------------------------- */

#define CASE(Name, prefix)                                                                                        \
  static const BurnField prefix##_field[] = {                                                                     \
      {NULL, Burn##Name##NormConfig_type, offsetof(BurnNormalizationConfig, as.Name), "of " #Name "Norm", true}}; \
  BurnNormalizationConfig burn_normalization_##prefix(Burn##Name##NormConfig config) {                            \
    return (BurnNormalizationConfig){.kind = BurnNormalization_KIND_##Name, .as.Name = config};                   \
  }

CASE(Batch, batch)
CASE(Group, group)
CASE(Instance, instance)
CASE(Layer, layer)
CASE(Rms, rms)

BurnNormalizationConfig burn_normalization_identity(void) {
  return (BurnNormalizationConfig){.kind = BurnNormalization_KIND_Identity};
}

const BurnType *BurnNormalizationConfig_type(void) {
  static const BurnVariant variants[] = {{"Identity", 0, NULL},     {"Batch", 1, batch_field},
                                         {"Group", 1, group_field}, {"Instance", 1, instance_field},
                                         {"Layer", 1, layer_field}, {"Rms", 1, rms_field}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnNormalizationConfig",
                                .bytes = sizeof(BurnNormalizationConfig),
                                .count = 6,
                                .variants = variants};
  return &type;
}

BurnNormalizationConfig burn_normalization_with_num_features(BurnNormalizationConfig config, size_t features) {
  switch (config.kind) {
    case BurnNormalization_KIND_Batch:
      config.as.Batch.num_features = features;
      break;
    case BurnNormalization_KIND_Group:
      config.as.Group.num_channels = features;
      break;
    case BurnNormalization_KIND_Instance:
      config.as.Instance.num_channels = features;
      break;
    case BurnNormalization_KIND_Layer:
      config.as.Layer.d_model = features;
      break;
    case BurnNormalization_KIND_Rms:
      config.as.Rms.d_model = features;
      break;
    default:
      break;
  }
  return config;
}

/* -- the layer -------------------------------------------------------------------------------- */

/* Identity has no parameter to carry a failure, Rms has. */
static BurnNormalization refused(BurnStatus status, BurnDevice *device) {
  static const BurnInitializer ones = BURN_ONES;
  return BurnNormalization_Rms(
      (BurnRmsNorm){.gamma = burn_nn_param(status, "normalization", &ones, BURN_SHAPE(1), 0, 0, device)});
}

static BurnStatus no_case(uint32_t kind) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "normalization: kind %u is none of the 6 cases", kind);
}

BurnNormalization burn_normalization_init(const BurnNormalizationConfig *config, BurnDevice *device) {
  if (!config) {
    return refused(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                    "normalization: config is NULL: burn_normalization_batch(..) makes one"),
                   device);
  }
  switch (config->kind) {
    case BurnNormalization_KIND_Identity:
      return BurnNormalization_Identity(burn_identity_init());
    case BurnNormalization_KIND_Batch:
      return BurnNormalization_Batch(burn_batch_norm_init(&config->as.Batch, device));
    case BurnNormalization_KIND_Group:
      return BurnNormalization_Group(burn_group_norm_init(&config->as.Group, device));
    case BurnNormalization_KIND_Instance:
      return BurnNormalization_Instance(burn_instance_norm_init(&config->as.Instance, device));
    case BurnNormalization_KIND_Layer:
      return BurnNormalization_Layer(burn_layer_norm_init(&config->as.Layer, device));
    case BurnNormalization_KIND_Rms:
      return BurnNormalization_Rms(burn_rms_norm_init(&config->as.Rms, device));
    default:
      return refused(no_case(config->kind), device);
  }
}

BurnTensor *burn_normalization_forward(const BurnNormalization *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  switch (m->kind) {
    case BurnNormalization_KIND_Identity:
      return burn_identity_forward(&m->as.Identity, x);
    case BurnNormalization_KIND_Batch:
      return burn_batch_norm_forward(&m->as.Batch, x);
    case BurnNormalization_KIND_Group:
      return burn_group_norm_forward(&m->as.Group, x);
    case BurnNormalization_KIND_Instance:
      return burn_instance_norm_forward(&m->as.Instance, x);
    case BurnNormalization_KIND_Layer:
      return burn_layer_norm_forward(&m->as.Layer, x);
    case BurnNormalization_KIND_Rms:
      return burn_rms_norm_forward(&m->as.Rms, x);
    default:
      burn_drop(x);
      return burn_tensor_failed(no_case(m->kind));
  }
}
