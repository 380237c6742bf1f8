/* config_json.h - a described object to JSON text and back. */
#ifndef BURN_CORE_CONFIG_JSON_H
#define BURN_CORE_CONFIG_JSON_H

#include "text_builder.h"

#include <burn/reflect.h>

/* Appends the object as pretty-printed JSON. Fails on a variant whose index is none of its cases. */
BurnStatus burn__config_to_json(BurnTextBuilder *out, const BurnType *type, const void *data);

/* Fills `data` (type->bytes, contents ignored) from JSON text. On failure it holds garbage. */
BurnStatus burn__config_from_json(const char *json, const BurnType *type, void *data);

#endif
