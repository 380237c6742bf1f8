/* ndarray_folds_baseline.c - the folds that are rare, for any processor. */
#define ND_FOLDS nd_rare_folds_baseline
#define ND_FOLDS_RARE 1
#define ND_ROWS_F64 0
#include "ndarray_folds_isa.inc"

const NdFold ND_FOLDS[ND_FOLD_COUNT][ND_DTYPE_COUNT] = {
#define ND_FOLD ND_FOLD_ROW
#include "ndarray_reduce.def"
#undef ND_FOLD
};
