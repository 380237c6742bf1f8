/* generate.h - what the files that write a graph as C share.
 *
 * The steps of a graph are run and written in one walk. A name of the graph is a constant, a small tensor that follows
 * from shapes alone, or a variable of the forward pass. Each is known for every probe: runs with other sizes of the
 * axes that the file leaves open. */
#ifndef BURN_GENERATE_H
#define BURN_GENERATE_H

#include "../../core/base/text_builder.h"
#include "../onnx/onnx_graph.h"

#include <burn/onnx_generate.h>

enum {
  GENERATE_PROBES = 3,
  GENERATE_SIZES = 16,     /* axes of any size at one place */
  GENERATE_SYMBOLS = 256,  /* in the whole forward pass */
  GENERATE_SHAPE_MAX = 64, /* elements of what follows from shapes */
  GENERATE_LITERALS = 16,  /* elements of a constant that stands in the code; larger ones stand in the weights file */
  GENERATE_INPUT_MAX = 1 << 28, /* elements of an input of a probe */
  GENERATE_NAME = 48,           /* bytes of an identifier */
  GENERATE_MARK = 1             /* begins a line of the forward pass that may become the declaration of a symbol */
};

typedef enum GenerateKind { GENERATE_CONSTANT, GENERATE_SHAPE, GENERATE_VARIABLE } GenerateKind;

/* What a name of the graph is. */
typedef struct GenerateValue {
  GenerateKind kind;
  OnnxValue probes[GENERATE_PROBES]; /* a constant: the first alone */
  uint32_t left;                     /* uses to come */
  const char *variable;              /* its name; a variable */
  bool moved;                        /* a statement has taken it */
  bool is_input;                     /* of the forward pass, whose name stands for nothing else */
  const char *weight;                /* its name in the file; a constant that stands there, else NULL */
  bool learned;                      /* a parameter */
  bool open_count;                   /* a sequence of as many tensors as the data say */
  const char *literal;               /* the expression of a constant, once there is one */
  struct GenerateValue *made_before; /* all of a generator, to be ended */
} GenerateValue;

/* An axis of any size: of an input, or of a tensor of which only the data say how large it is. */
typedef struct GenerateSymbol {
  const char *axis;   /* its name in the file; "" if it is none of an input */
  const char *name;   /* its variable */
  const char *source; /* "burn_dim(x, 0)" */
  uint32_t row;       /* of the sizes that the probes have */
  int64_t sizes[GENERATE_PROBES];
  bool used;
  bool ended; /* with the block in which it stands */
} GenerateSymbol;

/* A row of the module. */
typedef struct GenerateField {
  const char *type, *name, *comment;
  const char *init; /* statements that make it */
  struct GenerateField *before;
} GenerateField;

/* A tensor of the weights file. */
typedef struct GenerateWeight {
  const char *path;
  BurnTensor *tensor;
  struct GenerateWeight *before;
} GenerateWeight;

/* A graph, or a branch of it, while it is written. */
typedef struct GenerateScope {
  const OnnxBody *body;
  GenerateValue **values; /* [slot] */
  bool *written;          /* [step] together with one before */
} GenerateScope;

typedef struct Generator {
  const OnnxProgram *program;
  BurnGraph *graph;
  BurnDevice *device;
  const BurnGenerateOptions *options;
  BurnGenerateReport *report;
  OnnxArena arena;
  uint32_t probes;
  GenerateSymbol symbols[GENERATE_SYMBOLS];
  uint32_t symbol_count;
  OnnxNames taken[2]; /* identifiers of the file with fields, and of the forward pass */
  char type[64], prefix[64], macro[64];
  GenerateValue **weight_values; /* [weight of the program] */
  GenerateField *fields;
  GenerateWeight *weights;
  GenerateValue *values;
  const char *free_variables[256]; /* declared, and without a value */
  uint32_t free_count;
  const char **input_names, **output_names; /* identifiers */
  const char **input_texts;                 /* "[batch, 576] f32" */
  const char **outputs;                     /* expressions */
  BurnTextBuilder forward;
  uint32_t depth;                                     /* blocks around the statements */
  uint32_t free_base;                                 /* free variables before it are of the blocks around */
  uint32_t supports;                                  /* bits: functions that the forward pass calls */
  size_t done, total;                                 /* steps */
  bool uses_device, uses_module, uses_status, failed; /* failed: no memory */
  struct GenerateRefusal {
    const char *op, *reason, *node;
    uint32_t count;
  } refused[ONNX_MAX_UNSUPPORTED];
  uint32_t refused_count;
  BurnStatus status;
} Generator;

/* A step while it is written. */
typedef struct GenerateStep {
  Generator *g;
  GenerateScope *scope;
  const OnnxStep *step;
  uint32_t index; /* in the body */
  OnnxNode node;  /* attributes; of the first probe */
  GenerateValue *inputs[ONNX_MAX_VALUES];
  GenerateValue *outputs[ONNX_MAX_VALUES];
  const char *moved[ONNX_MAX_VALUES]; /* variables that this step takes */
  uint32_t moved_count;
  char reason[ONNX_REASON]; /* why it cannot be written; "" if it can */
} GenerateStep;

typedef struct GenerateOperator {
  const char *name;
  void (*write)(GenerateStep *s, const char *argument);
  const char *argument;
} GenerateOperator;
/* NULL: there is none of that name. */
const GenerateOperator *generate_find(const char *name);

/* -- text: lives as long as the generator; never NULL ------------------------------------------- */

const char *generate_text(Generator *g, const char *format, ...) BURN_PRINTF(2, 3);
/* A number that C reads as the same double. */
const char *generate_number(Generator *g, double value);
/* The same of integers: a double lacks some from 2^53 on. */
const char *generate_integer(Generator *g, int64_t value);
/* An identifier made of any text; the first of `scopes` is 0 for the file, 1 for the forward pass. */
const char *generate_name(Generator *g, int scope, const char *text, const char *otherwise);
/* "Silero vad.onnx" as a type, SileroVad, a prefix, silero_vad, and a macro, SILERO_VAD. */
void generate_model_names(Generator *g, const char *text);

/* -- numbers that follow from shapes ------------------------------------------------------------ */

/* A new axis of any size with a variable of that name; NULL: there are too many. */
GenerateSymbol *generate_symbol(Generator *g, const char *axis, const char *name, const char *source);
/* Its variable is declared here, if anything uses it. */
void generate_declare_symbol(Generator *g, const GenerateSymbol *symbol);
/* Symbols from `first` on are not seen by what follows. */
void generate_end_symbols(Generator *g, uint32_t first);
/* Axes of the value, a tensor, that no formula gives, or that are in the bits of `open`, get symbols after the
 * statement (NULL: there is none), which gives its variable that value. */
void generate_open_axes(GenerateStep *s, GenerateValue *value, const char *statement, uint32_t open);
/* The formula in the axes of any size that has these values in all probes; NULL: none is found. */
const char *generate_formula(Generator *g, const int64_t *values);
/* "BURN_SHAPE(batch, 16)" of a value; one axis may stay open, as -1. NULL with a reason: more are unknown. */
const char *generate_shape(GenerateStep *s, const GenerateValue *value, bool one_open);
/* "[batch, 16]" for comments. */
const char *generate_shape_comment(Generator *g, const GenerateValue *value);
int64_t generate_dim(const GenerateValue *value, uint32_t probe, uint32_t axis);
uint32_t generate_rank(const GenerateValue *value);
/* Integers of an input, [probe][element], and their number; 0 if it is absent, or with a reason. */
size_t generate_ints(GenerateStep *s, uint32_t i, int64_t values[GENERATE_PROBES][ONNX_INTS]);
/* One number that is the same in all probes; false if input i is no such number. */
bool generate_constant_number(const GenerateStep *s, uint32_t i, double *value);
/* The same as C writes it for tensors of a dtype, and what the names of functions that take it end in: _i64 for
 * integers. */
typedef struct GenerateExact {
  const char *text, *suffix;
} GenerateExact;
bool generate_exact(const GenerateStep *s, uint32_t i, BurnDType dtype, GenerateExact *out);
/* Of a number that is read off x (taken). */
bool generate_exact_of(Generator *g, BurnTensor *x, BurnDType dtype, GenerateExact *out);

/* -- statements -------------------------------------------------------------------------------- */

bool generate_has(const GenerateStep *s, uint32_t i);
BurnDType generate_dtype(const GenerateValue *value);
/* "BURN_DTYPE_F32" */
const char *generate_dtype_text(Generator *g, BurnDType dtype);
/* An expression that gives input i a handle of its own: the variable at its last use, else a clone. */
const char *generate_use(GenerateStep *s, uint32_t i);
/* The variable, which stays the owner; of a constant a new handle. */
const char *generate_borrow(GenerateStep *s, uint32_t i);
/* Input i, one integer, as an expression of C: a literal, a formula, or what is read when it runs. */
const char *generate_int(GenerateStep *s, uint32_t i, const char *otherwise);
/* The same, with leading axes of size 1 up to the rank. */
const char *generate_use_rank(GenerateStep *s, uint32_t i, uint32_t rank);
/* output = expression; with its shape as a comment. */
void generate_give(GenerateStep *s, uint32_t output, const char *expression);
/* The same where only the data say how large the axes in the bits of `open` are. */
void generate_give_open(GenerateStep *s, uint32_t output, const char *expression, uint32_t open);
/* A variable for an output, declared where it must be, without a value yet: "BurnTensor *x" or "x" before " = ". */
const char *generate_declare(GenerateStep *s, uint32_t output);
void generate_line(Generator *g, const char *format, ...) BURN_PRINTF(2, 3);
/* Statements in between are those of a block. */
void generate_indent(Generator *g);
void generate_outdent(Generator *g);
/* "BurnTensor *" or "Sequence ". */
const char *generate_type(Generator *g, const GenerateValue *value);
bool generate_is_sequence(const GenerateValue *value);
/* A name of the forward pass that nothing else has. */
const char *generate_local(Generator *g, const char *text);
/* A literal or a field with the elements of a constant. */
const char *generate_literal(Generator *g, GenerateValue *value);
/* This step cannot be written as C. */
void generate_refuse(GenerateStep *s, const char *format, ...) BURN_PRINTF(2, 3);

/* -- layers -------------------------------------------------------------------------------------- */

/* A row of the module and what makes it; its name is made of the weight's. */
const char *generate_field(GenerateStep *s, const char *type, const char *name, const char *comment);
void generate_field_init(Generator *g, const char *field, const char *init);
/* A tensor of a layer, taken. */
void generate_weight(Generator *g, const char *path, BurnTensor *tensor);
/* A new handle to the elements of a constant input. */
BurnTensor *generate_constant(const GenerateStep *s, uint32_t i);
bool generate_is_constant(const GenerateStep *s, uint32_t i);
/* The only reader of an output if it is that operator; NULL else. *input: where it reads. */
const OnnxStep *generate_reader(const GenerateStep *s, uint32_t output, const char *op, uint32_t *index);

/* -- functions that stand before a forward pass that calls them: generate_support.def ------------- */

typedef enum GenerateSupport {
#define GENERATE_SUPPORT(name, needs, text) GENERATE_SUPPORT_##name,
#include "generate_support.def"
#undef GENERATE_SUPPORT
  GENERATE_SUPPORT_COUNT
} GenerateSupport;
void generate_support(Generator *g, GenerateSupport function);
void generate_supports_text(const Generator *g, BurnTextBuilder *text);

/* -- bodies: generate_control.c, generate_loop.c ------------------------------------------------ */

/* Their outputs are values of the scope then. */
BURN_USE_RESULT BurnStatus generate_if(GenerateStep *s);
BURN_USE_RESULT BurnStatus generate_loop(GenerateStep *s);
BURN_USE_RESULT BurnStatus generate_scan(GenerateStep *s);
/* What a name of the scope is; NULL: nothing. */
GenerateValue *generate_get(Generator *g, const GenerateScope *scope, uint32_t slot);
/* Name `slot` of the scope is that value, too. */
void generate_alias(GenerateScope *scope, uint32_t slot, GenerateValue *value);
/* Counts the operator among those that cannot be written, for the reason of the step. */
void generate_note_refused(GenerateStep *s);

/* -- the parts, in order ------------------------------------------------------------------------- */

/* The sizes of the options are of names that are there, each once. */
BURN_USE_RESULT BurnStatus generate_check_sizes(Generator *g);
/* The number that the options give an axis or an input, if they do. */
bool generate_given(const Generator *g, const char *name, int64_t *value);
/* An axis without a name is "input_0". */
const char *generate_axis_name(Generator *g, const BurnGraphValue *input, uint32_t i);
BURN_USE_RESULT BurnStatus generate_inputs(Generator *g, GenerateScope *scope);
BURN_USE_RESULT BurnStatus generate_body(Generator *g, GenerateScope *scope);
/* One use less; a variable that nobody reads any more is dropped, unless a statement has taken it. */
void generate_used(Generator *g, GenerateValue *value);
GenerateValue *generate_value(Generator *g, GenerateKind kind);
GenerateValue *generate_weight_value(Generator *g, uint32_t weight);
BURN_USE_RESULT BurnStatus generate_files(Generator *g, const char *folder);

#endif
