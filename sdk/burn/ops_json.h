/* ops_json.h - the table of ops as JSON. */
#ifndef BURN_SDK_OPS_JSON_H
#define BURN_SDK_OPS_JSON_H

#include "command.h"

#include <burn/op_call.h>

/* All that BurnOpInfo says of an op, with typed values. */
cJSON *ops_json_op(const BurnOpInfo *info);

/* Adds what the ops are made of: version of the ABI, limits, dtypes, statuses, enums. */
void ops_json_add_abi(cJSON *root);

#endif
