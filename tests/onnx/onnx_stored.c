/* onnx_stored.c - tensors from .npy files and from messages of ONNX. */
#include "onnx_stored.h"

#include <burn/burn.h>
#include <burn/file.h>
#include <burn/numpy.h>

#include "onnx_node.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool same_shape(BurnShape a, BurnShape b) {
  return a.rank == b.rank && memcmp(a.dims, b.dims, a.rank * sizeof a.dims[0]) == 0;
}

bool onnx_stored_equal(const char *name, size_t output, BurnTensor *got, BurnTensor *expected, double tolerance) {
  const size_t count = (size_t)burn_element_count(expected);
  if (!same_shape(burn_shape(got), burn_shape(expected)) || burn_dtype(got) != burn_dtype(expected)) {
    printf("FAILED %s: output %zu is %s %s, expected %s %s\n", name, output, burn_dtype_name(burn_dtype(got)),
           burn_shape_text(burn_shape(got)).text, burn_dtype_name(burn_dtype(expected)),
           burn_shape_text(burn_shape(expected)).text);
    burn_drop(got);
    burn_drop(expected);
    return false;
  }
  double *ours = calloc(count + 1, sizeof *ours), *theirs = calloc(count + 1, sizeof *theirs);
  bool same = ours && theirs;
  BurnStatus status = burn_read_f64(got, ours, same ? count : 0);
  if (status == BURN_OK) status = burn_read_f64(expected, theirs, same ? count : 0);
  if (status != BURN_OK) printf("FAILED %s: output %zu: %s\n", name, output, burn_status_message(status));
  for (size_t i = 0; same && status == BURN_OK && i < count; i++) {
    if ((isnan(ours[i]) && isnan(theirs[i])) || ours[i] == theirs[i]) continue;
    same = fabs(ours[i] - theirs[i]) <= tolerance + tolerance * fabs(theirs[i]);
    if (!same) printf("FAILED %s: output %zu[%zu] is %.9g, expected %.9g\n", name, output, i, ours[i], theirs[i]);
  }
  free(ours);
  free(theirs);
  return same && status == BURN_OK;
}
