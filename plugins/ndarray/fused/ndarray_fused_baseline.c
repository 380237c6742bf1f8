/* ndarray_fused_baseline.c - the machine of fused bodies for the baseline instruction set. */
#define ND_FUSED_MACHINE nd_fused_machine_baseline
#include "ndarray_fused_machine_isa.inc"
