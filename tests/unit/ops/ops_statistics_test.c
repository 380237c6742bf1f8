/* ops_statistics_test.c - variances, medians, samples, covariance, cross products; see ops_case.h. */
#define OPS_GOLDEN "ops_statistics_golden.h"
#include "ops_golden.h"

#define ROWS(OPS)                                                                     \
  OPS(var, OUT(0) = burn_var(IN(0), DIM(0)))                                          \
  OPS(var_bias, OUT(0) = burn_var_bias(IN(0), DIM(0)))                                \
  OPS(var_mean, OUT(0) = burn_var_mean(IN(0), DIM(0), &OUT(1)))                       \
  OPS(var_mean_bias, OUT(0) = burn_var_mean_bias(IN(0), DIM(0), &OUT(1)))             \
  OPS(median, OUT(0) = burn_median(IN(0), DIM(0)))                                    \
  OPS(median_with_indices, OUT(0) = burn_median_with_indices(IN(0), DIM(0), &OUT(1))) \
  OPS(categorical, OUT(0) = burn_categorical(IN(0), WHOLE(0)))                        \
  OPS(cov, OUT(0) = burn_cov(IN(0), DIM(0), WHOLE(1)))                                \
  OPS(cross, OUT(0) = burn_cross(IN(0), IN(1), DIM(0)))

OPS_MAIN("statistics", ROWS)
