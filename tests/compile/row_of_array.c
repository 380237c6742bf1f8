/* row_of_array.c - an array in a row of a module or a config must not compile: SUFFIX is "", "[1]" or "[2]". */
#include <burn/config.h>
#include <burn/module.h>

#define PART_FIELDS(X) X(BurnParam, weight, "")
BURN_MODULE(Part, PART_FIELDS);

#if defined(IN_CONFIG)
#define WHOLE_CONFIG(REQ, OPT) REQ(BurnSize, sizes SUFFIX, "") OPT(BurnF64, rate, 0.5, "")
BURN_CONFIG_OPTIONAL(WholeConfig, WHOLE_CONFIG);
#else
#define WHOLE_FIELDS(X) X(Part, first, "") X(Part, parts SUFFIX, "")
BURN_MODULE(Whole, WHOLE_FIELDS);
#endif
