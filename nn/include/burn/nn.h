/* nn.h - all layers. Every one is four things: BurnXConfig (BURN_CONFIG rows), BurnX (BURN_MODULE rows, named as in Burn's
 * records), burn_x_init(&config, device) and burn_x_forward(&module, x), which takes x.
 *
 *   BurnLinearConfig config = BurnLinearConfig_defaults(784, 10);
 *   BurnLinear linear = burn_linear_init(&config, device);
 *   BurnTensor *logits = burn_linear_forward(&linear, images);
 *   BurnLinear_release(&linear);
 *
 * init never fails visibly: a config that makes no sense gives parameters that are failed tensors with the reason, which
 * burn_module_status reports and every forward pass carries on. */
#ifndef BURN_NN_H
#define BURN_NN_H

#include <burn/nn/activation.h>
#include <burn/nn/conv.h>
#include <burn/nn/dropout.h>
#include <burn/nn/embedding.h>
#include <burn/nn/initializer.h>
#include <burn/nn/linear.h>
#include <burn/nn/loss.h>
#include <burn/nn/norm.h>
#include <burn/nn/padding.h>
#include <burn/nn/pool.h>

#endif
