/* onnx_generate.h - ONNX models as readable C: a module with named layers, its forward pass, and its weights.
 *
 *   BurnGenerateReport report;
 *   BurnStatus status = burn_onnx_generate("model.onnx", "model", device, &(BurnGenerateOptions){0}, &report);
 *
 * The model runs a few times on `device` while it is written, with inputs of zeros, since what its axes are and which
 * branches it takes may follow from its shapes; a condition that depends on data is read when the code runs. Axes that
 * the file leaves open stay open in the code; each is tried with three sizes, and what follows from them must be the
 * same formula for all three. */
#ifndef BURN_ONNX_GENERATE_H
#define BURN_ONNX_GENERATE_H

#include <burn/device.h>

#include <stddef.h>

BURN_EXTERN_C_BEGIN

/* How the code is written. Zeros are the defaults. */
typedef struct BurnGenerateOptions {
  const char *name;  /* of the module, made an identifier: "silero vad" becomes SileroVad; NULL: that of the file */
  const char *sizes; /* "batch=1,length=576": axes that get one size, inputs of one number that get a value */
  bool overwrite;    /* existing files are replaced; else they are refused (FAILED_PRECONDITION) */
  /* Called now and then with how far the work is, of `total` steps; NULL: never. */
  void (*progress)(void *context, size_t done, size_t total);
  void *context;
} BurnGenerateOptions;

/* What has been written. */
typedef struct BurnGenerateReport {
  char name[64];      /* of the module */
  size_t steps;       /* of the graph that became code */
  size_t layers;      /* of nn */
  size_t tensors;     /* in the weights file */
  size_t specialized; /* branches of If that were decided by shapes */
} BurnGenerateReport;

/* Writes <name>.h, <name>.c, <name>.bpk, main.c and CMakeLists.txt to an existing folder. The same model and
 * options give the same bytes. Nothing is written unless all can be: UNIMPLEMENTED names every operator
 * that cannot be written as C, with its nodes and their number. */
BURN_API BURN_USE_RESULT BurnStatus burn_onnx_generate(const char *path, const char *folder, BurnDevice *device,
                                                       const BurnGenerateOptions *options, BurnGenerateReport *report);

BURN_EXTERN_C_END

#endif
