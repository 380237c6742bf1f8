/* nn.h - all layers. Every one is four things: BurnXConfig (BURN_CONFIG rows), BurnX (BURN_MODULE rows, named as in
 * Burn's records), burn_x_init(&config, device) and burn_x_forward(&module, x), which takes x.
 *
 *   BurnLinearConfig config = BurnLinearConfig_defaults(784, 10);
 *   BurnLinear linear = burn_linear_init(&config, device);
 *   BurnTensor *logits = burn_linear_forward(&linear, images);
 *   BurnLinear_release(&linear);
 *
 * init never fails visibly: a config that makes no sense gives parameters that are failed tensors with the reason,
 * which burn_module_status reports and every forward pass carries on. NULL for a config means its defaults; where a
 * field has none, it is a config that makes no sense: "linear: config is NULL: BurnLinearConfig_defaults(d_input,
 * d_output) makes one". Layers without parameters (dropout, pooling) fail in forward.
 *
 * A failure in a forward pass begins with the layer's path once something has walked over the module
 * (burn_module_status does): "blocks.2.up: linear: x [2,3] and weight [4,2]: the weight takes 4 inputs, x has 3". */
#ifndef BURN_NN_H
#define BURN_NN_H

#include <burn/nn/activation.h>
#include <burn/nn/attention.h>
#include <burn/nn/attention_mask.h>
#include <burn/nn/activation_kinds.h>
#include <burn/nn/activation_learned.h>
#include <burn/nn/conv.h>
#include <burn/nn/distance.h>
#include <burn/nn/dropout.h>
#include <burn/nn/embedding.h>
#include <burn/nn/identity.h>
#include <burn/nn/initializer.h>
#include <burn/nn/interpolate.h>
#include <burn/nn/linear.h>
#include <burn/nn/loss.h>
#include <burn/nn/loss_gram_matrix.h>
#include <burn/nn/loss_margin.h>
#include <burn/nn/loss_regression.h>
#include <burn/nn/loss_sequence.h>
#include <burn/nn/noise.h>
#include <burn/nn/norm.h>
#include <burn/nn/normalization.h>
#include <burn/nn/padding.h>
#include <burn/nn/pixel_shuffle.h>
#include <burn/nn/pool.h>
#include <burn/nn/position.h>
#include <burn/nn/rnn.h>
#include <burn/nn/transformer.h>
#include <burn/nn/unfold.h>

#endif
