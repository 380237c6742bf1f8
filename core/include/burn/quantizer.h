/* quantizer.h - modules whose weights are quantized after training, and whose layers may compute in integers.
 *
 *   const char *const weights[] = {"weight", NULL};
 *   const BurnQuantizer quantizer = {BURN_QUANT_MIN_MAX, BURN_QUANT_SCHEME, &(BurnParamGroup){.parts = weights}};
 *
 *   status = burn_module_quantize_weights(model, &quantizer);                         weights alone, or
 *
 *   BurnCalibration *calibration = NULL;                                              weights and inputs:
 *   status = burn_calibration_begin(model, &quantizer, &calibration);
 *   ... forward passes over some batches of data ...
 *   status = burn_calibration_end(calibration);
 *
 * A quantized parameter has its values, i8, in `value`, and stands for the floats that burn_param_value gives: all
 * layers work with it, by making floats of it in each forward pass. It asks for no gradient. Linear layers and
 * convolutions whose inputs are quantized, too, multiply integers: with a range found from data beforehand
 * (calibration), or with the range of each batch (burn_module_quantize_inputs). That is for inference; no gradient
 * passes, and a tracked input is an error that says so.
 *
 * Records keep what is quantized, as Burn's do (QFloat), and the ranges of inputs; a module takes over what the record
 * has: quantized weights where it had floats, and the other way round. */
#ifndef BURN_QUANTIZER_H
#define BURN_QUANTIZER_H

#include <burn/param_group.h>
#include <burn/quantization.h>

BURN_EXTERN_C_BEGIN

/* How the weights of a module are quantized. */
typedef struct BurnQuantizer {
  BurnQuantCalibration calibration; /* of the weights' ranges */
  BurnQuantScheme scheme;           /* start from BURN_QUANT_SCHEME */
  const BurnParamGroup *group;      /* NULL: all parameters, biases and norms too, as in Burn */
} BurnQuantizer;

/* Quantizes the float parameters of the group (NULL for the quantizer: min-max, BURN_QUANT_SCHEME, all): not buffers,
 * not adapters. Those that are quantized already stay as they are. Ids stay. Blocks that do not divide a shape are an
 * error with path and shape, as is a group that has no parameter of the module, and nothing is changed then. */
BURN_API BURN_USE_RESULT BurnStatus burn_module_quantize_weights(BurnModule module, const BurnQuantizer *quantizer);

/* Has the inputs of the layers with a quantized weight in the group (NULL: all) quantized by the range of each batch.
 * Records do not keep that. Fails on a weight with an adapter, and where no weight is quantized. */
BURN_API BURN_USE_RESULT BurnStatus burn_module_quantize_inputs(BurnModule module, const BurnParamGroup *group);

/* A calibration in progress: notes the ranges of inputs. */
typedef struct BurnCalibration BurnCalibration;

/* Begins to note the smallest and largest input of every Linear and convolution whose weight is in the quantizer's
 * group, in forward passes of this very object (no copy of it), from any thread. *out is to be ended, before the module
 * is; what the quantizer points at must last until then. Refuses what burn_module_quantize_weights would, weights with
 * adapters, and a second calibration of the same module. */
BURN_API BURN_USE_RESULT BurnStatus burn_calibration_begin(BurnModule module, const BurnQuantizer *quantizer,
                                                           BurnCalibration **out);
/* Quantizes the weights, and fixes the scale of each input that was seen: 8 bits, -127 .. 127. Layers that were not
 * seen have quantized weights only; if none was, or a range is not finite, it is an error and nothing is changed. The
 * calibration is gone in any case. */
BURN_API BURN_USE_RESULT BurnStatus burn_calibration_end(BurnCalibration *calibration);
/* Ends it without quantizing anything. NULL is allowed. */
BURN_API void burn_calibration_cancel(BurnCalibration *calibration);

/* -- for layers -------------------------------------------------------------------------------- */

/* The quantized values of a parameter, as a clone; with values NULL if it is not quantized. An adapter is not in it. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_param_quant(const BurnParam *param);
/* True if what this weight is multiplied with is to be quantized before. */
BURN_API bool burn_param_quantizes_input(const BurnParam *weight);
/* x [F] (taken) quantized as the weight's input; a failed one if x is tracked by autodiff, or where
 * burn_param_quantizes_input is false. */
BURN_API BURN_USE_RESULT BURN_TAKES(2) BurnQuantTensor burn_param_quant_input(const BurnParam *weight, BurnTensor *x);
/* A layer tells what its weight is about to be multiplied with (borrowed); noted during a calibration. */
BURN_API void burn_param_observe(const BurnParam *weight, const BurnTensor *x);

BURN_EXTERN_C_END

#endif
