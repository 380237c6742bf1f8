/* numpy_internal.h - what .npy and .npz files share. */
#ifndef BURN_CORE_NUMPY_INTERNAL_H
#define BURN_CORE_NUMPY_INTERNAL_H

#include <burn/numpy.h>

/* A tensor of the values of a .npy file that lies in memory. */
BURN_GIVES BurnTensor *burn__npy_tensor(BurnDevice *device, const BurnNpyHeader *header, const uint8_t *bytes);
/* The bytes of a .npy file of a tensor, which is taken; *bytes is malloc'd, untouched on failure. */
BURN_USE_RESULT BURN_TAKES(1) BurnStatus burn__npy_make(BurnTensor *x, uint8_t **bytes, size_t *count);

#endif
