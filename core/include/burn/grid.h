/* grid.h - grids of coordinates. The functions are those of burn::tensor::grid. */
#ifndef BURN_GRID_H
#define BURN_GRID_H

#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* Matrix: axis i belongs to vector i ("ij"). Cartesian: the first two axes are swapped ("xy"). */
typedef enum BurnGridIndexing { BURN_GRID_MATRIX = 0, BURN_GRID_CARTESIAN } BurnGridIndexing;
/* Dense: every grid has the whole shape. Sparse: axes other than the vector's own have size 1. */
typedef enum BurnGridSparsity { BURN_GRID_DENSE = 0, BURN_GRID_SPARSE } BurnGridSparsity;
/* Where burn_meshgrid_stack puts the axis that tells the coordinates of a point apart. */
typedef enum BurnGridIndexPosition { BURN_GRID_INDEX_FIRST = 0, BURN_GRID_INDEX_LAST } BurnGridIndexPosition;

/* Takes `count` vectors of rank 1 (1 .. 8, of any dtype) and writes as many grids of rank `count` to grids, which are
 * the caller's: grid i holds vector i along its axis. After a failure all of them are failed tensors that say why, as
 * the status does. */
BURN_API BURN_USE_RESULT BurnStatus burn_meshgrid(BurnTensor *const *vectors, size_t count, BurnGridIndexing indexing,
                                                  BurnGridSparsity sparsity, BurnTensor **grids);
/* The dense matrix grids of 1 .. 7 vectors of one dtype, stacked along a new first or last axis. Takes the vectors. */
BURN_API BURN_GIVES BurnTensor *burn_meshgrid_stack(BurnTensor *const *vectors, size_t count,
                                                    BurnGridIndexPosition position);

/* theta [batch, 2, 3] -> [batch, height, width, 2]: where the points (x, y) of an image lie after theta * (x, y, 1),
 * with -1 and 1 for the centres of the corner pixels; an axis of one pixel lies at 0 (Burn divides by 0 there). [F] */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_affine_grid_2d(BurnTensor *theta, int64_t height, int64_t width);

BURN_EXTERN_C_END

#endif
