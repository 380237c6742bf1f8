/* quantizer_internal.h - what quantizer.c and calibration.c share. */
#ifndef BURN_CORE_QUANTIZER_INTERNAL_H
#define BURN_CORE_QUANTIZER_INTERNAL_H

#include "module_internal.h"

/* The quantizer, or the default for NULL. */
const BurnQuantizer *burn__quantizer(const BurnQuantizer *quantizer);
/* True for a float or quantized parameter of the group. */
bool burn__quantizer_wants(const BurnQuantizer *quantizer, const BurnModuleTensor *tensor);
/* BURN_OK if burn_module_quantize_weights would succeed. */
BurnStatus burn__quantizer_check(const BurnQuantizer *quantizer, BurnModule module);
/* "<path>: <who>: it has an adapter: .." if the parameter has one. */
BurnStatus burn__refuse_adapter(const char *who, const BurnModuleTensor *tensor);

#endif
