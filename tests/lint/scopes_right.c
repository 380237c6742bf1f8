/* scopes_right.c - BurnScope and BURN_AUTO as they are meant: clang's analyzer has nothing to say (check.sh). */
#include <burn/burn.h>

BurnTensor *with_autos(BurnDevice *device, bool early);
BurnTensor *with_autos(BurnDevice *device, bool early) {
  BURN_AUTO BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32);
  BURN_AUTO BurnTensor *y = burn_relu(burn_clone(x));
  if (early) return burn_move(&y);
  return burn_add(burn_move(&x), burn_move(&y));
}

BurnTensor *with_scope(BurnTensor *x);
BurnTensor *with_scope(BurnTensor *x) {
  BurnScope *scope = burn_scope_begin();
  burn_scope_adopt(scope, x);
  BurnTensor *limit = burn_max_abs(burn_clone(x));
  if (burn_tensor_status(limit) != BURN_OK) return burn_scope_end(scope, limit);
  return burn_scope_end(scope, burn_div(x, limit));
}
