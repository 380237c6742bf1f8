/* onnx_graph.h - an instance of a program, with its weights. */
#ifndef BURN_ONNX_GRAPH_H
#define BURN_ONNX_GRAPH_H

#include "onnx_program.h"

struct BurnGraph {
  OnnxProgram *program;
  BurnDevice *device;
  OnnxField *fields;     /* [weight], as the program's type describes */
  OnnxStrings **strings; /* [input] of those that have strings; NULL: none are set */
  OnnxStrings **results; /* [output] of the last run; NULL: a tensor */
  bool training;
  int64_t peak_bytes;
};

/* Takes the program's tensors, and another reference to it. NULL without memory. */
BurnGraph *onnx_graph_new(OnnxProgram *program, BurnDevice *device);

/* The messages of a file, without weights and steps; NULL with *status. */
OnnxProgram *onnx_program_new(const void *bytes, size_t count, const char *label, const char *folder,
                              BurnStatus *status);
void onnx_program_release(OnnxProgram *program);
/* A whole file, and its folder. *bytes is for free(), also on failure. */
BURN_USE_RESULT BurnStatus onnx_read_file(const char *path, uint8_t **bytes, size_t *count, char *folder, size_t room);
/* An input or output as the public header describes it. */
BurnGraphValue onnx_describe_value(const Onnx__ValueInfoProto *info);

/* The place of a name among slots; ONNX_NONE: not there. And what to say then. */
uint32_t onnx_find_slot(const OnnxBody *body, const uint32_t *slots, uint32_t count, const char *name);
BurnStatus onnx_no_such_slot(const BurnGraph *graph, const char *what, const uint32_t *slots, uint32_t count,
                             const char *name);

/* What functions say that get NULL for a graph. */
BurnStatus onnx_no_graph(void);

/* Room for strings of inputs and outputs; false without memory. And its end, with that of the strings. */
bool onnx_graph_strings_init(BurnGraph *graph);
void onnx_graph_strings_release(BurnGraph *graph);
/* The last run is none any more. */
void onnx_graph_forget_strings(BurnGraph *graph);

/* Whether an input has this shape, as far as the file says one. */
bool onnx_shape_fits(const BurnGraphValue *value, BurnShape shape, bool free_batch);

/* ONNX's number of an input's dtype where it is none of ours, else 0. */
int32_t onnx_input_narrow_type(const BurnGraph *graph, size_t i);

#endif
