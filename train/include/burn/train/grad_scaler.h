/* grad_scaler.h - loss scaling for training in f16, by the rules and with the numbers of PyTorch's GradScaler.
 *
 * Gradients below 6e-8 are 0 in f16. So the loss is multiplied by a large number before the backward pass, and the
 * gradients are divided by it afterwards, in f32. Where one of them is not finite, the step is left out and the scale
 * made smaller; after some steps without that it grows. bf16 has the range of f32 and needs none of this.
 *
 *   BurnDevice *device = burn_device_open("autocast:dtype=f16<autodiff<cuda>>");
 *   BurnGradScaler scaler = burn_grad_scaler(NULL);
 *   loss = burn_grad_scaler_scale(&scaler, loss);
 *   status = burn_backward(loss, &gradients);
 *   BurnGradientsParams *linked = burn_gradients_params(gradients, module);
 *   status = burn_grad_scaler_step(&scaler, optimizer, module, linked, 1e-3, NULL);
 *
 * A learner does this where its config has a grad_scaler. */
#ifndef BURN_TRAIN_GRAD_SCALER_H
#define BURN_TRAIN_GRAD_SCALER_H

#include <burn/train/optimizer.h>

BURN_EXTERN_C_BEGIN

/* Names and defaults as in PyTorch. */
#define BURN_GRAD_SCALER_CONFIG(REQ, OPT)                                         \
  OPT(BurnF64, init_scale, 65536, "the first scale")                              \
  OPT(BurnF64, growth_factor, 2, "what the scale is multiplied by when it grows") \
  OPT(BurnF64, backoff_factor, 0.5, "the same where a gradient was not finite")   \
  OPT(BurnSize, growth_interval, 2000, "steps in a row without that for it to grow")
BURN_CONFIG_OPTIONAL(BurnGradScalerConfig, BURN_GRAD_SCALER_CONFIG);

/* A scaler; a plain value, the user's. */
typedef struct BurnGradScaler {
  BurnGradScalerConfig config;
  double scale;            /* of the next loss */
  uint64_t growth_tracker; /* steps since the scale changed */
} BurnGradScaler;

/* A scaler at its beginning. `config` NULL means the defaults. */
BURN_API BurnGradScaler burn_grad_scaler(const BurnGradScalerConfig *config);
/* INVALID_ARGUMENT for a config that makes no sense: a growth_factor that is not above 1, a backoff_factor outside of 0
 * to 1, an init_scale that is not above 0. Told by unscale and step, too. */
BURN_API BURN_USE_RESULT BurnStatus burn_grad_scaler_status(const BurnGradScaler *scaler);

/* The loss (taken) times the scale. */
BURN_API BURN_USE_RESULT BURN_GIVES BURN_TAKES(2) BurnTensor *burn_grad_scaler_scale(const BurnGradScaler *scaler,
                                                                                     BurnTensor *loss);
/* Divides all gradients by the scale; *finite says whether every element of them is. Waits for the device. To clip them
 * or to look at them, call this, then burn_optimizer_step if they are finite, then burn_grad_scaler_update. */
BURN_API BURN_USE_RESULT BurnStatus burn_grad_scaler_unscale(const BurnGradScaler *scaler,
                                                             BurnGradientsParams *gradients, bool *finite);
/* After each step, or one that was left out: the next scale. */
BURN_API void burn_grad_scaler_update(BurnGradScaler *scaler, bool finite);

/* Unscales the gradients (taken), steps if they are finite, updates the scale. *stepped (NULL allowed) says whether the
 * optimizer has stepped: that it has not is not a failure. */
BURN_API BURN_USE_RESULT BurnStatus burn_grad_scaler_step(BurnGradScaler *scaler, BurnOptimizer *optimizer,
                                                          BurnModule module, BurnGradientsParams *gradients,
                                                          double learning_rate, bool *stepped);
/* The same with rates by groups of parameters. */
BURN_API BURN_USE_RESULT BurnStatus burn_grad_scaler_step_rates(BurnGradScaler *scaler, BurnOptimizer *optimizer,
                                                                BurnModule module, BurnGradientsParams *gradients,
                                                                const BurnModuleLearningRate *rates, bool *stepped);

/* The state, {"scale": .., "growth_tracker": ..}, as a record value, and back; the config is not in it. Loading changes
 * nothing on failure. */
BURN_API BURN_USE_RESULT BurnValue *burn_grad_scaler_value(const BurnGradScaler *scaler);
BURN_API BURN_USE_RESULT BurnStatus burn_grad_scaler_load(BurnGradScaler *scaler, const BurnValue *value);

BURN_EXTERN_C_END

#endif
