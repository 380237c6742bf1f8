/* run.h - what the files of burn run share. */
#ifndef BURN_SDK_RUN_H
#define BURN_SDK_RUN_H

#include <burn/train.h>
#include <stdio.h>

/* -- inputs (run_inputs.c) -------------------------------------------------------------------- */

/* Inputs of the command line that are read as one dataset, whose first column is what the model takes: pictures that
 * stand beside each other, a folder of pictures, or a .npy file. */
typedef struct RunInputs {
  BurnDataset *items;
  char **names;      /* of pictures: [count], one for each item */
  size_t name_count; /* 0: items are told by `name` and index */
  const char *name;
} RunInputs;

/* Reads those at the front of paths[0 .. count-1]; returns how many, 0 on failure. Released by run_inputs_release. */
size_t run_inputs_read(const BurnModelLibrary *library, const char *const *paths, size_t count, RunInputs *inputs,
                       BurnStatus *status);
void run_inputs_release(RunInputs *inputs);

/* -- output (run_print.c) --------------------------------------------------------------------- */

enum { RUN_TABLE, RUN_JSON, RUN_CSV };

/* What has come of a batch: `values` [count, width], scores turned to shares where there are classes. */
typedef struct RunOutput {
  const BurnModelLibrary *library;
  const RunInputs *inputs;
  const double *values;
  size_t first, count, width;
} RunOutput;

/* The line above all others, in a table and in CSV. */
void run_print_header(int format, const BurnModelLibrary *library, size_t width);
BurnStatus run_print(int format, const RunOutput *output);

#endif
