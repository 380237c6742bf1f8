/* leaf_types.c - descriptors of the types that rows of configs and modules end in: numbers, texts, parameters, lists.
 */
#include <burn/module.h>

#define LEAF(Type, KIND, count)                                                                         \
  const BurnType *Type##_type(void) {                                                                   \
    static const BurnType type = {BURN_TYPE_##KIND, #Type, sizeof(Type), 0, NULL, NULL, (count), NULL}; \
    return &type;                                                                                       \
  }

LEAF(BurnSize, SIZE, 0)
LEAF(BurnI64, I64, 0)
LEAF(BurnF64, F64, 0)
LEAF(BurnBool, BOOL, 0)
LEAF(BurnText, TEXT, 0)
LEAF(BurnSize2, SIZES, 2)
LEAF(BurnSize3, SIZES, 3)
LEAF(BurnOptionF64, OPTION_F64, 0)
LEAF(BurnOptionSize, OPTION_SIZE, 0)
LEAF(BurnParam, PARAM, 0)
LEAF(BurnOptionParam, PARAM, 0)
LEAF(BurnBuffer, BUFFER, 0)
LEAF(BurnConstant, CONSTANT, 0)
LEAF(BurnModuleList, MODULE_LIST, 0)
LEAF(BurnModuleOption, MODULE_OPTION, 0)
