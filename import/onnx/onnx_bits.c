/* onnx_bits.c - BitCast: the bits of elements read as another dtype. No backend has an op for that, so they go over the
 * host. */
#include "onnx_narrow.h"

#include <stdlib.h>
#include <string.h>

typedef struct Bits {
  void *data;
  size_t count, bytes; /* of an element */
} Bits;

static BurnStatus read_bits(Bits *b, BurnTensor *x, BurnDType dtype) {
  b->count = (size_t)burn_element_count(x);
  b->bytes = burn_dtype_bytes(dtype);
  b->data = calloc(b->count + 1, sizeof(int64_t));
  if (!b->data) {
    burn_drop(x);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "BitCast: %zu elements", b->count);
  }
  return burn_read(x, b->data, b->count * b->bytes);
}

/* u16 and u32, which live in a wider dtype, as their own bits: little-endian, the low bytes of each. */
static void narrow_bits(Bits *b, size_t bytes) {
  unsigned char *data = b->data;
  for (size_t i = 0; i < b->count; i++) memmove(data + i * bytes, data + i * b->bytes, bytes);
  b->bytes = bytes;
}

static size_t bytes_of(int64_t type) {
  if (type == ONNX_UINT16) return 2;
  return type == ONNX_UINT32 ? 4 : onnx_dtype(type) == BURN_DTYPE_DEFAULT ? 0 : burn_dtype_bytes(onnx_dtype(type));
}

static BurnTensor *from_bits(OnnxNode *node, const Bits *b, int64_t type, BurnShape shape) {
  if (onnx_dtype(type) != BURN_DTYPE_DEFAULT) return burn_tensor_from(node->device, b->data, onnx_dtype(type), shape);
  const BurnDType same = b->bytes == 2 ? (BurnDType)BURN_DTYPE_I16 : (BurnDType)BURN_DTYPE_I32;
  return onnx_cast_to(burn_tensor_from(node->device, b->data, same, shape), type, false);
}

MAP(BitCast) {
  const int64_t from = onnx_input_type(node, 0), to = onnx_int(node, "to", 0);
  const size_t bytes = bytes_of(from);
  if (bytes == 0 || bytes_of(to) != bytes) {
    onnx_not_mapped(node, "the bits of %s as %s", onnx_dtype_name(from), onnx_dtype_name(to));
    return;
  }
  Bits b = {0};
  const BurnShape shape = burn_shape(node->inputs[0]);
  const BurnStatus status = read_bits(&b, onnx_input(node, 0), burn_dtype(node->inputs[0]));
  if (status == BURN_OK && bytes < b.bytes) narrow_bits(&b, bytes);
  if (status == BURN_OK) onnx_give_type(node, 0, from_bits(node, &b, to, shape), to);
  if (status != BURN_OK) onnx_fail(node, status);
  free(b.data);
}
