/* status.h - the result of everything that can fail.
 *
 * A BurnStatus is a plain 64-bit value: 0 is success; otherwise the low 8 bits are a code of status.def and the rest is
 * the serial number of a message that the host keeps. Nobody frees a status, it can be copied, compared, stored in a
 * tensor and carried over threads. The host keeps the newest 1024 messages; an older status still has its code. */
#ifndef BURN_PLUGIN_STATUS_H
#define BURN_PLUGIN_STATUS_H

#include <burn/plugin/abi.h>

/* A status; see above. */
typedef uint64_t BurnStatus;

/* Success. */
#define BURN_OK ((BurnStatus)0)

/* BURN_STATUS_INVALID_SHAPE and so on: the codes, to be compared with burn_status_code(). BURN_STATUS_OK is the code of
 * BURN_OK and the same number: languages that cannot read a macro with a cast write a status of this value. */
enum BurnStatusCode {
  BURN_STATUS_OK = 0,
#define BURN_STATUS(number, NAME, text) BURN_STATUS_##NAME = (number),
#include <burn/plugin/status.def>
#undef BURN_STATUS
  BURN_STATUS_CODE_LIMIT = 32
};

#if !defined(BURN_NO_INLINE)
/* The code in a status: 0 for BURN_OK, else one of BURN_STATUS_*. A status other than BURN_OK without a code, which no
 * host makes, counts as INTERNAL. */
static inline uint32_t burn_status_code(BurnStatus status) {
  const uint32_t code = (uint32_t)(status & 0xffu);
  return status != BURN_OK && code == 0 ? (uint32_t)BURN_STATUS_INTERNAL : code;
}
#endif

#endif
