/* hash.h - FNV-1a of 64 bits: for tables, and for names and checksums of files of ours. C99 and C++11, nothing to link.
 *
 *   uint64_t hash = burn_common_hash_bytes(BURN_COMMON_HASH, &key, sizeof key);
 *
 * It does not protect against somebody who wants two keys to collide. Files on disk depend on its values: they stay as
 * they are. The core has a copy of its own, core/base/hash.h. */
#ifndef BURN_COMMON_HASH_H
#define BURN_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

/* What a hash begins with, before its first byte. */
#define BURN_COMMON_HASH UINT64_C(0xcbf29ce484222325)

/* The hash of what `hash` is that of, and then a byte. */
static inline uint64_t burn_common_hash_byte(uint64_t hash, unsigned char byte) {
  return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* The same, and then `bytes` bytes of data; data may be NULL if there are none. */
static inline uint64_t burn_common_hash_bytes(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *at = (const unsigned char *)data;
  for (size_t i = 0; i < bytes; i++) hash = burn_common_hash_byte(hash, at[i]);
  return hash;
}

/* The same, and then a text without its end. */
static inline uint64_t burn_common_hash_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = burn_common_hash_byte(hash, (unsigned char)*text);
  return hash;
}

#endif
