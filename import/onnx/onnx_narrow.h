/* onnx_narrow.h - dtypes of ONNX that the backends do not have: values in a wider dtype. */
#ifndef BURN_ONNX_NARROW_H
#define BURN_ONNX_NARROW_H

#include "onnx_operators.h"

/* ONNX's numbers of dtypes. */
enum {
  ONNX_UINT8 = 2,
  ONNX_UINT16 = 4,
  ONNX_INT64 = 7,
  ONNX_UINT32 = 12,
  ONNX_UINT64,
  ONNX_FLOAT8E4M3FN = 17,
  ONNX_FLOAT8E4M3FNUZ,
  ONNX_FLOAT8E5M2,
  ONNX_FLOAT8E5M2FNUZ,
  ONNX_UINT4,
  ONNX_INT4,
  ONNX_FLOAT4E2M1,
  ONNX_UINT2 = 25,
  ONNX_INT2,
  ONNX_TYPES
};

/* Ours, or the wider one that holds its values; BURN_DTYPE_DEFAULT where there is neither. */
BurnDType onnx_narrow_dtype(int64_t type);
/* A tensor with the elements of the message, in that dtype. */
BurnTensor *onnx_narrow_tensor(BurnDevice *device, const Onnx__TensorProto *proto);

/* How many bytes its elements have as raw data, packed where they are smaller than bytes. */
BURN_USE_RESULT BurnStatus onnx_raw_bytes(const Onnx__TensorProto *proto, uint64_t *bytes);

/* x, which it takes, as the type: integers modulo 2^bits, floats rounded; beyond their range the largest if they
 * saturate, else infinity or NaN. */
BurnTensor *onnx_cast_to(BurnTensor *x, int64_t type, bool saturate);
/* The same of rounded floats: integers beyond the range become its ends. */
BurnTensor *onnx_quantize_to(BurnTensor *x, int64_t type, bool saturate);

/* ONNX's number of the dtype of input i; 0 if it is absent. */
int32_t onnx_input_type(const OnnxNode *node, size_t i);
/* onnx_give, with the dtype that x has in ONNX. */
void onnx_give_type(OnnxNode *node, size_t i, BurnTensor *x, int64_t type);

/* The mapping of the operator, with what inputs of such dtypes need before and after. */
void onnx_apply_operator(const OnnxOperator *op, OnnxNode *node);

#endif
