/* transfer.h - what core's files share of transfers: the way down a stack and up again, "burn.device" of its bottom. */
#ifndef BURN_CORE_TRANSFER_H
#define BURN_CORE_TRANSFER_H

#include "core_internal.h"

#include <burn/plugin/device.h>

/* The backend of a device's stack. */
BurnInstance *burn__bottom(const BurnDevice *device);
/* Borrowed: the primitive of the backend that x stands for; NULL if an op that it needs has failed, which reading
 * tells. */
BurnPrimitive *burn__lowered(const BurnTensor *x);
/* Takes a primitive of the backend up to `instance`, whose tensor *out becomes. */
BurnStatus burn__raised(BurnInstance *instance, BurnPrimitive *bottom, BurnPrimitive **out);
/* The backend's interface and the first argument of its functions; NULL if it has none. */
const BurnDeviceInterface *burn__device_interface(const BurnDevice *device, void **self);

/* BURN_OK, or "<user>: the buffer is NULL" for elements or bytes that have nowhere to go. */
BurnStatus burn__check_target(const void *data, size_t size, const char *user);
/* As burn_read_all, of tensors and sizes that were checked and stay: all copies are started, then waited for once. */
BurnStatus burn__read_all(BurnTensor *const *tensors, void *const *data, const size_t *bytes, size_t count);
/* A copy on `device` without host memory, of a tensor that stays; NULL where that is not possible. */
BurnTensor *burn__copy_between(const BurnTensor *x, BurnDevice *device);

#endif
