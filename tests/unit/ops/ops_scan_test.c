/* ops_scan_test.c - ops that run along an axis; see ops_case.h. */
#define OPS_GOLDEN "ops_scan_golden.h"
#include "ops_golden.h"

#define AXIS(OPS, name) OPS(name, OUT(0) = burn_##name(IN(0), DIM(0)))

#define ROWS(OPS)    \
  AXIS(OPS, cumsum)  \
  AXIS(OPS, cumprod) \
  AXIS(OPS, cummin)  \
  AXIS(OPS, cummax)

OPS_MAIN("running", ROWS)
