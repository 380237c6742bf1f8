/* hash.h - FNV-1a of 64 bits, for libburn and the libraries on it: for tables, and for ids in files, whose values stay
 * as they are. Plugins have the same in plugins/common/include/burn/common/hash.h. */
#ifndef BURN_HASH_H
#define BURN_HASH_H

#include <stddef.h>
#include <stdint.h>

/* What a hash begins with, before its first byte. */
#define BURN__HASH UINT64_C(0xcbf29ce484222325)

/* The hash of what `hash` is that of, and then a byte. */
static inline uint64_t burn__hash_byte(uint64_t hash, unsigned char byte) {
  return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* The same, and then a text without its end. */
static inline uint64_t burn__hash_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = burn__hash_byte(hash, (unsigned char)*text);
  return hash;
}

#endif
