/* tokenizer.c - what all tokenizers have: a table of functions, lists of tokens, texts out of tokens. */
#include "null_check.h"
#include "text_private.h"
#include "status_chain.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 64 };

struct BurnTokenizer {
  BurnTokenizerInterface interface;
};

BurnStatus burn_token_list_add(BurnTokenList *tokens, int64_t id) {
  if (tokens == NULL) return BURN_REQUIRED(tokens, "a BurnTokenList");
  if (tokens->count == tokens->room) {
    const size_t room = tokens->room > 0 ? 2 * tokens->room : FIRST_TOKENS;
    int64_t *grown = room <= (size_t)PTRDIFF_MAX / sizeof *grown ? realloc(tokens->ids, room * sizeof *grown) : NULL;
    if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu tokens", room);
    tokens->ids = grown;
    tokens->room = room;
  }
  tokens->ids[tokens->count++] = id;
  return BURN_OK;
}

void burn_token_list_release(BurnTokenList *tokens) {
  if (!tokens) return;
  free(tokens->ids);
  *tokens = (BurnTokenList){NULL, 0, 0};
}

BurnTokenizer *burn_tokenizer_create(const BurnTokenizerInterface *interface, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = BURN_REQUIRED_BY("tokenizer_create", interface, "a BurnTokenizerInterface");
  if (result == BURN_OK && (interface->encode == NULL || interface->token == NULL))
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "tokenizer: no function that encodes, or of tokens");
  BurnTokenizer *tokenizer = result == BURN_OK ? malloc(sizeof *tokenizer) : NULL;
  if (result == BURN_OK && tokenizer == NULL)
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: out of memory");
  if (result == BURN_OK) {
    tokenizer->interface = *interface;
    return tokenizer;
  }
  if (interface != NULL && interface->destroy != NULL) interface->destroy(interface->context);
  burn__store_status(status, result);
  return NULL;
}

BurnTokenizer *burn__tokenizer_refused(BurnStatus *status, BurnStatus reason) {
  burn__store_status(status, reason);
  return NULL;
}

void burn_tokenizer_destroy(BurnTokenizer *tokenizer) {
  if (tokenizer == NULL) return;
  if (tokenizer->interface.destroy != NULL) tokenizer->interface.destroy(tokenizer->interface.context);
  free(tokenizer);
}

size_t burn_tokenizer_vocabulary(const BurnTokenizer *tokenizer) {
  return tokenizer != NULL ? tokenizer->interface.vocabulary : 0;
}

static BurnStatus no_tokenizer(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "tokenizer: there is none; the status of the call that should have made it says why");
}

const BurnTokenizerInterface *burn__tokenizer_interface(const BurnTokenizer *tokenizer) {
  return &tokenizer->interface;
}

BurnStatus burn_tokenizer_encode(const BurnTokenizer *tokenizer, const char *text, size_t length,
                                 BurnTokenList *tokens) {
  if (tokenizer == NULL) return no_tokenizer();
  BurnStatus status = length > 0 ? BURN_REQUIRED(text, "length bytes") : BURN_OK;
  if (status == BURN_OK) status = BURN_REQUIRED(tokens, "a BurnTokenList");
  if (status != BURN_OK) return status;
  const size_t before = tokens->count;
  status = tokenizer->interface.encode(tokenizer->interface.context, text, length, tokens);
  if (status != BURN_OK) tokens->count = before;
  return status;
}

/* The bytes of all tokens, without writing them where `out` is NULL. */
static BurnStatus tokens_write(const BurnTokenizer *tokenizer, const int64_t *ids, size_t count, char *out,
                               size_t *length) {
  const BurnTokenizerInterface *interface = &tokenizer->interface;
  *length = 0;
  for (size_t i = 0; i < count; i++) {
    size_t bytes = 0;
    if (ids[i] < 0 || (uint64_t)ids[i] >= interface->vocabulary)
      return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tokenizer: token %zu is %lld, 0 to %zu expected", i,
                              (long long)ids[i], interface->vocabulary - 1);
    const char *token = interface->token(interface->context, ids[i], &bytes);
    if (out != NULL && bytes > 0) memcpy(out + *length, token, bytes);
    *length += bytes;
  }
  return BURN_OK;
}

BurnStatus burn_tokenizer_decode(const BurnTokenizer *tokenizer, const int64_t *ids, size_t count, char **text,
                                 size_t *length) {
  if (tokenizer == NULL) return no_tokenizer();
  const BurnTokenizerInterface *interface = &tokenizer->interface;
  size_t bytes = 0;
  BurnStatus status = count > 0 ? BURN_REQUIRED(ids, "a list of count tokens") : BURN_OK;
  if (status == BURN_OK) status = BURN_REQUIRED(text, "a char *");
  if (status == BURN_OK) status = BURN_REQUIRED(length, "a size_t");
  if (status != BURN_OK) return status;
  if (interface->decode != NULL) return interface->decode(interface->context, ids, count, text, length);
  status = tokens_write(tokenizer, ids, count, NULL, &bytes);
  if (status != BURN_OK) return status;
  char *made = malloc(bytes + 1);
  if (made == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu bytes", bytes);
  made[bytes] = '\0';
  *text = made;
  return tokens_write(tokenizer, ids, count, made, length);
}

int64_t burn_tokenizer_find(const BurnTokenizer *tokenizer, const char *bytes, size_t length) {
  if (tokenizer == NULL || bytes == NULL) return -1;
  const BurnTokenizerInterface *interface = &tokenizer->interface;
  for (int64_t id = 0; (uint64_t)id < interface->vocabulary; id++) {
    size_t count = 0;
    const char *token = interface->token(interface->context, id, &count);
    if (count == length && memcmp(token, bytes, length) == 0) return id;
  }
  return -1;
}
