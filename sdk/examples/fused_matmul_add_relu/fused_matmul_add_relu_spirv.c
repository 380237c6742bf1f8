/* fused_matmul_add_relu_spirv.c - the kernel as words of SPIR-V, made from
 * fused_matmul_add_relu.comp: for devices that take no text, or sooner than
 * one. */
#include <burn/plugin/kernels.h>

static const uint32_t words[] = {
#include "fused_matmul_add_relu.inc"
};

extern const BurnDeviceCode fused_matmul_add_relu_spirv;
const BurnDeviceCode fused_matmul_add_relu_spirv = {
    .struct_size = sizeof(BurnDeviceCode),
    .format = BURN_CODE_SPIRV,
    .data = words,
    .bytes = sizeof words};
