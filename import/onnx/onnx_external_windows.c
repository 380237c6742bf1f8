/* onnx_external_windows.c - data that a model keeps in files beside it: not read on Windows. */
#include "onnx_program.h"

BurnStatus onnx_external(const char *folder, const char *location, uint64_t offset, uint64_t length,
                         OnnxMapping *mapping) {
  (void)folder, (void)offset, (void)length;
  *mapping = (OnnxMapping){NULL, NULL, 0};
  return burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                          "external data '%s' is not read on Windows; save the model as one file", location);
}

void onnx_external_release(OnnxMapping *mapping) { *mapping = (OnnxMapping){NULL, NULL, 0}; }
