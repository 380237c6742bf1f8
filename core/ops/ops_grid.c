/* ops_grid.c - grids of coordinates, composed of other public ops. */
#include <burn/grid.h>

#include "null_check.h"
#include "ops_internal.h"

/* -- meshgrid --------------------------------------------------------------------------------- */

static BurnStatus check_vectors(BurnTensor *const *vectors, size_t count, const char *user, size_t most) {
  if (count < 1 || count > most) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: %zu vectors given, 1 to %zu are possible", user, count, most);
  }
  BurnStatus status = check_list(vectors, count, user, "vectors");
  if (status != BURN_OK) return status;
  for (size_t i = 0; i < count; i++) {
    status = burn__tensor_check(vectors[i], user);
    if (status != BURN_OK) return status;
    if (burn_rank(vectors[i]) != 1) {
      BurnShapeText text;
      return BURN_FAIL(INVALID_SHAPE, "%s: vector %zu has shape %s, rank 1 expected", user, i,
                       burn__shape_text(&text, burn_rank(vectors[i]), vectors[i]->primitive->shape));
    }
    for (size_t j = 0; j < i; j++) {
      if (vectors[j] != vectors[i]) continue;
      return BURN_FAIL(TENSOR_TAKEN, "%s: the same tensor is given twice; give a burn_clone of it", user);
    }
  }
  return BURN_OK;
}

/* Takes the vectors, which are checked. */
static void make_grids(BurnTensor *const *vectors, size_t count, bool swapped, bool dense, BurnTensor **grids) {
  BurnShape whole = {(uint32_t)count, {0}};
  for (size_t i = 0; i < count; i++) whole.dims[i] = burn_dim(vectors[i], 0);
  for (size_t i = 0; i < count; i++) {
    BurnShape own = {(uint32_t)count, {0}};
    for (size_t k = 0; k < count; k++) own.dims[k] = k == i ? whole.dims[i] : 1;
    BurnTensor *grid = burn__reshape_to(vectors[i], own);
    if (dense) grid = burn_expand(grid, whole);
    grids[i] = swapped && count > 1 ? burn_swap_dims(grid, 0, 1) : grid;
  }
}

BurnStatus burn_meshgrid(BurnTensor *const *vectors, size_t count, BurnGridIndexing indexing, BurnGridSparsity sparsity,
                         BurnTensor **grids) {
  BurnStatus status = BURN_REQUIRED(grids, "a list of as many BurnTensor * as vectors");
  if (status != BURN_OK) {
    burn__tensor_take_all(vectors, count, "meshgrid");
    return status;
  }
  status = check_vectors(vectors, count, "meshgrid", BURN_MAX_RANK);
  if (status == BURN_OK) {
    make_grids(vectors, count, indexing == BURN_GRID_CARTESIAN, sparsity == BURN_GRID_DENSE, grids);
    for (size_t i = 0; status == BURN_OK && i < count; i++) status = burn_tensor_status(grids[i]);
    return status;
  }
  burn__tensor_take_all(vectors, count, "meshgrid");
  for (size_t i = 0; i < count; i++) grids[i] = burn__tensor_failed(status);
  return status;
}

BurnTensor *burn_meshgrid_stack(BurnTensor *const *vectors, size_t count, BurnGridIndexPosition position) {
  BurnTensor *grids[BURN_MAX_RANK];
  const BurnStatus status = check_vectors(vectors, count, "meshgrid_stack", BURN_MAX_RANK - 1);
  if (status != BURN_OK) {
    burn__tensor_take_all(vectors, count, "meshgrid_stack");
    return burn__tensor_failed(status);
  }
  make_grids(vectors, count, false, true, grids);
  return burn_stack(grids, count, position == BURN_GRID_INDEX_LAST ? -1 : 0);
}

/* -- affine grid ------------------------------------------------------------------------------ */

/* `size` numbers from -1 to 1 in the shape given; 0 for one. */
static BurnTensor *spread(BurnDevice *device, int64_t size, BurnShape shape, BurnDType dtype) {
  BurnTensor *x = burn_cast(burn__places(device, size), dtype);
  if (size > 1) x = burn_sub_scalar(burn_div_scalar(x, (double)(size - 1) / 2), 1);
  return burn__reshape_to(x, shape);
}

/* Takes theta: its row times (x, y, 1), as [batch, height, width]. */
static BurnTensor *coordinate(BurnTensor *theta, int row, BurnTensor *x, BurnTensor *y) {
  BurnTensor *parts[3];
  for (int i = 0; i < 3; i++) {
    const BurnRange ranges[] = {BURN_RANGE_ALL, BURN_RANGE(row, row + 1), BURN_RANGE(i, i + 1)};
    parts[i] = burn_slice(burn_clone(theta), ranges, 3);
  }
  burn_drop(theta);
  BurnTensor *sum = burn_add(burn_mul(parts[0], x), burn_mul(parts[1], y));
  return burn_add(sum, parts[2]);
}

BurnTensor *burn_affine_grid_2d(BurnTensor *theta, int64_t height, int64_t width) {
  BurnStatus status = burn__tensor_check(theta, "affine_grid_2d");
  if (status == BURN_OK && (burn_rank(theta) != 3 || burn_dim(theta, 1) != 2 || burn_dim(theta, 2) != 3)) {
    BurnShapeText text;
    status = BURN_FAIL(INVALID_SHAPE, "affine_grid_2d: theta has shape %s, [batch,2,3] expected",
                       burn__shape_text(&text, burn_rank(theta), theta->primitive->shape));
  }
  if (status == BURN_OK && !(burn_dtype_kind(burn_dtype(theta)) & BURN_KIND_FLOAT)) {
    status =
        BURN_FAIL(INVALID_DTYPE, "affine_grid_2d: theta must be float, not %s", burn_dtype_name(burn_dtype(theta)));
  }
  if (status == BURN_OK && (height < 1 || width < 1)) {
    status = BURN_FAIL(INVALID_ARGUMENT, "affine_grid_2d: height %lld and width %lld must be positive",
                       (long long)height, (long long)width);
  }
  if (status != BURN_OK) {
    burn__tensor_take(theta, "affine_grid_2d");
    return burn__tensor_failed(status);
  }
  BurnDevice *device = burn_tensor_device(theta);
  const BurnDType dtype = burn_dtype(theta);
  theta = unrounded(theta);
  BurnTensor *x = spread(device, width, BURN_SHAPE(1, 1, width), burn_dtype(theta));
  BurnTensor *y = spread(device, height, BURN_SHAPE(1, height, 1), burn_dtype(theta));
  BurnTensor *across = coordinate(burn_clone(theta), 0, burn_clone(x), burn_clone(y));
  return burn_cast(burn_stack((BurnTensor *const[]){across, coordinate(theta, 1, x, y)}, 2, -1), dtype);
}
