/* gguf.h - the tensor types of GGUF, and their blocks as floats; its metadata, value by value. */
#ifndef BURN_IMPORT_GGUF_H
#define BURN_IMPORT_GGUF_H

#include <burn/tensor.h>

/* A type. A quantized one has blocks of elements that share scales. */
typedef struct GgufType {
  uint32_t number;
  const char *name;
  uint32_t block; /* elements */
  uint32_t bytes; /* of a block */
  BurnDType dtype;
  /* The floats of a block; NULL: the bytes are the values, or it is refused (dtype is BURN_DTYPE_DEFAULT). */
  void (*unpack)(const uint8_t *block, float *out);
} GgufType;

/* The type of a number; NULL if it is none. */
const GgufType *burn__gguf_type(uint32_t number);

/* -- metadata --------------------------------------------------------------------------------- */

/* Types of values, each one more than the format's number; NOTHING is of a value that is not there. */
enum {
  GGUF_NOTHING,
  GGUF_U8,
  GGUF_I8,
  GGUF_U16,
  GGUF_I16,
  GGUF_U32,
  GGUF_I32,
  GGUF_F32,
  GGUF_BOOL,
  GGUF_TEXT,
  GGUF_ARRAY,
  GGUF_U64,
  GGUF_I64,
  GGUF_F64,
  GGUF_TYPES
};

/* Where reading is in the bytes of a file. */
typedef struct GgufCursor {
  const uint8_t *bytes;
  size_t count, at;
} GgufCursor;

enum { GGUF_NAME_LIMIT = 1024 };

/* The next `bytes` bytes, at most 8, as a number. */
BurnStatus burn__gguf_number(GgufCursor *cursor, size_t bytes, uint64_t *number);
/* A length and so many bytes. */
BurnStatus burn__gguf_text(GgufCursor *cursor, const uint8_t **text, size_t *length);
/* A key or name: short, and with no zero byte. */
BurnStatus burn__gguf_name(GgufCursor *cursor, char name[GGUF_NAME_LIMIT]);
/* The bytes of a value of a type; 0 of texts and arrays. */
size_t burn__gguf_value_bytes(uint32_t type);
/* The version, and how many tensors and pairs of metadata follow; these have room in the file. */
BurnStatus burn__gguf_head(GgufCursor *cursor, uint64_t *tensors, uint64_t *pairs);

/* A value of the metadata. */
typedef struct GgufValue {
  uint32_t type, element; /* GGUF_*; of an array its elements' */
  uint64_t number;        /* of one that is neither text nor array: its bits */
  size_t at;              /* where the bytes of a text begin, or the first element of an array */
  uint64_t count;         /* bytes of a text, elements of an array */
} GgufValue;

/* Whether it is an array of this type. */
static inline bool burn__gguf_is_list(const GgufValue *value, uint32_t element) {
  return value->type == GGUF_ARRAY && (value->element == element || value->count == 0);
}

/* Calls `found` for every pair of the metadata, from the beginning of the file. All bytes of a value are there. */
typedef void GgufFound(void *context, const char *key, const GgufValue *value);
BurnStatus burn__gguf_walk(GgufCursor *cursor, GgufFound *found, void *context);

#endif
