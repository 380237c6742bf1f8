/* onnx_stored.c - tensors from .npy files and from messages of ONNX. */
#include "onnx_stored.h"

#include <burn/burn.h>
#include <burn/file.h>
#include <burn/numpy.h>

#include "onnx_node.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATH = 1088 };

BurnTensor *onnx_stored(BurnDevice *device, const char *set, const char *kind, size_t i) {
  char path[PATH];
  uint8_t *bytes = NULL;
  size_t count;
  snprintf(path, sizeof path, "%s/%s_%zu.npy", set, kind, i);
  BurnTensor *x = burn_npy_read(device, path);
  if (burn_tensor_status(x) == BURN_OK) return x;
  burn_drop(x);
  snprintf(path, sizeof path, "%s/%s_%zu.pb", set, kind, i);
  if (burn_file_read(path, (size_t)1 << 30, &bytes, &count) != BURN_OK) return NULL;
  Onnx__TensorProto *proto = onnx__tensor_proto__unpack(NULL, count, bytes);
  free(bytes);
  x = proto ? onnx_tensor(device, proto) : NULL;
  if (proto) onnx__tensor_proto__free_unpacked(proto, NULL);
  return x;
}
