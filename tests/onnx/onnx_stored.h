/* onnx_stored.h - the inputs and outputs that are stored beside a model, and whether tensors are equal to them. */
#ifndef BURN_TESTS_ONNX_STORED_H
#define BURN_TESTS_ONNX_STORED_H

#include <burn/tensor.h>

/* <set>/<kind>_<i>.npy, or the TensorProto <set>/<kind>_<i>.pb; NULL: there is none. `kind` is input or output. */
BurnTensor *onnx_stored(BurnDevice *device, const char *set, const char *kind, size_t i);

/* Whether output `output` of model `name` has the stored shape, dtype and elements, each at most `tolerance`, and
 * `tolerance` times it, away; says the first that is not. Takes both tensors. */
bool onnx_stored_equal(const char *name, size_t output, BurnTensor *got, BurnTensor *expected, double tolerance);

#endif
