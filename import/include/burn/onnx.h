/* onnx.h - ONNX models: graphs that load, run, and are trained on.
 *
 *   BurnStatus status = BURN_OK;
 *   BurnGraph *graph = burn_onnx_load("model.onnx", device, &status);
 *   BurnTensor *y = NULL;
 *   status = burn_graph_run(graph, (BurnTensor *[]){x}, 1, &y, 1);
 *   burn_graph_release(graph);
 *
 * Files are read as hostile: sizes and names are checked when loading, and messages say file, node and operator. */
#ifndef BURN_ONNX_H
#define BURN_ONNX_H

#include <burn/module.h>

BURN_EXTERN_C_BEGIN

/* A loaded graph with its weights. One thread at a time may run it; give others a clone. */
typedef struct BurnGraph BurnGraph;

/* What happens to parameters when a graph is made quicker at load. */
enum {
  BURN_GRAPH_WEIGHTS_AUTO = 0, /* kept on a device with autodiff, else merged */
  BURN_GRAPH_WEIGHTS_KEPT,     /* every initializer stays a tensor of the module, under its name */
  BURN_GRAPH_WEIGHTS_MERGED    /* passes may compute with them: a BatchNormalization goes into its Conv */
};

/* Zeros are the defaults. */
typedef struct BurnGraphOptions {
  uint32_t weights;  /* BURN_GRAPH_WEIGHTS_* */
  bool no_passes;    /* the graph runs as it stands in the file */
  bool free_batch;   /* axis 0 of inputs may have any size, whatever the file says: for models exported for one item */
  const char *label; /* names the model in messages about bytes; NULL: "model" */
} BurnGraphOptions;

/* An input or output. */
typedef struct BurnGraphValue {
  const char *name; /* lives as long as the graph */
  BurnDType dtype;  /* BURN_DTYPE_DEFAULT: no tensor, or a dtype that does not exist here */
  bool has_shape;   /* false: of any rank */
  uint32_t rank;
  int64_t dims[BURN_MAX_RANK];     /* -1: of any size */
  const char *axes[BURN_MAX_RANK]; /* the name of an axis of any size; NULL: it has none */
  bool strings;                    /* its elements are strings, and dtype is BURN_DTYPE_DEFAULT */
} BurnGraphValue;

/* Loads a model onto a device. Data beside the model are read where it names them, never outside its folder. NULL on
 * failure with the reason in *status, which is that of a chain (burn/error.h): NOT_FOUND or IO of the file,
 * INVALID_ARGUMENT for a file that is not a graph, UNIMPLEMENTED with all operators that are not supported, their nodes
 * and counts. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnGraph *burn_onnx_load(const char *path, BurnDevice *device,
                                                                  BurnStatus *status);
/* The same with options (NULL: defaults). */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnGraph *burn_onnx_load_with(const char *path, BurnDevice *device,
                                                                       const BurnGraphOptions *options,
                                                                       BurnStatus *status);
/* The same from memory, which is not needed afterwards. Models with data in other files are refused. */
BURN_API BURN_CHAINS(5) BURN_USE_RESULT BurnGraph *burn_onnx_read(const void *bytes, size_t count, BurnDevice *device,
                                                                  const BurnGraphOptions *options, BurnStatus *status);

/* Another instance with the same weights: tensors are shared until one of the two changes its own. NULL without
 * memory. */
BURN_API BURN_USE_RESULT BurnGraph *burn_graph_clone(const BurnGraph *graph);
/* Another instance on another device, with weights of its own: what burn_module_fork makes of the module. NULL without
 * memory. */
BURN_API BURN_USE_RESULT BurnGraph *burn_graph_fork(const BurnGraph *graph, BurnDevice *device);
/* Ends an instance; NULL is allowed. */
BURN_API void burn_graph_release(BurnGraph *graph);

/* Inputs that a run wants (initializers are none), and outputs, in the order of the file. */
BURN_API size_t burn_graph_input_count(const BurnGraph *graph);
BURN_API size_t burn_graph_output_count(const BurnGraph *graph);
/* Input or output `index`; zeros beyond the last. */
BURN_API BurnGraphValue burn_graph_input(const BurnGraph *graph, size_t index);
BURN_API BurnGraphValue burn_graph_output(const BurnGraph *graph, size_t index);

/* Runs the graph: takes `input_count` tensors in the order of the inputs, and puts all outputs, which are the caller's,
 * into outputs[0 .. output_count). On failure outputs are NULL. INVALID_ARGUMENT: another number of inputs or outputs,
 * or an input of another dtype or shape; else what an operator says, with node and operator. ONNX tensors of rank 0
 * are [1]. In the place of an input of strings stands NULL (see burn_graph_set_strings), and so it does in that of an
 * output of strings, also if all went well: the status tells. */
BURN_API BURN_USE_RESULT BurnStatus burn_graph_run(BurnGraph *graph, BurnTensor *const *inputs, size_t input_count,
                                                   BurnTensor **outputs, size_t output_count);
/* The same by names: all inputs in any order, and only the outputs that are asked for. */
BURN_API BURN_USE_RESULT BurnStatus burn_graph_run_named(BurnGraph *graph, const char *const *input_names,
                                                         BurnTensor *const *inputs, size_t input_count,
                                                         const char *const *output_names, BurnTensor **outputs,
                                                         size_t output_count);

/* The strings of an input whose elements are strings: as many as `shape` has elements, row-major, UTF-8. They are
 * copied, and stay until others are set; clones and forks begin without any. NOT_FOUND: there is no such input;
 * INVALID_ARGUMENT: it has no strings, or another shape, or a string is NULL or no UTF-8. */
BURN_API BURN_USE_RESULT BurnStatus burn_graph_set_strings(BurnGraph *graph, const char *input,
                                                           const char *const *strings, BurnShape shape);
/* The strings of an output after the last run, row-major, with their shape (NULL: it is not wanted). They live until
 * the next run, or the end of the graph. NULL: no such output, one without strings, or no run that went well. */
BURN_API const char *const *burn_graph_strings(const BurnGraph *graph, const char *output, BurnShape *shape);

/* The graph as a module for visits, optimizers, records and freezing: float initializers are parameters under their
 * names, statistics of normalizations and other floats buffers, all else constants. It belongs to the graph. */
BURN_API BurnModule burn_graph_module(BurnGraph *graph);
/* Whether BatchNormalization uses the statistics of its batch and follows them. Off when loaded. */
BURN_API void burn_graph_set_training(BurnGraph *graph, bool training);
/* A parameter or buffer that holds one more, changed, or other tensor from now on: replaces tensor `name` (taken), such
 * as the weight of a last layer with another number of classes. NOT_FOUND: the module has no tensor of that name. */
BURN_API BURN_USE_RESULT BurnStatus burn_graph_set_tensor(BurnGraph *graph, const char *name, BurnTensor *value);

/* Figures about a graph. */
typedef struct BurnGraphStats {
  size_t nodes_in_file; /* with those of functions that were put in place of their calls, without subgraphs */
  size_t nodes;         /* that are run */
  size_t folded;        /* computed when loading */
  int64_t peak_bytes;   /* the most that values between nodes took at once in the last run, without weights */
} BurnGraphStats;
BURN_API BurnGraphStats burn_graph_stats(const BurnGraph *graph);

/* What a file holds, without loading it: inputs, outputs, opsets, operators with counts, and which of them are not
 * supported; as text for people, or as JSON. To be freed with free(); NULL with the reason in *status. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT char *burn_onnx_info(const char *path, bool json, BurnStatus *status);

BURN_EXTERN_C_END

#endif
