/* onnx_export.h - modules and graphs written as ONNX files, for ONNX Runtime and other frameworks.
 *
 *   static BurnStatus forward(void *context, const void *module, BurnTensor *const *inputs, BurnTensor **outputs) {
 *     outputs[0] = Net_forward(module, inputs[0]);
 *     return BURN_OK;
 *   }
 *   ..
 *   BurnTensor *example = burn_zeros(device, BURN_SHAPE(1, 1, 28, 28), BURN_DTYPE_F32);
 *   const BurnOnnxSave options = {.dynamic_batch = true};
 *   status = burn_onnx_save("net.onnx", burn_module(Net, &net), forward, NULL, &example, 1, 1, &options);
 *
 * What is written is what the forward pass calls with the example: loops are unrolled, and of an `if` there is the
 * branch that was taken. The module is copied to a device of its own with the decorator `recorder` on top; so it stays
 * as it is, and a forward pass for training (dropout, the statistics of a batch) becomes one for inference. Parameters
 * and buffers are initializers under their paths, "fc1.weight". */
#ifndef BURN_ONNX_EXPORT_H
#define BURN_ONNX_EXPORT_H

#include <burn/onnx.h>

BURN_EXTERN_C_BEGIN

/* The opset that is written, the first with Gelu, which ONNX Runtime runs from 1.17 on (January 2024). */
enum { BURN_ONNX_SAVE_OPSET = 20 };

/* How a model is written. Zeros are the defaults. */
typedef struct BurnOnnxSave {
  const char *const *input_names;  /* one for each input; NULL: "input", or "input_0", "input_1", .. */
  const char *const *output_names; /* one for each output; NULL: "output", or "output_0", .. */
  bool dynamic_batch; /* axis 0 of the inputs whose axis 0 is as long as that of the first may have any length: the axis
                         "batch" of the file. The forward pass is then called with two lengths, and sizes that differ
                         are computed from the batch; values must not */
  bool overwrite;     /* replaces a file that is there; else that is an error */
  const char *stack;  /* what computes below the recorder; NULL: the stack of the inputs, without autodiff */
} BurnOnnxSave;

/* The forward pass of `module`, a copy of the one that is written: takes the inputs, and puts outputs, which are the
 * caller's, into outputs. `context` is what burn_onnx_save was given. Called once, or twice for a dynamic batch, by the
 * thread that called burn_onnx_save. Tensors that it makes belong on the device of the inputs. */
typedef BurnStatus (*BurnOnnxForward)(void *context, const void *module, BurnTensor *const *inputs,
                                      BurnTensor **outputs);

/* Writes a module as an ONNX file. Takes the example inputs; options NULL: defaults. INVALID_ARGUMENT: no input or
 * output, names that are no use, calls or values that depend on the size of the batch; UNIMPLEMENTED: ops without a
 * counterpart in ONNX, all of them with their counts; FAILED_PRECONDITION: the file is there already; else what the
 * forward pass said. */
BURN_API BURN_USE_RESULT BurnStatus burn_onnx_save(const char *path, BurnModule module, BurnOnnxForward forward,
                                                   void *context, BurnTensor *const *inputs, size_t input_count,
                                                   size_t output_count, const BurnOnnxSave *options);

/* The same for a graph, for which nobody has to write a forward pass: a model that was loaded, and trained on. Inputs
 * and outputs keep the names that they have in the graph, unless options say others. */
BURN_API BURN_USE_RESULT BurnStatus burn_onnx_save_graph(const char *path, const BurnGraph *graph,
                                                         BurnTensor *const *inputs, size_t input_count,
                                                         const BurnOnnxSave *options);

BURN_EXTERN_C_END

#endif
