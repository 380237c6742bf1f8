/* onnx_node.h - what the mappings from ONNX operators to our ops work with: one node with its attributes and inputs.
 *
 * A mapping is `MAP(Name) { .. }`: it reads inputs and attributes, applies public functions, and gives its outputs.
 * Where there is no such op here, or not with these attributes, it says so with onnx_not_mapped and a reason. Failures
 * travel in the tensors. ONNX tensors of rank 0 are [1] here. */
#ifndef BURN_ONNX_NODE_H
#define BURN_ONNX_NODE_H

#include <burn/burn.h>

#include <stdatomic.h>

#include "onnx.pb-c.h"

enum { ONNX_MAX_VALUES = 256, ONNX_REASON = 160, ONNX_INTS = ONNX_MAX_VALUES };

/* Elements that are strings, which no tensor holds. They never change; several values may share them. */
typedef struct OnnxStrings {
  atomic_size_t references; /* also of threads that run clones of a graph */
  BurnShape shape;
  size_t count;
  const char *items[]; /* [count] row-major, UTF-8; their bytes stand after them */
} OnnxStrings;

/* A sequence of ONNX: tensors or strings that several values may share. */
typedef struct OnnxList {
  size_t references;
  size_t count;
  BurnTensor **items;    /* [count] NULL: strings */
  OnnxStrings **strings; /* [count] NULL: a tensor */
  bool *scalar;          /* [count] rank 0 in ONNX */
} OnnxList;

/* What a name of a graph stands for: a tensor, strings, a list, or nothing (an optional that is empty). */
typedef struct OnnxValue {
  BurnTensor *tensor;
  bool scalar;  /* rank 0 in ONNX */
  int32_t type; /* what ONNX calls a dtype that we do not have (onnx_narrow.h); 0: the tensor's own */
  OnnxList *list;
  OnnxStrings *strings;
} OnnxValue;

/* Whether a result of one element is rank 0 in ONNX: said by the mapping (onnx_give_rank), or as its inputs are. */
typedef enum OnnxRank { ONNX_RANK_OF_INPUTS, ONNX_RANK_0, ONNX_RANK_MORE } OnnxRank;

typedef struct OnnxFrame OnnxFrame; /* a graph that runs: onnx_run.c */

typedef struct OnnxNode {
  BurnDevice *device;
  const Onnx__NodeProto *proto;
  int64_t opset;                       /* of the node's domain */
  BurnTensor *inputs[ONNX_MAX_VALUES]; /* NULL: absent, a list, or strings */
  bool scalar[ONNX_MAX_VALUES];        /* rank 0 in ONNX */
  int32_t types[ONNX_MAX_VALUES];      /* of OnnxValue */
  OnnxList *lists[ONNX_MAX_VALUES];    /* inputs that are sequences */
  OnnxStrings *strings[ONNX_MAX_VALUES];
  BurnTensor *outputs[ONNX_MAX_VALUES];
  OnnxList *output_lists[ONNX_MAX_VALUES];
  OnnxStrings *output_strings[ONNX_MAX_VALUES];
  OnnxRank output_rank[ONNX_MAX_VALUES];
  int32_t output_types[ONNX_MAX_VALUES];
  bool prepared;            /* its inputs are as a pass has put them: see onnx_pass_*.c */
  OnnxFrame *frame;         /* the graph that the node belongs to; NULL for a node by itself */
  char reason[ONNX_REASON]; /* why it is not mapped; "" if it is */
  BurnStatus status;        /* what onnx_fail was told */
} OnnxNode;

#define ONNX_OP(name) void onnx_##name(OnnxNode *node);
#define ONNX_OP_OF(domain, name) ONNX_OP(name)
#define ONNX_OP_AS(domain, name, mapping) ONNX_OP(mapping)
#define ONNX_ABSENT(name, reason)
#include "onnx_ops.def"
#undef ONNX_OP
#undef ONNX_OP_OF
#undef ONNX_OP_AS
#undef ONNX_ABSENT
#define MAP(name) void onnx_##name(OnnxNode *node)

/* Of an RNN, GRU or LSTM whose inputs 1, 2, 3 and 7 are known, and have no input 0: its weights as a run wants them,
 * into prepared (room for 8; the caller's, some NULL). They become inputs 8 and on of a node that is `prepared` and has
 * no inputs 1 to 3. Returns their number; 0 if the node is wrong, which its run tells. */
size_t onnx_prepare_recurrent(OnnxNode *node, BurnTensor **prepared);

/* -- dtypes: ONNX's numbers ------------------------------------------------------------------- */

/* Ours, or BURN_DTYPE_DEFAULT where there is none; and ONNX's name for messages. */
BurnDType onnx_dtype(int64_t data_type);
const char *onnx_dtype_name(int64_t data_type);

/* The number of elements; false for dims that are none, too many, or more than memory has. */
bool onnx_count_elements(const int64_t *dims, size_t rank, size_t *count);
/* A tensor with the elements of the message. */
BurnTensor *onnx_tensor(BurnDevice *device, const Onnx__TensorProto *proto);

/* Its dtype and number of elements, checked: whatever a file says of dims, they can be multiplied. */
BURN_USE_RESULT BurnStatus onnx_tensor_layout(const Onnx__TensorProto *proto, BurnDType *dtype, size_t *count);

/* -- attributes: the value, or the given one where the node has none -------------------------- */

const Onnx__AttributeProto *onnx_attribute(const OnnxNode *node, const char *name);
int64_t onnx_int(const OnnxNode *node, const char *name, int64_t otherwise);
double onnx_float(const OnnxNode *node, const char *name, double otherwise);
/* True if the attribute, or the default where it is absent, is `text`. */
bool onnx_is(const OnnxNode *node, const char *name, const char *otherwise, const char *text);
/* Fills values (room for ONNX_INTS) and returns their number; 0 if absent, or if there are more: then the node is not
 * mapped. Files list as many as they like: whoever has an array of axes, or wants one number for each, asks
 * onnx_counts_are next. */
size_t onnx_ints(OnnxNode *node, const char *name, int64_t *values);

/* -- inputs and outputs ----------------------------------------------------------------------- */

/* A new handle to input i; NULL if it is absent. */
BurnTensor *onnx_input(const OnnxNode *node, size_t i);
/* Input i itself, which the node has no more: an op may overwrite what nobody else holds. NULL if it is absent. */
BurnTensor *onnx_take_input(OnnxNode *node, size_t i);
bool onnx_has_input(const OnnxNode *node, size_t i);
uint32_t onnx_input_rank(const OnnxNode *node, size_t i);
int64_t onnx_input_size(const OnnxNode *node, size_t i); /* elements */
int64_t onnx_input_dim(const OnnxNode *node, size_t i, int dim);
/* Elements of an input on the host: numbers that ONNX gives as tensors and we as arguments. */
size_t onnx_input_ints(OnnxNode *node, size_t i, int64_t *values);
int64_t onnx_input_int(OnnxNode *node, size_t i, int64_t otherwise);
double onnx_input_number(OnnxNode *node, size_t i, double otherwise);

/* A number of a tensor both ways, since a double lacks integers from 2^53 on and an i64 most floats: the one is the
 * other without its fraction, or the nearest there is. */
typedef struct OnnxNumber {
  double f;
  int64_t i;
} OnnxNumber;
/* Elements of x, which it takes, one or two; and that of an input, which must have one. */
BURN_USE_RESULT BurnStatus onnx_read_exact(BurnTensor *x, OnnxNumber *numbers, size_t count);
OnnxNumber onnx_input_exact(OnnxNode *node, size_t i);
BurnTensor *onnx_full(BurnDevice *device, BurnShape shape, BurnDType dtype, OnnxNumber value);
bool onnx_wants_output(const OnnxNode *node, size_t i);
void onnx_give(OnnxNode *node, size_t i, BurnTensor *x); /* drops x if output i is not wanted */
/* The same, with what rank it has in ONNX: of x with one element, rank 0 (ours is [1]) or more. */
void onnx_give_rank(OnnxNode *node, size_t i, BurnTensor *x, OnnxRank rank);
void onnx_not_mapped(OnnxNode *node, const char *format, ...) BURN_PRINTF(2, 3);

/* -- lists ------------------------------------------------------------------------------------- */

/* A list with room for `count` items, which are nothing, and one reference; NULL without memory. */
OnnxList *onnx_list_new(size_t count);
/* Another reference, or one less; NULL is allowed. */
OnnxList *onnx_list_retain(OnnxList *list);
void onnx_list_release(OnnxList *list);
void onnx_give_list(OnnxNode *node, size_t i, OnnxList *list); /* takes the reference */
void onnx_value_release(OnnxValue *value);                     /* whatever it is */

/* -- subgraphs --------------------------------------------------------------------------------- */

/* Runs a graph attribute of the node: If's branches, the bodies of Loop and Scan. Takes the contents of `inputs` (as
 * many as `graph` has, else a failure), and gives as many outputs as `graph` has (room for `output_count`, which must
 * be that number). Names of the graphs around it are seen by the subgraph. A failed status names the node inside. */
BURN_USE_RESULT BurnStatus onnx_run_subgraph(OnnxNode *node, const Onnx__GraphProto *graph, OnnxValue *inputs,
                                             size_t input_count, OnnxValue *outputs, size_t output_count);
/* What a mapping cannot put into a tensor: the node fails with this status. */
void onnx_fail(OnnxNode *node, BurnStatus status);
/* Whether there are as many numbers as wanted, or at most as many; else the node fails, and its mapping returns. */
bool onnx_counts_are(OnnxNode *node, const char *what, size_t count, size_t wanted);
bool onnx_counts_fit(OnnxNode *node, const char *what, size_t count, size_t most);

/* How many rounds a loop may take that data would end; 0: any number. */
int64_t onnx_most_rounds(const OnnxNode *node);

/* -- gradients --------------------------------------------------------------------------------- */

/* The attribute in which a Gradient has the graph that it differentiates (onnx_gradient.c). */
#define ONNX_GRADIENT_GRAPH "graph"
/* A gradient more that is being computed, or one less; whether it is inside of another one. */
void onnx_gradient_begin(OnnxNode *node);
void onnx_gradient_end(OnnxNode *node);
bool onnx_gradient_is_inner(const OnnxNode *node);

/* -- training ---------------------------------------------------------------------------------- */

/* Whether the graph of the node is asked to train (burn_graph_set_training). */
bool onnx_in_training(const OnnxNode *node);
/* A new value (taken) for the buffer that input i is; of an input that is none it is dropped. */
void onnx_set_state(const OnnxNode *node, size_t i, BurnTensor *x);

/* -- small steps; all take their tensors ------------------------------------------------------ */

/* A dim that may be negative, resolved. One that a tensor of that rank does not have fails the node by its name, and
 * becomes 0, which every tensor has. */
int onnx_axis(OnnxNode *node, const char *name, int64_t axis, uint32_t rank);
/* The same of a list, into dims (room for BURN_MAX_RANK); NULL: the first axes. False, and the node has failed: one is
 * none, or named twice. */
bool onnx_axes(OnnxNode *node, const int64_t *axes, size_t count, uint32_t rank, int *dims);
/* Start, end and step along an axis of that size as a range of ours: from start while not beyond end, also backwards;
 * ours takes a range of elements and then walks it backwards. */
BurnRange onnx_range(int64_t start, int64_t end, int64_t step, int64_t size);
/* Leading axes of size 1, until both have the same rank, as broadcasting in ONNX wants. */
void onnx_same_rank(BurnTensor **lhs, BurnTensor **rhs);
BurnTensor *onnx_to_rank(BurnTensor *x, uint32_t rank);
typedef BurnTensor *OnnxBinary(BurnTensor *, BurnTensor *);
BurnTensor *onnx_broadcast(OnnxBinary *apply, BurnTensor *lhs, BurnTensor *rhs);
/* Dims of any number; none is [1]. */
BurnTensor *onnx_reshape(BurnTensor *x, const int64_t *dims, size_t count);
BurnShape onnx_shape(const int64_t *dims, size_t count);
/* Every axis of x from `begins` to `begins` plus `sizes`. */
BurnTensor *onnx_part(BurnTensor *x, const int64_t *begins, const int64_t *sizes);
/* Indices below 0 count from the end of an axis of that size. */
BurnTensor *onnx_wrap_indices(BurnTensor *indices, int64_t size);
/* Margins of `value` before and after the last `count` axes; negative ones cut off. */
BurnTensor *onnx_pad(BurnTensor *x, const int64_t *before, const int64_t *after, uint32_t count, int64_t mode,
                     double value);
BurnTensor *onnx_pad_exact(BurnTensor *x, const int64_t *before, const int64_t *after, uint32_t count, int64_t mode,
                           OnnxNumber value);
BurnTensor *onnx_i64s(BurnDevice *device, const int64_t *values, size_t count);

#endif
