/* ops_linalg_test.c - products, linear layers, decompositions, norms of vectors; see ops_case.h. */
#define OPS_GOLDEN "ops_linalg_golden.h"
#include "ops_golden.h"

#define ROWS(OPS)                                                                            \
  OPS(matmul, OUT(0) = burn_matmul(IN(0), IN(1)))                                            \
  OPS(linear, OUT(0) = burn_linear(IN(0), IN(1), IN(2)))                                     \
  OPS(linear_backward, ops_call(run, BURN_OP_linear_backward, NULL, 0))                      \
  OPS(dot, OUT(0) = burn_dot(IN(0), IN(1)))                                                  \
  OPS(det, OUT(0) = burn_det(IN(0)))                                                         \
  OPS(lu, OUT(0) = burn_lu(IN(0), &OUT(1), &OUT(2)))                                         \
  OPS(lu_decomposition, OUT(0) = burn_lu_decomposition(IN(0), &OUT(1)))                      \
  OPS(qr, OUT(0) = burn_qr(IN(0), WHOLE(0) != 0, &OUT(1)))                                   \
  OPS(diag, OUT(0) = burn_diag(IN(0)))                                                       \
  OPS(trace, OUT(0) = burn_trace(IN(0)))                                                     \
  OPS(matvec, OUT(0) = burn_matvec(IN(0), IN(1)))                                            \
  OPS(outer, OUT(0) = burn_outer(IN(0), IN(1)))                                              \
  OPS(outer_dim, OUT(0) = burn_outer_dim(IN(0), IN(1), DIM(0)))                              \
  OPS(vector_norm, OUT(0) = burn_vector_norm(IN(0), NUMBER(0), DIM(1)))                      \
  OPS(lp_norm, OUT(0) = burn_lp_norm(IN(0), NUMBER(0), DIM(1)))                              \
  OPS(l0_norm, OUT(0) = burn_l0_norm(IN(0), DIM(0)))                                         \
  OPS(l1_norm, OUT(0) = burn_l1_norm(IN(0), DIM(0)))                                         \
  OPS(l2_norm, OUT(0) = burn_l2_norm(IN(0), DIM(0)))                                         \
  OPS(max_abs_norm, OUT(0) = burn_max_abs_norm(IN(0), DIM(0)))                               \
  OPS(min_abs_norm, OUT(0) = burn_min_abs_norm(IN(0), DIM(0)))                               \
  OPS(vector_normalize, OUT(0) = burn_vector_normalize(IN(0), NUMBER(0), DIM(1), NUMBER(2))) \
  OPS(cosine_similarity, OUT(0) = burn_cosine_similarity(IN(0), IN(1), DIM(0), NUMBER(1)))

OPS_MAIN("linear algebra", ROWS)
