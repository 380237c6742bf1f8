/* onnx_stored.h - the inputs and outputs that are stored beside a model. */
#ifndef BURN_TESTS_ONNX_STORED_H
#define BURN_TESTS_ONNX_STORED_H

#include <burn/tensor.h>

/* <set>/<kind>_<i>.npy, or the TensorProto <set>/<kind>_<i>.pb; NULL: there is none. `kind` is input or output. */
BurnTensor *onnx_stored(BurnDevice *device, const char *set, const char *kind, size_t i);

#endif
