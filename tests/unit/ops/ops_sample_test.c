/* ops_sample_test.c - resampling by a size and at positions; see ops_case.h. */
#define OPS_GOLDEN "ops_sample_golden.h"
#include "ops_golden.h"

static BurnInterpolateOptions interpolation(const OpsRun *run) {
  return (BurnInterpolateOptions){(BurnInterpolateMode)WHOLE(2), WHOLE(3) != 0};
}

static BurnGridSampleOptions grid(const OpsRun *run) {
  return (BurnGridSampleOptions){(BurnGridSampleMode)WHOLE(0), (BurnGridPaddingMode)WHOLE(1), WHOLE(2) != 0};
}

#define ROWS(OPS)                                                                     \
  OPS(interpolate, OUT(0) = burn_interpolate(IN(0), run->wholes, interpolation(run))) \
  OPS(grid_sample_2d, OUT(0) = burn_grid_sample_2d(IN(0), IN(1), grid(run)))

OPS_MAIN("resampling", ROWS)
