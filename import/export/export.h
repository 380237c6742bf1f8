/* export.h - what the parts of the exporter share: a recorded forward pass, and the model that is made of it. */
#ifndef BURN_EXPORT_H
#define BURN_EXPORT_H

#include <burn/burn.h>
#include <burn/onnx_export.h>
#include <burn/op_call.h>
#include <burn/plugin/recorder.h>

#include "onnx_program.h" /* arena and names */

/* Items in the two runs that tell what follows a dynamic batch: more than one, which would broadcast, and with a
 * distance that finds what is not a multiple of it. */
enum { EXPORT_BATCH = 2, EXPORT_OTHER_BATCH = 5 };

/* -- a recorded forward pass ------------------------------------------------------------------- */

/* What is exported: a module with its forward pass, or a graph. */
typedef struct ExportSource {
  BurnModule module;
  BurnOnnxForward forward;
  void *context;
  const BurnGraph *graph; /* NULL: a module */
  BurnTensor *const *inputs;
  size_t input_count, output_count;
  const BurnOnnxSave *options;
} ExportSource;

/* A tensor of the module under its path. */
typedef struct ExportParameter {
  char *path;
  BurnTensor *value;
} ExportParameter;

/* One run. Calls, and the primitives in them, live as long as this. */
typedef struct ExportTrace {
  BurnDevice *device;
  const BurnBackend *backend;
  const BurnRecorderInterface *table;
  void *self;
  void *module; /* the copy of the module, with its type .. */
  const BurnType *type;
  BurnGraph *graph;    /* .. or of the graph */
  BurnTensor **inputs; /* [source->input_count] */
  BurnTensor **outputs;
  size_t input_count, output_count;
  ExportParameter *parameters;
  size_t parameter_count;
  uint64_t count; /* of calls */
} ExportTrace;

/* Runs the source on a device with a recorder, which records composite ops of the table as one. `items`: so many of the
 * example along axis 0, at most EXPORT_OTHER_BATCH; 0: as it is. Always end it by export_trace_release. */
BURN_USE_RESULT BurnStatus export_trace_make(ExportTrace *trace, const ExportSource *source, int64_t items);
void export_trace_release(ExportTrace *trace);

/* -- the model --------------------------------------------------------------------------------- */

/* What a value depends on: the higher wins. */
typedef enum ExportKind { EXPORT_CONSTANT, EXPORT_PARAMETER, EXPORT_COMPUTED } ExportKind;

/* A primitive of the first run. */
typedef struct ExportValue {
  const BurnPrimitive *primitive;
  const BurnPrimitive *other; /* the same of the second run; NULL: there is none */
  ExportKind kind;
  bool needed;
  const char *name; /* in the model; NULL: not written yet */
} ExportValue;

/* Things of one type that become more. */
typedef struct ExportList {
  void **items;
  size_t count, capacity;
} ExportList;

typedef struct Export {
  const ExportSource *source;
  const ExportTrace *trace, *other; /* other: of EXPORT_OTHER_BATCH items; NULL without a dynamic batch */
  OnnxArena arena;                  /* of all that follows, but for lists and tables */
  OnnxNames names;                  /* that are taken */
  ExportValue *values;              /* a hash table by primitive, of a power of two */
  size_t value_count, value_capacity;
  ExportList nodes, initializers;
  uint32_t next_number;                    /* for names */
  const char *batch;                       /* the value with the size of the batch, [1]; NULL: not written yet */
  uint32_t unsupported[BURN_OP_LIMIT + 1]; /* calls by op; the last: of kernel packs */
  BurnStatus status;                       /* the first failure */
} Export;

/* A call on its way into the model. */
typedef struct ExportCall {
  const BurnOpCall *call;
  const BurnOpCall *other; /* of the second run; NULL: there is none */
  const char *op;          /* ONNX's operator, of the row */
} ExportCall;

/* A row of export_ops.def. */
typedef struct ExportRow {
  uint32_t op;
  void (*map)(Export *export, const ExportCall *c);
  const char *name;      /* ONNX's operator */
  bool sizes_may_differ; /* its lists of numbers may depend on the batch */
} ExportRow;
const ExportRow *export_rows(size_t *count);
const ExportRow *export_row(uint32_t op); /* NULL: the op has no counterpart */

/* Everything between a record and a message that can be written. Returns the model, in the arena of `export`, which
 * export_release ends; NULL with export->status. */
Onnx__ModelProto *export_model(Export *export, const ExportSource *source, const ExportTrace *trace,
                               const ExportTrace *other);
void export_release(Export *export);

/* -- for the mappings: failures are kept in export->status, and names are then "" ---------------- */

#define EXPORT_MAP(name) void export_##name(Export *export, const ExportCall *c)
#define EXPORT(op, map, Operator) EXPORT_MAP(map);
#define EXPORT_SIZED(op, map, Operator) EXPORT_MAP(map);
#include "export_ops.def"
#undef EXPORT
#undef EXPORT_SIZED

void export_fail(Export *export, BurnStatus status);
/* Memory of the model; NULL, and the export has failed, where there is none. */
void *export_take(Export *export, size_t count, size_t bytes);
/* This call has no counterpart with its attributes. */
void export_unsupported(Export *export, const ExportCall *c);

/* The name of input i; "" where it is absent. */
const char *export_input(Export *export, const ExportCall *c, uint32_t i);
/* A name for output i, which the mapping must make, and one for a value in between. */
const char *export_output(Export *export, const ExportCall *c, uint32_t i);
const char *export_between(Export *export, const ExportCall *c);
bool export_output_needed(const Export *export, const ExportCall *c, uint32_t i);

/* Adds a node; inputs at the end that are "" are left out. Attributes are added to it. */
Onnx__NodeProto *export_node(Export *export, const char *op, const char *const *inputs, size_t input_count,
                             const char *output);
void export_add_output(Export *export, Onnx__NodeProto *node, const char *name);
/* A node with one or two inputs and a new value, whose name it returns. */
const char *export_step(Export *export, const ExportCall *c, const char *op, const char *a, const char *b);
void export_set_int(Export *export, Onnx__NodeProto *node, const char *name, int64_t value);
void export_set_float(Export *export, Onnx__NodeProto *node, const char *name, double value);
void export_set_text(Export *export, Onnx__NodeProto *node, const char *name, const char *value);
void export_set_ints(Export *export, Onnx__NodeProto *node, const char *name, const int64_t *values, size_t count);
void export_set_tensor(Export *export, Onnx__NodeProto *node, const char *name, Onnx__TensorProto *value);

/* A name that nothing else has: "linear_3". */
const char *export_new_name(Export *export, const char *what);
/* A primitive of the first run under that name. */
void export_initializer(Export *export, const BurnPrimitive *x, const char *name);

/* Constants: i64 [count]; a number of a dtype without axes, as a message and as an initializer. */
const char *export_ints(Export *export, const int64_t *values, size_t count);
Onnx__TensorProto *export_number_tensor(Export *export, const BurnAttr *number, BurnDType dtype, bool axis);
const char *export_number(Export *export, const BurnAttr *number, BurnDType dtype);
const char *export_float(Export *export, double number, BurnDType dtype);

/* i64 [count]: values, or where those of the second run are others (NULL: they are not) as the batch has it. */
const char *export_sizes(Export *export, const ExportCall *c, const int64_t *values, const int64_t *others,
                         size_t count);

/* Input i and output i of the call: dtype and shape. */
BurnTensorDesc export_desc(const ExportCall *c, uint32_t input);
/* ONNX's number of a dtype. */
int32_t export_dtype(BurnDType dtype);

#endif
