/* burn.h - everything a program needs that works with tensors and modules. Layers are in burn/nn.h, training in
 * burn/train.h. */
#ifndef BURN_BURN_H
#define BURN_BURN_H

#include <burn/activation.h>
#include <burn/autodiff.h>
#include <burn/capture.h>
#include <burn/config.h>
#include <burn/device.h>
#include <burn/dlpack.h>
#include <burn/error.h>
#include <burn/file.h>
#include <burn/grid.h>
#include <burn/guess.h>
#include <burn/linalg.h>
#include <burn/lora.h>
#include <burn/module.h>
#include <burn/numpy.h>
#include <burn/op_call.h>
#include <burn/ops.h>
#include <burn/param_group.h>
#include <burn/quantization.h>
#include <burn/quantizer.h>
#include <burn/record.h>
#include <burn/signal.h>
#include <burn/streams.h>
#include <burn/tensor.h>
#include <burn/text.h>
#include <burn/transfer.h>
#include <burn/zip.h>

#endif
