/* model_library.h - a model as a shared library, so that programs which do not know it can run it: burn run.
 *
 * A record has values; the network is code. So whoever wants a model to be run by others builds that code as a library
 * (a CMake MODULE library) with one table, which tells how a model is made of an artifact folder, and what it takes:
 *
 *   static const BurnModelLibrary library = {.bytes = sizeof library, .name = "mnist", .load = load, ..};
 *   BURN_MODEL_LIBRARY(library)
 *
 *   burn run --model ./libmnist_model.so artifacts/mnist picture.png */
#ifndef BURN_TRAIN_MODEL_LIBRARY_H
#define BURN_TRAIN_MODEL_LIBRARY_H

#include <burn/burn.h>
#include <burn/plugin/abi.h>

BURN_EXTERN_C_BEGIN

/* What a library tells of its model. Zeroed fields are as they say; later versions add fields at the end. */
typedef struct BurnModelLibrary {
  size_t bytes;       /* sizeof(BurnModelLibrary) */
  const char *name;   /* in messages */
  BurnShape input;    /* of one item; of pictures [channels, height, width] with 1 or 3 channels */
  float mean[3];      /* a pixel of a picture, 0 .. 255, becomes (pixel / 255 - mean) / deviation, for each channel */
  float deviation[3]; /* 0: 1 */
  const char *const *classes; /* [class_count]: the output is scores of classes, by these names */
  size_t class_count;         /* 0: the output is numbers */
  /* Makes the model of an artifact folder on a device without autodiff; *model is for the two below. On failure it is
   * not used. */
  BurnStatus (*load)(const char *artifact_dir, BurnDevice *device, void **model);
  /* Takes inputs [n, input..]: floats in the device's float dtype, integers as i64 -> [n, ..]. */
  BurnTensor *(*forward)(const void *model, BurnTensor *inputs);
  void (*destroy)(void *model);
} BurnModelLibrary;

/* The one function that a library exports, and its type. */
#define BURN_MODEL_LIBRARY_SYMBOL "burn_model_library_v0"
typedef const BurnModelLibrary *(*BurnModelLibraryEntry)(void);

/* Defines it for a table that is a static variable. */
#define BURN_MODEL_LIBRARY(table)                                                \
  BURN_EXTERN_C BURN_EXPORT const BurnModelLibrary *burn_model_library_v0(void); \
  BURN_EXTERN_C BURN_EXPORT const BurnModelLibrary *burn_model_library_v0(void) { return &(table); }

BURN_EXTERN_C_END

#endif
