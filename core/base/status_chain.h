/* status_chain.h - what a public function that makes something does with its BurnStatus *status (burn/error.h,
 * BURN_CHAINS): after a failure it does nothing, and the first failure of a chain stays. */
#ifndef BURN_STATUS_CHAIN_H
#define BURN_STATUS_CHAIN_H

#include <burn/error.h>

#include <stddef.h>

/* What the function starts from: the failure of an earlier one. */
static inline BurnStatus burn__entry_status(const BurnStatus *status) { return status != NULL ? *status : BURN_OK; }

/* Stores a failure where the caller wants to know. */
static inline void burn__store_status(BurnStatus *status, BurnStatus value) {
  if (status != NULL && *status == BURN_OK) *status = value;
}

#endif
