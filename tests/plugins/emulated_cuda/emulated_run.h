/* emulated_run.h - images that this CPU can run, and their launches. */
#ifndef BURN_EMULATED_RUN_H
#define BURN_EMULATED_RUN_H

#include "emulated_module.h"

#include <stddef.h>

/* cuda.h's names of errors that the emulation gives. */
enum {
  EMULATED_OK = 0,
  EMULATED_INVALID_VALUE = 1,
  EMULATED_NO_MEMORY = 2,
  EMULATED_INVALID_IMAGE = 200,
  EMULATED_NOT_FOUND = 500,
  EMULATED_ILLEGAL_ADDRESS = 700,
  EMULATED_MISALIGNED_ADDRESS = 716,
  EMULATED_LAUNCH_FAILED = 719,
  EMULATED_CAPTURE_UNSUPPORTED = 900,
  EMULATED_CAPTURE_INVALIDATED = 901,
  EMULATED_NOT_CAPTURING = 904
};

/* What went wrong last, in words: the driver gives them for its error. Returns `error`. */
int emulated_fail(int error, const char *format, ...);
const char *emulated_problem(void);

/* 1: the image is one of emulated_nvrtc.c. */
int emulated_is_image(const void *image);

typedef struct EmulatedLibrary EmulatedLibrary;
int emulated_load(EmulatedLibrary **library, const void *image);
void emulated_unload(EmulatedLibrary *library);

typedef struct EmulatedFunction {
  const EmulatedModule *module;
  const EmulatedKernel *kernel;
  size_t dynamic_most; /* shared memory that a launch may ask for */
  char name[64];
} EmulatedFunction;

/* One of the library, which keeps it. */
int emulated_find(EmulatedLibrary *library, const char *name, EmulatedFunction **function);

typedef struct EmulatedLaunch {
  EmulatedFunction *function;
  EmulatedIndex grid, block;
  unsigned shared_bytes;
} EmulatedLaunch;

/* Runs all blocks, one after the other. */
int emulated_check_launch(const EmulatedLaunch *launch);
int emulated_run(const EmulatedLaunch *launch, const char *parameters);

#endif
