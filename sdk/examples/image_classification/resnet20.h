/* resnet20.h - the ResNet-20 for pictures of 32 x 32 pixels (He et al. 2015,
 * section 4.2), with layers of nn and weights that PyTorch has trained. */
#ifndef IMAGE_CLASSIFICATION_RESNET20_H
#define IMAGE_CLASSIFICATION_RESNET20_H

#include <burn/burn.h>
#include <burn/nn.h>

enum { PICTURE_SIDE = 32, PICTURE_CLASSES = 10 };

#define BLOCK_FIELDS(X)                          \
  X(BurnConv2d, conv1, "3 x 3, with the stride") \
  X(BurnBatchNorm, bn1, "")                      \
  X(BurnConv2d, conv2, "3 x 3")                  \
  X(BurnBatchNorm, bn2, "")                      \
  X(BurnSize, stride, "2 where a stage has half the side")
BURN_MODULE(Block, BLOCK_FIELDS);

#define RESNET20_FIELDS(X)                            \
  X(BurnConv2d, conv1, "3 -> 16 channels")            \
  X(BurnBatchNorm, bn1, "")                           \
  X(BurnModuleList, stage1, "[3] Block, 16, 32 x 32") \
  X(BurnModuleList, stage2, "[3] Block, 32, 16 x 16") \
  X(BurnModuleList, stage3, "[3] Block, 64, 8 x 8")   \
  X(BurnLinear, head, "64 -> 10 classes")
BURN_MODULE(ResNet20, RESNET20_FIELDS);

ResNet20 resnet20_init(BurnDevice *device);

/* Puts the weights of github.com/akamaster/pytorch_resnet_cifar10 into it:
 * pretrained_models/resnet20-12fca82f.th, a checkpoint of a model that was
 * trained on several GPUs, or a file with the same names in any format. */
BurnStatus resnet20_load(ResNet20 *m, const char *path);

/* takes pictures [n, 3, 32, 32], normalised -> scores [n, 10] */
BurnTensor *resnet20_forward(const ResNet20 *m, BurnTensor *x);

#endif
