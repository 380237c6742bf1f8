/* scopes_wrong.c - tensors that are used after they were taken, in programs with BurnScope and BURN_AUTO: clang's
 * analyzer has to report the marked lines (check.sh). */
#include <burn/burn.h>

BurnTensor *auto_given_as_it_is(BurnDevice *device);
BurnTensor *auto_given_as_it_is(BurnDevice *device) {
  BURN_AUTO BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32);
  BurnTensor *y = burn_relu(x);
  return burn_add(y, x); /* wrong: relu has taken x */
}

BurnTensor *moved_too_late(BurnDevice *device);
BurnTensor *moved_too_late(BurnDevice *device) {
  BURN_AUTO BurnTensor *x = burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32);
  burn_print(x);
  return burn_relu(burn_move(&x)); /* wrong: print has taken x */
}

BurnTensor *printed_in_a_scope(BurnTensor *x);
BurnTensor *printed_in_a_scope(BurnTensor *x) {
  BurnScope *scope = burn_scope_begin();
  BurnTensor *y = burn_relu(x);
  burn_print(y);
  return burn_scope_end(scope, burn_exp(y)); /* wrong: print has taken y */
}
