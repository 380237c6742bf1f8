/* value_internal.h - inside a BurnValue: what value.c, record_*.c share. */
#ifndef BURN_CORE_VALUE_INTERNAL_H
#define BURN_CORE_VALUE_INTERNAL_H

#include <burn/record.h>

/* A tensor on the host: row-major, tightly packed, aligned as malloc aligns. */
typedef struct BurnHostTensor {
  BurnDType dtype;
  BurnShape shape;
  size_t count; /* elements */
  size_t bytes;
  uint8_t *data;
  bool is_borrowed;       /* data are the caller's: neither changed nor freed */
  bool is_quantized;      /* dtype is i8, data are the bytes of burn_quant_export */
  BurnQuantScheme scheme; /* then */
} BurnHostTensor;

/* Kinds that only live while a file is read: a `bin` object, borrowed from the file; an unsigned integer beyond
 * int64_t, whose bits are in `integer`; bytes of the value's own. */
enum { BURN_INTERNAL_VALUE_BYTES = 100, BURN_INTERNAL_VALUE_UINT = 101, BURN_INTERNAL_VALUE_OWN_BYTES = 102 };

struct BurnValue {
  uint32_t kind;
  bool broken; /* a child that was NULL has been added: cannot be written */
  union {
    bool boolean;
    int64_t integer;
    double number;
    char *text;
    struct {
      size_t count, capacity;
      BurnValue **items;
      char **keys; /* NULL in an array */
    } list;
    BurnHostTensor *tensor;
    struct {
      const uint8_t *data;
      size_t count;
    } bytes;
    struct {
      uint8_t *data;
      size_t count;
    } own_bytes;
  } as;
};

/* A value of a kind with everything else zero; NULL without memory. */
BurnValue *burn__value_new(uint32_t kind);

/* A tensor of a shape and dtype with uninitialised data. Fails on a shape without rank, with negative axes, or whose
 * bytes overflow. */
BurnStatus burn__value_new_tensor(BurnDType dtype, const BurnShape *shape, BurnValue **out);

/* A value of the tensor, whose data are malloc'd unless they are borrowed. On failure they are freed. */
BurnStatus burn__value_of_host(const BurnHostTensor *tensor, BurnValue **out);

/* Reads a tensor (taken) into *out. */
BurnStatus burn__value_from_tensor(BurnTensor *x, BurnValue **out);

/* Adds a child under a key that is not there yet (not checked; ignored in an array); key and child are taken. */
bool burn__value_push(BurnValue *list, char *key, BurnValue *child);

/* Refuses a map in which a key stands twice: which one counts would be a matter of taste. */
BurnStatus burn__value_check_keys(const BurnValue *map);

/* Bytes of `elements` of a shape; false when it has no rank, negative axes, or more than SIZE_MAX / 2 bytes even
 * without its axes of size 0. */
bool burn__shape_bytes(const BurnShape *shape, uint32_t element_bytes, size_t *elements, size_t *bytes);

#endif
