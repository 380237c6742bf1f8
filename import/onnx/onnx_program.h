/* onnx_program.h - a graph between file and run: names resolved to slots, nodes to steps in an order in which they can
 * run. A program is read-only once it is loaded, and shared by the instances of a graph; tensors are the instance's. */
#ifndef BURN_ONNX_PROGRAM_H
#define BURN_ONNX_PROGRAM_H

#include <burn/onnx.h>

#include "onnx_operators.h"

#define ONNX_NONE UINT32_MAX /* no slot, no weight */

enum {
  ONNX_MAX_DEPTH = 32,       /* subgraphs in subgraphs, functions in functions */
  ONNX_MAX_STEPS = 1000000,  /* after functions are put in place of their calls */
  ONNX_MAX_UNSUPPORTED = 64, /* operators in one message */
  ONNX_MAX_GRADIENTS = 64,   /* each looks at all nodes of its graph */
  ONNX_LOCATION = 320        /* bytes of the text that says where a node is */
};

/* Blocks that end with the program. */
typedef struct OnnxArena {
  struct OnnxBlock *blocks;
} OnnxArena;
/* Zeroed memory; NULL without any. */
void *onnx_arena_take(OnnxArena *arena, size_t count, size_t bytes);
char *onnx_arena_text(OnnxArena *arena, const char *text);
void onnx_arena_release(OnnxArena *arena);

/* Names to numbers. Names are borrowed. */
typedef struct OnnxNames {
  const char **names;
  uint32_t *numbers;
  size_t count, capacity; /* of a power of two */
} OnnxNames;
/* False without memory. Another number for the same name replaces the first. */
bool onnx_names_put(OnnxNames *names, const char *name, uint32_t number);
uint32_t onnx_names_get(const OnnxNames *names, const char *name); /* ONNX_NONE: no such name */
void onnx_names_release(OnnxNames *names);

typedef struct OnnxBody OnnxBody;

/* A node with its values. */
typedef struct OnnxStep {
  const OnnxOperator *op;
  const Onnx__NodeProto *proto;
  int64_t opset;
  uint32_t least;             /* inputs that the operator needs */
  bool prepared;              /* of OnnxNode */
  uint32_t *inputs, *outputs; /* slots; ONNX_NONE: absent */
  uint32_t input_count, output_count;
  OnnxBody **bodies; /* of its graph attributes */
  uint32_t body_count;
  uint32_t *captures; /* slots of this body that its bodies read */
  uint32_t capture_count;
} OnnxStep;

/* What a weight of an instance is. */
typedef enum OnnxWeightKind { ONNX_CONSTANT, ONNX_BUFFER, ONNX_PARAMETER } OnnxWeightKind;
typedef struct OnnxWeight {
  const char *name;
  OnnxWeightKind kind;
  bool scalar;
  int32_t type;         /* of OnnxValue */
  OnnxStrings *strings; /* NULL: a tensor */
  bool initializer;     /* stands in the file, else it is computed */
  bool unused;          /* no step reads it any more */
} OnnxWeight;

/* A graph or subgraph. */
struct OnnxBody {
  const Onnx__GraphProto *proto;
  OnnxBody *outer;
  const char **slots; /* their names, for messages */
  uint32_t *weights;  /* of a slot: the weight that it is, or ONNX_NONE */
  uint32_t *uses;     /* of a slot: how many steps, and outputs of the graph, read it */
  uint32_t slot_count, slot_capacity;
  OnnxStep *steps;
  uint32_t step_count, step_capacity;
  uint32_t *inputs, *outputs;
  uint32_t input_count, output_count;
  uint32_t *capture_from, *capture_to; /* slots of the outer body, and of this one */
  uint32_t capture_count, capture_capacity;
  OnnxBody *made_before; /* of the program; the last one made is program->bodies */
};

typedef struct OnnxProgram {
  size_t references;
  OnnxArena arena;
  Onnx__ModelProto *model;
  const char *label;  /* the file, for messages */
  char *folder;       /* of the file, for external data; NULL: none is read */
  BurnDevice *device; /* while loading */
  OnnxBody *body;
  OnnxBody *bodies; /* all that were made, also those of steps that failed or that a pass has removed */
  OnnxWeight *weights;
  BurnTensor **tensors; /* [weight] while loading */
  uint32_t weight_count, weight_capacity;
  bool free_batch;
  size_t nodes_in_file, total_steps, folded, gradients;
  const char *unsupported[ONNX_MAX_UNSUPPORTED];
  const char *unsupported_reason[ONNX_MAX_UNSUPPORTED];
  const char *unsupported_nodes[ONNX_MAX_UNSUPPORTED]; /* the first ones */
  uint32_t unsupported_uses[ONNX_MAX_UNSUPPORTED];
  uint32_t unsupported_count;
  BurnType type; /* of the module */
} OnnxProgram;

/* "model.onnx: node 'conv1' (Conv)". */
const char *onnx_location(const OnnxProgram *program, const Onnx__NodeProto *proto, char *text);

/* -- parts of loading, in order ---------------------------------------------------------------- */

/* The messages of a file; NULL with *status. Memory is at most 4 times `count` and 16 MiB. */
Onnx__ModelProto *onnx_unpack(const void *bytes, size_t count, const char *label, BurnStatus *status);
void onnx_free_model(Onnx__ModelProto *model);
/* Bodies and weights of the model. */
BURN_USE_RESULT BurnStatus onnx_build(OnnxProgram *program);
/* A tensor of the model, wherever its data are. */
BurnTensor *onnx_weight_tensor(const OnnxProgram *program, const Onnx__TensorProto *proto);
/* The bytes of a file in `folder` that a model names: length bytes from offset. On failure NULL with *status. */
typedef struct OnnxMapping {
  const uint8_t *data;
  void *base; /* what is mapped, or from malloc */
  size_t bytes;
} OnnxMapping;
BURN_USE_RESULT BurnStatus onnx_external(const char *folder, const char *location, uint64_t offset, uint64_t length,
                                         OnnxMapping *mapping);
void onnx_external_release(OnnxMapping *mapping);

/* A Gradient node with the nodes between its xs and its y, out of those of its graph, as its first attribute. NULL with
 * *status. */
const Onnx__NodeProto *onnx_with_gradient(OnnxProgram *program, const Onnx__NodeProto *node,
                                          Onnx__NodeProto *const *nodes, size_t count, BurnStatus *status);

uint32_t onnx_add_slot(OnnxBody *body, const char *name); /* ONNX_NONE without memory */
/* Takes the tensor and the strings, of which there is one. ONNX_NONE without memory. */
uint32_t onnx_add_weight(OnnxProgram *program, const OnnxWeight *weight, BurnTensor *tensor);
/* Counts uses again. */
void onnx_count_uses(OnnxBody *body);

/* -- passes ------------------------------------------------------------------------------------ */

/* What a pass may do with parameters and buffers. */
typedef enum OnnxMerge { ONNX_KEEP_WEIGHTS, ONNX_MERGE_WEIGHTS } OnnxMerge;
/* Each changes the steps and weights of the main graph, and returns how many steps are gone or replaced. */
typedef uint32_t OnnxPass(OnnxProgram *program, OnnxMerge merge);
OnnxPass onnx_pass_fold, onnx_pass_dead, onnx_pass_common, onnx_pass_noop, onnx_pass_batch_norm, onnx_pass_recurrent,
    onnx_pass_norm, onnx_pass_gelu, onnx_pass_linear, onnx_pass_attention, onnx_pass_strength, onnx_pass_pad,
    onnx_pass_pool;
void onnx_passes(OnnxProgram *program, OnnxMerge merge);
/* Every slot by itself, to be changed and given to onnx_replace_slots; from malloc, NULL without memory. */
uint32_t *onnx_replacements(const OnnxBody *body);
/* All steps read slot by[i] where they read slot i. */
void onnx_replace_slots(OnnxBody *body, const uint32_t *by);
bool onnx_is_output(const OnnxBody *body, uint32_t slot);
/* The weight that input i of a step of the main graph is, borrowed; NULL: none. */
BurnTensor *onnx_step_weight(const OnnxProgram *program, const OnnxStep *step, uint32_t i);
/* A new slot of the main graph with a new constant under `name`; takes x. ONNX_NONE if x failed or without memory. */
uint32_t onnx_add_constant(OnnxProgram *program, const char *name, BurnTensor *x);
/* The step becomes one of the operator `op` (of its newest opset) with these inputs and attributes, which are the
 * arena's; its first output stays. False without memory: then it is as it was. */
bool onnx_replace_step(OnnxProgram *program, OnnxStep *step, const char *op, const uint32_t *inputs,
                       uint32_t input_count, Onnx__AttributeProto *const *attributes, size_t attribute_count);
/* The same values, one after the other in memory: views of weights cost at each run. Takes x; at load only. */
BurnTensor *onnx_dense(BurnTensor *x);
/* Attributes of the arena; NULL without memory. */
Onnx__AttributeProto *onnx_new_float(OnnxProgram *program, const char *name, double value);
Onnx__AttributeProto *onnx_new_int(OnnxProgram *program, const char *name, int64_t value);
Onnx__AttributeProto *onnx_new_ints(OnnxProgram *program, const char *name, const int64_t *values, size_t count);

/* -- running ----------------------------------------------------------------------------------- */

/* The tensors that a run sees. */
struct OnnxFrame {
  const OnnxProgram *program;
  const OnnxBody *body;
  const OnnxStep *step;
  OnnxFrame *outer;
  OnnxValue *values; /* [slot] */
  uint32_t *left;    /* [slot] uses to come */
  BurnDevice *device;
  void *module; /* of the instance; NULL while loading */
  struct OnnxRun {
    int64_t bytes, peak;
    bool training;
    uint32_t gradients; /* that are being computed, one in another */
    uint32_t depth;
    int64_t most_rounds; /* of a loop that data end; 0: any number */
  } * run;
};
/* Runs a body. Takes the contents of inputs; gives outputs. */
BURN_USE_RESULT BurnStatus onnx_run_body(OnnxFrame *frame, OnnxValue *inputs, OnnxValue *outputs);
/* One step whose inputs are in the node; its outputs are then, too. */
BURN_USE_RESULT BurnStatus onnx_run_step(const OnnxProgram *program, const OnnxStep *step, OnnxNode *node);
/* A new handle to a weight. */
BurnTensor *onnx_weight_value(const OnnxFrame *frame, uint32_t weight);
void onnx_node_release(OnnxNode *node);

/* -- the module of an instance ------------------------------------------------------------------ */

typedef union OnnxField {
  BurnParam parameter;
  BurnBuffer buffer;
  BurnConstant constant;
} OnnxField;
/* Which initializers are parameters, buffers, constants. */
void onnx_choose_kinds(OnnxProgram *program);
/* The fields of the module; false without memory. */
bool onnx_describe_module(OnnxProgram *program);

#endif
