/* read_json.h - the parts of the reader of tokenizer.json. */
#ifndef BURN_IMPORT_READ_JSON_H
#define BURN_IMPORT_READ_JSON_H

#include "json_fields.h"
#include "tokenizer_private.h"

enum { TOKEN_NORMALIZER, TOKEN_CUTTER, TOKEN_DECODER };

/* A step, or those of a Sequence, added to the list; nothing for null. */
BurnStatus burn__json_read_steps(TokenSteps *steps, BurnJson *json, int kind);
/* The section "model". */
BurnStatus burn__json_read_model(BurnTextTokenizer *tokenizer, BurnJson *json);
/* "byte 17: a normalizer of type "X" is not known" */
BurnStatus burn__json_unknown(const BurnJson *at, const char *what, const char *name);

#endif
