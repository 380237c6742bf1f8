/* networks.h - what the models of this folder share. Each is the same network as the class of its name in
 * peer_torch.py. */
#ifndef BURN_BENCH_NETWORKS_H
#define BURN_BENCH_NETWORKS_H

#include "../bench.h"

/* [batch, channels, size, size] */
BurnTensor *image_inputs(const int64_t *args, int64_t channels, int64_t size, BurnDevice *device);
/* int64 [batch, length], below the size of the vocabulary */
BurnTensor *token_inputs(int64_t batch, int64_t length, int64_t vocabulary, BurnDevice *device);
int64_t batch_targets(const int64_t *args); /* args[0] */
int64_t ten_classes(const int64_t *args);

#endif
