/* onnx_case.h - one case of the ONNX operator tests: a model of one node, its inputs, and what must come out. */
#ifndef BURN_ONNX_CASE_H
#define BURN_ONNX_CASE_H

#include "onnx_node.h"

typedef enum OnnxResult { ONNX_PASSED, ONNX_FAILED, ONNX_NOT_MAPPED } OnnxResult;

typedef struct OnnxOutcome {
  OnnxResult result;
  char op[64];      /* the node's operator, with its domain if that is not the default one */
  char reason[256]; /* why it failed or is not mapped */
} OnnxOutcome;

/* Runs the case in folder/name. Never leaves a tensor alive. */
OnnxOutcome onnx_case_run(BurnDevice *device, const char *folder, const char *name);

/* The tolerances with which ONNX compares. */
#define ONNX_RTOL 1e-3
#define ONNX_ATOL 1e-7
/* And for Fourier transforms a part of the largest bin, since float32 has about seven digits. */
#define ONNX_FOURIER_TOLERANCE 1e-6

#endif
