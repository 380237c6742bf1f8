/* ndarray_folds_rare.c - the folds that are seldom used, for any processor; other instruction sets have none of their
 * own. */
#define ND_FOLDS_RARE 1
#define ND_ROWS_F64 0
#include "ndarray_folds_isa.inc"

const NdFold nd_rare_folds[ND_FOLD_COUNT][ND_DTYPE_COUNT] = {
#define ND_FOLD ND_FOLD_ROW
#include "ndarray_reduce.def"
#undef ND_FOLD
};
