/* types.h - the plain data that crosses the boundary: dtypes, tensor descriptions, tensor headers, attributes. */
#ifndef BURN_PLUGIN_TYPES_H
#define BURN_PLUGIN_TYPES_H

#include <burn/plugin/status.h>

/* A dtype: one of BURN_DTYPE_*. */
typedef uint32_t BurnDType;

/* BURN_DTYPE_F32 and so on; BURN_DTYPE_DEFAULT (0) asks for the device's default where a function allows it. */
enum BurnDTypeNumber {
  BURN_DTYPE_DEFAULT = 0,
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) BURN_DTYPE_##NAME = (number),
#include <burn/plugin/dtypes.def>
#undef BURN_DTYPE
  BURN_DTYPE_LIMIT = 32
};

/* Kinds, as in Burn: they decide which ops accept a dtype. Bits, so that an op can name several. */
enum BurnKind { BURN_KIND_FLOAT = 1, BURN_KIND_INT = 2, BURN_KIND_BOOL = 4, BURN_KIND_NUMERIC = 3, BURN_KIND_ANY = 7 };

/* The dtypes of these headers. A decorator or a backend that outlives them asks host->dtype_info for others. */

#if !defined(BURN_NO_INLINE)
/* Bytes of one element; 0 for an unknown dtype. */
static inline uint32_t burn_dtype_bytes(BurnDType dtype) {
  switch (dtype) {
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) \
  case number:                                              \
    return bytes;
#include <burn/plugin/dtypes.def>
#undef BURN_DTYPE
    default:
      return 0;
  }
}

/* BURN_KIND_FLOAT, _INT or _BOOL; 0 for an unknown dtype. */
static inline uint32_t burn_dtype_kind(BurnDType dtype) {
  switch (dtype) {
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) \
  case number:                                              \
    return BURN_KIND_##KIND;
#include <burn/plugin/dtypes.def>
#undef BURN_DTYPE
    default:
      return 0;
  }
}

/* "f32" and so on; "?" for an unknown dtype. */
static inline const char *burn_dtype_name(BurnDType dtype) {
  switch (dtype) {
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) \
  case number:                                              \
    return #name;
#include <burn/plugin/dtypes.def>
#undef BURN_DTYPE
    default:
      return "?";
  }
}
#endif

/* Shape and dtype without storage. Frozen layout. shape[rank..] is zero. Rank is 1 or more: there is no rank 0. */
typedef struct BurnTensorDesc {
  BurnDType dtype;
  uint32_t rank;
  int64_t shape[BURN_MAX_RANK];
} BurnTensorDesc;

/* Facts of a dtype, from host->dtype_info. */
typedef struct BurnDTypeInfo {
  uint32_t struct_size;
  BurnDType dtype;
  const char *name;     /* "f32" */
  uint32_t kind;        /* BURN_KIND_* */
  uint32_t bits;        /* of one element; below 8 where several share a byte */
  uint32_t block_count; /* elements that are stored together: 1, or more for quantised blocks with their scale */
  uint32_t block_bytes; /* bytes of such a block: bits / 8 for plain dtypes */
} BurnDTypeInfo;

#if !defined(BURN_NO_INLINE)
/* Elements of a description: the product of its axes. */
static inline int64_t burn_desc_count(const BurnTensorDesc *desc) {
  int64_t count = 1;
  uint32_t i;
  for (i = 0; i < desc->rank; i++) count *= desc->shape[i];
  return count;
}
#endif

/* Flags of a BurnPrimitive. */
enum BurnPrimitiveFlag {
  BURN_PRIMITIVE_HOST_MEMORY = 1, /* buffer + byte_offset is an address this process can read */
  BURN_PRIMITIVE_TRACKED = 2      /* an autodiff decorator records what is computed from it */
};

/* The public header of a backend's tensor. Whoever makes it puts private fields after it, a reference count among them;
 * everybody may read this header, nobody but the owner writes it. `owner` is the number the host gave to the backend
 * instance when it was opened; a primitive given to any other instance is refused with BAD_OWNER.
 * Shape, dtype and strides never change during the life of a primitive. */
typedef struct BurnPrimitive {
  uint32_t struct_size; /* size of the header the maker was built with */
  uint32_t flags;       /* BURN_PRIMITIVE_* */
  uint32_t owner;       /* number of the backend instance that made it */
  BurnDType dtype;
  uint32_t rank; /* 1 .. BURN_MAX_RANK */
  uint32_t reserved;
  const int64_t *shape;   /* [rank] */
  const int64_t *strides; /* [rank], in elements, may be 0 or negative; NULL when the memory has no strides */
  void *buffer;           /* owner's storage; an address only with HOST_MEMORY */
  int64_t byte_offset;    /* of the first element */
  uint64_t id;            /* unique within the process, for logs and recordings; 0 if the maker does not number them */
} BurnPrimitive;
#define BURN_PRIMITIVE_MIN_BYTES BURN_BYTES_THROUGH(BurnPrimitive, id)

#if !defined(BURN_NO_INLINE)
/* Shape and dtype of a primitive. */
static inline BurnTensorDesc burn_primitive_desc(const BurnPrimitive *x) {
  BurnTensorDesc desc = {0, 0, {0}};
  uint32_t i;
  desc.dtype = x->dtype;
  desc.rank = x->rank;
  for (i = 0; i < x->rank; i++) desc.shape[i] = x->shape[i];
  return desc;
}

/* Elements of a primitive. */
static inline int64_t burn_primitive_count(const BurnPrimitive *x) {
  int64_t count = 1;
  uint32_t i;
  for (i = 0; i < x->rank; i++) count *= x->shape[i];
  return count;
}
#endif

/* Tags of a BurnAttr. More will come (text, lists of f64, a tensor): who meets a tag that it does not know answers that
 * it does not support the call. */
enum BurnAttrTag {
  BURN_ATTR_NONE = 0, /* absent: the host puts the default of ops.def there */
  BURN_ATTR_I64 = 1,
  BURN_ATTR_F64 = 2,
  BURN_ATTR_BOOL = 3,  /* value in i64: 0 or 1 */
  BURN_ATTR_DTYPE = 4, /* value in i64 */
  BURN_ATTR_I64S = 5,  /* `count` integers at i64s, borrowed for the call */
  BURN_ATTR_NUMBER = 6 /* in tables of ops only: in a call it is I64 or F64, see burn_attr_to_f64 */
};

/* One attribute of a call. Frozen layout: 16 bytes, self-describing, unused bytes zero, so that calls can be compared
 * and hashed. */
typedef struct BurnAttr {
  uint32_t tag;
  uint32_t count; /* of I64S, else 0 */
  union {
    int64_t i64;
    double f64;
    const int64_t *i64s;
  } value;
} BurnAttr;

#if !defined(BURN_NO_INLINE)
/* An attribute of the given type. */
static inline BurnAttr burn_attr_i64(int64_t value) {
  BurnAttr attr = {BURN_ATTR_I64, 0, {0}};
  attr.value.i64 = value;
  return attr;
}
static inline BurnAttr burn_attr_f64(double value) {
  BurnAttr attr = {BURN_ATTR_F64, 0, {0}};
  attr.value.f64 = value;
  return attr;
}
static inline BurnAttr burn_attr_bool(int value) {
  BurnAttr attr = {BURN_ATTR_BOOL, 0, {0}};
  attr.value.i64 = value != 0;
  return attr;
}
static inline BurnAttr burn_attr_dtype(BurnDType value) {
  BurnAttr attr = {BURN_ATTR_DTYPE, 0, {0}};
  attr.value.i64 = (int64_t)value;
  return attr;
}

/* A NUMBER is one of the tensor's kind: i64 has numbers that f64 has not, and floats have fractions. So a call gives it
 * the tag I64 or F64, and either may meet either kind: who computes in floats reads it by the first function, who
 * computes in integers by the second. */

/* An I64 is rounded to the nearest f64. */
static inline double burn_attr_to_f64(const BurnAttr *number) {
  return number->tag == BURN_ATTR_F64 ? number->value.f64 : (double)number->value.i64;
}
/* An F64 is cut toward zero; what does not fit becomes the nearest that does, NaN becomes 0. */
static inline int64_t burn_attr_to_i64(const BurnAttr *number) {
  const double value = number->value.f64;
  if (number->tag != BURN_ATTR_F64) return number->value.i64;
  if (!(value == value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return (int64_t)value;
}

/* `values` is borrowed: it must stay until the call has returned. */
static inline BurnAttr burn_attr_i64s(const int64_t *values, uint32_t count) {
  BurnAttr attr = {BURN_ATTR_I64S, 0, {0}};
  attr.count = count;
  attr.value.i64s = values;
  return attr;
}
#endif

#endif
