/* loss_gram_matrix.h - how much two images differ in style: by the correlations of their features in a VGG19 ("Image
 * Style Transfer Using Convolutional Neural Networks").
 *
 *   BurnGramMatrixLoss loss = burn_gram_matrix_loss_new(1, 1, 1, 1, 1, device);
 *   status = burn_record_load(burn_module(BurnVgg19, &loss.feat_extractor), "vgg19", NULL);
 *   BurnTensor *value = burn_gram_matrix_loss_forward(&loss, images, styles, BURN_REDUCTION_MEAN);
 *
 * Burn downloads the weights; here they come from a record of BurnVgg19, which nn/README.md tells how to write. */
#ifndef BURN_NN_LOSS_GRAM_MATRIX_H
#define BURN_NN_LOSS_GRAM_MATRIX_H

#include <burn/nn/conv.h>
#include <burn/nn/loss.h>

BURN_EXTERN_C_BEGIN

/* The convolutions of VGG19 up to the first of its fifth block: kernels 3 x 3, padded so that sizes stay, each followed
 * by relu; a pool halves height and width after the second, fourth, eighth and twelfth. The parameters do not ask for
 * gradients. */
#define BURN_VGG19_CONFIG(REQ, OPT) OPT(BurnBool, use_avg_pool, false, "pools take means, not the largest")
BURN_CONFIG_OPTIONAL(BurnVgg19Config, BURN_VGG19_CONFIG);
#define BURN_VGG19_FIELDS(X)                                     \
  X(BurnBool, use_avg_pool, "pools take means, not the largest") \
  X(BurnConv2d, conv1_1, "3 -> 64")                              \
  X(BurnConv2d, conv1_2, "64 -> 64")                             \
  X(BurnConv2d, conv2_1, "64 -> 128")                            \
  X(BurnConv2d, conv2_2, "128 -> 128")                           \
  X(BurnConv2d, conv3_1, "128 -> 256")                           \
  X(BurnConv2d, conv3_2, "256 -> 256")                           \
  X(BurnConv2d, conv3_3, "256 -> 256")                           \
  X(BurnConv2d, conv3_4, "256 -> 256")                           \
  X(BurnConv2d, conv4_1, "256 -> 512")                           \
  X(BurnConv2d, conv4_2, "512 -> 512")                           \
  X(BurnConv2d, conv4_3, "512 -> 512")                           \
  X(BurnConv2d, conv4_4, "512 -> 512")                           \
  X(BurnConv2d, conv5_1, "512 -> 512")
BURN_MODULE(BurnVgg19, BURN_VGG19_FIELDS);
/* Makes the network with the first values that convolutions have, 12.9 million parameters. */
BURN_API BurnVgg19 burn_vgg19_init(const BurnVgg19Config *config, BurnDevice *device);

/* Burn's `layer_weights`, a list, are a row per layer here. */
#define BURN_GRAM_MATRIX_LOSS_CONFIG(REQ, OPT)                          \
  REQ(BurnF64, conv1_1, "weight of that layer's difference, 0 or more") \
  REQ(BurnF64, conv2_1, "the same")                                     \
  REQ(BurnF64, conv3_1, "the same")                                     \
  REQ(BurnF64, conv4_1, "the same")                                     \
  REQ(BurnF64, conv5_1, "the same")                                     \
  OPT(BurnBool, use_avg_pool, false, "pools take means, not the largest")
BURN_CONFIG(BurnGramMatrixLossConfig, BURN_GRAM_MATRIX_LOSS_CONFIG);

#define BURN_GRAM_MATRIX_LOSS_FIELDS(X)                    \
  X(BurnVgg19, feat_extractor, "of images")                \
  X(BurnF64, conv1_1, "weight of that layer's difference") \
  X(BurnF64, conv2_1, "the same")                          \
  X(BurnF64, conv3_1, "the same")                          \
  X(BurnF64, conv4_1, "the same")                          \
  X(BurnF64, conv5_1, "the same")
BURN_MODULE(BurnGramMatrixLoss, BURN_GRAM_MATRIX_LOSS_FIELDS);

/* Makes the loss with the first values of burn_vgg19_init: it says nothing until a record of VGG19 is loaded. A weight
 * below 0 gives one whose forward fails with the reason. */
BURN_API BurnGramMatrixLoss burn_gram_matrix_loss_init(const BurnGramMatrixLossConfig *config, BurnDevice *device);
BURN_LAYER(BurnGramMatrixLoss, burn_gram_matrix_loss, BURN_GRAM_MATRIX_LOSS_CONFIG);
/* Two times images [batch, 3, height, width] with values of 0 to 1, at least 16 x 16 -> [1]. BatchMean fails. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_gram_matrix_loss_forward(const BurnGramMatrixLoss *m,
                                                                               BurnTensor *predictions,
                                                                               BurnTensor *targets,
                                                                               BurnReduction reduction);
/* The same -> [batch]: the sum over layers of weight * sum((G - G')^2) / (2 channels height width)^2 with the Gram
 * matrices G = F F^T of features F [channels, height width]. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_gram_matrix_loss_forward_no_reduction(const BurnGramMatrixLoss *m,
                                                                                            BurnTensor *predictions,
                                                                                            BurnTensor *targets);

BURN_EXTERN_C_END

#endif
