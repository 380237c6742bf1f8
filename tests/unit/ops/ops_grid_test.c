/* ops_grid_test.c - grids of coordinates; see ops_case.h. */
#define OPS_GOLDEN "ops_grid_golden.h"
#include "ops_golden.h"

/* The numbers start with how many vectors there are. */
static size_t vectors_of(OpsRun *run, BurnTensor **vectors) {
  const size_t count = (size_t)WHOLE(0);
  for (size_t i = 0; i < count; i++) vectors[i] = IN(i);
  return count;
}

static void meshgrid(OpsRun *run) {
  BurnTensor *vectors[OPS_MAX_TENSORS];
  const size_t count = vectors_of(run, vectors);
  const BurnGridIndexing indexing = WHOLE(1) ? BURN_GRID_CARTESIAN : BURN_GRID_MATRIX;
  const BurnStatus status =
      burn_meshgrid(vectors, count, indexing, WHOLE(2) ? BURN_GRID_SPARSE : BURN_GRID_DENSE, run->outputs);
  assert_string_equal(burn_status_message(status), "ok");
}

static BurnTensor *meshgrid_stack(OpsRun *run) {
  BurnTensor *vectors[OPS_MAX_TENSORS];
  const size_t count = vectors_of(run, vectors);
  return burn_meshgrid_stack(vectors, count, WHOLE(1) ? BURN_GRID_INDEX_LAST : BURN_GRID_INDEX_FIRST);
}

#define ROWS(OPS)                                   \
  OPS(meshgrid, meshgrid(run))                      \
  OPS(meshgrid_stack, OUT(0) = meshgrid_stack(run)) \
  OPS(affine_grid_2d, OUT(0) = burn_affine_grid_2d(IN(0), WHOLE(0), WHOLE(1)))

OPS_MAIN("grids", ROWS)
