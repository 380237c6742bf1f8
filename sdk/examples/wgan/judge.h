/* judge.h - real digits, and a classifier that learns them and then says how
 * many of other images are digits for it. */
#ifndef WGAN_JUDGE_H
#define WGAN_JUDGE_H

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

enum { CLASSES = 10 };

/* MNIST of a folder, or generated digits for NULL: batches of "image" u8
 * [batch, 28, 28] and "label" u8. NULL with the reason in *status. */
BurnLoader *digits_loader(const char *folder, uint32_t split, size_t items,
                          size_t batch_size, size_t seed, BurnStatus *status);

/* takes "image" -> [batch, PIXELS] of 0..1 */
BurnTensor *pixels_of(BurnTensor *image);

#define JUDGE_FIELDS(X)                           \
  X(BurnConv2d, conv1, "1 -> 16 channels, 12x12") \
  X(BurnConv2d, conv2, "16 -> 32 channels, 4x4")  \
  X(BurnLinear, fc, "32 * 4 * 4 -> digits")
BURN_MODULE(Judge, JUDGE_FIELDS);

/* Learns from `data` on a device for training. */
BurnStatus judge_learn(Judge *m, BurnLoader *data, BurnDevice *device);

/* What a judge makes of images. */
typedef struct Verdict {
  double confident;      /* share with a probability above 0.9 */
  double share[CLASSES]; /* of each digit */
  double right;          /* share that is its label; NaN without labels */
} Verdict;

/* Takes images [n, PIXELS] and their labels [n], or NULL; m is below
 * autodiff. */
BurnStatus judge_images(const Judge *m, BurnTensor *images, BurnTensor *labels,
                        Verdict *verdict);

#endif
