/* stateless.h - modules without any row, such as Relu: C has no empty structs, so BURN_MODULE cannot make them.
 * They exist so that a model can list them; records hold nil for them. */
#ifndef BURN_NN_STATELESS_H
#define BURN_NN_STATELESS_H

#include <burn/module.h>

/* Defines the struct, and <Name>_type with no fields. There is nothing to release. */
#define BURN_MODULE_STATELESS(Name)                                                               \
  typedef struct Name {                                                                           \
    char unused;                                                                                  \
  } Name;                                                                                         \
  BURN_UNUSED static inline const BurnType *Name##_type(void) {                                   \
    static const BurnType type = {BURN_TYPE_MODULE, #Name, sizeof(Name), 0, NULL, NULL, 0, NULL}; \
    return &type;                                                                                 \
  }                                                                                               \
  struct Name

#endif
