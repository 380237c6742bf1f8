/* identity.h - the module that does nothing, for models that choose one. */
#ifndef BURN_NN_IDENTITY_H
#define BURN_NN_IDENTITY_H

#include <burn/nn/stateless.h>

BURN_EXTERN_C_BEGIN

BURN_MODULE_STATELESS(BurnIdentity);
/* Makes the layer. */
BURN_API BurnIdentity burn_identity_init(void);
/* Gives x. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_identity_forward(const BurnIdentity *m, BurnTensor *x);

BURN_EXTERN_C_END

#endif
