/* pack_without_words.c - in the place of the example's words of SPIR-V: code that no device takes, so that its text is
 * compiled. */
#include <burn/plugin/kernels.h>

extern const BurnDeviceCode fused_matmul_add_relu_spirv;
const BurnDeviceCode fused_matmul_add_relu_spirv = {
    .struct_size = sizeof(BurnDeviceCode), .format = BURN_CODE_FIRST_PRIVATE, .data = "none", .bytes = 4};
