/* judge.h - real digits, and the model of the example mnist, which says how
 * many of other images are digits for it. */
#ifndef WGAN_JUDGE_H
#define WGAN_JUDGE_H

#include "../mnist/model.h"

enum { CLASSES = 10 };

/* MNIST of a folder, or generated digits for NULL: batches of "image" u8
 * [batch, 28, 28] and "label" u8. NULL with the reason in *status. */
BurnLoader *digits_loader(const char *folder, uint32_t split, size_t items,
                          size_t batch_size, size_t seed, BurnStatus *status);

/* takes "image" -> [batch, PIXELS] of 0..1 */
BurnTensor *pixels_of(BurnTensor *image);

/* The model that mnist has left in an artifact folder, without gradients. The
 * caller's to release, also on failure. */
BurnStatus judge_load(const char *artifact, BurnDevice *device, Model *judge);

/* What a judge makes of images. */
typedef struct Verdict {
  double confident;      /* share with a probability of 0.8 or more */
  double share[CLASSES]; /* of each digit */
  double right;          /* share that is its label; NaN without labels */
} Verdict;

/* Takes images [n, PIXELS] and their labels [n], or NULL. */
BurnStatus judge_images(const Model *judge, BurnTensor *images,
                        BurnTensor *labels, Verdict *verdict);

#endif
