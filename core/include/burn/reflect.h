/* reflect.h - types described by tables: the common ground of config.h and module.h.
 *
 * Every type that may stand in a row of BURN_CONFIG or BURN_MODULE has a function <Type>_type() that returns its
 * descriptor. Leaves are defined here, in module.h (BurnParam, BurnBuffer, BurnConstant, BurnModuleList) and by
 * BURN_VARIANT; configs and modules get theirs from their rows. From descriptors come JSON, validation, printing,
 * visiting, records. */
#ifndef BURN_REFLECT_H
#define BURN_REFLECT_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* What a type is. */
enum {
  BURN_TYPE_SIZE = 1,       /* BurnSize: JSON integer */
  BURN_TYPE_I64,            /* BurnI64: JSON integer, as text beyond 2^53 */
  BURN_TYPE_F64,            /* BurnF64: JSON number */
  BURN_TYPE_BOOL,           /* BurnBool */
  BURN_TYPE_TEXT,           /* BurnText: JSON string, at most 255 bytes */
  BURN_TYPE_SIZES,          /* BurnSize2, BurnSize3: JSON array; `count` entries */
  BURN_TYPE_OPTION_F64,     /* BurnOptionF64: JSON number or null */
  BURN_TYPE_VARIANT,        /* one of several named cases, see BurnVariant */
  BURN_TYPE_CONFIG,         /* made by BURN_CONFIG */
  BURN_TYPE_PARAM,          /* BurnParam */
  BURN_TYPE_BUFFER,         /* BurnBuffer */
  BURN_TYPE_MODULE,         /* made by BURN_MODULE */
  BURN_TYPE_MODULE_LIST,    /* BurnModuleList */
  BURN_TYPE_CONSTANT,       /* BurnConstant */
  BURN_TYPE_MODULE_OPTION,  /* BurnModuleOption */
  BURN_TYPE_MODULE_VARIANT, /* made by BURN_MODULE_VARIANT: a field per case, first in the object the case's index */
  BURN_TYPE_OPTION_SIZE     /* BurnOptionSize: JSON integer or null */
};

typedef struct BurnType BurnType;

/* One member of a described struct. */
typedef struct BurnField {
  const char *name; /* NULL in a variant whose fields are written as a JSON array */
  const BurnType *(*type)(void);
  size_t offset;
  const char *doc;
  bool required; /* of a config: must stand in the JSON */
} BurnField;

/* One case of a BURN_TYPE_VARIANT: JSON "Name" without fields, {"Name": {"field": ..}} with named ones, {"Name": [..]}
 * with unnamed ones, as Burn writes its enums. */
typedef struct BurnVariant {
  const char *name;
  uint32_t field_count;
  const BurnField *fields;
} BurnVariant;

/* The descriptor of a type; one per type and program, read-only. */
struct BurnType {
  uint32_t kind; /* BURN_TYPE_* */
  const char *name;
  size_t bytes;
  uint32_t field_count; /* CONFIG, MODULE, MODULE_VARIANT */
  const BurnField *fields;
  const void *defaults;        /* CONFIG: an object with the optional fields at their defaults */
  uint32_t count;              /* SIZES: entries; VARIANT: cases */
  const BurnVariant *variants; /* VARIANT: the object starts with a uint32_t that is an index into these */
};

/* The name of a type as messages and prints have it: "Linear" of BurnLinear. */
BURN_API const char *burn_type_short_name(const BurnType *type);

/* A value that may stand in a row, in an initializer and after a cast to its type: C takes braces there, C++ an
 * object. */
#ifdef __cplusplus
#define BURN_INTERNAL_ROW_VALUE(Type, ...) \
  Type { __VA_ARGS__ }
#else
#define BURN_INTERNAL_ROW_VALUE(Type, ...) \
  { __VA_ARGS__ }
#endif

/* Leaf types of rows. */
typedef size_t BurnSize;
typedef int64_t BurnI64;
typedef double BurnF64;
typedef bool BurnBool;
typedef struct BurnText {
  char text[256];
} BurnText;
typedef struct BurnSize2 {
  size_t at[2]; /* {height, width} */
} BurnSize2;
typedef struct BurnSize3 {
  size_t at[3]; /* {depth, height, width} */
} BurnSize3;
/* A number that may be absent: config.momentum = (BurnOptionF64){true, 0.9}; */
typedef struct BurnOptionF64 {
  bool present;
  double value;
} BurnOptionF64;
#define BURN_ABSENT BURN_INTERNAL_ROW_VALUE(BurnOptionF64, false, 0)
/* The same for sizes: config.max_steps = (BurnOptionSize){true, 100}; */
typedef struct BurnOptionSize {
  bool present;
  size_t value;
} BurnOptionSize;
#define BURN_ABSENT_SIZE BURN_INTERNAL_ROW_VALUE(BurnOptionSize, false, 0)

BURN_API const BurnType *BurnSize_type(void);
BURN_API const BurnType *BurnI64_type(void);
BURN_API const BurnType *BurnF64_type(void);
BURN_API const BurnType *BurnBool_type(void);
BURN_API const BurnType *BurnText_type(void);
BURN_API const BurnType *BurnSize2_type(void);
BURN_API const BurnType *BurnSize3_type(void);
BURN_API const BurnType *BurnOptionF64_type(void);
BURN_API const BurnType *BurnOptionSize_type(void);

/* Details of the row macros.
 *
 * A row is one object: of `name[2]` offsetof would give what stands after the array. As the name of a function it is
 * refused by the compiler, with the words that the name is made of. */
#if defined(__cplusplus)
#define BURN_INTERNAL_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define BURN_INTERNAL_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define BURN_INTERNAL_ROW_MEMBER(Type, name, doc) \
  Type name;                                      \
  BURN_INTERNAL_STATIC_ASSERT(                    \
      sizeof(void (*)(Type burn__one_object_per_row_BurnModuleList_holds_several_##name(void))) > 0, #name);
#define BURN_INTERNAL_ROW_FIELD(Type, name, doc) {#name, Type##_type, offsetof(Self, name), doc, false},
#define BURN_INTERNAL_DROP_FIRST(...) BURN_INTERNAL_DROP_FIRST_(__VA_ARGS__)
#define BURN_INTERNAL_DROP_FIRST_(first, ...) __VA_ARGS__

BURN_EXTERN_C_END

#endif
