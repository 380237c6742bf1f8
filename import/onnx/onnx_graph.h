/* onnx_graph.h - an instance of a program, with its weights. */
#ifndef BURN_ONNX_GRAPH_H
#define BURN_ONNX_GRAPH_H

#include "onnx_program.h"

struct BurnGraph {
  OnnxProgram *program;
  BurnDevice *device;
  OnnxField *fields; /* [weight], as the program's type describes */
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

/* ONNX's number of an input's dtype where it is none of ours, else 0. */
int32_t onnx_input_narrow_type(const BurnGraph *graph, size_t i);

#endif
