/* cbor.h - the CBOR (RFC 8949) of a Burnpack's metadata: what serde writes, and no more. Integers, texts, arrays, and
 * maps of a stated length with texts for keys, bools, null and floats; no byte strings, tags or open ends. */
#ifndef BURN_CORE_CBOR_H
#define BURN_CORE_CBOR_H

#include "value_internal.h"

/* Limits of what is read. The second is room for Burn's 100 000 tensors of any rank. */
enum { BURN_CBOR_NESTING_LIMIT = 128, BURN_CBOR_ITEM_LIMIT = 1 << 21 };

/* Reads one item, which must fill the bytes. Failures name the byte, counted from `base`, the place of the first byte
 * in its file. An unsigned integer beyond int64_t is a BURN_INTERNAL_VALUE_UINT. */
BurnStatus burn__cbor_read(const uint8_t *bytes, size_t count, size_t base, BurnValue **out);

/* A growing buffer of CBOR: start from zeros, end by freeing `bytes`. After a failure puts do nothing. */
typedef struct CborWriter {
  uint8_t *bytes;
  size_t count, capacity;
  bool failed; /* out of memory */
} CborWriter;

/* Integers and floats have the shortest form that holds the value. Elements follow the head of an array, keys and
 * values in turns that of a map. */
void burn__cbor_put_uint(CborWriter *writer, uint64_t value);
void burn__cbor_put_int(CborWriter *writer, int64_t value);
void burn__cbor_put_float(CborWriter *writer, double value);
void burn__cbor_put_bool(CborWriter *writer, bool value);
void burn__cbor_put_text(CborWriter *writer, const char *text);
void burn__cbor_put_array(CborWriter *writer, size_t count);
void burn__cbor_put_map(CborWriter *writer, size_t count);

#endif
