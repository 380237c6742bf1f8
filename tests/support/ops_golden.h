/* ops_golden.h - the rows of a golden file as arrays, for OPS_MAIN. Define OPS_GOLDEN as the file's name first; once
 * per program. */
#ifndef BURN_OPS_GOLDEN_H
#define BURN_OPS_GOLDEN_H

#include "ops_case.h"

static const char *const texts[] = {
#define TEXT(text) text,
#define CASE(op, name, inputs, numbers, outputs, relative, absolute)
#include OPS_GOLDEN
#undef TEXT
#undef CASE
    NULL, /* some files share no text */
};

static const OpsGolden goldens[] = {
#define TEXT(text)
#define CASE(op, name, inputs, numbers, outputs, relative, absolute) \
  {op, name, inputs, numbers, outputs, relative, absolute},
#include OPS_GOLDEN
#undef TEXT
#undef CASE
};

#endif
