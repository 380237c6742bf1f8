/* ops_scan.c - public running sums, products and extremes along an axis. */
#include "ops_internal.h"

WITH_DIM(cumsum)
WITH_DIM(cumprod)
WITH_DIM(cummin)
WITH_DIM(cummax)
