/* config.h - configs from rows: struct, defaults, JSON and validation from one list.
 *
 *   #define MLP_CONFIG(REQ, OPT)                                   \
 *     REQ(BurnSize, inputs,         "features per item")           \
 *     REQ(BurnSize, classes,        "classes to tell apart")       \
 *     OPT(BurnSize, hidden,   128,  "width of the hidden layer")   \
 *     OPT(BurnF64,  dropout,  0.25, "share of activations dropped")
 *   BURN_CONFIG(MlpConfig, MLP_CONFIG);
 *
 *   MlpConfig config = MlpConfig_defaults(784, 10);    required fields in order, the others at their defaults
 *   config.hidden = 256;
 *   status = burn_config_save(burn_config(MlpConfig, &config), "config.json");
 *
 * In one expression, for the _init functions (C only; in C++ a config is made by assignments):
 *
 *   mlp_init(BURN_CONFIG_NEW(MlpConfig, 784, 10), device);
 *   mlp_init(BURN_CONFIG_SET(MlpConfig, BURN_CONFIG_NEW(MlpConfig, 784, 10), hidden, 256), device);
 *
 * A config without required fields is made with BURN_CONFIG_OPTIONAL; its <Type>_defaults takes nothing. */
#ifndef BURN_CONFIG_H
#define BURN_CONFIG_H

#include <burn/reflect.h>

BURN_EXTERN_C_BEGIN

/* A config of any type: descriptor and object. */
typedef struct BurnConfig {
  const BurnType *type;
  void *data;
} BurnConfig;

/* burn_config(MlpConfig, &config); a pointer of another type is a compiler warning. */
#define burn_config(Type, pointer) BURN_INTERNAL_VALUE(BurnConfig, Type##_type(), (1 ? (pointer) : (Type *)NULL))

/* Writes pretty-printed JSON: required fields first, then the others, in row order. Written to a temporary file that is
 * then renamed, so that a reader never sees half of it. */
BURN_API BURN_USE_RESULT BurnStatus burn_config_save(BurnConfig config, const char *path);

/* Reads JSON. Missing optional keys take their defaults; a missing required key, an unknown key, or a value of the
 * wrong type is an error with its path ("optimizer.beta_1: number expected, found string"). On failure the object stays
 * as it was. */
BURN_API BURN_USE_RESULT BurnStatus burn_config_load(BurnConfig config, const char *path);

/* The same from and to memory. The text of burn_config_text is the caller's, to be freed with free(); NULL without
 * memory or a config. */
BURN_API BURN_USE_RESULT BurnStatus burn_config_parse(BurnConfig config, const char *json);
BURN_API BURN_USE_RESULT char *burn_config_text(BurnConfig config);

#ifndef __cplusplus
/* A pointer to a new config: the required fields in order, the others at their defaults. It lives as long as the block
 * it stands in. */
#define BURN_CONFIG_NEW(Type, ...) ((Type[]){Type##_defaults(__VA_ARGS__)})
/* The config that `pointer` points to, with one field set; the value may be in braces. Gives `pointer`. */
#define BURN_CONFIG_SET(Type, pointer, field, ...)                                                       \
  ((Type *)burn_config_set_bytes((1 ? (pointer) : (Type *)NULL), (const Type[]){{.field = __VA_ARGS__}}, \
                                 offsetof(Type, field), sizeof(((Type *)NULL)->field)))
#endif
/* What BURN_CONFIG_SET does: copies `bytes` at `offset` from one object to the other. Gives `to`. */
BURN_API void *burn_config_set_bytes(void *to, const void *from, size_t offset, size_t bytes);

#define BURN_INTERNAL_CONFIG_MEMBER_OPT(Type, name, fallback, doc) BURN_INTERNAL_ROW_MEMBER(Type, name, doc)
#define BURN_INTERNAL_CONFIG_FIELD_REQ(Type, name, doc) {#name, Type##_type, offsetof(Self, name), doc, true},
#define BURN_INTERNAL_CONFIG_FIELD_OPT(Type, name, fallback, doc) \
  {#name, Type##_type, offsetof(Self, name), doc, false},
#define BURN_INTERNAL_CONFIG_PARAMETER(Type, name, doc) , Type name
/* A filled config, made as each language can: designated initializers, or assignments in the order of the rows. */
#ifdef __cplusplus
#define BURN_INTERNAL_CONFIG_INIT_REQ(Type, name, doc) burn__filled.name = name;
#define BURN_INTERNAL_CONFIG_INIT_OPT(Type, name, fallback, doc) burn__filled.name = fallback;
#define BURN_INTERNAL_CONFIG_DEFAULT_OPT BURN_INTERNAL_CONFIG_INIT_OPT
#define BURN_INTERNAL_CONFIG_RETURN(Type, ...) \
  Type burn__filled = Type();                  \
  __VA_ARGS__                                  \
  return burn__filled;
#define BURN_INTERNAL_CONFIG_DEFAULTS(Type, ...)               \
  {                                                            \
    [] { BURN_INTERNAL_CONFIG_RETURN(Type, __VA_ARGS__) }(), 0 \
  }
#else
#define BURN_INTERNAL_CONFIG_INIT_REQ(Type, name, doc) .name = name,
#define BURN_INTERNAL_CONFIG_INIT_OPT(Type, name, fallback, doc) .name = fallback,
#define BURN_INTERNAL_CONFIG_DEFAULT_OPT(Type, name, fallback, doc) .value.name = fallback,
#define BURN_INTERNAL_CONFIG_RETURN(Type, ...) return (Type){__VA_ARGS__};
#define BURN_INTERNAL_CONFIG_DEFAULTS(Type, ...) \
  { .end = 0, __VA_ARGS__ }
#endif
#define BURN_INTERNAL_CONFIG_NOTHING_REQ(Type, name, doc)
#define BURN_INTERNAL_CONFIG_NOTHING_OPT(Type, name, fallback, doc)

#define BURN_INTERNAL_CONFIG_COMMON(Name, ROWS)                                                                        \
  typedef struct Name {                                                                                                \
    ROWS(BURN_INTERNAL_ROW_MEMBER, BURN_INTERNAL_CONFIG_MEMBER_OPT)                                                    \
  } Name;                                                                                                              \
  BURN_UNUSED static inline const BurnType *Name##_type(void) {                                                        \
    typedef Name Self;                                                                                                 \
    static const struct {                                                                                              \
      Self value;                                                                                                      \
      char end; /* so that the braces are never empty */                                                               \
    } defaults =                                                                                                       \
        BURN_INTERNAL_CONFIG_DEFAULTS(Self, ROWS(BURN_INTERNAL_CONFIG_NOTHING_REQ, BURN_INTERNAL_CONFIG_DEFAULT_OPT)); \
    static const BurnField fields[] = {ROWS(BURN_INTERNAL_CONFIG_FIELD_REQ, BURN_INTERNAL_CONFIG_FIELD_OPT)};          \
    static const BurnType type = {                                                                                     \
        BURN_TYPE_CONFIG, #Name, sizeof(Self), (uint32_t)(sizeof fields / sizeof fields[0]), fields,                   \
        &defaults.value,  0,     NULL};                                                                                \
    return &type;                                                                                                      \
  }

/* A config with required rows: defines the struct Name, its descriptor Name_type(), and Name_defaults(required..),
 * which takes the required rows in their order and fills the others. A semicolon follows. */
#define BURN_CONFIG(Name, ROWS)                                                                            \
  BURN_INTERNAL_CONFIG_COMMON(Name, ROWS)                                                                  \
  BURN_UNUSED static inline Name Name##_defaults(                                                          \
      BURN_INTERNAL_DROP_FIRST(~ROWS(BURN_INTERNAL_CONFIG_PARAMETER, BURN_INTERNAL_CONFIG_NOTHING_OPT))) { \
    BURN_INTERNAL_CONFIG_RETURN(Name, ROWS(BURN_INTERNAL_CONFIG_INIT_REQ, BURN_INTERNAL_CONFIG_INIT_OPT))  \
  }                                                                                                        \
  struct Name

/* The same for a config without required rows: Name_defaults(void). */
#define BURN_CONFIG_OPTIONAL(Name, ROWS)                                                                     \
  BURN_INTERNAL_CONFIG_COMMON(Name, ROWS)                                                                    \
  BURN_UNUSED static inline Name Name##_defaults(void) {                                                     \
    BURN_INTERNAL_CONFIG_RETURN(Name, ROWS(BURN_INTERNAL_CONFIG_NOTHING_REQ, BURN_INTERNAL_CONFIG_INIT_OPT)) \
  }                                                                                                          \
  struct Name

#define BURN_INTERNAL_CONFIG_PARAMETER_THEN(Type, name, doc) Type name,
#define BURN_INTERNAL_CONFIG_ARGUMENT(Type, name, doc) , name
/* Defines the short form of a layer's _init, prefix_new(required.., device): the required rows of its config in order,
 * the others at their defaults. The prefix is that of _init, ROWS those of the config NameConfig; a semicolon follows.
 *
 *   BURN_LAYER(BurnLinear, burn_linear, BURN_LINEAR_CONFIG);
 *   BurnLinear up = burn_linear_new(64, 256, device); */
#define BURN_LAYER(Name, prefix, ROWS)                                                                     \
  BURN_UNUSED static inline Name prefix##_new(                                                             \
      ROWS(BURN_INTERNAL_CONFIG_PARAMETER_THEN, BURN_INTERNAL_CONFIG_NOTHING_OPT) BurnDevice *device) {    \
    const Name##Config config = Name##Config_defaults(                                                     \
        BURN_INTERNAL_DROP_FIRST(~ROWS(BURN_INTERNAL_CONFIG_ARGUMENT, BURN_INTERNAL_CONFIG_NOTHING_OPT))); \
    return prefix##_init(&config, device);                                                                 \
  }                                                                                                        \
  struct Name

BURN_EXTERN_C_END

#endif
